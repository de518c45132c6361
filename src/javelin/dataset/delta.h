// What changed between two versions, as rows of the table say it themselves.
#pragma once

#include <memory>

#include <arrow/result.h>
#include <arrow/type_fwd.h>

#include "javelin/dataset/dataset.h"

namespace javelin {

enum class DeltaKind {
  kInserted,  // rows that came in the range
  kUpdated,   // rows that were there before it, and were changed last in it
};

// Rows of `dataset` of which that is true for the versions after `begin` and up to `end`, in the order of a scan: all
// columns, `_rowid`, `_row_created_at_version`, `_row_last_updated_at_version`. A row that is gone by this version, or
// was changed after `end`, is not among those updated. NotSupported: the table has no stable row ids, so its rows do
// not say it. One batch of a scan is in memory at a time.
arrow::Result<std::shared_ptr<arrow::RecordBatchReader>> ScanDelta(const Dataset& dataset, DeltaKind kind,
                                                                   TableVersion begin, TableVersion end);

}  // namespace javelin
