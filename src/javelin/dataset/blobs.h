// The bytes of blob columns, from what a scan says of where they lie.
#pragma once

#include <memory>

#include <arrow/result.h>
#include <arrow/type_fwd.h>

#include "javelin/dataset/dataset.h"

namespace javelin {

// `rows` as Scan or Take of this version return them, with the column `_rowaddr`: descriptions of blobs become the
// bytes (large_binary; null where the blob is null), other columns stay as they are. One request per data file or
// sidecar, and one for the size of each sidecar. All bytes of `rows` are in memory at once, within the memory budget.
// InvalidInput: there is a blob column, but no `_rowaddr`, or it names rows that do not exist; Corruption: a blob lies
// outside its object; NotSupported: a blob outside the table (external or managed), or inside a struct or list. Blocks;
// thread-safe.
arrow::Result<std::shared_ptr<arrow::RecordBatch>> ReadBlobs(const Dataset& dataset,
                                                             const std::shared_ptr<arrow::RecordBatch>& rows);

// How many of such rows, from the first on, are at most `bytes` bytes with the bytes of their blobs; at least 1. For
// who reads the blobs of a batch in several steps.
arrow::Result<int64_t> RowsThatFitWithBlobs(const Dataset& dataset, const arrow::RecordBatch& rows, uint64_t bytes);

}  // namespace javelin
