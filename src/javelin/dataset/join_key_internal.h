// Keys of any type as bytes, by which rows of a join meet: equal values, equal bytes.
#pragma once

#include <string>

#include <arrow/result.h>
#include <arrow/type_fwd.h>

namespace javelin::internal {

// NotSupported, naming the column: values of the type cannot be told apart by bytes.
arrow::Status CheckJoinable(const std::string& column, const arrow::DataType& type);

// Appends the key of a row; false, and `key` is then of no use, where a part is null: it equals no other. Floats are
// equal if their bits are: a NaN is itself, -0.0 is not 0.0. Columns of types that are joinable, the same on both
// sides.
bool AppendJoinKey(const arrow::ArrayVector& columns, int64_t row, std::string& key);

}  // namespace javelin::internal
