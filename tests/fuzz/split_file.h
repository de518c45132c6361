// Data files as inputs of the targets for schemas, pages and encodings.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <arrow/api.h>

#include "fuzz_support.h"

namespace javelin::fuzz {

enum class Position : uint8_t { kChunk, kBlock, kFixedValue, kVariableValue };

// The types that fuzz_encoding knows, by number.
inline const std::vector<std::shared_ptr<arrow::DataType>>& EncodingTypes() {
  static const std::vector<std::shared_ptr<arrow::DataType>> types = {
      arrow::boolean(),
      arrow::int8(),
      arrow::int16(),
      arrow::int32(),
      arrow::int64(),
      arrow::fixed_size_binary(3),
      arrow::fixed_size_binary(16),
      arrow::binary(),
      arrow::large_binary(),
      arrow::fixed_size_list(arrow::int32(), 3),
      arrow::fixed_size_list(arrow::fixed_size_list(arrow::int16(), 2), 2),
      arrow::fixed_size_list(arrow::boolean(), 5),
  };
  return types;
}

// One input of fuzz_encoding.
struct EncodingInput {
  Position position = Position::kChunk;
  size_t type = 0;
  uint64_t num_values = 0;
  std::string encoding;  // a CompressiveEncoding
  std::vector<std::string> buffers;

  static EncodingInput Parse(std::span<const uint8_t> bytes) {
    Input input(bytes.data(), bytes.size());
    EncodingInput parsed;
    parsed.position = static_cast<Position>(input.Number(1) % 4);
    parsed.type = input.Number(1) % EncodingTypes().size();
    parsed.num_values = input.Number(8);
    parsed.encoding = input.Part();
    parsed.buffers = input.Parts();
    return parsed;
  }
  std::string ToBytes() const {
    std::string bytes;
    AppendNumber(bytes, static_cast<uint64_t>(position), 1);
    AppendNumber(bytes, type, 1);
    AppendNumber(bytes, num_values, 8);
    AppendPart(bytes, encoding);
    for (const std::string& buffer : buffers) AppendPart(bytes, buffer);
    return bytes;
  }
};

}  // namespace javelin::fuzz
