// Where the chunks of a mini-block page begin, in bytes and in values.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <arrow/result.h>

#include "javelin/file/byte_span_internal.h"
#include "javelin/file/decoder_internal.h"

namespace javelin::file {

class ChunkTable {
 public:
  // words: one of `word_bytes` (2 or 4) per chunk. Checks that the chunks fill `data_bytes` and hold `num_values`.
  static arrow::Result<ChunkTable> Parse(Bytes words, unsigned word_bytes, uint64_t data_bytes, uint64_t num_values);

  size_t num_chunks() const { return first_value_.size() - 1; }
  uint64_t num_values(size_t chunk) const { return first_value_[chunk + 1] - first_value_[chunk]; }
  uint64_t first_value(size_t chunk) const { return first_value_[chunk]; }
  uint64_t begin(size_t chunk) const { return first_byte_[chunk]; }
  uint64_t end(size_t chunk) const { return first_byte_[chunk + 1]; }
  // What the table of so many chunks takes.
  static constexpr uint64_t MemoryOf(uint64_t num_chunks) { return (num_chunks + 1) * 2 * sizeof(uint64_t); }
  // The chunk that holds a value.
  size_t ChunkOf(uint64_t value) const;

 private:
  std::vector<uint64_t> first_byte_{0};   // one more than chunks
  std::vector<uint64_t> first_value_{0};  // likewise
};

// What a read wants of one chunk, in values of that chunk.
struct ChunkPart {
  size_t chunk = 0;
  std::vector<Slice> slices;
};
// Splits slices of the page (ascending, disjoint) by chunk.
std::vector<ChunkPart> SplitByChunk(const ChunkTable& table, std::span<const Slice> rows);

// The pieces of one chunk.
struct ChunkBuffers {
  uint64_t num_levels = 0;
  Bytes rep;
  Bytes def;
  std::vector<Bytes> values;
};
struct ChunkForm {
  bool has_rep = false;
  bool has_def = false;
  bool large = true;  // 32-bit sizes of value buffers
  size_t num_buffers = 1;
};
arrow::Result<ChunkBuffers> ParseChunk(Bytes chunk, const ChunkForm& form);

}  // namespace javelin::file
