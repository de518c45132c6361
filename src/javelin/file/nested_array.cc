#include "javelin/file/nested_array_internal.h"

#include <algorithm>

#include <arrow/array.h>
#include <arrow/array/util.h>
#include <arrow/type.h>

#include "javelin/base/error.h"
#include "javelin/file/array_bytes.h"
#include "javelin/file/blob_field.h"
#include "javelin/file/container_internal.h"

namespace javelin::file {

namespace {

using arrow::Type;

// 0 for what is no list.
unsigned OffsetBits(const arrow::DataType& type) {
  switch (type.id()) {
    case Type::LIST:
    case Type::MAP: return 32;
    case Type::LARGE_LIST: return 64;
    default: return 0;
  }
}

arrow::Result<ValueShape> ShapeOfLeaf(const arrow::DataType& type) {
  if (type.id() == Type::DICTIONARY) {
    ARROW_ASSIGN_OR_RAISE(ValueShape shape, ShapeOf(*static_cast<const arrow::DictionaryType&>(type).value_type()));
    if (shape.kind == ValueShape::Kind::kList)
      return NotSupported("dictionaries of lists ({}) are not readable", type.ToString());
    shape.in_dictionary = true;
    return shape;
  }
  if (type.id() != Type::STRUCT) return ShapeOf(type);
  if (type.num_fields() == 0) return ValueShape{};
  ValueShape packed{.kind = ValueShape::Kind::kStruct};
  for (const auto& child : type.fields()) {
    ARROW_ASSIGN_OR_RAISE(ValueShape shape, ShapeOf(*child->type()));
    if (shape.kind != ValueShape::Kind::kVariable && FixedBytes(shape) == 0)
      return NotSupported("packed structs with a field of type {} are not readable", child->type()->ToString());
    packed.fields.push_back(std::move(shape));
  }
  return packed;
}

// What lies around a leaf, the outermost first.
struct Around {
  std::vector<ColumnLayer> layers;
  std::vector<const Field*> lists;
};

arrow::Status CollectLeaves(const Field& field, Around& around, std::vector<LeafColumn>& leaves) {
  if (BlobKindOf(field) != BlobKind::kNone && !IsBlobDescription(field))
    return NotSupported("blobs are read as their descriptions only");
  if (IsLeafColumn(field)) {
    ARROW_ASSIGN_OR_RAISE(ValueShape shape, ShapeOfLeaf(*field.type));
    LeafColumn leaf{&field, std::move(shape), {ColumnLayer{}}, around.lists};
    leaf.layers.insert(leaf.layers.end(), around.layers.rbegin(), around.layers.rend());
    leaves.push_back(std::move(leaf));
    return arrow::Status::OK();
  }
  const bool fixed = field.type->id() == Type::FIXED_SIZE_LIST;
  const bool in_lists = !around.lists.empty();
  const unsigned bits = OffsetBits(*field.type);
  if ((bits == 0 && field.type->id() != Type::STRUCT && !fixed) || (fixed && in_lists))
    return NotSupported("columns of type {}{} are not readable", field.type->ToString(), in_lists ? " in lists" : "");
  const auto dimension = fixed ? static_cast<const arrow::FixedSizeListType&>(*field.type).list_size() : 1;
  if (dimension < 1) return NotSupported("columns of type {} are not readable", field.type->ToString());
  around.layers.push_back({.is_list = bits != 0, .offset_bits = bits, .dimension = static_cast<uint64_t>(dimension)});
  if (bits != 0) around.lists.push_back(&field);
  for (const Field& child : field.children) ARROW_RETURN_NOT_OK(CollectLeaves(child, around, leaves));
  around.layers.pop_back();
  if (bits != 0) around.lists.pop_back();
  return arrow::Status::OK();
}

bool SameBits(const BufferPtr& left, const BufferPtr& right, uint64_t length) {
  if (left == nullptr || right == nullptr) return left == right;
  const uint64_t whole = length / 8;
  if (std::memcmp(left->data(), right->data(), whole) != 0) return false;
  const uint8_t rest = static_cast<uint8_t>((1u << (length % 8)) - 1);
  return rest == 0 || ((left->data()[whole] ^ right->data()[whole]) & rest) == 0;
}

class Assembly {
 public:
  Assembly(std::span<const std::unique_ptr<LeafSink>> leaves, SinkMemory& memory) : leaves_(leaves), memory_(memory) {}

  // Null if the file has none of its leaves. `depth`: of the field's own layer; 0 = top level.
  arrow::Result<std::shared_ptr<arrow::ArrayData>> Build(const Field& field, size_t depth) {
    if (IsLeafColumn(field)) {
      const auto& leaf = leaves_[next_++];
      return leaf == nullptr ? std::shared_ptr<arrow::ArrayData>() : BuildLeaf(field.type, *leaf);
    }
    const size_t begin = next_;
    std::vector<std::shared_ptr<arrow::ArrayData>> children;
    for (const Field& child : field.children) {
      ARROW_ASSIGN_OR_RAISE(auto array, Build(child, depth + 1));
      children.push_back(std::move(array));
    }
    std::vector<LeafSink*> present;
    for (size_t i = begin; i < next_; ++i) {
      if (leaves_[i] != nullptr) present.push_back(leaves_[i].get());
    }
    if (present.empty()) return std::shared_ptr<arrow::ArrayData>();
    if (field.type->id() == Type::STRUCT) return BuildStruct(field, depth, present, std::move(children));
    if (children.size() != 1 || children[0] == nullptr)
      return NotSupported("'{}' has items that came later than the file", field.name);
    return field.type->id() == Type::FIXED_SIZE_LIST ? BuildFixedSizeList(field, depth, present, std::move(children[0]))
                                                     : BuildList(field, depth, present, std::move(children[0]));
  }

  // A field that came later is null.
  arrow::Result<std::shared_ptr<arrow::ArrayData>> OrNulls(const Field& field, std::shared_ptr<arrow::ArrayData> array,
                                                           uint64_t length) const {
    if (array != nullptr) return array;
    if (!field.nullable) return Corruption("column '{}' is not in the file and must not be null", field.name);
    return Nulls(field.type, length);
  }

 private:
  arrow::Result<std::shared_ptr<arrow::ArrayData>> Nulls(const std::shared_ptr<arrow::DataType>& type,
                                                         uint64_t length) const {
    ARROW_RETURN_NOT_OK(memory_.Reserve(NullBytes(*type, length)));
    ARROW_ASSIGN_OR_RAISE(const auto nulls, arrow::MakeArrayOfNull(type, static_cast<int64_t>(length), memory_.pool()));
    return nulls->data();
  }

  arrow::Result<std::shared_ptr<arrow::ArrayData>> BuildLeaf(const std::shared_ptr<arrow::DataType>& type,
                                                             LeafSink& leaf) const {
    ValueSink& values = leaf.values();
    if (leaf.dictionary() != nullptr) return leaf.dictionary()->Finish(type);
    if (type->id() == Type::DICTIONARY) return Nulls(type, values.length());
    if (type->id() == Type::STRUCT && type->num_fields() == 0)  // the format says nothing of nulls in it
      return arrow::ArrayData::Make(type, static_cast<int64_t>(values.length()), {nullptr}, 0);
    return values.Finish(type);
  }

  // All leaves of a field say the same of it.
  arrow::Status CheckAgree(const Field& field, size_t depth, const std::vector<LeafSink*>& leaves,
                           const BufferPtr& validity) const {
    const LeafSink::Layer& first = leaves.front()->layer(depth);
    if (first.validity.length() != first.length)
      return Corruption("'{}' has {} slots and validity of {}", field.name, first.length, first.validity.length());
    for (const LeafSink* leaf : leaves) {
      const LeafSink::Layer& other = leaf->layer(depth);
      if (other.length != first.length || !SameBits(other.validity.Finish(), validity, first.length))
        return Corruption("the columns inside '{}' disagree about which of it are null", field.name);
    }
    return arrow::Status::OK();
  }

  arrow::Result<std::shared_ptr<arrow::ArrayData>> BuildStruct(
      const Field& field, size_t depth, const std::vector<LeafSink*>& leaves,
      std::vector<std::shared_ptr<arrow::ArrayData>> children) const {
    const LeafSink::Layer& layer = leaves.front()->layer(depth);
    const BufferPtr validity = layer.validity.Finish();
    ARROW_RETURN_NOT_OK(CheckAgree(field, depth, leaves, validity));
    for (size_t i = 0; i < children.size(); ++i) {
      ARROW_ASSIGN_OR_RAISE(children[i], OrNulls(field.children[i], std::move(children[i]), layer.length));
      if (static_cast<uint64_t>(children[i]->length) != layer.length)
        return Corruption("'{}' has {} values in {} structs", field.children[i].name, children[i]->length,
                          layer.length);
    }
    return arrow::ArrayData::Make(field.type, static_cast<int64_t>(layer.length), {validity}, std::move(children),
                                  static_cast<int64_t>(layer.validity.null_count()));
  }

  arrow::Result<std::shared_ptr<arrow::ArrayData>> BuildList(const Field& field, size_t depth,
                                                             const std::vector<LeafSink*>& leaves,
                                                             std::shared_ptr<arrow::ArrayData> item) const {
    const LeafSink::Layer& layer = leaves.front()->layer(depth);
    const BufferPtr validity = layer.validity.Finish();
    ARROW_RETURN_NOT_OK(CheckAgree(field, depth, leaves, validity));
    ARROW_ASSIGN_OR_RAISE(BufferPtr offsets, leaves.front()->FinishOffsets(depth));
    for (size_t i = 1; i < leaves.size(); ++i) {
      ARROW_ASSIGN_OR_RAISE(const BufferPtr other, leaves[i]->FinishOffsets(depth));
      if (!other->Equals(*offsets)) return Corruption("the columns inside '{}' disagree about its lists", field.name);
    }
    const auto items = static_cast<int64_t>(layer.num_children);
    if (item->length != items)
      return Corruption("'{}' has {} items in lists of {} in all", field.name, item->length, items);
    return arrow::ArrayData::Make(field.type, static_cast<int64_t>(layer.length), {validity, std::move(offsets)},
                                  {std::move(item)}, static_cast<int64_t>(layer.validity.null_count()));
  }

  arrow::Result<std::shared_ptr<arrow::ArrayData>> BuildFixedSizeList(const Field& field, size_t depth,
                                                                      const std::vector<LeafSink*>& leaves,
                                                                      std::shared_ptr<arrow::ArrayData> item) const {
    const LeafSink::Layer& layer = leaves.front()->layer(depth);
    const BufferPtr validity = layer.validity.Finish();
    ARROW_RETURN_NOT_OK(CheckAgree(field, depth, leaves, validity));
    const auto length = static_cast<int64_t>(layer.length);
    const int64_t dimension = static_cast<const arrow::FixedSizeListType&>(*field.type).list_size();
    if (item->length != length * dimension)
      return Corruption("'{}' has {} items in {} lists of {}", field.name, item->length, length, dimension);
    return arrow::ArrayData::Make(field.type, length, {validity}, {std::move(item)},
                                  static_cast<int64_t>(layer.validity.null_count()));
  }

  std::span<const std::unique_ptr<LeafSink>> leaves_;
  SinkMemory& memory_;
  size_t next_ = 0;
};

}  // namespace

arrow::Result<std::vector<LeafColumn>> LeafColumnsOf(const Field& field) {
  std::vector<LeafColumn> leaves;
  Around around;
  ARROW_RETURN_NOT_OK(CollectLeaves(field, around, leaves));
  return leaves;
}

std::unique_ptr<LeafSink> MakeLeafSink(const LeafColumn& leaf, uint64_t rows, bool keep_whole, SinkMemory& memory) {
  auto sink = std::make_unique<LeafSink>(leaf.shape, leaf.layers, memory, rows);
  if (leaf.shape.in_dictionary && leaf.shape.kind != ValueShape::Kind::kNull)
    sink->KeepIndices(static_cast<const arrow::DictionaryType&>(*leaf.field->type), keep_whole);
  return sink;
}

arrow::Result<std::shared_ptr<arrow::ArrayData>> AssembleField(const Field& field,
                                                               std::span<const std::unique_ptr<LeafSink>> leaves,
                                                               uint64_t num_rows, SinkMemory& memory) {
  Assembly assembly(leaves, memory);
  ARROW_ASSIGN_OR_RAISE(auto array, assembly.Build(field, 0));
  ARROW_ASSIGN_OR_RAISE(array, assembly.OrNulls(field, std::move(array), num_rows));
  if (static_cast<uint64_t>(array->length) != num_rows)
    return Corruption("{} rows were asked for, the pages hold {}", num_rows, array->length);
  return array;
}

}  // namespace javelin::file
