#include "javelin/dataset/optimize.h"

#include <set>

#include <arrow/array.h>
#include <arrow/compute/initialize.h>
#include <arrow/record_batch.h>

#include "javelin/base/error.h"
#include "javelin/dataset/blobs.h"
#include "javelin/dataset/data_files_internal.h"
#include "javelin/dataset/fragment_rows_internal.h"
#include "javelin/dataset/incoming_rows_internal.h"
#include "javelin/dataset/optimize_internal.h"
#include "javelin/dataset/projection_internal.h"
#include "javelin/dataset/scan_internal.h"
#include "javelin/dataset/write_internal.h"
#include "javelin/file/blob_field.h"
#include "javelin/table/moved_rows.h"
#include "javelin/table/transaction.h"
#include "javelin/table/versions.h"

namespace javelin {

namespace internal {

namespace {

using BatchPtr = std::shared_ptr<arrow::RecordBatch>;

arrow::Result<std::shared_ptr<Dataset>> AtVersion(const Dataset& dataset, TableVersion version) {
  if (dataset.version() == version) return DatasetState::MakeDataset(DatasetState::Of(dataset));
  return dataset.Checkout(version);
}

arrow::Result<std::vector<const table::Fragment*>> FragmentsOf(const DatasetState& table, const OptimizeTask& task) {
  std::vector<const table::Fragment*> fragments;
  for (FragmentId id : task.fragments) {
    ARROW_ASSIGN_OR_RAISE(const table::Fragment* fragment, table.GetFragment(id));
    if (!fragments.empty() && fragments.back()->id >= id)
      return InvalidInput("fragments of a task must be in ascending order; {} is behind {}", id, fragments.back()->id);
    fragments.push_back(fragment);
  }
  return fragments;
}

bool HoldsBlobs(const file::Schema& schema) {
  const auto& fields = schema.fields();
  return std::any_of(fields.begin(), fields.end(), file::HoldsBlobs);
}

std::span<const uint64_t> Numbers(const arrow::RecordBatch& batch, std::string_view column) {
  const auto& values = static_cast<const arrow::UInt64Array&>(*batch.GetColumnByName(std::string(column)));
  return {values.raw_values(), static_cast<size_t>(values.length())};
}

OptimizeMetrics Measure(const std::vector<const table::Fragment*>& old, const std::vector<table::Fragment>& added) {
  OptimizeMetrics metrics{.fragments_removed = old.size(), .fragments_added = added.size()};
  for (const table::Fragment* fragment : old)
    metrics.files_removed += fragment->files.size() + (fragment->deletion_file ? 1 : 0);
  for (const table::Fragment& fragment : added) metrics.files_added += fragment.files.size();
  return metrics;
}

// The rows of one task on their way from old files to new ones.
class RowMover {
 public:
  RowMover(const Dataset& dataset, file::FileVersion version, const OptimizeOptions& options)
      : dataset_(dataset),
        table_(*DatasetState::Of(dataset)),
        schema_(table_.manifest().schema),
        options_(options),
        has_blobs_(HoldsBlobs(schema_)),
        writer_(table_.session->resources(), table_.location, schema_, version,
                DataFileLimits{*options.target_rows_per_fragment, *options.max_bytes_per_file}) {}

  // The new fragments; nothing is left behind on failure.
  arrow::Result<std::vector<table::Fragment>> Run(const std::vector<const table::Fragment*>& old) {
    auto fragments = Move(old);
    if (!fragments.ok()) writer_.Discard();
    return fragments;
  }

 private:
  arrow::Result<std::vector<table::Fragment>> Move(const std::vector<const table::Fragment*>& old) {
    ARROW_ASSIGN_OR_RAISE(Projection columns, Wanted());
    const auto rows = ScanRows(DatasetState::Of(dataset_), std::move(columns),
                               {.fragments = old, .batch_rows = *options_.batch_rows});
    while (true) {
      BatchPtr batch;
      ARROW_RETURN_NOT_OK(rows->ReadNext(&batch));
      if (batch == nullptr) break;
      if (table_.has_stable_row_ids())
        moved_.Append(Numbers(*batch, kRowIdName), Numbers(*batch, kCreatedVersionName),
                      Numbers(*batch, kUpdatedVersionName));
      ARROW_RETURN_NOT_OK(has_blobs_ ? WriteWithBlobs(batch) : Write(*batch));
    }
    ARROW_ASSIGN_OR_RAISE(std::vector<table::Fragment> fragments, writer_.Finish());
    uint64_t first = 0;
    for (table::Fragment& fragment : fragments) {
      if (table_.has_stable_row_ids()) fragment.lineage = moved_.Lineage(first, fragment.physical_rows);
      first += fragment.physical_rows;
    }
    return fragments;
  }

  arrow::Result<Projection> Wanted() const {
    std::vector<std::string> names;
    for (const file::Field& field : schema_.fields()) names.push_back(field.name);
    if (table_.has_stable_row_ids()) {
      for (const std::string_view name : {kRowIdName, kCreatedVersionName, kUpdatedVersionName})
        names.emplace_back(name);
    }
    return Projection::Make(schema_, names, /*with_row_id=*/false, /*with_row_address=*/has_blobs_);
  }

  arrow::Status Write(const arrow::RecordBatch& batch) {
    if (!shaper_) {
      ARROW_ASSIGN_OR_RAISE(shaper_, IncomingRows::Make(*batch.schema(), schema_));
    }
    ARROW_ASSIGN_OR_RAISE(const BatchPtr shaped, shaper_->Shape(batch));
    return writer_.Write(*shaped);
  }

  // A batch's worth of their bytes at a time.
  arrow::Status WriteWithBlobs(const BatchPtr& batch) {
    for (int64_t first = 0; first < batch->num_rows();) {
      const BatchPtr rest = batch->Slice(first);
      ARROW_ASSIGN_OR_RAISE(const int64_t rows, RowsThatFitWithBlobs(dataset_, *rest, ScanOptions{}.batch_bytes));
      ARROW_ASSIGN_OR_RAISE(const BatchPtr whole, ReadBlobs(dataset_, rest->Slice(0, rows)));
      ARROW_RETURN_NOT_OK(Write(*whole));
      first += rows;
    }
    return arrow::Status::OK();
  }

  const Dataset& dataset_;
  const DatasetState& table_;
  const file::Schema& schema_;
  const OptimizeOptions& options_;
  const bool has_blobs_;
  DataFilesWriter writer_;
  std::optional<IncomingRows> shaper_;
  table::MovedRows moved_;
};

arrow::Result<OptimizeResult> RunTask(const Dataset& dataset, const OptimizeTask& task,
                                      const OptimizeOptions& options) {
  const DatasetState& table = *DatasetState::Of(dataset);
  ARROW_RETURN_NOT_OK(arrow::compute::Initialize());
  ARROW_RETURN_NOT_OK(CheckIndexesLetMove(table, task.fragments));
  ARROW_ASSIGN_OR_RAISE(
      const file::FileVersion version,
      CheckAppendable(table, table.manifest().schema, {.data_storage_version = options.data_storage_version}));
  ARROW_ASSIGN_OR_RAISE(const auto old, FragmentsOf(table, task));
  OptimizeResult result{task.read_version, task.fragments, {}, {}};
  ARROW_ASSIGN_OR_RAISE(result.new_fragments, RowMover(dataset, version, options).Run(old));
  result.metrics = Measure(old, result.new_fragments);
  return result;
}

// ---- commit ----

// Rows are neither lost nor made up by a result that came from elsewhere.
arrow::Status CheckSameRows(const DatasetState& table, const OptimizeResult& result) {
  uint64_t before = 0, after = 0;
  for (FragmentId id : result.old_fragments) {
    ARROW_ASSIGN_OR_RAISE(const table::Fragment* fragment, table.GetFragment(id));
    ARROW_ASSIGN_OR_RAISE(const uint64_t live, CountLiveRows(table, *fragment));
    before += live;
  }
  for (const table::Fragment& fragment : result.new_fragments) after += fragment.physical_rows;
  if (before == after) return arrow::Status::OK();
  return InvalidInput("the result of an optimize has {} rows, its fragments at version {} have {}", after,
                      result.read_version, before);
}

arrow::Status CheckResults(const DatasetState& table, std::span<const OptimizeResult> results) {
  std::set<FragmentId> seen;
  for (const OptimizeResult& result : results) {
    if (result.read_version != table.manifest().version)
      return InvalidInput("results of versions {} and {} cannot be committed together", table.manifest().version,
                          result.read_version);
    if (result.old_fragments.empty()) return InvalidInput("a result of an optimize names no fragment");
    for (FragmentId fragment : result.old_fragments) {
      if (!seen.insert(fragment).second) return InvalidInput("two results rewrite fragment {}", fragment);
    }
    ARROW_RETURN_NOT_OK(CheckSameRows(table, result));
  }
  return CheckIndexesLetMove(table, {seen.begin(), seen.end()});
}

// Takes the ids of so many fragments and returns the first.
arrow::Result<FragmentId> Reserve(const Dataset& dataset, uint64_t count, int max_retries) {
  if (count == 0) return FragmentId();
  if (count > UINT32_MAX) return NotSupported("{} new fragments at once", count);
  table::Transaction transaction;
  transaction.operation = table::ReserveFragments{static_cast<uint32_t>(count)};
  ARROW_ASSIGN_OR_RAISE(const auto reserved, dataset.Commit(std::move(transaction), max_retries));
  return FragmentId(*reserved->manifest().max_fragment_id + uint64_t{1} - count);
}

arrow::Result<table::Rewrite> MakeRewrite(const DatasetState& table, std::span<const OptimizeResult> results,
                                          FragmentId first_id) {
  table::Rewrite rewrite;
  for (const OptimizeResult& result : results) {
    table::Rewrite::Group& group = rewrite.groups.emplace_back();
    for (FragmentId id : result.old_fragments) {
      ARROW_ASSIGN_OR_RAISE(const table::Fragment* fragment, table.GetFragment(id));
      group.old_fragments.push_back(*fragment);
    }
    for (const table::Fragment& fragment : result.new_fragments) {
      group.new_fragments.push_back(fragment);
      group.new_fragments.back().id = std::exchange(first_id, first_id.Next());
    }
  }
  return rewrite;
}

void DeleteSidecars(const StoreLocation& table, const std::string& key) {
  const std::string folder = key.substr(0, key.rfind('.')) + "/";
  const auto page = ListAll(*table.store, {.prefix = folder});
  if (!page.ok()) return;
  for (const ObjectInfo& object : page->objects) static_cast<void>(table.store->Delete(object.key));
}

}  // namespace

}  // namespace internal

OptimizeMetrics& OptimizeMetrics::operator+=(const OptimizeMetrics& other) {
  fragments_removed += other.fragments_removed;
  fragments_added += other.fragments_added;
  files_removed += other.files_removed;
  files_added += other.files_added;
  return *this;
}

arrow::Result<OptimizeResult> RunOptimizeTask(const Dataset& dataset, const OptimizeTask& task,
                                              const OptimizeOptions& options) {
  ARROW_RETURN_NOT_OK(dataset.session()->runtime().CheckProcess());
  ARROW_ASSIGN_OR_RAISE(const auto read, internal::AtVersion(dataset, task.read_version));
  ARROW_ASSIGN_OR_RAISE(const OptimizeOptions resolved,
                        internal::ResolveOptimizeOptions(options, read->manifest().config));
  return internal::RunTask(*read, task, resolved);
}

arrow::Result<Optimized> CommitOptimize(const Dataset& dataset, std::span<const OptimizeResult> results,
                                        int max_commit_retries) {
  using internal::DatasetState;
  Optimized done{DatasetState::MakeDataset(DatasetState::Of(dataset)), {}};
  if (results.empty()) return done;
  ARROW_ASSIGN_OR_RAISE(const auto read, internal::AtVersion(dataset, results.front().read_version));
  const DatasetState& table = *DatasetState::Of(*read);
  ARROW_RETURN_NOT_OK(internal::CheckResults(table, results));
  uint64_t added = 0;
  for (const OptimizeResult& result : results) {
    added += result.new_fragments.size();
    done.metrics += result.metrics;
  }
  ARROW_ASSIGN_OR_RAISE(const FragmentId first, internal::Reserve(*read, added, max_commit_retries));
  table::Transaction transaction;
  ARROW_ASSIGN_OR_RAISE(transaction.operation, internal::MakeRewrite(table, results, first));
  ARROW_ASSIGN_OR_RAISE(done.dataset, read->Commit(std::move(transaction), max_commit_retries));
  return done;
}

void DiscardOptimized(const Dataset& dataset, std::span<const OptimizeResult> results) {
  const StoreLocation& table = dataset.location();
  const bool has_sidecars = internal::HoldsBlobs(dataset.schema());
  for (const OptimizeResult& result : results) {
    for (const table::Fragment& fragment : result.new_fragments) {
      for (const table::DataFile& file : fragment.files) {
        const std::string key = table::TableKey(table, "data/" + file.path);
        static_cast<void>(table.store->Delete(key));
        if (has_sidecars) internal::DeleteSidecars(table, key);
      }
    }
  }
}

arrow::Result<Optimized> Optimize(const Dataset& dataset, const OptimizeOptions& options) {
  ARROW_ASSIGN_OR_RAISE(const OptimizePlan plan, PlanOptimize(dataset, options));
  std::vector<OptimizeResult> results;
  for (const OptimizeTask& task : plan.tasks) {
    auto result = RunOptimizeTask(dataset, task, plan.options);
    if (!result.ok()) {
      DiscardOptimized(dataset, results);
      return result.status();
    }
    results.push_back(*std::move(result));
  }
  auto committed = CommitOptimize(dataset, results, plan.options.max_commit_retries);
  // With an unknown outcome a manifest may refer to the files.
  if (!committed.ok() && !HasKind(committed.status(), ErrorKind::kOutcomeUnknown)) DiscardOptimized(dataset, results);
  return committed;
}

arrow::Result<std::string> EncodeFragments(const std::vector<table::Fragment>& fragments) {
  table::Transaction transaction;
  transaction.operation = table::Append{fragments};
  return table::EncodeTransaction(transaction);
}

arrow::Result<std::vector<table::Fragment>> DecodeFragments(std::string_view bytes) {
  ARROW_ASSIGN_OR_RAISE(table::Transaction transaction, table::DecodeTransaction(bytes));
  auto* append = std::get_if<table::Append>(&transaction.operation);
  if (append == nullptr) return Corruption("these bytes are no list of fragments");
  return std::move(append->fragments);
}

}  // namespace javelin
