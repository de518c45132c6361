#include <string_view>

#include <arrow/array.h>
#include <arrow/type.h>

#include "javelin/base/error.h"
#include "javelin/dataset/join_key_internal.h"

namespace javelin::internal {

namespace {

void AppendValue(const arrow::Array& array, int64_t row, std::string& key);

void AppendSize(uint64_t size, std::string& key) { key.append(reinterpret_cast<const char*>(&size), sizeof(size)); }

void AppendBytes(std::string_view bytes, std::string& key) {
  AppendSize(bytes.size(), key);
  key += bytes;
}

template <typename ListArray>
void AppendItems(const arrow::Array& array, int64_t row, std::string& key) {
  const auto& list = static_cast<const ListArray&>(array);
  const auto length = static_cast<int64_t>(list.value_length(row));
  AppendSize(static_cast<uint64_t>(length), key);
  const auto first = static_cast<int64_t>(list.value_offset(row));
  for (int64_t i = 0; i < length; ++i) AppendValue(*list.values(), first + i, key);
}

void AppendFixedWidth(const arrow::Array& array, int64_t row, std::string& key) {
  const int64_t width = static_cast<const arrow::FixedWidthType&>(*array.type()).bit_width() / 8;
  const uint8_t* values = array.data()->buffers[1]->data();
  key.append(reinterpret_cast<const char*>(values) + (array.offset() + row) * width, static_cast<size_t>(width));
}

void AppendNotNull(const arrow::Array& array, int64_t row, std::string& key) {
  switch (array.type_id()) {
    case arrow::Type::BOOL: key += static_cast<const arrow::BooleanArray&>(array).Value(row) ? '\1' : '\0'; return;
    case arrow::Type::STRING:
    case arrow::Type::BINARY: AppendBytes(static_cast<const arrow::BinaryArray&>(array).GetView(row), key); return;
    case arrow::Type::LARGE_STRING:
    case arrow::Type::LARGE_BINARY:
      AppendBytes(static_cast<const arrow::LargeBinaryArray&>(array).GetView(row), key);
      return;
    case arrow::Type::LIST:
    case arrow::Type::MAP: AppendItems<arrow::ListArray>(array, row, key); return;
    case arrow::Type::LARGE_LIST: AppendItems<arrow::LargeListArray>(array, row, key); return;
    case arrow::Type::FIXED_SIZE_LIST: AppendItems<arrow::FixedSizeListArray>(array, row, key); return;
    case arrow::Type::STRUCT:
      for (const auto& child : static_cast<const arrow::StructArray&>(array).fields()) AppendValue(*child, row, key);
      return;
    case arrow::Type::DICTIONARY: {
      const auto& indices = static_cast<const arrow::DictionaryArray&>(array);
      AppendNotNull(*indices.dictionary(), indices.GetValueIndex(row), key);
      return;
    }
    default: AppendFixedWidth(array, row, key); return;
  }
}

bool IsNull(const arrow::Array& array, int64_t row) {
  if (array.IsNull(row)) return true;
  if (array.type_id() != arrow::Type::DICTIONARY) return false;
  const auto& indices = static_cast<const arrow::DictionaryArray&>(array);
  return indices.dictionary()->IsNull(indices.GetValueIndex(row));
}

void AppendValue(const arrow::Array& array, int64_t row, std::string& key) {
  const bool is_null = IsNull(array, row);
  key += is_null ? '\0' : '\1';
  if (!is_null) AppendNotNull(array, row, key);
}

bool IsJoinable(const arrow::DataType& type) {
  switch (type.id()) {
    case arrow::Type::STRING:
    case arrow::Type::BINARY:
    case arrow::Type::LARGE_STRING:
    case arrow::Type::LARGE_BINARY: return true;
    case arrow::Type::DICTIONARY: return IsJoinable(*static_cast<const arrow::DictionaryType&>(type).value_type());
    case arrow::Type::LIST:
    case arrow::Type::MAP:
    case arrow::Type::LARGE_LIST:
    case arrow::Type::FIXED_SIZE_LIST:
    case arrow::Type::STRUCT:
      return std::all_of(type.fields().begin(), type.fields().end(),
                         [](const auto& child) { return IsJoinable(*child->type()); });
    case arrow::Type::EXTENSION: return false;
    default: return arrow::is_fixed_width(type.id());
  }
}

}  // namespace

arrow::Status CheckJoinable(const std::string& column, const arrow::DataType& type) {
  if (IsJoinable(type)) return arrow::Status::OK();
  return NotSupported("column '{}' of type {} as a key; give columns whose values can be compared", column,
                      type.ToString());
}

bool AppendJoinKey(const arrow::ArrayVector& columns, int64_t row, std::string& key) {
  for (const auto& column : columns) {
    if (IsNull(*column, row)) return false;
    AppendValue(*column, row, key);
  }
  return true;
}

}  // namespace javelin::internal
