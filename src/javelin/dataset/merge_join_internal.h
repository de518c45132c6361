// Meets the rows of a merge-insert with those of the table: which are updated, which go, which are new.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include <arrow/result.h>

#include "javelin/base/ids.h"
#include "javelin/dataset/dataset_state_internal.h"
#include "javelin/dataset/growing_memory_internal.h"
#include "javelin/dataset/join_source_internal.h"
#include "javelin/dataset/merge_plan_internal.h"
#include "javelin/table/row_lineage.h"
#include "javelin/table/transaction.h"

namespace javelin::internal {

struct RowMatch {
  uint64_t source = 0;
  RowAddress target;
  table::RowOrigin origin;  // with stable row ids
};

struct MergeMatches {
  explicit MergeMatches(MemoryBudget& budget) : memory(budget, 2 * sizeof(RowMatch), "the matches of a merge") {}

  std::vector<RowMatch> updates;  // in the order of the source, then of the table
  std::vector<bool> matched;      // rows of the source whose key the table has
  table::RowsByFragment gone;     // rows of the table that are updated or deleted
  uint64_t num_deleted = 0;
  GrowingMemory memory;  // for the updates, and for sorting them
  MemoryReservation memory_of_matched;
};

// Streams the columns of the table that keys and conditions need. Errors: those of MergeInsert that only rows show.
arrow::Result<MergeMatches> JoinWithTable(const std::shared_ptr<const DatasetState>& table, const MergePlan& plan,
                                          const JoinSource& source);

}  // namespace javelin::internal
