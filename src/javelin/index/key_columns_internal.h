// The checks that all forms of a key make of its columns.
#pragma once

#include <memory>
#include <vector>

#include <arrow/status.h>
#include <arrow/type_fwd.h>

namespace javelin::index {

// InvalidInput: a type that is no key type.
arrow::Status CheckKeyTypes(const std::vector<std::shared_ptr<arrow::DataType>>& types);
// InvalidInput: other types or number of columns, or columns of different length.
arrow::Status CheckKeyColumns(const std::vector<std::shared_ptr<arrow::DataType>>& types,
                              const std::vector<std::shared_ptr<arrow::Array>>& columns);

}  // namespace javelin::index
