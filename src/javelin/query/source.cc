#include "javelin/query/source.h"

#include "javelin/base/error.h"
#include "javelin/file/pick_rows.h"

namespace javelin::query {

namespace {
using BatchPtr = std::shared_ptr<arrow::RecordBatch>;

class WindowReader final : public arrow::RecordBatchReader {
 public:
  WindowReader(std::shared_ptr<arrow::Schema> schema, NextBatch next, uint64_t offset, std::optional<uint64_t> limit,
               uint64_t batch_rows)
      : schema_(std::move(schema)),
        next_(std::move(next)),
        skip_(offset),
        left_(limit),
        batch_rows_(static_cast<int64_t>(std::clamp<uint64_t>(batch_rows, 1, INT32_MAX))) {}

  std::shared_ptr<arrow::Schema> schema() const override { return schema_; }

  arrow::Status ReadNext(BatchPtr* out) override {
    out->reset();
    while (left_ != uint64_t{0}) {
      if (queue_ == nullptr || queue_->num_rows() == 0) {
        ARROW_ASSIGN_OR_RAISE(queue_, next_());
        if (queue_ == nullptr) break;
        continue;
      }
      const auto skipped = static_cast<int64_t>(std::min<uint64_t>(skip_, queue_->num_rows()));
      skip_ -= skipped;
      queue_ = queue_->Slice(skipped);
      if (queue_->num_rows() == 0) continue;
      int64_t taken = std::min(queue_->num_rows(), batch_rows_);
      if (left_.has_value()) taken = static_cast<int64_t>(std::min<uint64_t>(*left_, taken));
      if (left_.has_value()) *left_ -= taken;
      *out = queue_->Slice(0, taken);
      queue_ = queue_->Slice(taken);
      break;
    }
    return arrow::Status::OK();
  }

 private:
  const std::shared_ptr<arrow::Schema> schema_;
  const NextBatch next_;
  uint64_t skip_;
  std::optional<uint64_t> left_;
  const int64_t batch_rows_;
  BatchPtr queue_;
};
}  // namespace

arrow::Status BlockList::Apply(std::span<const index::HashedKey> keys, std::vector<bool>* keep) const {
  if (newer_.empty()) return arrow::Status::OK();
  std::vector<index::HashedKey> asked;
  std::vector<size_t> rows;
  for (size_t i = 0; i < keys.size(); ++i) {
    if (!(*keep)[i]) continue;
    asked.push_back(keys[i]);
    rows.push_back(i);
  }
  std::vector<std::optional<FoundRow>> found(asked.size());
  for (const Source* source : newer_) ARROW_RETURN_NOT_OK(source->Find(asked, &found));
  for (size_t i = 0; i < rows.size(); ++i) {
    if (found[i].has_value()) (*keep)[rows[i]] = false;
  }
  return arrow::Status::OK();
}

std::shared_ptr<arrow::Schema> SourceScan::OutputSchema() const {
  auto schema = columns.ToArrow();
  auto fields = schema->fields();
  if (with_row_id) fields.push_back(arrow::field("_rowid", arrow::uint64()));
  if (with_row_address) fields.push_back(arrow::field("_rowaddr", arrow::uint64()));
  return arrow::schema(std::move(fields), schema->metadata());
}

std::shared_ptr<arrow::RecordBatchReader> MakeWindowReader(std::shared_ptr<arrow::Schema> schema, NextBatch next,
                                                           uint64_t offset, std::optional<uint64_t> limit,
                                                           uint64_t batch_rows) {
  return std::make_shared<WindowReader>(std::move(schema), std::move(next), offset, limit, batch_rows);
}

arrow::Result<BatchPtr> KeepRows(const BatchPtr& batch, const std::vector<bool>& keep) {
  const int64_t kept = std::count(keep.begin(), keep.end(), true);
  if (kept == batch->num_rows()) return batch;
  if (batch->num_columns() == 0 || kept == 0) return batch->Slice(0, kept);
  arrow::BooleanBuilder mask;
  ARROW_RETURN_NOT_OK(mask.AppendValues(keep));
  ARROW_ASSIGN_OR_RAISE(const auto selected, mask.Finish());
  return file::FilterRows(batch, static_cast<const arrow::BooleanArray&>(*selected));
}

arrow::Result<BatchPtr> WithNullColumns(const arrow::RecordBatch& batch, const std::shared_ptr<arrow::Schema>& schema) {
  auto columns = batch.columns();
  for (int i = 0; i < batch.num_columns(); ++i) {
    if (schema->field(i)->nullable() || columns[i]->null_count() == 0) continue;
    return NotSupported(
        "column '{}' must not be null, but a row that is not in the table yet has no value there; let "
        "the column be null to read it",
        schema->field(i)->name());
  }
  while (static_cast<int>(columns.size()) < schema->num_fields()) {
    const auto& type = schema->field(static_cast<int>(columns.size()))->type();
    ARROW_ASSIGN_OR_RAISE(auto nulls, arrow::MakeArrayOfNull(type, batch.num_rows()));
    columns.push_back(std::move(nulls));
  }
  return arrow::RecordBatch::Make(schema, batch.num_rows(), std::move(columns));
}

}  // namespace javelin::query
