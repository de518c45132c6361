#include "javelin/dataset/merge_insert.h"

#include "javelin/base/error.h"
#include "javelin/dataset/join_source_internal.h"
#include "javelin/dataset/merge_join_internal.h"
#include "javelin/dataset/merge_plan_internal.h"
#include "javelin/dataset/merged_rows_internal.h"
#include "javelin/dataset/row_rewrite_internal.h"
#include "javelin/table/compaction_progress.h"

namespace javelin {

namespace internal {
namespace {

arrow::Status HandOn(const MergeMatches& matches, const DatasetState& table, RowRewrite& rewrite) {
  if (!table.has_stable_row_ids()) return arrow::Status::OK();
  ARROW_ASSIGN_OR_RAISE(const auto memory,
                        MemoryReservation::Make(*table.session->resources().memory,
                                                static_cast<int64_t>(matches.updates.size() * sizeof(table::RowOrigin)),
                                                "ids of the rows of a merge"));
  std::vector<table::RowOrigin> origins;
  origins.reserve(matches.updates.size());
  for (const RowMatch& match : matches.updates) origins.push_back(match.origin);
  return rewrite.HandOn(origins);
}

// On one version, with what was read of the source.
arrow::Result<MergedRows> MergeOnce(const Dataset& dataset, const JoinSource& source,
                                    const MergeInsertOptions& options) {
  const auto table = DatasetState::Of(dataset);
  RowRewrite rewrite(table, options.write);
  ARROW_RETURN_NOT_OK(rewrite.Check());
  ARROW_RETURN_NOT_OK(table::CheckProgress(options.compacted, table->manifest()));
  ARROW_ASSIGN_OR_RAISE(const MergePlan plan, MergePlan::Make(*table, *source.schema(), options));
  ARROW_ASSIGN_OR_RAISE(MergeMatches matches, JoinWithTable(table, plan, source));
  MergedRowsReader rows(dataset, plan, source, matches);
  if (plan.brings_rows()) {
    ARROW_RETURN_NOT_OK(rewrite.CheckNewRows(*rows.schema()));
    ARROW_RETURN_NOT_OK(rewrite.WriteRows(rows));
    ARROW_RETURN_NOT_OK(HandOn(matches, *table, rewrite));
  }
  ARROW_ASSIGN_OR_RAISE(RowMasks masks, RowMasks::Make(*table, std::move(matches.gone)));
  ARROW_RETURN_NOT_OK(rewrite.Mask(std::move(masks)));
  for (const file::Field& field : table->manifest().schema.fields())
    AddFieldIds(field, rewrite.update().changed_fields);
  rewrite.update().compacted_sstables = options.compacted;
  rewrite.update().inserted_keys = rows.TakeInsertedKeys();
  ARROW_ASSIGN_OR_RAISE(auto committed, rewrite.Commit());
  return MergedRows{table->At(std::move(committed)), rows.num_inserted(), matches.updates.size(), matches.num_deleted};
}

// Everything that can be known before a row is read.
arrow::Result<MergePlan> Check(const Dataset& dataset, const arrow::Schema& source, const MergeInsertOptions& options) {
  const auto table = DatasetState::Of(dataset);
  ARROW_RETURN_NOT_OK(RowRewrite(table, options.write).Check());
  return MergePlan::Make(*table, source, options);
}

}  // namespace
}  // namespace internal

arrow::Result<MergedRows> MergeInsert(const Dataset& dataset, arrow::RecordBatchReader& source,
                                      const MergeInsertOptions& options, const ConflictRetry& retry) {
  ARROW_RETURN_NOT_OK(dataset.session()->runtime().CheckProcess());
  ARROW_RETURN_NOT_OK(internal::CheckConflictRetry(retry));
  ARROW_ASSIGN_OR_RAISE(const internal::MergePlan plan, internal::Check(dataset, *source.schema(), options));
  ARROW_ASSIGN_OR_RAISE(const internal::JoinSource rows,
                        internal::JoinSource::Read(source, plan.columns, plan.on, dataset.session()->resources()));
  // The key stays the one by which they were read.
  MergeInsertOptions bound = options;
  bound.on = plan.on;
  return RetryOnConflict<MergedRows>(dataset, retry,
                                     [&](const Dataset& version) { return internal::MergeOnce(version, rows, bound); });
}

}  // namespace javelin
