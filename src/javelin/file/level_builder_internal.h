// Structs and lists around a leaf's values -> levels (docs/format.md, "Levels").
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <arrow/array/data.h>
#include <arrow/result.h>

#include "javelin/file/column_layers_internal.h"
#include "javelin/file/distinct_values_internal.h"
#include "javelin/file/page_levels_internal.h"
#include "javelin/file/schema.h"

namespace javelin::file {

// What the pages of a leaf store in place of its Arrow arrays.
enum class LeafKind {
  kValues,        // the values
  kDictionary,    // indices into a dictionary of the page
  kPackedStruct,  // the bytes of all fields of a row together
  kEmptyStruct,   // nothing
};

// How to come from the array of a top-level field to one of its leaves.
struct LeafPath {
  ColumnLayers layers;         // the leaf first, the field last
  std::vector<bool> nullable;  // by the schema, like `layers`
  std::vector<int> children;   // the child array to take in each layer but the leaf; the field's first
  std::string name;            // "column.child.item"
  Field leaf;
  LeafKind kind = LeafKind::kValues;

  // Pages are made of the arrays as they are, without levels of their own.
  bool is_flat() const { return layers.size() == 1 && kind == LeafKind::kValues; }
};

// The leaves of a field in the order of its physical columns. NotSupported: a kind of nesting that is not written.
arrow::Result<std::vector<LeafPath>> LeafPathsOf(const Field& field);
// The shape of what the pages of the leaf store; NotSupported for values that have no shape.
arrow::Result<ValueShape> StoredShapeOf(const LeafPath& path);

const arrow::ArrayData& LeafOf(const arrow::ArrayData& field, const LeafPath& path);

// Rows of a column in which every layer has a level for null and every list one for empty, whether they occur or not.
// Must not outlive the arrays that it was made of.
struct LeafRows {
  std::vector<uint16_t> rep;                 // empty: no lists
  std::vector<uint16_t> def;                 // one per entry
  std::shared_ptr<arrow::ArrayData> values;  // what has a slot, in order; may hold values where levels say null
  DistinctValues items;                      // of a dictionary; the values are their numbers, as uint32
};

// `pieces`: arrays of the field, not empty. What lies under null lists is left out.
arrow::Result<LeafRows> BuildLeafRows(const LeafPath& path,
                                      const std::vector<std::shared_ptr<arrow::ArrayData>>& pieces,
                                      arrow::MemoryPool* pool);

// gather_runs.cc: the values of runs (ascending, disjoint) of a leaf's array, without a copy if they are one. Which of
// them are null is not carried over, except for the items of fixed-size lists.
arrow::Result<std::shared_ptr<arrow::ArrayData>> GatherRuns(const arrow::ArrayData& leaf, std::span<const Slice> runs,
                                                            arrow::MemoryPool* pool);

// A part of such rows with the levels that occur in it.
struct LeafPage {
  PageLevels levels;
  std::shared_ptr<arrow::ArrayData> values;
  std::shared_ptr<arrow::Buffer> validity;  // bitmap; null: all valid
  uint64_t null_count = 0;

  // Must not outlive the page.
  LeafView View(const ValueShape& shape) const;
};

// Entries [first, end) begin and end with a row; `first_value`: how many values are before them. `only_page`: the
// column has no other. Else structs around lists are given a level for null even in a page without one: the released
// reader takes such a column only if all its pages do, or none.
arrow::Result<LeafPage> CutPage(const LeafPath& path, const LeafRows& rows, const Slice& entries, uint64_t first_value,
                                bool only_page, arrow::MemoryPool* pool);

// Bytes of memory that rows [first, first + count) of a field take on behalf of one of its leaves, a dictionary left
// out.
uint64_t FieldBytes(const arrow::ArrayData& field, const LeafPath& path, const ValueShape& shape, uint64_t first,
                    uint64_t count);

}  // namespace javelin::file
