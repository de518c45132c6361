#include "javelin/file/level_builder_internal.h"

#include <algorithm>
#include <limits>

#include <arrow/array/concatenate.h>
#include <arrow/array/util.h>

#include "javelin/base/error.h"
#include "javelin/file/blob_field.h"
#include "javelin/file/container_internal.h"
#include "javelin/file/dictionary_column_internal.h"
#include "javelin/file/logical_type_internal.h"
#include "javelin/file/schema_internal.h"
#include "javelin/file/struct_packer_internal.h"

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
      if (!layer.is_list) OpenItems(*data, layer.dimension);
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

  // Of structs, which have one each, and of fixed-size lists of structs, around which there are no others. Neither's
  // children are sliced along with it; those of other lists are counted by offsets.
  void OpenItems(const ArrayData& data, uint64_t dimension) {
    for (Slice& run : slots)
      run = {(static_cast<uint64_t>(data.offset) + run.first) * dimension, run.count * dimension};
    if (dimension == 1) return;
    std::vector<uint16_t> outer_def = std::move(def);
    def.clear();
    def.reserve(outer_def.size() * dimension);
    for (const uint16_t level : outer_def) def.insert(def.end(), dimension, level);
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

bool IsStructList(const Field& field) { return field.logical_type.starts_with("fixed_size_list:struct:"); }

arrow::Result<LeafKind> KindOfLeaf(const Field& field) {
  if ((BlobKindOf(field) != BlobKind::kNone && !IsBlobDescription(field)) || field.logical_type == "blob")
    return NotSupported("blobs cannot be written there");
  if (field.type->id() == Type::DICTIONARY) return LeafKind::kDictionary;
  if (field.type->id() != Type::STRUCT) return LeafKind::kValues;
  if (!field.children.empty()) return LeafKind::kPackedStruct;
  if (AsksForPacking(field.metadata)) return NotSupported("packed structs without fields cannot be written");
  return LeafKind::kEmptyStruct;
}

// A layer of the field's own.
arrow::Result<ColumnLayer> LayerOf(const Field& field) {
  const bool is_large = field.logical_type.starts_with("large_list");
  const bool is_list = is_large || field.logical_type.starts_with("list") || field.logical_type == "map";
  ColumnLayer layer{.is_list = is_list, .offset_bits = is_large ? 64u : is_list ? 32u : 0u};
  if (IsStructList(field)) {
    ARROW_ASSIGN_OR_RAISE(const int32_t dimension, StructListDimension(field.logical_type));
    layer.dimension = static_cast<uint64_t>(dimension);
  }
  return layer;
}

class PathFinder {
 public:
  arrow::Status Append(const Field& field, LeafPath path) {
    ARROW_ASSIGN_OR_RAISE(ColumnLayer layer, LayerOf(field));
    has_list_ |= layer.is_list;
    has_struct_list_ |= IsStructList(field);
    path.layers.insert(path.layers.begin(), layer);
    path.nullable.insert(path.nullable.begin(), field.nullable);
    if (IsLeafColumn(field)) {
      path.leaf = field;
      ARROW_ASSIGN_OR_RAISE(path.kind, KindOfLeaf(field));
      paths.push_back(std::move(path));
      return arrow::Status::OK();
    }
    for (size_t i = 0; i < field.children.size(); ++i) {
      LeafPath child = path;
      child.children.push_back(static_cast<int>(i));
      child.name += "." + field.children[i].name;
      ARROW_RETURN_NOT_OK(Append(field.children[i], std::move(child)));
    }
    return arrow::Status::OK();
  }

  // What the released reader cannot take.
  arrow::Status Check() const {
    if (has_list_ && has_struct_list_)
      return NotSupported("fixed-size lists of structs cannot be written with lists around or inside them");
    for (const LeafPath& path : paths) {
      if (path.kind == LeafKind::kEmptyStruct && (has_list_ || has_struct_list_))
        return NotSupported("'{}' is a struct without fields inside a list, which cannot be written", path.name);
    }
    return arrow::Status::OK();
  }

  std::vector<LeafPath> paths;

 private:
  bool has_list_ = false;
  bool has_struct_list_ = false;
};

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
  // Of these the released reader miscounts pages without nulls beside others.
  bool has_list = false;
  for (size_t i = 0; i < layers.size() && !only_page; ++i) {
    has_list |= layers[i].is_list;
    const bool is_struct_list = layers[i].dimension > 1;
    if (((has_list && !layers[i].is_list) || is_struct_list) && path.nullable[i]) occurs[first_levels[i]] = true;
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
  PathFinder finder;
  LeafPath path;
  path.name = field.name;
  arrow::Status found = finder.Append(field, std::move(path));
  if (found.ok()) found = finder.Check();
  if (!found.ok()) return WithContext(found, fmt::format("column '{}' of type {}", field.name, field.type->ToString()));
  return std::move(finder.paths);
}

arrow::Result<ValueShape> StoredShapeOf(const LeafPath& path) {
  const arrow::DataType& type = *path.leaf.type;
  switch (path.kind) {
    case LeafKind::kValues: return ShapeOf(type);
    case LeafKind::kEmptyStruct: return ValueShape{};
    case LeafKind::kDictionary: {
      const auto& dictionary = static_cast<const arrow::DictionaryType&>(type);
      ARROW_RETURN_NOT_OK(ItemShapeOf(dictionary));
      return IndexShapeOf(dictionary);
    }
    case LeafKind::kPackedStruct: {
      ARROW_ASSIGN_OR_RAISE(const StructPacker packer, StructPacker::Make(path.leaf));
      return packer.shape();
    }
  }
  return Internal("a leaf of an unknown kind");
}

const ArrayData& LeafOf(const ArrayData& field, const LeafPath& path) {
  const ArrayData* data = &field;
  for (int child : path.children) data = data->child_data[static_cast<size_t>(child)].get();
  return *data;
}

namespace {

// Values of pieces of a leaf in the form that is stored.
class LeafGatherer {
 public:
  LeafGatherer(const LeafPath& path, arrow::MemoryPool* pool) : path_(path), pool_(pool) {}

  arrow::Status Append(const ArrayData& leaf, std::span<const Slice> runs) {
    switch (path_.kind) {
      case LeafKind::kDictionary: return dictionary_.Append(leaf, runs);
      case LeafKind::kEmptyStruct: num_empty_ += TotalCount(runs); return arrow::Status::OK();
      case LeafKind::kPackedStruct: {
        ARROW_ASSIGN_OR_RAISE(const StructPacker packer, StructPacker::Make(path_.leaf));
        ARROW_ASSIGN_OR_RAISE(auto packed, packer.Pack(leaf, runs, pool_));
        arrays_.push_back(arrow::MakeArray(std::move(packed)));
        return arrow::Status::OK();
      }
      case LeafKind::kValues: {
        ARROW_ASSIGN_OR_RAISE(auto gathered, GatherRuns(leaf, runs, pool_));
        arrays_.push_back(arrow::MakeArray(std::move(gathered)));
        return arrow::Status::OK();
      }
    }
    return arrow::Status::OK();
  }

  arrow::Status Finish(LeafRows& rows) {
    if (path_.kind == LeafKind::kDictionary) {
      rows.values = dictionary_.TakeNumbers();
      rows.items = dictionary_.TakeItems();
    } else if (path_.kind == LeafKind::kEmptyStruct) {
      rows.values = ArrayData::Make(arrow::null(), static_cast<int64_t>(num_empty_), {nullptr});
    } else if (arrays_.size() == 1) {
      rows.values = arrays_[0]->data();
    } else {
      ARROW_ASSIGN_OR_RAISE(auto joined, arrow::Concatenate(arrays_, pool_));
      rows.values = joined->data();
    }
    return arrow::Status::OK();
  }

 private:
  const LeafPath& path_;
  arrow::MemoryPool* pool_;
  arrow::ArrayVector arrays_;
  DictionaryJoin dictionary_;
  uint64_t num_empty_ = 0;
};

}  // namespace

arrow::Result<LeafRows> BuildLeafRows(const LeafPath& path, const std::vector<std::shared_ptr<ArrayData>>& pieces,
                                      arrow::MemoryPool* pool) {
  LeafRows rows;
  LeafGatherer gatherer(path, pool);
  for (const auto& piece : pieces) {
    Descent descent(path);
    const std::shared_ptr<ArrayData> leaf = descent.Run(*piece).Copy();
    leaf->type = path.leaf.type;  // same storage, perhaps not the same names inside
    ARROW_RETURN_NOT_OK(gatherer.Append(*leaf, descent.slots));
    if (pieces.size() == 1) {
      rows.rep = std::move(descent.rep);
      rows.def = std::move(descent.def);
    }
    rows.rep.insert(rows.rep.end(), descent.rep.begin(), descent.rep.end());
    rows.def.insert(rows.def.end(), descent.def.begin(), descent.def.end());
  }
  ARROW_RETURN_NOT_OK(gatherer.Finish(rows));
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
      begin = (begin + static_cast<uint64_t>(data->offset)) * layer.dimension;
      end = (end + static_cast<uint64_t>(data->offset)) * layer.dimension;
    }
    data = data->child_data[static_cast<size_t>(path.children[depth])].get();
  }
  if (end <= begin) return bytes;
  uint64_t value_bytes = BytesForBits((end - begin) * MemoryBits(shape));
  if (path.kind == LeafKind::kPackedStruct) {
    const auto packer = StructPacker::Make(path.leaf);
    if (packer.ok()) value_bytes = packer->PackedBytes(*data, begin, end - begin);
  } else if (shape.kind == ValueShape::Kind::kVariable) {
    const auto width = static_cast<unsigned>(shape.bytes());
    const uint8_t* offsets = data->buffers[1]->data() + (static_cast<uint64_t>(data->offset) + begin) * width;
    value_bytes += LoadUnsigned(offsets + (end - begin) * width, width) - LoadUnsigned(offsets, width);
  }
  if (path.is_flat()) return value_bytes;
  return bytes + std::max(end - begin, value_bytes);  // each costs levels too, however small it is
}

}  // namespace javelin::file
