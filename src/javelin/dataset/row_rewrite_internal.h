// The files of a commit that changes rows: new rows, the masks of rows that go, and the Update that refers to both.
//
//   RowRewrite rewrite(table, options);
//   CheckNewRows -> WriteRows -> HandOn -> Mask -> Commit        each at most once; all but Commit may be left out
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include <arrow/record_batch.h>
#include <arrow/result.h>

#include "javelin/dataset/data_files_internal.h"
#include "javelin/dataset/dataset_state_internal.h"
#include "javelin/dataset/row_masks_internal.h"
#include "javelin/table/row_lineage.h"

namespace javelin::internal {

// The ids of a field and of all below it.
void AddFieldIds(const file::Field& field, std::vector<FieldId>& ids);

class RowRewrite {
 public:
  RowRewrite(std::shared_ptr<const DatasetState> table, const WriteOptions& options)
      : table_(std::move(table)), options_(options) {}
  // Removes the files that were written, as far as that works, unless the commit succeeded or may have.
  ~RowRewrite();
  RowRewrite(const RowRewrite&) = delete;
  RowRewrite& operator=(const RowRewrite&) = delete;

  // Errors as CommitRowChange before the first write: a version that none of ours can follow, bad options.
  arrow::Status Check() const;
  // The columns of the new rows, as for an append.
  arrow::Status CheckNewRows(const arrow::Schema& columns);
  arrow::Status WriteRows(arrow::RecordBatchReader& rows);
  uint64_t rows_written() const;
  // The first new rows are the next versions of rows with these ids. InvalidInput: there are fewer of them.
  arrow::Status HandOn(std::span<const table::RowOrigin> origins);
  // The rows that go; writes their deletion files.
  arrow::Status Mask(RowMasks masks);

  // What is committed beside files and masks: columns changed, keys, progress.
  table::Update& update() { return update_; }
  arrow::Result<table::LoadedManifest> Commit();

 private:
  const std::shared_ptr<const DatasetState> table_;
  const WriteOptions options_;
  file::Schema columns_;  // of the new rows
  file::FileVersion version_;
  std::optional<DataFilesWriter> data_;
  RowMasks masks_;
  table::Update update_;
  bool keeps_files_ = false;
};

}  // namespace javelin::internal
