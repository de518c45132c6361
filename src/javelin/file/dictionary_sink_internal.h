// Values of an Arrow dictionary column as they are read: the numbers of items.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include <arrow/array/data.h>
#include <arrow/result.h>
#include <arrow/type_fwd.h>

#include "javelin/file/distinct_values_internal.h"
#include "javelin/file/leaf_view_internal.h"
#include "javelin/file/value_sink_internal.h"

namespace javelin::file {

// Every page has a dictionary of its own, or none; the array has one for all. That of a page is handed on as it is
// where all values come from it. Else the items that occur are found by their values, each once for a page.
class DictionarySink {
 public:
  // `values`: takes the validity of all values, and the values of pages without a dictionary. `keep_whole`: a
  // dictionary may be handed on although not all of it occurs.
  DictionarySink(const arrow::DictionaryType& type, ValueSink& values, SinkMemory& memory, uint64_t expected,
                 bool keep_whole);

  // So many more values will come.
  void Expect(uint64_t count) { expected_ = SaturatedSum(num_values(), count); }
  // Whether indices into so many items have a place here; the values themselves always have.
  bool Holds(uint64_t num_items) const { return num_items <= max_items_; }
  // Values of a page as numbers of its items, which Holds; checked by the caller, but for those of nulls. `distinct`:
  // no two items are equal, and none is null.
  arrow::Status Append(const std::shared_ptr<arrow::ArrayData>& items, bool distinct, Bytes indices,
                       uint64_t index_bytes);

  // After the last page. Corruption: validity and values differ in number; InvalidInput: more items occur than indices
  // of the type tell apart.
  arrow::Status Settle();
  // The array of everything, once it is settled. Call once.
  arrow::Result<std::shared_ptr<arrow::ArrayData>> Finish(const std::shared_ptr<arrow::DataType>& type);

 private:
  // Values one after the other that come from one dictionary, or from pages without one.
  struct Part {
    std::shared_ptr<arrow::ArrayData> items;  // null: plain values
    bool distinct = false;
    uint64_t count = 0;
  };

  uint64_t num_values() const { return indices_.size() / index_bytes_; }
  bool IsWhole() const { return keep_whole_ && parts_.size() == 1 && parts_[0].distinct; }
  arrow::Status AddPlainPart();
  arrow::Result<std::shared_ptr<arrow::ArrayData>> PlainValues();
  arrow::Status NumberParts();
  // The values of a part.
  struct Values {
    LeafView items;  // where it is plain, the values themselves
    uint64_t first = 0;
    uint64_t count = 0;
    bool is_plain = false;
    const uint8_t* validity = nullptr;  // of all values; null: all are valid
  };
  template <typename Index>
  void Number(const Values& values);
  arrow::Result<std::shared_ptr<arrow::ArrayData>> Items(const std::shared_ptr<arrow::DataType>& type) const;

  const std::shared_ptr<arrow::DataType> index_type_;
  const uint64_t index_bytes_;
  const uint64_t max_items_;
  const bool keep_whole_;
  ValueSink& values_;
  SinkMemory& memory_;
  uint64_t expected_;
  SinkBuffer indices_;  // of the items of each part; once settled, of those found
  std::vector<Part> parts_;
  uint64_t num_plain_ = 0;  // values of the parts without dictionary
  DistinctValues found_;
};

// Whether no two items are equal and none is null.
arrow::Result<bool> AreDistinct(const arrow::ArrayData& items, const ValueShape& shape, SinkMemory& memory);

}  // namespace javelin::file
