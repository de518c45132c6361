// Repetition and definition levels of one page on their way to a file (docs/format.md, "Levels").
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "lanceproto/encodings_v2_1.pb.h"

#include "javelin/file/decoder_internal.h"
#include "javelin/file/leaf_view_internal.h"

namespace javelin::file {

namespace pb = lance::encodings21;

// One level of each kind per entry: a value's slot, or a list without items. Numbered for the page: only what occurs in
// it takes a definition level.
struct PageLevels {
  std::vector<pb::RepDefLayer> layers;  // the leaf first
  std::vector<uint16_t> rep;            // empty: no lists
  std::vector<uint16_t> def;            // empty: nothing is null or empty
  uint16_t max_rep = 0;
  uint16_t max_def = 0;
  uint16_t max_visible = 0;  // an entry of a higher definition level has no value
  uint64_t num_rows = 0;
  uint64_t num_values = 0;  // slots, null ones included

  uint64_t num_entries() const { return rep.empty() ? num_values : rep.size(); }
  bool IsVisible(uint64_t entry) const { return def.empty() || def[entry] <= max_visible; }
  bool BeginsRow(uint64_t entry) const { return rep.empty() || rep[entry] == max_rep; }
};

// The levels of a column with nothing around its values, which come in pieces.
PageLevels FlatLevels(std::span<const LeafView> pieces);

// The entries of each chunk of `chunk_values` values: those up to its last value; the last chunk has all that follow.
std::vector<Slice> ChunkEntries(const PageLevels& levels, uint64_t chunk_values);

// Two numbers per chunk: rows that end in it, and how many of its last entries belong to a row that goes on behind it.
std::vector<uint64_t> RepetitionIndexOf(const PageLevels& levels, std::span<const Slice> chunks);

}  // namespace javelin::file
