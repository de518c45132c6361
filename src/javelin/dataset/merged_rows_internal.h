// The new rows of a merge-insert: those updated in the order of the source, then those inserted.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include <arrow/record_batch.h>

#include "javelin/dataset/dataset.h"
#include "javelin/dataset/join_source_internal.h"
#include "javelin/dataset/merge_join_internal.h"
#include "javelin/dataset/merge_plan_internal.h"
#include "javelin/table/key_filter.h"

namespace javelin::internal {

// What it is given must outlive it.
class MergedRowsReader final : public arrow::RecordBatchReader {
 public:
  MergedRowsReader(const Dataset& dataset, const MergePlan& plan, const JoinSource& source,
                   const MergeMatches& matches);

  std::shared_ptr<arrow::Schema> schema() const override { return schema_; }
  arrow::Status ReadNext(std::shared_ptr<arrow::RecordBatch>* out) override;

  uint64_t num_inserted() const { return num_inserted_; }
  // The keys inserted, where they are recorded. Once all rows are read.
  std::optional<table::KeyFilter> TakeInsertedKeys();

 private:
  using BatchPtr = std::shared_ptr<arrow::RecordBatch>;

  arrow::Result<BatchPtr> NextUpdated();
  arrow::Result<BatchPtr> NextInserted();
  arrow::Result<BatchPtr> KeptColumns(size_t first, size_t* count) const;
  arrow::Result<BatchPtr> Assemble(const arrow::RecordBatch& given, const arrow::RecordBatch* kept) const;
  size_t RowsAtOnce() const;
  arrow::Status Record(const arrow::RecordBatch& inserted);

  const Dataset& dataset_;
  const MergePlan& plan_;
  const JoinSource& source_;
  const MergeMatches& matches_;
  std::shared_ptr<arrow::Schema> schema_;
  bool keeps_blobs_ = false;  // columns that updated rows keep are of blobs
  size_t next_updated_ = 0;   // of the updates
  uint64_t next_source_ = 0;  // row of the source that may be inserted
  uint64_t num_inserted_ = 0;
  uint64_t kept_bytes_per_row_ = 0;  // learnt of the widest rows so far
  std::optional<table::KeyFilterBuilder> inserted_keys_;
};

}  // namespace javelin::internal
