// Gives rows of a table new values.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <arrow/result.h>

#include "javelin/dataset/conflict_retry.h"
#include "javelin/dataset/dataset.h"
#include "javelin/dataset/scanner.h"

namespace javelin {

struct UpdatedRows {
  std::shared_ptr<Dataset> dataset;
  uint64_t num_rows_updated = 0;
};

// One commit, also where no row is updated: the rows for which `where` holds (none given: all) go, and come back in
// new data files, in the order of a scan, each column of `set` with the value of its SQL text for the row as it was.
// On a table with stable row ids they keep ids and versions of creation. Reads and writes a batch at a time; of each
// row 32 bytes at most are kept. Of `options` the version and limits of files and max_commit_retries count.
//
// Nothing is visible on failure, and the files written are removed again (not after OutcomeUnknown). Errors before
// anything is read: InvalidInput (nothing to set, an unknown or repeated column, a text that does not bind or a value
// that does not fit its column), NotSupported (a field of a struct, a column of blobs, JSON or dictionaries; a
// version that none of ours can follow). Later: InvalidInput (a null where none is allowed), RetryableConflict after
// all retries, IncompatibleConflict. Blocks.
arrow::Result<UpdatedRows> UpdateRows(const Dataset& dataset, const std::vector<ComputedColumn>& set,
                                      const std::optional<std::string>& where = {}, const WriteOptions& options = {},
                                      const ConflictRetry& retry = {});

}  // namespace javelin
