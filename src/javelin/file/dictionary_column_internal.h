// Arrow dictionary columns: arrays with a dictionary each -> pages with a dictionary each.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include <arrow/array/data.h>
#include <arrow/result.h>

#include "javelin/file/distinct_values_internal.h"
#include "javelin/file/level_builder_internal.h"
#include "javelin/file/page_encoder_internal.h"

namespace javelin::file {

// The shape of a dictionary's items; NotSupported for types that have no place in one.
arrow::Result<ValueShape> ItemShapeOf(const arrow::DictionaryType& type);
ValueShape IndexShapeOf(const arrow::DictionaryType& type);

// Numbers the values of arrays whose dictionaries differ.
class DictionaryJoin {
 public:
  // `leaf`: an array of a dictionary type as ShapeArray leaves it, which outlives the items.
  arrow::Status Append(const arrow::ArrayData& leaf, std::span<const Slice> runs);
  // One uint32 per value; arbitrary for null ones.
  std::shared_ptr<arrow::ArrayData> TakeNumbers();
  DistinctValues TakeItems() { return std::move(items_); }

 private:
  std::vector<uint32_t> numbers_;
  DistinctValues items_;
  // Numbers of the items of the dictionary met last.
  const arrow::ArrayData* dictionary_ = nullptr;
  std::vector<uint32_t> known_;
};

// The values of a page as indices of the declared width.
struct IndexedPage {
  LeafView view;  // of the indices
  std::vector<uint8_t> indices;
  std::vector<Bytes> items;  // that occur
};
// `null_item`: null values have the index behind the last item. Nothing: more items than the indices can count.
std::optional<IndexedPage> IndexPage(const LeafPath& path, const LeafRows& rows, const LeafPage& leaf, bool null_item);

// A page of rows of a dictionary column. False if it must be split: more distinct values than the indices can count, or
// lists too sparse for chunks.
arrow::Result<bool> EncodeDictionaryPage(const LeafPath& path, const LeafRows& rows, const LeafPage& leaf,
                                         const PageOptions& options, EncodedPage& page);

}  // namespace javelin::file
