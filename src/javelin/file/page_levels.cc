#include "javelin/file/page_levels_internal.h"

namespace javelin::file {

PageLevels FlatLevels(std::span<const LeafView> pieces) {
  PageLevels levels;
  bool has_nulls = false;
  for (const LeafView& piece : pieces) {
    levels.num_values += piece.length;
    has_nulls |= piece.HasNulls();
  }
  levels.num_rows = levels.num_values;
  levels.layers = {has_nulls ? pb::NULLABLE_ITEM : pb::ALL_VALID_ITEM};
  if (!has_nulls) return levels;
  levels.max_def = 1;
  levels.max_visible = 1;
  levels.def.reserve(levels.num_values);
  for (const LeafView& piece : pieces) {
    if (piece.validity == nullptr) {
      levels.def.insert(levels.def.end(), piece.length, piece.HasNulls() ? 1 : 0);
      continue;
    }
    for (uint64_t i = 0; i < piece.length; ++i) levels.def.push_back(piece.IsNull(i));
  }
  return levels;
}

std::vector<Slice> ChunkEntries(const PageLevels& levels, uint64_t chunk_values) {
  std::vector<Slice> chunks;
  const uint64_t num_entries = levels.num_entries();
  const uint64_t num_chunks = (levels.num_values + chunk_values - 1) / chunk_values;
  if (num_entries == levels.num_values) {
    for (uint64_t first = 0; first < num_entries; first += chunk_values)
      chunks.push_back({first, std::min(chunk_values, num_entries - first)});
    return chunks;
  }
  uint64_t first = 0;
  uint64_t values = 0;
  for (uint64_t entry = 0; entry < num_entries && chunks.size() + 1 < num_chunks; ++entry) {
    values += levels.IsVisible(entry);
    if (values < chunk_values) continue;
    chunks.push_back({first, entry + 1 - first});
    first = entry + 1;
    values = 0;
  }
  chunks.push_back({first, num_entries - first});
  return chunks;
}

std::vector<uint64_t> RepetitionIndexOf(const PageLevels& levels, std::span<const Slice> chunks) {
  std::vector<uint64_t> index;
  for (size_t k = 0; k < chunks.size(); ++k) {
    const Slice& chunk = chunks[k];
    uint64_t last_begin = chunk.first;  // of the last row that begins here; the chunk's first entry if none does
    uint64_t ends = 0;
    for (uint64_t entry = chunk.first; entry < chunk.end(); ++entry) {
      if (!levels.BeginsRow(entry)) continue;
      if (entry > chunk.first) ++ends;
      last_begin = entry;
    }
    const bool last = k + 1 == chunks.size();
    // That the row before has no more entries shows only here.
    if (k > 0 && levels.BeginsRow(chunk.first)) {
      index[2 * k - 2] += 1;
      index[2 * k - 1] = 0;
    }
    index.push_back(ends + last);
    index.push_back(last ? 0 : chunk.end() - last_begin);
  }
  return index;
}

}  // namespace javelin::file
