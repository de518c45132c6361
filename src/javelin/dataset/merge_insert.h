// Merges rows into a table by key: rows that are there are updated or deleted, others are inserted; rows of the table
// whose key is not among those given may go.
//
//   ARROW_ASSIGN_OR_RAISE(const MergedRows merged, MergeInsert(*dataset, rows,
//       {.on = {"id"}, .when_matched = WhenMatched::kUpdateAll, .inserts_not_matched = true}));
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <arrow/result.h>
#include <arrow/type_fwd.h>

#include "javelin/dataset/conflict_retry.h"
#include "javelin/dataset/dataset.h"
#include "javelin/table/mem_wal_details.h"

namespace javelin {

enum class WhenMatched { kDoNothing, kUpdateAll, kDelete, kFail };

struct MergeInsertOptions {
  std::vector<std::string> on{};  // columns of the key; none = the primary key of the table
  WhenMatched when_matched = WhenMatched::kDoNothing;
  // Of kUpdateAll: SQL over `source.x` and `target.x`; a row for which it is not true stays as it is.
  std::optional<std::string> update_condition{};
  bool inserts_not_matched = false;
  bool deletes_not_matched_by_source = false;
  std::optional<std::string> delete_condition{};     // of these, over the columns of the table; none = all of them
  std::vector<table::CompactedSsTable> compacted{};  // as RowChange::compacted
  WriteOptions write{};                              // version and limits of files, max_commit_retries
};

struct MergedRows {
  std::shared_ptr<Dataset> dataset;
  uint64_t num_inserted_rows = 0, num_updated_rows = 0, num_deleted_rows = 0;  // the first two: of new rows
};

// One commit, also where nothing changes. Keys are equal as values are; a null equals nothing. Updated rows come to the
// end of the table in the order of `source`, then those inserted; with stable row ids the updated ones keep ids and
// versions of creation. Columns that `source` lacks keep their values, and are null where rows are inserted; a merge
// that brings no rows needs those of the key only. What `on` the primary key inserts is recorded, so that of two that
// insert one key at once the later one runs again; on other columns both insert it, as with the released library.
//
// `source` is held in memory, within the budget, for runs on newer versions too; of the table the columns of keys and
// conditions are streamed, and for each updated row some 50 bytes kept. Nothing is visible on failure, and files that
// were written are removed again (not after OutcomeUnknown). Errors before anything is read: InvalidInput (nothing to
// do, no such column, another type, a condition that does not bind, a column missing that must not be null),
// NotSupported (a key of blobs or of a field of a struct; a version that none of ours can follow). Later: OutOfMemory
// (`source` does not fit), InvalidInput (kFail and a key is there; two rows of `source` would change one row; a null
// where none is allowed), RetryableConflict after all retries, IncompatibleConflict. Blocks.
arrow::Result<MergedRows> MergeInsert(const Dataset& dataset, arrow::RecordBatchReader& source,
                                      const MergeInsertOptions& options, const ConflictRetry& retry = {});

}  // namespace javelin
