// Rows that go and rows that come in one commit: the one shape of update, delete, merge-insert and compaction.
#pragma once

#include <memory>
#include <vector>

#include <arrow/result.h>
#include <arrow/type_fwd.h>

#include "javelin/base/ids.h"
#include "javelin/dataset/dataset.h"
#include "javelin/table/mem_wal_details.h"

namespace javelin {

struct RowChange {
  arrow::RecordBatchReader* new_rows = nullptr;      // columns as for Dataset::Append; null = none
  std::vector<RowAddress> masked;                    // rows that go, in any order; repeats count once
  std::vector<table::CompactedSsTable> compacted{};  // what the table holds afterwards; one entry a shard
  // Rows that go too, each once: the first new rows, in this order, are their next versions, and keep row id and
  // version of creation on a table with stable row ids.
  std::vector<RowAddress> replaced{};
};

// Commits the change, found out by reading `dataset`, as one version and returns it. Also an empty change is a version.
// Of `options` the limits of files and max_commit_retries count. Blocks; `change.new_rows` is used up.
//
// Nothing of the change is visible on failure, and the files written are removed again as far as that works (not after
// OutcomeUnknown: the version may exist). Errors before the first write: InvalidInput (an address without a live row,
// columns that do not fit, fewer new rows than replaced ones (found out after writing), stale or impossible progress:
// table/compaction_progress.h), NotSupported (as Append). RetryableConflict: rows that go, or the progress of a shard,
// changed since; find out the change again on the newest version. IncompatibleConflict: the table was replaced, or
// somebody else compacted as far.
arrow::Result<std::shared_ptr<Dataset>> CommitRowChange(const Dataset& dataset, const RowChange& change,
                                                        const WriteOptions& options = {});

}  // namespace javelin
