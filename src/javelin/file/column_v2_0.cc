#include "javelin/file/column_v2_0_internal.h"

#include <arrow/array/concatenate.h>
#include <arrow/array/util.h>

#include "javelin/base/error.h"
#include "javelin/file/blob_field.h"
#include "javelin/file/container_internal.h"
#include "javelin/file/schema_internal.h"

namespace javelin::file {

namespace {

using arrow::ArrayData;

// The slots that a field inside others has, in runs: what lies in lists that are null is left out. Relative to the
// array's own offset.
struct Node {
  const ArrayData* data = nullptr;
  std::vector<Slice> runs;

  bool IsNull(uint64_t slot) const {
    return data->buffers[0] != nullptr && !GetBit(data->buffers[0]->data(), static_cast<uint64_t>(data->offset) + slot);
  }
  Slice ItemsOf(uint64_t slot, unsigned offset_bits) const {
    if (IsNull(slot)) return {};
    const unsigned width = offset_bits / 8;
    const uint8_t* offsets = data->buffers[1]->data() + (static_cast<uint64_t>(data->offset) + slot) * width;
    const uint64_t begin = LoadUnsigned(offsets, width);
    return {begin, LoadUnsigned(offsets + width, width) - begin};
  }

  void Descend(const ColumnLayer& layer, int child) {
    std::vector<Slice> inside;
    for (const Slice& run : runs) {
      if (!layer.is_list) {
        inside.push_back({run.first + static_cast<uint64_t>(data->offset), run.count});
        continue;
      }
      for (uint64_t slot = run.first; slot < run.end(); ++slot) {
        const Slice items = ItemsOf(slot, layer.offset_bits);
        if (items.count == 0) continue;
        if (!inside.empty() && inside.back().end() == items.first) {
          inside.back().count += items.count;
        } else {
          inside.push_back(items);
        }
      }
    }
    runs = std::move(inside);
    data = data->child_data[static_cast<size_t>(child)].get();
  }
};

Node FindNode(const ArrayData& field, const LeafPath& path) {
  Node node{.data = &field, .runs = {{0, static_cast<uint64_t>(field.length)}}};
  for (size_t depth = 0; depth < path.children.size(); ++depth)
    node.Descend(path.layers[path.layers.size() - 1 - depth], path.children[depth]);
  return node;
}

arrow::Status AppendColumns(const Field& field, LeafPath path, std::vector<PhysicalColumn>& columns) {
  const std::string& type = field.logical_type;
  const bool is_large = type.starts_with("large_list");
  const bool is_list = type.starts_with("list") || is_large;
  const bool is_blob = IsBlobDescription(field);
  const bool is_packed = is_blob || (type == "struct" && !field.children.empty() && AsksForPacking(field.metadata));
  const bool is_struct = type == "struct" && !is_packed;
  if ((!is_blob && (BlobKindOf(field) != BlobKind::kNone || type == "blob")) ||
      (!is_packed && !is_list && !is_struct && !field.children.empty())) {
    return WithField(NotSupported("column '{}' of type {} cannot be written to data files of version 2.0", path.name,
                                  field.type->ToString()),
                     "column", path.name);
  }
  if (type == "struct" && field.children.empty() && AsksForPacking(field.metadata))
    return WithField(NotSupported("column '{}' is a packed struct without fields, which cannot be written", path.name),
                     "column", path.name);
  path.layers.insert(path.layers.begin(), {.is_list = is_list, .offset_bits = is_large ? 64u : is_list ? 32u : 0u});
  path.nullable.insert(path.nullable.begin(), field.nullable);
  path.leaf = field;
  PhysicalColumn column{.path = path};
  if (is_list) {
    column.kind = ColumnKind::kLists;
    column.shape = FixedShape(64);
  } else if (is_struct) {
    column.kind = ColumnKind::kStruct;
  } else {
    if (field.type->id() == arrow::Type::DICTIONARY) column.path.kind = LeafKind::kDictionary;
    if (is_packed) column.path.kind = LeafKind::kPackedStruct;
    auto shape = StoredShapeOf(column.path);
    if (!shape.ok()) return WithContext(shape.status(), fmt::format("column '{}' cannot be written", path.name));
    column.shape = *std::move(shape);
  }
  columns.push_back(std::move(column));
  for (size_t i = 0; i < field.children.size() && !is_packed; ++i) {
    LeafPath child = path;
    child.children.push_back(static_cast<int>(i));
    child.name += "." + field.children[i].name;
    ARROW_RETURN_NOT_OK(AppendColumns(field.children[i], std::move(child), columns));
  }
  return arrow::Status::OK();
}

EncodedPage EncodeLists(const LeafPath& path, const LeafPieces& pieces) {
  std::vector<uint64_t> ends;
  std::vector<bool> nulls;
  uint64_t end = 0;
  for (const auto& piece : pieces) {
    const Node lists = FindNode(*piece, path);
    for (const Slice& run : lists.runs) {
      for (uint64_t slot = run.first; slot < run.end(); ++slot) {
        end += lists.ItemsOf(slot, path.layers[0].offset_bits).count;
        ends.push_back(end);
        nulls.push_back(lists.IsNull(slot));
      }
    }
  }
  const uint64_t null_adjustment = end + 1;
  for (size_t i = 0; i < ends.size(); ++i) ends[i] += nulls[i] ? null_adjustment : 0;
  EncodedPage page;
  page.num_rows = ends.size();
  lance::encodings::List* list = page.array_v2_0.emplace().mutable_list();
  list->set_null_offset_adjustment(null_adjustment);
  list->set_num_items(end);
  EncodeEnds(ends, *list->mutable_offsets(), page);
  return page;
}

EncodedPage CountStructs(const LeafPath& path, const LeafPieces& pieces) {
  EncodedPage page;
  page.array_v2_0.emplace().mutable_struct_();
  for (const auto& piece : pieces) page.num_rows += TotalCount(FindNode(*piece, path).runs);
  return page;
}

arrow::Result<EncodedPage> EncodeLeaf(const PhysicalColumn& column, const LeafPieces& pieces,
                                      const PageOptions& options) {
  const bool is_text = column.path.leaf.type->id() == arrow::Type::STRING;
  if (column.path.is_flat()) {
    ARROW_ASSIGN_OR_RAISE(const auto data, JoinPieces(pieces, options.pool));
    return EncodeLeafV20(ViewLeaf(*data, column.shape), column.shape, is_text, options.wishes);
  }
  ARROW_ASSIGN_OR_RAISE(const LeafRows rows, BuildLeafRows(column.path, pieces, options.pool));
  ARROW_ASSIGN_OR_RAISE(const LeafPage leaf, CutPage(column.path, rows, {0, rows.def.size()}, 0, true, options.pool));
  if (column.path.kind == LeafKind::kPackedStruct) {
    ARROW_ASSIGN_OR_RAISE(const StructPacker packer, StructPacker::Make(column.path.leaf));
    return EncodePackedV20(leaf.View(column.shape), packer);
  }
  return EncodeLeafV20(leaf.View(column.shape), column.shape, is_text, options.wishes);
}

// Pages of a dictionary column, each with a dictionary of its own.
class DictionaryPages {
 public:
  DictionaryPages(const PhysicalColumn& column, const LeafRows& rows, const PageOptions& options)
      : column_(column), rows_(rows), options_(options) {}

  // Returns how many values the entries have.
  arrow::Result<uint64_t> Encode(const Slice& entries, uint64_t first_value) {
    const LeafPath& path = column_.path;
    ARROW_ASSIGN_OR_RAISE(const LeafPage leaf, CutPage(path, rows_, entries, first_value, true, options_.pool));
    const auto indexed = IndexPage(path, rows_, leaf, /*null_item=*/true);
    if (!indexed) {
      const uint64_t half = entries.count / 2;
      ARROW_ASSIGN_OR_RAISE(const uint64_t before, Encode({entries.first, half}, first_value));
      ARROW_ASSIGN_OR_RAISE(const uint64_t behind,
                            Encode({entries.first + half, entries.count - half}, first_value + before));
      return before + behind;
    }
    ARROW_ASSIGN_OR_RAISE(const ValueShape item,
                          ItemShapeOf(static_cast<const arrow::DictionaryType&>(*path.leaf.type)));
    if (indexed->view.length > 0) pages_.push_back(EncodeDictionaryV20(*indexed, column_.shape, item));
    return indexed->view.length;
  }

  std::vector<EncodedPage> Take() { return std::move(pages_); }

 private:
  const PhysicalColumn& column_;
  const LeafRows& rows_;
  const PageOptions& options_;
  std::vector<EncodedPage> pages_;
};

}  // namespace

arrow::Result<std::vector<PhysicalColumn>> ColumnsV20Of(const Field& field) {
  std::vector<PhysicalColumn> columns;
  LeafPath path;
  path.name = field.name;
  ARROW_RETURN_NOT_OK(AppendColumns(field, std::move(path), columns));
  return columns;
}

arrow::Result<std::vector<EncodedPage>> EncodePagesV20(const PhysicalColumn& column, const LeafPieces& pieces,
                                                       const PageOptions& options) {
  if (column.path.kind == LeafKind::kDictionary) {
    ARROW_ASSIGN_OR_RAISE(const LeafRows rows, BuildLeafRows(column.path, pieces, options.pool));
    DictionaryPages pages(column, rows, options);
    ARROW_RETURN_NOT_OK(pages.Encode({0, rows.def.size()}, 0));
    return pages.Take();
  }
  std::vector<EncodedPage> pages;
  switch (column.kind) {
    case ColumnKind::kLists: pages.push_back(EncodeLists(column.path, pieces)); break;
    case ColumnKind::kStruct: pages.push_back(CountStructs(column.path, pieces)); break;
    case ColumnKind::kLeaf: {
      ARROW_ASSIGN_OR_RAISE(EncodedPage page, EncodeLeaf(column, pieces, options));
      pages.push_back(std::move(page));
    }
  }
  return pages;
}

arrow::Status CheckNoNullStructs(const ArrayData& data, const std::vector<PhysicalColumn>& columns) {
  for (const PhysicalColumn& column : columns) {
    // The place of a blob says itself that there is none.
    const bool is_packed = column.path.kind == LeafKind::kPackedStruct && !IsBlobDescription(column.path.leaf);
    if (column.kind != ColumnKind::kStruct && !is_packed) continue;
    const Node structs = FindNode(data, column.path);
    if (structs.data->GetNullCount() == 0) continue;
    for (const Slice& run : structs.runs) {
      for (uint64_t slot = run.first; slot < run.end(); ++slot) {
        if (!structs.IsNull(slot)) continue;
        return WithField(
            InvalidInput("column '{}' holds a null struct, which data files of version 2.0 cannot; give a struct of "
                         "nulls instead, or write to a table of version 2.1 or later",
                         column.path.name),
            "column", column.path.name);
      }
    }
  }
  return arrow::Status::OK();
}

}  // namespace javelin::file
