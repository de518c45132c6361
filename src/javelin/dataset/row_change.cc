#include "javelin/dataset/row_change.h"

#include <arrow/array.h>
#include <arrow/record_batch.h>

#include "javelin/base/error.h"
#include "javelin/dataset/data_files_internal.h"
#include "javelin/dataset/dataset_state_internal.h"
#include "javelin/dataset/incoming_rows_internal.h"
#include "javelin/dataset/projection_internal.h"
#include "javelin/dataset/row_masks_internal.h"
#include "javelin/dataset/take_internal.h"
#include "javelin/dataset/write_internal.h"
#include "javelin/table/commit.h"
#include "javelin/table/compaction_progress.h"
#include "javelin/table/row_lineage.h"

namespace javelin {

namespace internal {
namespace {

// One commit: everything is checked, then written, then referred to.
class RowChanger {
 public:
  RowChanger(std::shared_ptr<const DatasetState> table, const RowChange& change, const WriteOptions& options)
      : table_(std::move(table)), change_(change), options_(options), resources_(table_->session->resources()) {}

  arrow::Result<table::LoadedManifest> Run() {
    ARROW_RETURN_NOT_OK(Check());
    const arrow::Status written = Write();
    if (!written.ok()) {
      Discard();
      return written;
    }
    table::Transaction transaction;
    transaction.operation = std::move(update_);
    transaction.affected_rows = masks_.rows();
    auto committed = table::CommitTransaction(resources_, table_->location, &table_->loaded, std::move(transaction),
                                              {.max_retries = options_.max_commit_retries});
    // With an unknown outcome a manifest may refer to the files.
    if (!committed.ok() && !HasKind(committed.status(), ErrorKind::kOutcomeUnknown)) Discard();
    return committed;
  }

 private:
  arrow::Status Check() {
    ARROW_RETURN_NOT_OK(CheckWriteOptions(options_));
    ARROW_RETURN_NOT_OK(CheckCanFollow(*table_));
    ARROW_RETURN_NOT_OK(table::CheckProgress(change_.compacted, table_->manifest()));
    if (change_.new_rows != nullptr) {
      ARROW_ASSIGN_OR_RAISE(columns_, ColumnsOfAppend(*change_.new_rows->schema(), table_->manifest().schema));
      ARROW_ASSIGN_OR_RAISE(version_, CheckAppendable(*table_, columns_, options_));
    }
    ARROW_RETURN_NOT_OK(CheckReplaced());
    std::vector<RowAddress> gone = change_.masked;
    gone.insert(gone.end(), change_.replaced.begin(), change_.replaced.end());
    ARROW_ASSIGN_OR_RAISE(masks_, RowMasks::Make(*table_, gone));
    return LoadOrigins();
  }

  arrow::Status CheckReplaced() const {
    const std::set<RowAddress> distinct(change_.replaced.begin(), change_.replaced.end());
    if (distinct.size() != change_.replaced.size()) return InvalidInput("a row is to be replaced twice");
    return arrow::Status::OK();
  }

  // What the replaced rows hand on; nothing where rows have no ids of their own.
  arrow::Status LoadOrigins() {
    if (change_.replaced.empty() || !table_->has_stable_row_ids()) return arrow::Status::OK();
    const std::vector<std::string> columns = {std::string(kRowIdName), std::string(kCreatedVersionName)};
    ARROW_ASSIGN_OR_RAISE(const auto rows, TakeRows(table_, change_.replaced, columns));
    const auto& ids = static_cast<const arrow::UInt64Array&>(*rows->column(0));
    const auto& versions = static_cast<const arrow::UInt64Array&>(*rows->column(1));
    for (int64_t i = 0; i < rows->num_rows(); ++i) origins_.push_back({ids.Value(i), versions.Value(i)});
    return arrow::Status::OK();
  }

  arrow::Status Write() {
    if (change_.new_rows != nullptr) {
      data_.emplace(resources_, table_->location, columns_, version_,
                    DataFileLimits{options_.max_rows_per_file, options_.max_bytes_per_file});
      ARROW_ASSIGN_OR_RAISE(update_.new_fragments, WriteFiles(*change_.new_rows, columns_, *data_));
    }
    ARROW_RETURN_NOT_OK(HandOn());
    ARROW_RETURN_NOT_OK(masks_.WriteFiles());
    update_.updated_fragments = masks_.updated();
    update_.removed_fragment_ids = masks_.removed();
    update_.compacted_sstables = change_.compacted;
    return arrow::Status::OK();
  }

  // Gives the first new rows what the replaced ones had.
  arrow::Status HandOn() {
    uint64_t rows = 0;
    for (table::Fragment& fragment : update_.new_fragments) {
      const uint64_t first = std::min<uint64_t>(rows, origins_.size());
      const uint64_t count = std::min<uint64_t>(fragment.physical_rows, origins_.size() - first);
      if (count > 0) fragment.lineage = table::LineageOfReplacedRows(std::span(origins_).subspan(first, count));
      rows += fragment.physical_rows;
    }
    if (rows >= change_.replaced.size()) return arrow::Status::OK();
    return InvalidInput("{} new rows cannot replace {}", rows, change_.replaced.size());
  }

  void Discard() {
    if (data_) data_->Discard();
    masks_.Discard();
  }

  const std::shared_ptr<const DatasetState> table_;
  const RowChange& change_;
  const WriteOptions& options_;
  const Resources& resources_;
  file::Schema columns_;  // of the new rows
  file::FileVersion version_;
  std::optional<DataFilesWriter> data_;
  RowMasks masks_;
  std::vector<table::RowOrigin> origins_;  // of the first new rows
  table::Update update_;
};

}  // namespace
}  // namespace internal

arrow::Result<std::shared_ptr<Dataset>> CommitRowChange(const Dataset& dataset, const RowChange& change,
                                                        const WriteOptions& options) {
  const auto table = internal::DatasetState::Of(dataset);
  ARROW_RETURN_NOT_OK(table->session->runtime().CheckProcess());
  ARROW_ASSIGN_OR_RAISE(auto committed, internal::RowChanger(table, change, options).Run());
  return table->At(std::move(committed));
}

}  // namespace javelin
