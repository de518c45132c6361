// Where the rows of a mini-block page with lists begin: a chunk holds whole values, but not whole rows
// (docs/format.md, "Levels").
#pragma once

#include <cstdint>
#include <vector>

#include <arrow/result.h>

#include "javelin/file/byte_span_internal.h"
#include "javelin/file/decoder_internal.h"

namespace javelin::file {

class RepetitionIndex {
 public:
  // A pair of 64-bit numbers per chunk: rows that end in it, and levels of the row that goes on behind it. Corruption:
  // not one pair per chunk, or other than `num_rows` rows.
  static arrow::Result<RepetitionIndex> Parse(Bytes index, size_t num_chunks, uint64_t num_rows);

  // Rows that begin before a chunk, of which the last may go on in it.
  uint64_t rows_before(size_t chunk) const { return first_row_[chunk]; }
  // What the index of so many chunks takes.
  static constexpr uint64_t MemoryOf(uint64_t num_chunks) { return (num_chunks + 1) * (sizeof(uint64_t) + 1); }
  // The chunks that hold these rows of the page (not empty): first and count.
  Slice ChunksOf(const Slice& rows) const;

 private:
  std::vector<uint64_t> first_row_{0};  // that begins in a chunk or behind it; one more than chunks
  std::vector<uint8_t> goes_on_;        // the chunk begins with the rest of a row
};

}  // namespace javelin::file
