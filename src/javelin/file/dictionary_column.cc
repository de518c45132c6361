#include "javelin/file/dictionary_column_internal.h"

#include <limits>

#include <arrow/type.h>

#include "javelin/base/error.h"
#include "javelin/file/dictionary_type_internal.h"

namespace javelin::file {

namespace {

constexpr uint32_t kUnknown = std::numeric_limits<uint32_t>::max();

const arrow::DictionaryType& TypeOf(const arrow::DataType& type) {
  return static_cast<const arrow::DictionaryType&>(type);
}

}  // namespace

arrow::Result<ValueShape> ItemShapeOf(const arrow::DictionaryType& type) {
  ARROW_ASSIGN_OR_RAISE(ValueShape shape, ShapeOf(*type.value_type()));
  if (shape.kind != ValueShape::Kind::kVariable && shape.kind != ValueShape::Kind::kFixed)
    return NotSupported("dictionaries of {} cannot be stored", type.value_type()->ToString());
  return shape;
}

ValueShape IndexShapeOf(const arrow::DictionaryType& type) { return FixedShape(IndexBytes(type) * 8); }

arrow::Status DictionaryJoin::Append(const arrow::ArrayData& leaf, std::span<const Slice> runs) {
  const uint64_t count = TotalCount(runs);
  if (count == 0) return arrow::Status::OK();
  const arrow::DictionaryType& type = TypeOf(*leaf.type);
  const auto num_items = static_cast<uint64_t>(leaf.dictionary->length);
  if (leaf.dictionary.get() != dictionary_) {
    dictionary_ = leaf.dictionary.get();
    known_.assign(num_items, kUnknown);
  }
  ARROW_ASSIGN_OR_RAISE(const ValueShape shape, ItemShapeOf(type));
  const LeafView items = ViewLeaf(*leaf.dictionary, shape);
  const unsigned width = IndexBytes(type);
  const uint8_t* indices = leaf.buffers[1]->data() + static_cast<uint64_t>(leaf.offset) * width;
  numbers_.reserve(numbers_.size() + count);
  for (const Slice& run : runs) {
    for (uint64_t i = run.first; i < run.end(); ++i) {
      uint32_t number = 0;
      if (leaf.IsValid(static_cast<int64_t>(i))) {
        const uint64_t index = LoadUnsigned(indices + i * width, width);
        if (known_[index] == kUnknown) known_[index] = items_.Add(ItemAt(items, shape, index));
        number = known_[index];
      }
      numbers_.push_back(number);
    }
  }
  return arrow::Status::OK();
}

std::shared_ptr<arrow::ArrayData> DictionaryJoin::TakeNumbers() {
  const auto count = static_cast<int64_t>(numbers_.size());
  return arrow::ArrayData::Make(arrow::uint32(), count, {nullptr, arrow::Buffer::FromVector(std::move(numbers_))}, 0);
}

std::optional<IndexedPage> IndexPage(const LeafPath& path, const LeafRows& rows, const LeafPage& leaf, bool null_item) {
  const arrow::DictionaryType& type = TypeOf(*path.leaf.type);
  const unsigned width = IndexBytes(type);
  const LeafView numbers = leaf.View(FixedShape(32));
  const uint64_t max_items = MaxItems(type) - (null_item && numbers.HasNulls() ? 1 : 0);
  std::vector<uint32_t> known(rows.items.items().size(), kUnknown);
  IndexedPage page;
  page.indices.resize(numbers.length * width);
  const auto store = [&](uint64_t i, uint32_t item) {
    std::memcpy(page.indices.data() + i * width, &item, std::min<size_t>(width, sizeof(item)));
  };
  for (uint64_t i = 0; i < numbers.length; ++i) {
    if (numbers.IsNull(i)) continue;
    const auto number = LoadAt<uint32_t>(numbers.values + i * sizeof(uint32_t));
    if (known[number] == kUnknown) {
      if (page.items.size() == max_items) return std::nullopt;
      known[number] = static_cast<uint32_t>(page.items.size());
      page.items.push_back(rows.items.items()[number]);
    }
    store(i, known[number]);
  }
  for (uint64_t i = 0; null_item && i < numbers.length; ++i) {
    if (numbers.IsNull(i)) store(i, static_cast<uint32_t>(page.items.size()));
  }
  page.view.length = numbers.length;
  page.view.null_count = numbers.null_count;
  page.view.validity = numbers.validity;
  page.view.values = page.indices.data();
  return page;
}

arrow::Result<bool> EncodeDictionaryPage(const LeafPath& path, const LeafRows& rows, const LeafPage& leaf,
                                         const PageOptions& options, EncodedPage& page) {
  if (leaf.null_count == leaf.levels.num_values) {
    EncodeNoValues(leaf.levels, options, page);
    return true;
  }
  const arrow::DictionaryType& type = TypeOf(*path.leaf.type);
  const auto indexed = IndexPage(path, rows, leaf, /*null_item=*/false);
  if (!indexed) return false;
  ARROW_ASSIGN_OR_RAISE(const ValueShape shape, ItemShapeOf(type));
  ARROW_ASSIGN_OR_RAISE(DictionaryBlock dictionary, EncodeDictionaryBlock(indexed->items, shape, options));
  ARROW_ASSIGN_OR_RAISE(const ChunkEncoderPtr chunks,
                        MakeNumberChunks(indexed->view, IndexBytes(type) * 8, options.wishes));
  return EncodeMiniBlock(leaf.levels, *chunks, std::move(dictionary), options, page);
}

}  // namespace javelin::file
