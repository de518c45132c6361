// The rows of a scan in the order of their values.
#pragma once

#include <memory>
#include <vector>

#include <arrow/record_batch.h>
#include <arrow/result.h>

#include "javelin/dataset/dataset_state_internal.h"
#include "javelin/dataset/scanner.h"

namespace javelin::internal {

// A number, text or moment, or a field of a struct that is one. NotSupported: another type.
arrow::Status CheckSortable(const arrow::Field& key);

// Where the first `keys.size()` columns of a batch are the keys: its rows in their order, as positions; rows with equal
// keys stay as they are. Floats as Rust's total order has them: NaN above all, -0.0 below 0.0.
arrow::Result<std::shared_ptr<arrow::Array>> SortedPositions(const arrow::RecordBatch& rows,
                                                             const std::vector<Ordering>& keys,
                                                             arrow::MemoryPool* pool);

struct SortedScanOptions {
  std::vector<Ordering> keys;  // of the first columns
  uint64_t offset = 0;
  uint64_t limit = UINT64_MAX;
  uint64_t batch_rows = 8192;
};

// The rows of `rows` sorted, without the columns of the keys. They are read at the first batch and held in memory:
// OutOfMemory if the budget does not allow it. With a limit only as many as can be among the first are kept.
std::shared_ptr<arrow::RecordBatchReader> SortRows(std::shared_ptr<const DatasetState> table,
                                                   std::shared_ptr<arrow::RecordBatchReader> rows,
                                                   SortedScanOptions options);

}  // namespace javelin::internal
