#include "javelin/file/row_picker_internal.h"

namespace javelin::file {

namespace {

void AddOne(std::vector<Slice>& values, uint64_t index) {
  if (!values.empty() && values.back().end() == index) {
    ++values.back().count;
  } else {
    values.push_back({index, 1});
  }
}

}  // namespace

arrow::Result<RowPicker::Counts> RowPicker::Pick(std::span<const uint16_t> rep, std::span<const uint16_t> def,
                                                 Levels& kept, std::vector<Slice>* values, LevelBuffer* value_levels) {
  ARROW_ASSIGN_OR_RAISE(uint16_t* rep_out, kept.rep.Append(rep.size()));
  uint16_t* def_out = nullptr;
  if (!def.empty()) {
    ARROW_ASSIGN_OR_RAISE(def_out, kept.def.Append(rep.size()));
  }
  uint16_t* value_out = nullptr;
  if (value_levels != nullptr) {
    ARROW_ASSIGN_OR_RAISE(value_out, value_levels->Append(rep.size()));
  }
  uint64_t num_kept = 0;
  Counts counts;
  bool wanted = false;
  const auto look_up = [&] {
    while (slice_ < rows_.size() && begun_ > 0 && rows_[slice_].end() < begun_) ++slice_;
    wanted = slice_ < rows_.size() && begun_ > rows_[slice_].first;
  };
  look_up();
  for (size_t i = 0; i < rep.size(); ++i) {
    if (rep[i] == page_.max_rep()) {
      ++begun_;
      look_up();
    }
    const uint16_t level = def.empty() ? uint16_t{0} : def[i];
    const bool has_value = level <= page_.max_visible();
    if (wanted) {
      rep_out[num_kept] = rep[i];
      if (def_out != nullptr) def_out[num_kept] = level;
      ++num_kept;
      if (has_value) {
        if (value_out != nullptr) value_out[counts.wanted] = level;
        if (values != nullptr) AddOne(*values, counts.values);
        ++counts.wanted;
      }
    }
    counts.values += has_value;
  }
  kept.rep.Truncate(kept.rep.size() - rep.size() + num_kept);
  if (def_out != nullptr) kept.def.Truncate(kept.def.size() - rep.size() + num_kept);
  if (value_out != nullptr) value_levels->Truncate(value_levels->size() - rep.size() + counts.wanted);
  return counts;
}

}  // namespace javelin::file
