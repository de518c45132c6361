// The columns of a primary key, for tests over many kinds of keys.
#pragma once

#include <memory>
#include <vector>

#include <arrow/type.h>

#include "javelin/file/schema.h"

namespace javelin::memwal::test {

// `k0`, `k1`, ... of these types, in key order.
inline arrow::FieldVector KeyFields(const std::vector<std::shared_ptr<arrow::DataType>>& types) {
  arrow::FieldVector fields;
  for (size_t i = 0; i < types.size(); ++i) {
    auto metadata =
        arrow::key_value_metadata({{std::string(file::kPrimaryKeyMetadata), "true"},
                                   {std::string(file::kPrimaryKeyPositionMetadata), fmt::format("{}", i + 1)}});
    fields.push_back(arrow::field(fmt::format("k{}", i), types[i], false, metadata));
  }
  return fields;
}

}  // namespace javelin::memwal::test
