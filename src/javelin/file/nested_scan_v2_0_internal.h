// Reading a leaf of version 2.0 that has structs or lists around it.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "javelin/file/page_reader_internal.h"

namespace javelin::file {

// In 2.0 no levels say what lies around a value. Each list has a column of its own, of where its items end; structs
// are never null. Leaves inside the same list read that column each for themselves, so that a leaf is all that is
// needed to know what lies around it, as in later versions.
struct NestedLeaf20 {
  std::vector<const ColumnMetadata*> lists;  // of the lists around the leaf, the outermost first
  const ColumnMetadata* values = nullptr;    // of the leaf itself
  ColumnLayers layers;
  // The page of the leaf of that number.
  std::function<arrow::Result<std::shared_ptr<const PageReader>>(size_t)> page;
};

// Scans rows of the column (ascending, disjoint, not empty, within `num_rows`, which the outermost column must have).
// Corruption: columns that contradict each other; NotSupported: more lists in each other than PageScan::kMaxLists. The
// columns must outlive the scan.
arrow::Result<std::unique_ptr<PageScan>> ScanNested20(NestedLeaf20 leaf, std::vector<Slice> rows, uint64_t num_rows);

}  // namespace javelin::file
