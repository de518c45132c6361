// What the targets share that decode single pages and single encodings: inputs made of parts, memory that is watched,
// and what must hold of every answer.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include <arrow/api.h>

#include "javelin/base/error.h"
#include "javelin/base/resources.h"

namespace javelin::fuzz {

// Numbers, then parts with their lengths in front. A length that says more than there is means all that is left, so
// that changed lengths still give inputs.
class Input {
 public:
  Input(const uint8_t* data, size_t size) : data_(data), size_(size) {}
  bool empty() const { return size_ == 0; }

  uint64_t Number(size_t bytes) {
    uint64_t number = 0;
    bytes = std::min(bytes, size_);
    if (bytes > 0) std::memcpy(&number, data_, bytes);
    Skip(bytes);
    return number;
  }
  std::string Part() {
    const auto length = static_cast<size_t>(std::min<uint64_t>(Number(4), size_));
    std::string part(reinterpret_cast<const char*>(data_), length);
    Skip(length);
    return part;
  }
  std::vector<std::string> Parts() {
    std::vector<std::string> parts;
    while (!empty()) parts.push_back(Part());
    return parts;
  }

 private:
  void Skip(size_t bytes) {
    data_ += bytes;
    size_ -= bytes;
  }
  const uint8_t* data_;
  size_t size_;
};

inline void AppendNumber(std::string& input, uint64_t number, size_t bytes) {
  input.append(reinterpret_cast<const char*>(&number), bytes);
}
inline void AppendPart(std::string& input, const std::string& part) {
  AppendNumber(input, part.size(), 4);
  input += part;
}

inline constexpr int64_t kMemoryLimit = 64 << 20;

// A budget and a pool that counts; the pool is the system's, so that a sanitizer sees every buffer.
struct Watched {
  arrow::ProxyMemoryPool pool{arrow::system_memory_pool()};
  Resources resources = MakeResources(MakeThreadRuntime({.cpu_threads = 1}), kMemoryLimit);
  Watched() { resources.pool = &pool; }

  // After each input: all memory came back, and there was never more than the budget allows. `given`: bytes of the
  // input, which the target itself holds.
  void Check(size_t given) const {
    if (resources.memory->used() != 0 || pool.bytes_allocated() != 0) __builtin_trap();
    // Arrow rounds buffers up to 64 bytes; a read has a few hundred at most.
    if (pool.max_memory() > kMemoryLimit + static_cast<int64_t>(given) + (1 << 20)) __builtin_trap();
  }
};

// Types without rules of their own for values, which are not ours to check: text may be any bytes, a day any number.
inline std::shared_ptr<arrow::DataType> Plain(const std::shared_ptr<arrow::DataType>& type) {
  switch (type->id()) {
    case arrow::Type::STRING: return arrow::binary();
    case arrow::Type::LARGE_STRING: return arrow::large_binary();
    case arrow::Type::DATE64:
    case arrow::Type::TIME64: return arrow::int64();
    case arrow::Type::TIME32: return arrow::int32();
    case arrow::Type::DECIMAL32:
    case arrow::Type::DECIMAL64:
    case arrow::Type::DECIMAL128:
    case arrow::Type::DECIMAL256:
      return arrow::fixed_size_binary(static_cast<const arrow::FixedWidthType&>(*type).bit_width() / 8);
    case arrow::Type::STRUCT: {
      arrow::FieldVector fields;
      for (const auto& field : type->fields())
        fields.push_back(field->WithType(Plain(field->type()))->WithNullable(true));
      return arrow::struct_(fields);
    }
    case arrow::Type::LIST: return arrow::list(Plain(type->field(0)->type()));
    case arrow::Type::LARGE_LIST: return arrow::large_list(Plain(type->field(0)->type()));
    case arrow::Type::FIXED_SIZE_LIST:
      return arrow::fixed_size_list(Plain(type->field(0)->type()),
                                    static_cast<const arrow::FixedSizeListType&>(*type).list_size());
    case arrow::Type::MAP: return arrow::list(Plain(type->field(0)->type()));
    case arrow::Type::DICTIONARY: {
      const auto& dictionary = static_cast<const arrow::DictionaryType&>(*type);
      return arrow::dictionary(dictionary.index_type(), Plain(dictionary.value_type()));
    }
    default: return type;
  }
}

inline std::shared_ptr<arrow::ArrayData> WithType(const arrow::ArrayData& data,
                                                  const std::shared_ptr<arrow::DataType>& type) {
  std::shared_ptr<arrow::ArrayData> copy = data.Copy();
  copy->type = type;
  for (size_t i = 0; i < copy->child_data.size(); ++i)
    copy->child_data[i] = WithType(*data.child_data[i], type->field(static_cast<int>(i))->type());
  if (data.dictionary != nullptr)
    copy->dictionary = WithType(*data.dictionary, static_cast<const arrow::DictionaryType&>(*type).value_type());
  return copy;
}

// A refusal is typed and no bug of ours.
inline void CheckRefusal(const arrow::Status& refusal) {
  if (KindOf(refusal) == ErrorKind::kInternal) __builtin_trap();
}

// A refusal is as above; an array has the rows that were asked for and is sound to its last offset.
inline void Check(const arrow::Result<std::shared_ptr<arrow::Array>>& array, uint64_t rows) {
  if (!array.ok()) return CheckRefusal(array.status());
  if (static_cast<uint64_t>((*array)->length()) != rows) __builtin_trap();
  const auto plain = arrow::MakeArray(WithType(*(*array)->data(), Plain((*array)->type())));
  if (!plain->ValidateFull().ok()) __builtin_trap();
}

}  // namespace javelin::fuzz
