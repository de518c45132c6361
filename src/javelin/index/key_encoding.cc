#include "javelin/index/key_encoding.h"

#include <arrow/array.h>
#include <arrow/type.h>

#include "javelin/base/error.h"
#include "javelin/index/key_columns_internal.h"

namespace javelin::index {

namespace {

void AppendBigEndian(uint64_t value, std::string* out) {
  for (int shift = 56; shift >= 0; shift -= 8) out->push_back(static_cast<char>(value >> shift));
}

// A zero byte inside becomes 00 ff, so that the closing 00 00 is smaller than any continuation.
void AppendEscaped(std::string_view value, std::string* out) {
  for (char byte : value) {
    out->push_back(byte);
    if (byte == '\0') out->push_back('\xff');
  }
  out->append(2, '\0');
}

template <typename ArrowType>
void AppendSigned(const arrow::Array& column, int64_t row, std::string* out) {
  int64_t value = static_cast<const arrow::NumericArray<ArrowType>&>(column).Value(row);
  AppendBigEndian(static_cast<uint64_t>(value) ^ (uint64_t{1} << 63), out);
}

template <typename ArrowType>
void AppendUnsigned(const arrow::Array& column, int64_t row, std::string* out) {
  AppendBigEndian(static_cast<const arrow::NumericArray<ArrowType>&>(column).Value(row), out);
}

template <typename ArrayType>
void AppendBytes(const arrow::Array& column, int64_t row, std::string* out) {
  AppendEscaped(static_cast<const ArrayType&>(column).GetView(row), out);
}

void AppendValue(const arrow::Array& column, int64_t row, std::string* out) {
  if (column.IsNull(row)) {
    out->push_back('\x00');
    return;
  }
  out->push_back('\x01');
  switch (column.type_id()) {
    case arrow::Type::INT8: return AppendSigned<arrow::Int8Type>(column, row, out);
    case arrow::Type::INT16: return AppendSigned<arrow::Int16Type>(column, row, out);
    case arrow::Type::INT32: return AppendSigned<arrow::Int32Type>(column, row, out);
    case arrow::Type::INT64: return AppendSigned<arrow::Int64Type>(column, row, out);
    case arrow::Type::UINT8: return AppendUnsigned<arrow::UInt8Type>(column, row, out);
    case arrow::Type::UINT16: return AppendUnsigned<arrow::UInt16Type>(column, row, out);
    case arrow::Type::UINT32: return AppendUnsigned<arrow::UInt32Type>(column, row, out);
    case arrow::Type::UINT64: return AppendUnsigned<arrow::UInt64Type>(column, row, out);
    case arrow::Type::BOOL:
      out->push_back(static_cast<const arrow::BooleanArray&>(column).Value(row) ? '\x01' : '\x00');
      return;
    case arrow::Type::STRING:
    case arrow::Type::BINARY: return AppendBytes<arrow::BinaryArray>(column, row, out);
    case arrow::Type::LARGE_STRING:
    case arrow::Type::LARGE_BINARY: return AppendBytes<arrow::LargeBinaryArray>(column, row, out);
    default: return;  // Make and Encode let no other type through
  }
}

}  // namespace

bool IsKeyType(const arrow::DataType& type) {
  switch (type.id()) {
    case arrow::Type::INT8:
    case arrow::Type::INT16:
    case arrow::Type::INT32:
    case arrow::Type::INT64:
    case arrow::Type::UINT8:
    case arrow::Type::UINT16:
    case arrow::Type::UINT32:
    case arrow::Type::UINT64:
    case arrow::Type::BOOL:
    case arrow::Type::STRING:
    case arrow::Type::LARGE_STRING:
    case arrow::Type::BINARY:
    case arrow::Type::LARGE_BINARY: return true;
    default: return false;
  }
}

arrow::Status CheckKeyTypes(const std::vector<std::shared_ptr<arrow::DataType>>& types) {
  for (const auto& type : types) {
    if (!IsKeyType(*type)) return InvalidInput("type {} cannot be used in a primary key", type->ToString());
  }
  return arrow::Status::OK();
}

arrow::Status CheckKeyColumns(const std::vector<std::shared_ptr<arrow::DataType>>& types,
                              const std::vector<std::shared_ptr<arrow::Array>>& columns) {
  if (columns.size() != types.size())
    return InvalidInput("a key has {} columns, {} were given", types.size(), columns.size());
  for (size_t i = 0; i < columns.size(); ++i) {
    if (!columns[i]->type()->Equals(*types[i])) {
      return InvalidInput("key column {} has type {}, expected {}", i, columns[i]->type()->ToString(),
                          types[i]->ToString());
    }
    if (columns[i]->length() != columns[0]->length()) {
      return InvalidInput("key column {} has {} rows, expected {}", i, columns[i]->length(), columns[0]->length());
    }
  }
  return arrow::Status::OK();
}

arrow::Result<KeyEncoder> KeyEncoder::Make(std::vector<std::shared_ptr<arrow::DataType>> types) {
  ARROW_RETURN_NOT_OK(CheckKeyTypes(types));
  KeyEncoder encoder;
  encoder.types_ = std::move(types);
  return encoder;
}

arrow::Status KeyEncoder::Encode(const std::vector<std::shared_ptr<arrow::Array>>& columns,
                                 std::vector<std::string>* out) const {
  ARROW_RETURN_NOT_OK(CheckKeyColumns(types_, columns));
  if (columns.empty()) return arrow::Status::OK();
  out->reserve(out->size() + columns[0]->length());
  for (int64_t row = 0; row < columns[0]->length(); ++row) out->push_back(EncodeRow(columns, row));
  return arrow::Status::OK();
}

std::string KeyEncoder::EncodeRow(const std::vector<std::shared_ptr<arrow::Array>>& columns, int64_t row) const {
  std::string key;
  for (const auto& column : columns) AppendValue(*column, row, &key);
  return key;
}

}  // namespace javelin::index
