// Primary keys as bytes: the order-preserving composite encoding (docs/format.md, "Keys").
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <arrow/result.h>
#include <arrow/type_fwd.h>

namespace javelin::index {

// True for int8-64, uint8-64, boolean, utf8, large_utf8, binary, large_binary.
bool IsKeyType(const arrow::DataType& type);

// Encodes rows of key columns to comparable byte strings: equal keys = equal bytes, order of bytes = order of keys. Per
// column 00 for null, or 01 and the value: integers as 8 bytes big-endian with the sign bit flipped (unsigned: plain),
// bool one byte, strings with 00 -> 00 ff and 00 00 at the end.
class KeyEncoder {
 public:
  // InvalidInput: a type that is no key type.
  static arrow::Result<KeyEncoder> Make(std::vector<std::shared_ptr<arrow::DataType>> types);
  // One encoded key per row, appended to `out`. `columns` in key order, types as given to Make.
  arrow::Status Encode(const std::vector<std::shared_ptr<arrow::Array>>& columns, std::vector<std::string>* out) const;
  std::string EncodeRow(const std::vector<std::shared_ptr<arrow::Array>>& columns, int64_t row) const;

 private:
  std::vector<std::shared_ptr<arrow::DataType>> types_;
};

}  // namespace javelin::index
