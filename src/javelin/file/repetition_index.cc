#include "javelin/file/repetition_index_internal.h"

#include <algorithm>

#include "javelin/base/error.h"

namespace javelin::file {

arrow::Result<RepetitionIndex> RepetitionIndex::Parse(Bytes index, size_t num_chunks, uint64_t num_rows) {
  constexpr size_t kEntryBytes = 16;
  if (index.size() / kEntryBytes != num_chunks || index.size() % kEntryBytes != 0)
    return Corruption("the repetition index of {} chunks has {} bytes", num_chunks, index.size());
  RepetitionIndex parsed;
  parsed.first_row_.reserve(num_chunks + 1);
  parsed.goes_on_.reserve(num_chunks);
  bool goes_on = false;
  uint64_t left = num_rows;  // to end
  uint64_t begun = 0;
  for (size_t chunk = 0; chunk < num_chunks; ++chunk) {
    const uint64_t ends = LoadAt<uint64_t>(index.data() + chunk * kEntryBytes);
    const bool partial = LoadAt<uint64_t>(index.data() + chunk * kEntryBytes + 8) > 0;
    if (ends > left || (goes_on && ends == 0 && !partial))
      return Corruption("{} rows end in chunk {}, {} are left", ends, chunk, left);
    parsed.goes_on_.push_back(goes_on);
    left -= ends;
    begun += ends + partial - goes_on;
    goes_on = partial;
    parsed.first_row_.push_back(begun);
  }
  if (left > 0 || goes_on) return Corruption("the repetition index ends {} rows early", left + goes_on);
  return parsed;
}

Slice RepetitionIndex::ChunksOf(const Slice& rows) const {
  const auto chunk_of = [&](uint64_t row) {
    return static_cast<uint64_t>(std::upper_bound(first_row_.begin(), first_row_.end(), row) - first_row_.begin()) - 1;
  };
  const uint64_t first = chunk_of(rows.first);
  uint64_t end = goes_on_.size();
  if (rows.end() < first_row_.back()) {
    // Up to where the next row begins.
    end = chunk_of(rows.end());
    if (first_row_[end] != rows.end() || goes_on_[end] != 0) ++end;
  }
  return {first, end - first};
}

}  // namespace javelin::file
