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
  // The chunk that holds a value, which is not before chunk `from`; fast where it is near.
  size_t ChunkOf(uint64_t value, size_t from) const;

 private:
  std::vector<uint64_t> first_byte_{0};   // one more than chunks
  std::vector<uint64_t> first_value_{0};  // likewise
};

// Neighbouring chunks that are read together, and what is wanted of them.
class ChunkRuns {
 public:
  struct Run {
    size_t first = 0;  // chunk
    size_t end = 0;
    size_t first_slice = 0;
  };
  // Slices of a page (ascending, disjoint) by chunk: each run is a chunk, its slices are values of that chunk.
  static ChunkRuns Split(const ChunkTable& table, std::span<const Slice> rows);

  const std::vector<Run>& runs() const { return runs_; }
  std::span<const Slice> SlicesOf(size_t run) const {
    const size_t end = run + 1 < runs_.size() ? runs_[run + 1].first_slice : slices_.size();
    return std::span(slices_).subspan(runs_[run].first_slice, end - runs_[run].first_slice);
  }
  // A slice of chunks [first, end); where the last run overlaps with them they become part of it.
  void Add(size_t first, size_t end, const Slice& slice);

 private:
  std::vector<Run> runs_;
  std::vector<Slice> slices_;
};

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
// `buffers` may hold those of another chunk: chunk after chunk takes no memory anew.
arrow::Status ParseChunk(Bytes chunk, const ChunkForm& form, ChunkBuffers* buffers);

}  // namespace javelin::file
