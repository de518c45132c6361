// Takes the rows out of a table that a condition holds for.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include <arrow/result.h>

#include "javelin/dataset/conflict_retry.h"
#include "javelin/dataset/dataset.h"

namespace javelin {

struct DeletedRows {
  std::shared_ptr<Dataset> dataset;  // the version without them
  uint64_t num_deleted_rows = 0;
};

// One commit, also where no row goes. The rows are those of `dataset`: what others appended since stays, what they
// deleted in the same fragments is merged. If they changed the same rows, it runs again on the newest version.
//
// Nothing is visible on failure, and deletion files are removed again (not after OutcomeUnknown). Errors: those of
// Dataset::Scan; NotSupported: a version that none of ours can follow; RetryableConflict after all retries;
// IncompatibleConflict: the table was replaced. Blocks.
arrow::Result<DeletedRows> DeleteRows(const Dataset& dataset, const std::string& predicate,
                                      const ConflictRetry& retry = {});

}  // namespace javelin
