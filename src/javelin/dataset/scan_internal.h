// A scan: rows of all fragments in order, a bounded number of bytes at a time.
#pragma once

#include <memory>

#include <arrow/record_batch.h>
#include <arrow/result.h>

#include "javelin/dataset/dataset_state_internal.h"

namespace javelin::internal {

arrow::Result<std::shared_ptr<arrow::RecordBatchReader>> MakeScan(std::shared_ptr<const DatasetState> table,
                                                                  const ScanOptions& options);

}  // namespace javelin::internal
