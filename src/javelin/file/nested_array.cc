#include "javelin/file/nested_array_internal.h"

#include <algorithm>

#include <arrow/array.h>
#include <arrow/array/util.h>
#include <arrow/type.h>

#include "javelin/base/error.h"
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

arrow::Status CollectLeaves(const Field& field, std::vector<ColumnLayer>& around, std::vector<LeafColumn>& leaves) {
  if (IsLeafColumn(field)) {
    LeafColumn leaf{&field, {ColumnLayer{}}};
    leaf.layers.insert(leaf.layers.end(), around.rbegin(), around.rend());
    leaves.push_back(std::move(leaf));
    return arrow::Status::OK();
  }
  const unsigned bits = OffsetBits(*field.type);
  if (bits == 0 && field.type->id() != Type::STRUCT)
    return NotSupported("columns of type {} are not readable", field.type->ToString());
  around.push_back({.is_list = bits != 0, .offset_bits = bits});
  for (const Field& child : field.children) ARROW_RETURN_NOT_OK(CollectLeaves(child, around, leaves));
  around.pop_back();
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
  Assembly(std::span<const std::unique_ptr<LeafSink>> leaves, arrow::MemoryPool* pool) : leaves_(leaves), pool_(pool) {}

  // Null if the file has none of its leaves. `depth`: of the field's own layer; 0 = top level.
  arrow::Result<std::shared_ptr<arrow::ArrayData>> Build(const Field& field, size_t depth) {
    if (IsLeafColumn(field)) {
      const auto& leaf = leaves_[next_++];
      return leaf == nullptr ? std::shared_ptr<arrow::ArrayData>() : leaf->values().Finish(field.type);
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
    return field.type->id() == Type::STRUCT ? BuildStruct(field, depth, present, std::move(children))
                                            : BuildList(field, depth, present, std::move(children));
  }

 private:
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

  arrow::Result<std::shared_ptr<arrow::ArrayData>> BuildList(
      const Field& field, size_t depth, const std::vector<LeafSink*>& leaves,
      std::vector<std::shared_ptr<arrow::ArrayData>> children) const {
    const LeafSink::Layer& layer = leaves.front()->layer(depth);
    const BufferPtr validity = layer.validity.Finish();
    ARROW_RETURN_NOT_OK(CheckAgree(field, depth, leaves, validity));
    ARROW_ASSIGN_OR_RAISE(BufferPtr offsets, leaves.front()->FinishOffsets(depth));
    for (size_t i = 1; i < leaves.size(); ++i) {
      ARROW_ASSIGN_OR_RAISE(const BufferPtr other, leaves[i]->FinishOffsets(depth));
      if (!other->Equals(*offsets)) return Corruption("the columns inside '{}' disagree about its lists", field.name);
    }
    const auto items = static_cast<int64_t>(layer.num_children);
    if (children.size() != 1 || children[0]->length != items)
      return Corruption("'{}' has {} items in lists of {} in all", field.name, children[0]->length, items);
    return arrow::ArrayData::Make(field.type, static_cast<int64_t>(layer.length), {validity, std::move(offsets)},
                                  std::move(children), static_cast<int64_t>(layer.validity.null_count()));
  }

  // A field that came later is null.
  arrow::Result<std::shared_ptr<arrow::ArrayData>> OrNulls(const Field& field, std::shared_ptr<arrow::ArrayData> array,
                                                           uint64_t length) const {
    if (array != nullptr) return array;
    if (!field.nullable) return Corruption("'{}' is not in the file and must not be null", field.name);
    ARROW_ASSIGN_OR_RAISE(const auto nulls, arrow::MakeArrayOfNull(field.type, static_cast<int64_t>(length), pool_));
    return nulls->data();
  }

  std::span<const std::unique_ptr<LeafSink>> leaves_;
  arrow::MemoryPool* pool_;
  size_t next_ = 0;
};

}  // namespace

arrow::Result<std::vector<LeafColumn>> LeafColumnsOf(const Field& field) {
  std::vector<LeafColumn> leaves;
  std::vector<ColumnLayer> around;
  ARROW_RETURN_NOT_OK(CollectLeaves(field, around, leaves));
  return leaves;
}

arrow::Result<std::shared_ptr<arrow::ArrayData>> AssembleField(const Field& field,
                                                               std::span<const std::unique_ptr<LeafSink>> leaves,
                                                               uint64_t num_rows, arrow::MemoryPool* pool) {
  ARROW_ASSIGN_OR_RAISE(auto array, Assembly(leaves, pool).Build(field, 0));
  if (array == nullptr) {
    if (!field.nullable) return Corruption("column '{}' is not in the file and must not be null", field.name);
    ARROW_ASSIGN_OR_RAISE(const auto nulls, arrow::MakeArrayOfNull(field.type, static_cast<int64_t>(num_rows), pool));
    return nulls->data();
  }
  if (static_cast<uint64_t>(array->length) != num_rows)
    return Corruption("{} rows were asked for, the pages hold {}", num_rows, array->length);
  return array;
}

}  // namespace javelin::file
