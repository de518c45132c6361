#include "javelin/file/leaf_sink_internal.h"

#include <algorithm>
#include <limits>

#include "javelin/base/error.h"

namespace javelin::file {

arrow::Result<uint16_t*> LevelBuffer::Append(uint64_t count) {
  ARROW_RETURN_NOT_OK(buffer_.Resize((size_ + count) * sizeof(uint16_t)));
  size_ += count;
  return reinterpret_cast<uint16_t*>(buffer_.data()) + (size_ - count);
}

arrow::Status LevelBuffer::Append(std::span<const uint16_t> levels) {
  ARROW_ASSIGN_OR_RAISE(uint16_t* target, Append(levels.size()));
  std::copy(levels.begin(), levels.end(), target);
  return arrow::Status::OK();
}

arrow::Status LevelBuffer::AppendBytes(Bytes bytes) {
  const uint64_t count = bytes.size() / sizeof(uint16_t);
  if (count == 0) return arrow::Status::OK();
  ARROW_ASSIGN_OR_RAISE(uint16_t* target, Append(count));
  std::memcpy(target, bytes.data(), count * sizeof(uint16_t));
  return arrow::Status::OK();
}

namespace {

// 0 where there are none. Without a branch, so that many are compared at once.
uint16_t Highest(std::span<const uint16_t> levels) {
  uint16_t highest = 0;
  for (const uint16_t level : levels) highest = std::max(highest, level);
  return highest;
}

// That of no levels is above all others.
uint16_t Lowest(std::span<const uint16_t> levels) {
  uint16_t lowest = std::numeric_limits<uint16_t>::max();
  for (const uint16_t level : levels) lowest = std::min(lowest, level);
  return lowest;
}

arrow::Status CheckLevels(const PageLayers& page, std::span<const uint16_t> rep, std::span<const uint16_t> def) {
  if (!rep.empty() && !def.empty() && rep.size() != def.size())
    return Corruption("a page has {} repetition levels and {} definition levels", rep.size(), def.size());
  if (rep.empty() && page.max_rep() > 0 && !def.empty()) return Corruption("a page of lists has no repetition levels");
  if (!rep.empty() && rep.front() != page.max_rep())
    return Corruption("a row begins with repetition level {} instead of {}", rep.front(), page.max_rep());
  if (const uint16_t most = Highest(rep); most > page.max_rep())
    return Corruption("a value has repetition level {}, its column knows 0 to {}", most, page.max_rep());
  if (const uint16_t most = Highest(def); most > page.max_def())
    return Corruption("a value has definition level {}, its column knows 0 to {}", most, page.max_def());
  return arrow::Status::OK();
}

}  // namespace

LeafSink::LeafSink(ValueShape shape, ColumnLayers column, SinkMemory& memory, uint64_t expected)
    : column_(std::move(column)),
      // How many items lists hold is not known before they are read.
      expected_values_(column_.size() == 1 ? expected : 0),
      memory_(&memory),
      values_(std::move(shape), memory, expected_values_) {
  // From the outside in: rows are slots up to the first list.
  uint64_t slots = expected / PageRowsPerRow(column_);
  layers_.resize(column_.size());
  for (size_t i = column_.size(); i-- > 0;) {
    layers_[i] = std::make_unique<Layer>(memory, slots);
    if (column_[i].is_list || column_[i].dimension > 1) slots = 0;
  }
}

void LeafSink::KeepIndices(const arrow::DictionaryType& type, bool keep_whole) {
  dictionary_ = std::make_unique<DictionarySink>(type, values_, *memory_, expected_values_, keep_whole);
}

void LeafSink::Expect(uint64_t values, uint64_t bytes) {
  // Bit packing of small numbers and runs make about so much of a byte.
  constexpr uint64_t kMostForeseen = 16;
  if (column_.size() == 1) return;  // that is known
  const uint64_t value_bits = std::max<uint64_t>(MemoryBits(values_.shape()), 1);
  const uint64_t most = std::min(values, SaturatedProduct(bytes, kMostForeseen * 8) / value_bits);
  values_.Expect(most);
  if (dictionary_ != nullptr) dictionary_->Expect(most);
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
  const uint16_t highest = Highest(def);
  if (highest <= layer.inner) {
    length += num_entries;
    return validity.AppendValid(num_entries);
  }
  if (highest <= layer.visible) {
    length += num_entries;
    return validity.AppendLevels(def, layer.inner);
  }
  if (Lowest(def) > layer.visible) return arrow::Status::OK();
  LevelBuffer visible(*memory_);
  ARROW_ASSIGN_OR_RAISE(uint16_t* out, visible.Append(def.size()));
  uint64_t slots = 0;
  for (const uint16_t level : def) {
    out[slots] = level;
    slots += level <= layer.visible;
  }
  length += slots;
  visible.Truncate(slots);
  return Highest(visible.levels()) <= layer.inner ? validity.AppendValid(slots)
                                                  : validity.AppendLevels(visible.levels(), layer.inner);
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
  return column_[index].offset_bits == 32 ? (def.empty() ? CloseListsOf<int32_t, false>(index, layer, rep, def)
                                                         : CloseListsOf<int32_t, true>(index, layer, rep, def))
                                          : (def.empty() ? CloseListsOf<int64_t, false>(index, layer, rep, def)
                                                         : CloseListsOf<int64_t, true>(index, layer, rep, def));
}

// Where lists begin is as good as chance: no branch depends on it. What an entry may add is written in any case, and
// counts if it does.
template <typename Offset, bool kHasDef>
arrow::Result<uint64_t> LeafSink::CloseListsOf(size_t index, const PageLayers::Layer& layer, std::span<uint16_t> rep,
                                               std::span<uint16_t> def) {
  Layer& lists = *layers_[index];
  const uint64_t before = lists.offsets.size();
  uint64_t begun = 0;
  for (const uint16_t level : rep) begun += level != 0;
  ARROW_ASSIGN_OR_RAISE(uint8_t* offsets, AppendOffsets(index, begun + 1));
  LevelBuffer nulls(*memory_);  // of each list
  ARROW_ASSIGN_OR_RAISE(uint16_t* is_null, nulls.Append(kHasDef ? begun + 1 : 0));
  uint64_t children = lists.num_children;
  uint64_t kept = 0;
  uint64_t num_lists = 0;
  if (kHasDef && begun == rep.size() && Lowest(def) > layer.inner && Highest(def) <= layer.visible) {
    // Each entry is a list without items: none depends on the one before, so that many are done at once.
    std::fill_n(reinterpret_cast<Offset*>(offsets), begun, static_cast<Offset>(children));
    for (size_t i = 0; i < begun; ++i) is_null[i] = def[i] != layer.empty;
    for (uint16_t& level : rep) --level;
    num_lists = kept = begun;
  }
  unsigned open = 0;    // the list may have more items
  unsigned broken = 0;  // one that may not has
  for (size_t i = kept; i < rep.size(); ++i) {
    const uint16_t level = kHasDef ? def[i] : uint16_t{0};
    const unsigned begins = rep[i] != 0;
    const unsigned is_item = level <= layer.inner;
    broken |= (begins ^ 1u) & ((open & is_item) ^ 1u);
    open = begins != 0 ? is_item : open;
    StoreAt<Offset>(offsets + num_lists * sizeof(Offset), static_cast<Offset>(children));
    children += is_item;
    if constexpr (kHasDef) is_null[num_lists] = static_cast<uint16_t>((is_item ^ 1u) & (level != layer.empty));
    // A null struct between this list and the next one outside still has a slot for it, and is a null list.
    num_lists += begins & static_cast<unsigned>(level <= layer.visible);
    rep[kept] = static_cast<uint16_t>(rep[i] - 1);
    if constexpr (kHasDef) def[kept] = level;
    kept += begins;
  }
  if (broken != 0) return Corruption("a list that has no items goes on");
  lists.num_children = children;
  lists.length += num_lists;
  ARROW_RETURN_NOT_OK(lists.offsets.Resize(before + num_lists * sizeof(Offset)));
  ARROW_RETURN_NOT_OK(CheckOffset(index));
  nulls.Truncate(kHasDef ? num_lists : 0);
  ARROW_RETURN_NOT_OK(Highest(nulls.levels()) == 0 ? lists.validity.AppendValid(num_lists)
                                                   : lists.validity.AppendLevels(nulls.levels(), 0));
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
  ARROW_RETURN_NOT_OK(AppendOffset(index));
  ARROW_RETURN_NOT_OK(valid ? lists.validity.AppendValid(1) : lists.validity.AppendNull(1));
  ++lists.length;
  if (__builtin_add_overflow(lists.num_children, num_items, &lists.num_children))
    return Corruption("lists hold more than 2^64 items");
  return arrow::Status::OK();
}

arrow::Result<uint8_t*> LeafSink::AppendOffsets(size_t index, uint64_t count) {
  Layer& layer = *layers_[index];
  const uint64_t width = column_[index].offset_bits / 8;
  const uint64_t at = layer.offsets.size();
  ARROW_RETURN_NOT_OK(layer.offsets.Resize(at + count * width, SaturatedProduct(layer.expected + 1, width)));
  return layer.offsets.data() + at;
}

// What is inside all lists so far must have a number.
arrow::Status LeafSink::CheckOffset(size_t index) const {
  if (column_[index].offset_bits == 32 &&
      layers_[index]->num_children > static_cast<uint64_t>(std::numeric_limits<int32_t>::max()))
    return InvalidInput("the rows asked for hold more than 2^31 items in one list column; read fewer rows at once");
  return arrow::Status::OK();
}

// Where the next list begins.
arrow::Status LeafSink::AppendOffset(size_t index) {
  ARROW_RETURN_NOT_OK(CheckOffset(index));
  ARROW_ASSIGN_OR_RAISE(uint8_t* target, AppendOffsets(index, 1));
  std::memcpy(target, &layers_[index]->num_children, column_[index].offset_bits / 8);
  return arrow::Status::OK();
}

arrow::Result<BufferPtr> LeafSink::FinishOffsets(size_t depth) {
  const size_t index = layers_.size() - 1 - depth;
  ARROW_RETURN_NOT_OK(AppendOffset(index));
  return layers_[index]->offsets.Finish();
}

}  // namespace javelin::file
