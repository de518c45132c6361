#include "javelin/dataset/delta.h"

#include <arrow/array.h>
#include <arrow/builder.h>
#include <arrow/compute/api.h>
#include <arrow/record_batch.h>

#include "javelin/base/error.h"
#include "javelin/dataset/dataset_state_internal.h"
#include "javelin/dataset/projection_internal.h"

namespace javelin {

namespace {

struct Range {
  DeltaKind kind;
  uint64_t begin, end;

  bool Holds(uint64_t version) const { return begin < version && version <= end; }
  bool Holds(uint64_t created, uint64_t updated) const {
    return kind == DeltaKind::kInserted ? Holds(created) : created <= begin && Holds(updated);
  }
};

// The batches of a scan, whose last two columns are versions, without the rows of other versions.
class DeltaReader final : public arrow::RecordBatchReader {
 public:
  DeltaReader(std::shared_ptr<arrow::RecordBatchReader> scan, const Range& range)
      : scan_(std::move(scan)), range_(range) {}

  std::shared_ptr<arrow::Schema> schema() const override { return scan_->schema(); }

  arrow::Status ReadNext(std::shared_ptr<arrow::RecordBatch>* out) override {
    while (true) {
      ARROW_RETURN_NOT_OK(scan_->ReadNext(out));
      if (*out == nullptr) return arrow::Status::OK();
      ARROW_ASSIGN_OR_RAISE(*out, Keep(*out));
      if ((*out)->num_rows() > 0) return arrow::Status::OK();
    }
  }

 private:
  arrow::Result<std::shared_ptr<arrow::RecordBatch>> Keep(const std::shared_ptr<arrow::RecordBatch>& batch) const {
    const int columns = batch->num_columns();
    const auto& created = static_cast<const arrow::UInt64Array&>(*batch->column(columns - 2));
    const auto& updated = static_cast<const arrow::UInt64Array&>(*batch->column(columns - 1));
    arrow::BooleanBuilder mask;
    ARROW_RETURN_NOT_OK(mask.Reserve(batch->num_rows()));
    int64_t kept = 0;
    for (int64_t i = 0; i < batch->num_rows(); ++i) {
      const bool keep = range_.Holds(created.Value(i), updated.Value(i));
      mask.UnsafeAppend(keep);
      kept += keep;
    }
    if (kept == 0) return batch->Slice(0, 0);
    if (kept == batch->num_rows()) return batch;
    ARROW_ASSIGN_OR_RAISE(const auto rows, mask.Finish());
    ARROW_ASSIGN_OR_RAISE(const arrow::Datum filtered, arrow::compute::Filter(batch, rows));
    return filtered.record_batch();
  }

  const std::shared_ptr<arrow::RecordBatchReader> scan_;
  const Range range_;
};

}  // namespace

arrow::Result<std::shared_ptr<arrow::RecordBatchReader>> ScanDelta(const Dataset& dataset, DeltaKind kind,
                                                                   TableVersion begin, TableVersion end) {
  if (!internal::DatasetState::Of(dataset)->has_stable_row_ids())
    return NotSupported(
        "'{}' has no stable row ids, so its rows do not say when they came or changed; create the table with them",
        dataset.uri());
  ScanOptions options;
  options.columns.emplace();
  for (const file::Field& field : dataset.schema().fields()) options.columns->push_back(field.name);
  for (const std::string_view name :
       {internal::kRowIdName, internal::kCreatedVersionName, internal::kUpdatedVersionName})
    options.columns->emplace_back(name);
  ARROW_ASSIGN_OR_RAISE(auto scan, dataset.Scan(options));
  return std::make_shared<DeltaReader>(std::move(scan), Range{kind, begin.value(), end.value()});
}

}  // namespace javelin
