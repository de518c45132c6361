#include "javelin/dataset/row_change.h"

#include <set>

#include <arrow/array.h>
#include <arrow/record_batch.h>

#include "javelin/base/error.h"
#include "javelin/dataset/dataset_state_internal.h"
#include "javelin/dataset/projection_internal.h"
#include "javelin/dataset/row_masks_internal.h"
#include "javelin/dataset/row_rewrite_internal.h"
#include "javelin/dataset/take_internal.h"
#include "javelin/table/compaction_progress.h"

namespace javelin {

namespace internal {
namespace {

arrow::Status CheckReplaced(const RowChange& change) {
  const std::set<RowAddress> distinct(change.replaced.begin(), change.replaced.end());
  if (distinct.size() != change.replaced.size()) return InvalidInput("a row is to be replaced twice");
  return arrow::Status::OK();
}

arrow::Result<RowMasks> MasksOf(const DatasetState& table, const RowChange& change) {
  std::vector<RowAddress> gone = change.masked;
  gone.insert(gone.end(), change.replaced.begin(), change.replaced.end());
  return RowMasks::Make(table, gone);
}

// What the replaced rows hand on; nothing where rows have no ids of their own.
arrow::Result<std::vector<table::RowOrigin>> OriginsOf(const std::shared_ptr<const DatasetState>& table,
                                                       const RowChange& change) {
  std::vector<table::RowOrigin> origins;
  if (change.replaced.empty() || !table->has_stable_row_ids()) return origins;
  const std::vector<std::string> columns = {std::string(kRowIdName), std::string(kCreatedVersionName)};
  ARROW_ASSIGN_OR_RAISE(const auto rows, TakeRows(table, change.replaced, columns));
  const auto& ids = static_cast<const arrow::UInt64Array&>(*rows->column(0));
  const auto& versions = static_cast<const arrow::UInt64Array&>(*rows->column(1));
  for (int64_t i = 0; i < rows->num_rows(); ++i) origins.push_back({ids.Value(i), versions.Value(i)});
  return origins;
}

// Everything is checked, then written, then referred to.
arrow::Result<table::LoadedManifest> Run(const std::shared_ptr<const DatasetState>& table, const RowChange& change,
                                         const WriteOptions& options) {
  RowRewrite rewrite(table, options);
  ARROW_RETURN_NOT_OK(rewrite.Check());
  ARROW_RETURN_NOT_OK(table::CheckProgress(change.compacted, table->manifest()));
  if (change.new_rows != nullptr) ARROW_RETURN_NOT_OK(rewrite.CheckNewRows(*change.new_rows->schema()));
  ARROW_RETURN_NOT_OK(CheckReplaced(change));
  ARROW_ASSIGN_OR_RAISE(RowMasks masks, MasksOf(*table, change));
  ARROW_ASSIGN_OR_RAISE(const std::vector<table::RowOrigin> origins, OriginsOf(table, change));

  if (change.new_rows != nullptr) ARROW_RETURN_NOT_OK(rewrite.WriteRows(*change.new_rows));
  if (rewrite.rows_written() < change.replaced.size())
    return InvalidInput("{} new rows cannot replace {}", rewrite.rows_written(), change.replaced.size());
  ARROW_RETURN_NOT_OK(rewrite.HandOn(origins));
  ARROW_RETURN_NOT_OK(rewrite.Mask(std::move(masks)));
  rewrite.update().compacted_sstables = change.compacted;
  return rewrite.Commit();
}

}  // namespace
}  // namespace internal

arrow::Result<std::shared_ptr<Dataset>> CommitRowChange(const Dataset& dataset, const RowChange& change,
                                                        const WriteOptions& options) {
  const auto table = internal::DatasetState::Of(dataset);
  ARROW_ASSIGN_OR_RAISE(auto committed, internal::Run(table, change, options));
  return table->At(std::move(committed));
}

}  // namespace javelin
