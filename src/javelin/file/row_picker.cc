#include "javelin/file/row_picker_internal.h"

#include <algorithm>

namespace javelin::file {

namespace {

// Levels that are looked at together, without a branch for each.
constexpr size_t kBlock = 64;

template <typename Matches>
uint64_t Count(std::span<const uint16_t> levels, Matches matches) {
  uint64_t count = 0;
  while (!levels.empty()) {
    const std::span<const uint16_t> block = levels.first(std::min(levels.size(), kBlock));
    uint16_t in_block = 0;
    for (const uint16_t level : block) in_block = static_cast<uint16_t>(in_block + matches(level));
    count += in_block;
    levels = levels.subspan(block.size());
  }
  return count;
}

// Behind those that are there; slices side by side are one.
void Add(const Slice& slice, std::vector<Slice>& slices) {
  if (!slices.empty() && slices.back().end() == slice.first) {
    slices.back().count += slice.count;
  } else {
    slices.push_back(slice);
  }
}

}  // namespace

// The entry at which row `row` begins, or their end. Counts the rows that begin before it.
size_t RowPicker::FindRow(std::span<const uint16_t> rep, size_t at, uint64_t row) {
  const uint16_t first = page_.max_rep();
  while (at < rep.size()) {
    const std::span<const uint16_t> block = rep.subspan(at, std::min(rep.size() - at, kBlock));
    const uint64_t begin = Count(block, [first](uint16_t level) { return level == first; });
    if (begun_ + begin > row) break;
    begun_ += begin;
    at += block.size();
  }
  for (; at < rep.size(); ++at) {
    if (rep[at] != first) continue;
    if (begun_ == row) break;
    ++begun_;
  }
  return at;
}

uint64_t RowPicker::CountValues(std::span<const uint16_t> def, uint64_t num_entries) const {
  if (def.empty()) return num_entries;
  return Count(def, [most = page_.max_visible()](uint16_t level) { return level <= most; });
}

arrow::Status RowPicker::Keep(std::span<const uint16_t> rep, std::span<const uint16_t> def, Levels& kept,
                              LevelBuffer* value_levels) const {
  ARROW_RETURN_NOT_OK(kept.rep.Append(rep));
  if (!def.empty()) ARROW_RETURN_NOT_OK(kept.def.Append(def));
  if (value_levels == nullptr || def.empty()) return arrow::Status::OK();
  ARROW_ASSIGN_OR_RAISE(uint16_t* out, value_levels->Append(def.size()));
  uint64_t count = 0;
  for (const uint16_t level : def) {
    out[count] = level;
    count += level <= page_.max_visible();
  }
  value_levels->Truncate(value_levels->size() - def.size() + count);
  return arrow::Status::OK();
}

arrow::Result<RowPicker::Counts> RowPicker::Pick(std::span<const uint16_t> rep, std::span<const uint16_t> def,
                                                 Levels& kept, std::vector<Slice>* values, LevelBuffer* value_levels) {
  Counts counts;
  for (size_t at = 0; at < rep.size();) {
    // Entries up to the next row that is wanted, or those of wanted rows. The first is of row `begun_ - goes_on`.
    const bool goes_on = rep[at] != page_.max_rep();
    while (slice_ < rows_.size() && rows_[slice_].end() + goes_on <= begun_) ++slice_;
    const bool any = slice_ < rows_.size();
    const bool wanted = any && rows_[slice_].first + goes_on <= begun_;
    const uint64_t until = !any ? UINT64_MAX : wanted ? rows_[slice_].end() : rows_[slice_].first;
    const size_t end = FindRow(rep, at, until);
    const auto run_def = def.empty() ? def : def.subspan(at, end - at);
    const uint64_t run_values = CountValues(run_def, end - at);
    if (wanted) {
      ARROW_RETURN_NOT_OK(Keep(rep.subspan(at, end - at), run_def, kept, value_levels));
      if (values != nullptr && run_values > 0) Add({counts.values, run_values}, *values);
      counts.wanted += run_values;
    }
    counts.values += run_values;
    at = end;
  }
  return counts;
}

}  // namespace javelin::file
