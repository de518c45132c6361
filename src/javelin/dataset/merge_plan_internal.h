// What a merge-insert will do, bound to a version of the table.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <arrow/result.h>
#include <arrow/type_fwd.h>

#include "javelin/dataset/dataset_state_internal.h"
#include "javelin/dataset/merge_insert.h"
#include "javelin/query/filter.h"

namespace javelin::internal {

struct MergePlan {
  // Errors: those of MergeInsert before anything is read.
  static arrow::Result<MergePlan> Make(const DatasetState& table, const arrow::Schema& source,
                                       const MergeInsertOptions& options);

  bool updates() const { return when_matched == WhenMatched::kUpdateAll; }
  bool brings_rows() const { return updates() || inserts; }
  // Columns that updated rows keep.
  bool is_partial() const { return !missing.empty(); }

  WhenMatched when_matched = WhenMatched::kDoNothing;
  bool inserts = false;
  bool deletes_rest = false;
  std::vector<std::string> on;
  file::Schema columns;              // of the source
  std::vector<file::Field> missing;  // columns of the table that it lacks
  std::optional<query::Filter> update_condition, delete_condition;
  std::vector<file::Field> recorded_key;  // where inserted keys are recorded: the primary key, in key order
};

}  // namespace javelin::internal
