#include "javelin/file/level_builder_internal.h"

#include <algorithm>
#include <limits>

#include <arrow/array/concatenate.h>
#include <arrow/array/util.h>

#include "javelin/base/error.h"
#include "javelin/file/container_internal.h"
#include "javelin/file/schema_internal.h"

namespace javelin::file {

namespace {

using arrow::ArrayData;
using arrow::Type;

// The first definition level of each layer, the leaf first, and one behind the last.
std::vector<uint16_t> FirstLevels(const ColumnLayers& layers) {
  std::vector<uint16_t> first = {1};
  for (const ColumnLayer& layer : layers)
    first.push_back(static_cast<uint16_t>(first.back() + (layer.is_list ? 2 : 1)));
  return first;
}

uint16_t CountLists(const ColumnLayers& layers) {
  return static_cast<uint16_t>(
      std::count_if(layers.begin(), layers.end(), [](const ColumnLayer& layer) { return layer.is_list; }));
}

bool IsNull(const ArrayData& data, uint64_t index) {
  if (data.type->id() == Type::NA) return true;
  return data.buffers[0] != nullptr && !GetBit(data.buffers[0]->data(), static_cast<uint64_t>(data.offset) + index);
}

bool MayHaveNulls(const ArrayData& data) { return data.type->id() == Type::NA || data.GetNullCount() > 0; }

// Descends through the layers of one array. Entries are what the layers so far are divided into; each has a slot in the
// layer's array, or lies in a list without items.
class Descent {
 public:
  explicit Descent(const LeafPath& path) : path_(path), first_levels_(FirstLevels(path.layers)) {}

  // Returns the leaf's array.
  const ArrayData& Run(const ArrayData& field) {
    const auto num_rows = static_cast<uint64_t>(field.length);
    uint16_t list = CountLists(path_.layers);
    if (list > 0) rep.assign(num_rows, list);
    def.assign(num_rows, 0);
    slots = {{0, num_rows}};
    const ArrayData* data = &field;
    for (size_t depth = 0;; ++depth) {
      const size_t index = path_.layers.size() - 1 - depth;
      const ColumnLayer& layer = path_.layers[index];
      if (!layer.is_list) {
        MarkNulls(*data, first_levels_[index]);
      } else if (layer.offset_bits == 64) {
        OpenLists<int64_t>(*data, first_levels_[index], --list);
      } else {
        OpenLists<int32_t>(*data, first_levels_[index], --list);
      }
      if (index == 0) return *data;
      // The children of a struct are not sliced along with it; those of a list are counted by its offsets.
      if (!layer.is_list) {
        for (Slice& run : slots) run.first += static_cast<uint64_t>(data->offset);
      }
      data = data->child_data[static_cast<size_t>(path_.children[depth])].get();
    }
  }

  std::vector<uint16_t> rep;
  std::vector<uint16_t> def;
  std::vector<Slice> slots;  // runs, ascending, of the slots that entries have in the array reached

 private:
  void MarkNulls(const ArrayData& data, uint16_t null) {
    if (!MayHaveNulls(data)) return;
    size_t entry = 0;
    for (const Slice& run : slots) {
      for (uint64_t slot = run.first; slot < run.end(); ++slot, ++entry) {
        while (def[entry] >= no_slot_) ++entry;
        if (def[entry] == 0 && IsNull(data, slot)) def[entry] = null;
      }
    }
  }

  // `go_on`: the repetition level of all items but the first of a list.
  template <typename Offset>
  void OpenLists(const ArrayData& data, uint16_t null, uint16_t go_on) {
    std::vector<uint16_t> outer_rep = std::move(rep);
    std::vector<uint16_t> outer_def = std::move(def);
    std::vector<Slice> lists = std::move(slots);
    rep.clear();
    def.clear();
    slots.clear();
    const Offset* offsets = lists.empty() || lists[0].count == 0 ? nullptr : data.GetValues<Offset>(1);
    const bool has_nulls = MayHaveNulls(data);
    size_t entry = 0;
    auto close = [&](uint16_t level) {
      rep.push_back(outer_rep[entry]);
      def.push_back(level);
    };
    for (const Slice& run : lists) {
      for (uint64_t list = run.first; list < run.end(); ++list, ++entry) {
        for (; outer_def[entry] >= no_slot_; ++entry) close(outer_def[entry]);
        const auto begin = static_cast<uint64_t>(offsets[list]);
        const uint64_t count = static_cast<uint64_t>(offsets[list + 1]) - begin;
        if (outer_def[entry] > 0) {
          close(outer_def[entry]);  // in a struct that is null
        } else if (has_nulls && IsNull(data, list)) {
          close(null);
        } else if (count == 0) {
          close(static_cast<uint16_t>(null + 1));
        } else {
          close(0);
          rep.insert(rep.end(), count - 1, go_on);
          def.insert(def.end(), count - 1, 0);
          AddSlots({begin, count});
        }
      }
    }
    for (; entry < outer_def.size(); ++entry) close(outer_def[entry]);
    no_slot_ = null;
  }

  void AddSlots(const Slice& run) {
    if (!slots.empty() && slots.back().end() == run.first) {
      slots.back().count += run.count;
    } else {
      slots.push_back(run);
    }
  }

  const LeafPath& path_;
  const std::vector<uint16_t> first_levels_;
  uint16_t no_slot_ =
      std::numeric_limits<uint16_t>::max();  // entries of this definition level or a higher one have none
};

arrow::Status AppendPaths(const Field& field, LeafPath path, std::vector<LeafPath>& paths) {
  const std::string& type = field.logical_type;
  const bool is_large = type.starts_with("large_list");
  const bool is_list = type.starts_with("list") || type == "map";
  const bool around = is_list || is_large || type == "struct";
  const bool blob = field.metadata.contains(std::string(kBlobMetadata)) || type == "blob";
  // A struct without fields, a packed one, and a fixed-size list of structs are of other kinds.
  if (blob || around == IsLeafColumn(field)) {
    return NotSupported("column '{}' of type {}{} cannot be written", path.name, field.type->ToString(),
                        blob ? " (blob)" : "");
  }
  path.layers.insert(path.layers.begin(), {.is_list = is_list || is_large,
                                           .offset_bits = is_large  ? 64u
                                                          : is_list ? 32u
                                                                    : 0u});
  path.nullable.insert(path.nullable.begin(), field.nullable);
  if (!around) {
    path.leaf = field;
    paths.push_back(std::move(path));
    return arrow::Status::OK();
  }
  for (size_t i = 0; i < field.children.size(); ++i) {
    LeafPath child = path;
    child.children.push_back(static_cast<int>(i));
    child.name += "." + field.children[i].name;
    ARROW_RETURN_NOT_OK(AppendPaths(field.children[i], std::move(child), paths));
  }
  return arrow::Status::OK();
}

pb::RepDefLayer KindOfLayer(bool is_list, bool has_null, bool has_empty) {
  if (!is_list) return has_null ? pb::NULLABLE_ITEM : pb::ALL_VALID_ITEM;
  if (has_null) return has_empty ? pb::NULL_AND_EMPTY_LIST : pb::NULLABLE_LIST;
  return has_empty ? pb::EMPTYABLE_LIST : pb::ALL_VALID_LIST;
}

// True if a struct around the layer, no list in between, is null somewhere. The layer is then null as well for a
// reader, which needs a level for that even though entries name the struct; also one that the schema calls not
// nullable.
bool IsMasked(const ColumnLayers& layers, size_t index, const std::vector<uint16_t>& first_levels,
              const std::vector<bool>& occurs) {
  for (size_t i = index + 1; i < layers.size() && !layers[i].is_list; ++i) {
    if (occurs[first_levels[i]]) return true;
  }
  return false;
}

// Numbers the levels of the page: what occurs in it, by its level in the rows.
std::vector<uint16_t> Renumber(const LeafPath& path, std::span<const uint16_t> def, bool only_page, PageLevels& page) {
  const ColumnLayers& layers = path.layers;
  const std::vector<uint16_t> first_levels = FirstLevels(layers);
  std::vector<bool> occurs(first_levels.back(), false);
  for (uint16_t level : def) occurs[level] = true;
  bool has_list = false;
  for (size_t i = 0; i < layers.size() && !only_page; ++i) {
    has_list |= layers[i].is_list;
    if (has_list && !layers[i].is_list && path.nullable[i]) occurs[first_levels[i]] = true;
  }
  std::vector<uint16_t> numbers(first_levels.back(), 0);
  bool below_list = true;  // nothing but items so far
  for (size_t i = 0; i < layers.size(); ++i) {
    const uint16_t null = first_levels[i];
    const bool is_list = layers[i].is_list;
    const bool has_null = occurs[null] || IsMasked(layers, i, first_levels, occurs);
    const bool has_empty = is_list && occurs[null + size_t{1}];
    if (has_null) numbers[null] = ++page.max_def;
    if (has_empty) numbers[null + size_t{1}] = ++page.max_def;
    below_list &= !is_list;
    if (below_list) page.max_visible = page.max_def;
    page.layers.push_back(KindOfLayer(is_list, has_null, has_empty));
  }
  return numbers;
}

}  // namespace

arrow::Result<std::vector<LeafPath>> LeafPathsOf(const Field& field) {
  std::vector<LeafPath> paths;
  LeafPath path;
  path.name = field.name;
  ARROW_RETURN_NOT_OK(AppendPaths(field, std::move(path), paths));
  return paths;
}

const ArrayData& LeafOf(const ArrayData& field, const LeafPath& path) {
  const ArrayData* data = &field;
  for (int child : path.children) data = data->child_data[static_cast<size_t>(child)].get();
  return *data;
}

arrow::Result<LeafRows> BuildLeafRows(const LeafPath& path, const std::vector<std::shared_ptr<ArrayData>>& pieces,
                                      arrow::MemoryPool* pool) {
  LeafRows rows;
  arrow::ArrayVector values;
  for (const auto& piece : pieces) {
    Descent descent(path);
    const ArrayData& leaf = descent.Run(*piece);
    const std::shared_ptr<ArrayData> named = leaf.Copy();
    named->type = path.leaf.type;  // same storage, perhaps not the same names inside
    ARROW_ASSIGN_OR_RAISE(auto gathered, GatherRuns(*named, descent.slots, pool));
    values.push_back(arrow::MakeArray(gathered));
    if (pieces.size() == 1) {
      rows = {std::move(descent.rep), std::move(descent.def), std::move(gathered)};
      return rows;
    }
    rows.rep.insert(rows.rep.end(), descent.rep.begin(), descent.rep.end());
    rows.def.insert(rows.def.end(), descent.def.begin(), descent.def.end());
  }
  ARROW_ASSIGN_OR_RAISE(auto joined, arrow::Concatenate(values, pool));
  rows.values = joined->data();
  return rows;
}

LeafView LeafPage::View(const ValueShape& shape) const {
  LeafView view = ViewLeaf(*values, shape);
  view.validity = validity == nullptr ? nullptr : validity->data();
  view.validity_offset = 0;
  view.null_count = null_count;
  return view;
}

arrow::Result<LeafPage> CutPage(const LeafPath& path, const LeafRows& rows, const Slice& entries, uint64_t first_value,
                                bool only_page, arrow::MemoryPool* pool) {
  LeafPage page;
  PageLevels& levels = page.levels;
  const std::span<const uint16_t> def(rows.def.data() + entries.first, entries.count);
  const std::vector<uint16_t> numbers = Renumber(path, def, only_page, levels);
  levels.max_rep = CountLists(path.layers);
  levels.num_rows = levels.num_values = entries.count;
  if (levels.max_rep > 0) {
    const auto begin = rows.rep.begin() + static_cast<std::ptrdiff_t>(entries.first);
    levels.rep.assign(begin, begin + static_cast<std::ptrdiff_t>(entries.count));
    levels.num_rows = static_cast<uint64_t>(std::count(levels.rep.begin(), levels.rep.end(), levels.max_rep));
  }
  if (levels.max_def > 0) {
    levels.def.resize(entries.count);
    ARROW_ASSIGN_OR_RAISE(page.validity, arrow::AllocateEmptyBitmap(static_cast<int64_t>(entries.count), pool));
    uint8_t* valid = page.validity->mutable_data();
    uint64_t value = 0;
    for (uint64_t i = 0; i < entries.count; ++i) {
      levels.def[i] = numbers[def[i]];
      if (levels.def[i] > levels.max_visible) continue;
      valid[value / 8] = static_cast<uint8_t>(valid[value / 8] | (levels.def[i] == 0) << (value % 8));
      page.null_count += levels.def[i] > 0;
      ++value;
    }
    levels.num_values = value;
  }
  page.values = rows.values->Slice(static_cast<int64_t>(first_value), static_cast<int64_t>(levels.num_values));
  return page;
}

uint64_t FieldBytes(const ArrayData& field, const LeafPath& path, const ValueShape& shape, uint64_t first,
                    uint64_t count) {
  uint64_t begin = first;
  uint64_t end = first + count;
  uint64_t bytes = 0;
  const ArrayData* data = &field;
  for (size_t depth = 0; depth < path.children.size() && end > begin; ++depth) {
    const ColumnLayer& layer = path.layers[path.layers.size() - 1 - depth];
    bytes += BytesForBits((end - begin) * (layer.offset_bits + 1));
    if (layer.offset_bits == 64) {
      const auto* offsets = data->GetValues<int64_t>(1);
      begin = static_cast<uint64_t>(offsets[begin]);
      end = static_cast<uint64_t>(offsets[end]);
    } else if (layer.offset_bits == 32) {
      const auto* offsets = data->GetValues<int32_t>(1);
      begin = static_cast<uint64_t>(offsets[begin]);
      end = static_cast<uint64_t>(offsets[end]);
    } else {
      begin += static_cast<uint64_t>(data->offset);
      end += static_cast<uint64_t>(data->offset);
    }
    data = data->child_data[static_cast<size_t>(path.children[depth])].get();
  }
  if (end <= begin) return bytes;
  uint64_t value_bytes = BytesForBits((end - begin) * MemoryBits(shape));
  if (shape.kind == ValueShape::Kind::kVariable) {
    const auto width = static_cast<unsigned>(shape.bytes());
    const uint8_t* offsets = data->buffers[1]->data() + (static_cast<uint64_t>(data->offset) + begin) * width;
    value_bytes += LoadUnsigned(offsets + (end - begin) * width, width) - LoadUnsigned(offsets, width);
  }
  if (path.is_flat()) return value_bytes;
  return bytes + std::max(end - begin, value_bytes);  // each costs levels too, however small it is
}

}  // namespace javelin::file
