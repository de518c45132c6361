// A scan: rows of fragments in order, a bounded number of bytes at a time.
#pragma once

#include <memory>
#include <vector>

#include <arrow/record_batch.h>
#include <arrow/result.h>

#include "javelin/dataset/dataset_state_internal.h"
#include "javelin/dataset/projection_internal.h"
#include "javelin/dataset/scan_plan_internal.h"

namespace javelin::internal {

std::vector<const table::Fragment*> AllFragments(const DatasetState& table);

struct RowScan {
  std::vector<const table::Fragment*> fragments;  // of the table
  ScanPlan::Cursor begin{.left = UINT64_MAX};
  uint64_t batch_rows = ScanOptions{}.batch_rows;    // not 0
  uint64_t batch_bytes = ScanOptions{}.batch_bytes;  // not 0
};

// Live rows from `begin` on, as they are stored. Reads nothing yet.
std::shared_ptr<arrow::RecordBatchReader> ScanRows(std::shared_ptr<const DatasetState> table, Projection projection,
                                                   RowScan scan);

// What Dataset::Scan asks for.
arrow::Result<std::shared_ptr<arrow::RecordBatchReader>> MakeScan(std::shared_ptr<const DatasetState> table,
                                                                  const ScanOptions& options);

}  // namespace javelin::internal
