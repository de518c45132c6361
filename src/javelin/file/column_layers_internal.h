// What lies around the values of a leaf column: structs and lists, and what a page's levels say about them
// (docs/format.md, "Levels").
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <arrow/result.h>

namespace javelin::file {

// The leaf itself or a struct around it; a fixed-size list of structs; or a list, which gives its items a depth of
// their own.
struct ColumnLayer {
  bool is_list = false;
  unsigned offset_bits = 0;  // of a list in Arrow: 32 or 64
  uint64_t dimension = 1;    // of a fixed-size list of structs: each slot has that many entries inside
  friend bool operator==(const ColumnLayer&, const ColumnLayer&) = default;
};
// The leaf first, the top-level field last.
using ColumnLayers = std::vector<ColumnLayer>;
inline const ColumnLayers kFlatColumn{ColumnLayer{}};
// How many rows of its pages make one row of the column: a fixed-size list that no list lies around is cut into items.
uint64_t PageRowsPerRow(const ColumnLayers& column);

// One page's layers with their definition levels. The lists of one level deeper are counted from the inside: repetition
// level r begins a new list in the r-th list layer and in all inside it.
class PageLayers {
 public:
  struct Layer {
    bool is_list = false;
    uint16_t null = 0;     // the level that says null; 0: none does
    uint16_t empty = 0;    // of a list, likewise
    uint16_t inner = 0;    // the highest level of the layers inside
    uint16_t visible = 0;  // the highest level of an entry that this layer has a slot for; for a list: its outside
  };

  // `kinds`: the RepDefLayer numbers of the page. Corruption: not those of such a column.
  static arrow::Result<PageLayers> Make(std::span<const int> kinds, const ColumnLayers& column);

  const std::vector<Layer>& layers() const { return layers_; }
  bool is_flat() const { return layers_.size() == 1; }
  uint16_t max_rep() const { return max_rep_; }
  uint16_t max_def() const { return max_def_; }
  // The highest definition level of an entry that has a value, if only a null one.
  uint16_t max_visible() const { return layers_.front().visible; }

 private:
  std::vector<Layer> layers_;  // the leaf first
  uint16_t max_rep_ = 0;
  uint16_t max_def_ = 0;
};

}  // namespace javelin::file
