// Finds rows among levels, which have no numbers of their own: a row begins at each level that names the outermost
// list.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <arrow/result.h>

#include "javelin/file/decoder_internal.h"
#include "javelin/file/leaf_sink_internal.h"

namespace javelin::file {

// Entries go by in order, run after run; those of wanted rows are kept, all that lie side by side at once. One thread.
class RowPicker {
 public:
  // `rows`: ascending, disjoint; must outlive it. `before`: how many rows begin before the first entry; the first
  // entries may continue the last one of them.
  RowPicker(const PageLayers& page, std::span<const Slice> rows, uint64_t before)
      : page_(page), rows_(rows), begun_(before) {}

  // Values of the entries that went by, and how many of them belong to wanted rows.
  struct Counts {
    uint64_t values = 0;
    uint64_t wanted = 0;
  };
  // One of each per entry; `def` may be empty: all 0. Appends the entries of wanted rows to `kept`, which ones of their
  // values those are to `values` (ascending, disjoint), and the definition levels of these, where there are any, to
  // `value_levels`; the last two may be null.
  arrow::Result<Counts> Pick(std::span<const uint16_t> rep, std::span<const uint16_t> def, Levels& kept,
                             std::vector<Slice>* values, LevelBuffer* value_levels);

  // Rows that have begun so far.
  uint64_t begun() const { return begun_; }

 private:
  size_t FindRow(std::span<const uint16_t> rep, size_t at, uint64_t row);
  uint64_t CountValues(std::span<const uint16_t> def, uint64_t num_entries) const;
  arrow::Status Keep(std::span<const uint16_t> rep, std::span<const uint16_t> def, Levels& kept,
                     LevelBuffer* value_levels) const;

  const PageLayers& page_;
  std::span<const Slice> rows_;
  size_t slice_ = 0;
  uint64_t begun_;
};

}  // namespace javelin::file
