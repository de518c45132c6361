#include "javelin/memwal/memory_size.h"

#include <arrow/extension_type.h>
#include <arrow/util/bit_util.h>

namespace javelin::memwal {

namespace {

using arrow::ArrayData;
using arrow::Type;

uint64_t SliceBytes(const ArrayData& data, int64_t offset, int64_t length);

uint64_t BitBytes(int64_t bits) { return static_cast<uint64_t>(arrow::bit_util::BytesForBits(bits)); }

uint64_t WholeBytes(const ArrayData& data) {
  uint64_t bytes = 0;
  for (const auto& buffer : data.buffers) bytes += buffer == nullptr ? 0 : static_cast<uint64_t>(buffer->size());
  for (const auto& child : data.child_data) bytes += WholeBytes(*child);
  if (data.dictionary != nullptr) bytes += WholeBytes(*data.dictionary);
  return bytes;
}

// A child that is addressed from its own first element.
uint64_t ChildBytes(const ArrayData& child, int64_t begin, int64_t end) {
  return SliceBytes(child, child.offset + begin, end - begin);
}

template <typename Offset>
uint64_t VariableBytes(const ArrayData& data, int64_t offset, int64_t length) {
  if (data.buffers[1] == nullptr || data.buffers[1]->size() == 0) return 0;
  const auto* offsets = data.GetValues<Offset>(1, offset);
  return (length + 1) * sizeof(Offset) + static_cast<uint64_t>(offsets[length] - offsets[0]);
}

template <typename Offset>
uint64_t ListBytes(const ArrayData& data, int64_t offset, int64_t length) {
  if (data.buffers[1] == nullptr || data.buffers[1]->size() == 0) return 0;
  const auto* offsets = data.GetValues<Offset>(1, offset);
  return (length + 1) * sizeof(Offset) + ChildBytes(*data.child_data[0], offsets[0], offsets[length]);
}

uint64_t NestedBytes(const ArrayData& data, const arrow::DataType& type, int64_t offset, int64_t length) {
  switch (type.id()) {
    case Type::LIST:
    case Type::MAP: return ListBytes<int32_t>(data, offset, length);
    case Type::LARGE_LIST: return ListBytes<int64_t>(data, offset, length);
    case Type::FIXED_SIZE_LIST: {
      const int64_t width = static_cast<const arrow::FixedSizeListType&>(type).list_size();
      return ChildBytes(*data.child_data[0], offset * width, (offset + length) * width);
    }
    case Type::STRUCT: {
      uint64_t bytes = 0;
      for (const auto& child : data.child_data) bytes += ChildBytes(*child, offset, offset + length);
      return bytes;
    }
    default: return WholeBytes(data);
  }
}

uint64_t ValueBytes(const ArrayData& data, const arrow::DataType& type, int64_t offset, int64_t length) {
  switch (type.id()) {
    case Type::NA: return 0;
    case Type::BOOL: return BitBytes(length);
    case Type::STRING:
    case Type::BINARY: return VariableBytes<int32_t>(data, offset, length);
    case Type::LARGE_STRING:
    case Type::LARGE_BINARY: return VariableBytes<int64_t>(data, offset, length);
    case Type::EXTENSION:
      return ValueBytes(data, *static_cast<const arrow::ExtensionType&>(type).storage_type(), offset, length);
    case Type::DICTIONARY: {
      const auto& index = *static_cast<const arrow::DictionaryType&>(type).index_type();
      return ValueBytes(data, index, offset, length) + (data.dictionary == nullptr ? 0 : WholeBytes(*data.dictionary));
    }
    default: break;
  }
  if (arrow::is_fixed_width(type.id()) && type.bit_width() > 0) return BitBytes(length * type.bit_width());
  return NestedBytes(data, type, offset, length);
}

uint64_t SliceBytes(const ArrayData& data, int64_t offset, int64_t length) {
  if (length <= 0) return 0;
  const bool has_validity = !data.buffers.empty() && data.buffers[0] != nullptr && data.type->id() != Type::NA;
  return (has_validity ? BitBytes(length) : 0) + ValueBytes(data, *data.type, offset, length);
}

}  // namespace

uint64_t RowBytes(const arrow::RecordBatch& batch) {
  uint64_t bytes = 0;
  for (int i = 0; i < batch.num_columns(); ++i) {
    const ArrayData& data = *batch.column_data(i);
    bytes += SliceBytes(data, data.offset, data.length);
  }
  return bytes;
}

uint64_t RetainedBytes::Add(const arrow::RecordBatch& batch) {
  const uint64_t before = total_;
  for (int i = 0; i < batch.num_columns(); ++i) AddArray(*batch.column_data(i));
  return total_ - before;
}

void RetainedBytes::AddArray(const arrow::ArrayData& data) {
  for (const auto& buffer : data.buffers) {
    if (buffer != nullptr) AddBuffer(*buffer);
  }
  for (const auto& child : data.child_data) AddArray(*child);
  if (data.dictionary != nullptr) AddArray(*data.dictionary);
}

void RetainedBytes::AddBuffer(const arrow::Buffer& buffer) {
  const arrow::Buffer* root = &buffer;
  while (root->parent() != nullptr) root = root->parent().get();
  const auto capacity = static_cast<uint64_t>(std::max(root->capacity(), root->size()));
  if (capacity == 0) return;
  uint64_t& counted = capacity_of_[root->address()];
  if (capacity > counted) {
    total_ += capacity - counted;
    counted = capacity;
  }
}

}  // namespace javelin::memwal
