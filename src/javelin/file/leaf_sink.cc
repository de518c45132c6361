#include "javelin/file/leaf_sink_internal.h"

#include <algorithm>
#include <limits>

#include "javelin/base/error.h"

namespace javelin::file {

arrow::Result<uint16_t*> LevelBuffer::Append(uint64_t count) {
  ARROW_RETURN_NOT_OK(memory_->Grow(buffer_, (size_ + count) * sizeof(uint16_t)));
  size_ += count;
  return reinterpret_cast<uint16_t*>(buffer_->mutable_data()) + (size_ - count);
}

arrow::Status LevelBuffer::AppendBytes(Bytes bytes) {
  const uint64_t count = bytes.size() / sizeof(uint16_t);
  if (count == 0) return arrow::Status::OK();
  ARROW_ASSIGN_OR_RAISE(uint16_t* target, Append(count));
  std::memcpy(target, bytes.data(), count * sizeof(uint16_t));
  return arrow::Status::OK();
}

namespace {

arrow::Status CheckLevels(const PageLayers& page, std::span<const uint16_t> rep, std::span<const uint16_t> def) {
  if (!rep.empty() && !def.empty() && rep.size() != def.size())
    return Corruption("a page has {} repetition levels and {} definition levels", rep.size(), def.size());
  if (rep.empty() && page.max_rep() > 0 && !def.empty()) return Corruption("a page of lists has no repetition levels");
  if (!rep.empty() && rep.front() != page.max_rep())
    return Corruption("a row begins with repetition level {} instead of {}", rep.front(), page.max_rep());
  const auto above = [](std::span<const uint16_t> levels, uint16_t most) {
    return std::find_if(levels.begin(), levels.end(), [&](uint16_t level) { return level > most; });
  };
  if (const auto found = above(rep, page.max_rep()); found != rep.end())
    return Corruption("a value has repetition level {}, its column knows 0 to {}", *found, page.max_rep());
  if (const auto found = above(def, page.max_def()); found != def.end())
    return Corruption("a value has definition level {}, its column knows 0 to {}", *found, page.max_def());
  return arrow::Status::OK();
}

}  // namespace

LeafSink::LeafSink(ValueShape shape, ColumnLayers column, SinkMemory& memory, uint64_t expected)
    : column_(std::move(column)),
      memory_(&memory),
      // How many items lists hold is not known before they are read.
      values_(std::move(shape), memory, column_.size() == 1 ? expected : 0) {
  for (size_t i = 0; i < column_.size(); ++i) layers_.push_back(std::make_unique<Layer>(memory, 0));
}

arrow::Status LeafSink::AppendRows(const PageLayers& page, Levels levels, uint64_t num_rows) {
  std::span<uint16_t> rep = levels.rep.levels();
  std::span<uint16_t> def = levels.def.levels();
  ARROW_RETURN_NOT_OK(CheckLevels(page, rep, def));
  uint64_t entries = !rep.empty() ? rep.size() : !def.empty() ? def.size() : page.max_rep() > 0 ? 0 : num_rows;
  const uint64_t rows = num_rows / PageRowsPerRow(column_);
  for (size_t i = 0; i < page.layers().size(); ++i) {
    const PageLayers::Layer& layer = page.layers()[i];
    if (column_[i].dimension > 1) {
      ARROW_ASSIGN_OR_RAISE(entries, CloseFixedSizeLists(column_[i].dimension, layer, def, entries));
      if (!rep.empty()) rep = rep.first(entries);
      if (!def.empty()) def = def.first(entries);
    }
    if (layer.is_list) {
      ARROW_ASSIGN_OR_RAISE(entries, CloseLists(i, layer, rep, def));
      rep = rep.first(entries);
      if (!def.empty()) def = def.first(entries);
    } else {
      ARROW_RETURN_NOT_OK(AppendSlots(i, layer, def, entries));
    }
  }
  if (entries != rows) return Corruption("{} rows were asked of a page, its levels make {}", rows, entries);
  return arrow::Status::OK();
}

// One slot for each entry that is not hidden by a list without items.
arrow::Status LeafSink::AppendSlots(size_t index, const PageLayers::Layer& layer, std::span<const uint16_t> def,
                                    uint64_t num_entries) {
  ValiditySink& validity = index == 0 ? values_.validity() : layers_[index]->validity;
  uint64_t& length = layers_[index]->length;
  if (def.empty()) {
    length += num_entries;
    return validity.AppendValid(num_entries);
  }
  LevelBuffer unset(*memory_);  // 0 = valid
  ARROW_ASSIGN_OR_RAISE(uint16_t* out, unset.Append(def.size()));
  uint64_t slots = 0;
  uint16_t any = 0;
  for (const uint16_t level : def) {
    out[slots] = level > layer.inner;
    any |= level <= layer.visible ? out[slots] : 0;
    slots += level <= layer.visible;
  }
  length += slots;
  return any == 0 ? validity.AppendValid(slots) : validity.AppendLevels(unset.levels().first(slots));
}

arrow::Result<uint64_t> LeafSink::CloseFixedSizeLists(uint64_t dimension, const PageLayers::Layer& layer,
                                                      std::span<uint16_t> def, uint64_t num_entries) const {
  if (num_entries % dimension != 0)
    return Corruption("{} entries make no whole number of lists of {}", num_entries, dimension);
  const uint64_t slots = num_entries / dimension;
  if (def.empty()) return slots;
  for (uint64_t slot = 0; slot < slots; ++slot) {
    const std::span<const uint16_t> group = def.subspan(slot * dimension, dimension);
    // All of them say so where the list itself is null; else only what lies inside differs.
    const uint16_t outside = *std::max_element(group.begin(), group.end());
    if (outside > layer.inner && *std::min_element(group.begin(), group.end()) != outside)
      return Corruption("the items of a fixed-size list disagree about whether it is null");
    def[slot] = outside > layer.inner ? outside : uint16_t{0};
  }
  return slots;
}

// Makes lists of the entries, and leaves one entry for each, as the layers outside see it. Returns how many.
arrow::Result<uint64_t> LeafSink::CloseLists(size_t index, const PageLayers::Layer& layer, std::span<uint16_t> rep,
                                             std::span<uint16_t> def) {
  Layer& lists = *layers_[index];
  uint64_t kept = 0;
  bool open = false;  // the list may have more items
  for (size_t i = 0; i < rep.size(); ++i) {
    const uint16_t level = def.empty() ? uint16_t{0} : def[i];
    const bool is_item = level <= layer.inner;
    if (rep[i] == 0) {
      if (!open || !is_item) return Corruption("a list that has no items goes on");
      ++lists.num_children;
      continue;
    }
    open = is_item;
    // A null struct between this list and the next one outside still has a slot for it, and is a null list.
    if (level <= layer.visible) {
      ARROW_RETURN_NOT_OK(AppendOffset(lists, column_[index].offset_bits, lists.num_children));
      const bool valid = is_item || level == layer.empty;
      ARROW_RETURN_NOT_OK(valid ? lists.validity.AppendValid(1) : lists.validity.AppendNull(1));
      ++lists.length;
    }
    lists.num_children += is_item;
    rep[kept] = static_cast<uint16_t>(rep[i] - 1);
    if (!def.empty()) def[kept] = level;
    ++kept;
  }
  return kept;
}

arrow::Status LeafSink::AppendValidSlots(size_t depth, uint64_t count) {
  Layer& layer = *layers_[layers_.size() - 1 - depth];
  layer.length += count;
  return layer.validity.AppendValid(count);
}

arrow::Status LeafSink::AppendList(size_t depth, bool valid, uint64_t num_items) {
  const size_t index = layers_.size() - 1 - depth;
  Layer& lists = *layers_[index];
  ARROW_RETURN_NOT_OK(AppendOffset(lists, column_[index].offset_bits, lists.num_children));
  ARROW_RETURN_NOT_OK(valid ? lists.validity.AppendValid(1) : lists.validity.AppendNull(1));
  ++lists.length;
  if (__builtin_add_overflow(lists.num_children, num_items, &lists.num_children))
    return Corruption("lists hold more than 2^64 items");
  return arrow::Status::OK();
}

arrow::Status LeafSink::AppendOffset(Layer& layer, unsigned bits, uint64_t offset) const {
  if (bits == 32 && offset > static_cast<uint64_t>(std::numeric_limits<int32_t>::max()))
    return InvalidInput("the rows asked for hold more than 2^31 items in one list column; read fewer rows at once");
  const uint64_t width = bits / 8;
  const uint64_t at = layer.offsets == nullptr ? 0 : static_cast<uint64_t>(layer.offsets->size());
  ARROW_RETURN_NOT_OK(memory_->Grow(layer.offsets, at + width));
  std::memcpy(layer.offsets->mutable_data() + at, &offset, width);
  return arrow::Status::OK();
}

arrow::Result<BufferPtr> LeafSink::FinishOffsets(size_t depth) {
  const size_t index = layers_.size() - 1 - depth;
  Layer& layer = *layers_[index];
  ARROW_RETURN_NOT_OK(AppendOffset(layer, column_[index].offset_bits, layer.num_children));
  return BufferPtr(layer.offsets);
}

}  // namespace javelin::file
