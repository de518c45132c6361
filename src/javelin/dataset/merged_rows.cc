#include <algorithm>

#include <arrow/array.h>

#include "javelin/dataset/blobs.h"
#include "javelin/dataset/merged_rows_internal.h"
#include "javelin/dataset/take_internal.h"
#include "javelin/file/array_bytes.h"
#include "javelin/file/blob_arrays.h"
#include "javelin/file/blob_field.h"

namespace javelin::internal {

namespace {

constexpr uint64_t kMostRows = 8192;
// Until it is known how wide they are, no more rows are read of the table at once.
constexpr uint64_t kFirstRows = 64;

}  // namespace

MergedRowsReader::MergedRowsReader(const Dataset& dataset, const MergePlan& plan, const JoinSource& source,
                                   const MergeMatches& matches)
    : dataset_(dataset), plan_(plan), source_(source), matches_(matches) {
  schema_ = source.schema();
  if (plan.updates() && plan.is_partial()) {
    arrow::FieldVector fields;
    for (const file::Field& field : dataset.schema().fields()) {
      const auto given = source.schema()->GetFieldByName(field.name);
      fields.push_back(given != nullptr ? given : file::FieldOfBlobBytes(field));
      keeps_blobs_ = keeps_blobs_ || (given == nullptr && file::HoldsBlobs(field));
    }
    schema_ = arrow::schema(std::move(fields));
  }
  if (plan.recorded_key.empty()) return;
  std::vector<FieldId> ids;
  for (const file::Field& field : plan.recorded_key) ids.push_back(field.id);
  inserted_keys_.emplace(std::move(ids));
}

arrow::Status MergedRowsReader::ReadNext(BatchPtr* out) {
  *out = nullptr;
  if (plan_.updates() && next_updated_ < matches_.updates.size()) return NextUpdated().Value(out);
  if (plan_.inserts) return NextInserted().Value(out);
  return arrow::Status::OK();
}

size_t MergedRowsReader::RowsAtOnce() const {
  const uint64_t width = std::max<uint64_t>(1, source_.bytes_per_row() + kept_bytes_per_row_);
  return std::clamp<uint64_t>(ScanOptions{}.batch_bytes / width, 1, kMostRows);
}

arrow::Result<MergedRowsReader::BatchPtr> MergedRowsReader::NextUpdated() {
  const size_t first = next_updated_;
  size_t count = std::min(RowsAtOnce(), matches_.updates.size() - first);
  BatchPtr kept;
  if (plan_.is_partial()) {
    if (kept_bytes_per_row_ == 0) count = std::min<size_t>(count, kFirstRows);
    ARROW_ASSIGN_OR_RAISE(kept, KeptColumns(first, &count));
    ARROW_ASSIGN_OR_RAISE(const uint64_t bytes, file::JoinedBytes({kept}));
    kept_bytes_per_row_ = std::max<uint64_t>({kept_bytes_per_row_, bytes / count, 1});
  }
  std::vector<uint64_t> rows;
  for (size_t i = first; i < first + count; ++i) rows.push_back(matches_.updates[i].source);
  ARROW_ASSIGN_OR_RAISE(const BatchPtr given, source_.Pick(rows));
  next_updated_ += count;
  return Assemble(*given, kept.get());
}

// The columns that the source lacks of the updates from `first` on; makes `count` less where blobs are large.
arrow::Result<MergedRowsReader::BatchPtr> MergedRowsReader::KeptColumns(size_t first, size_t* count) const {
  std::vector<RowAddress> addresses;
  for (size_t i = first; i < first + *count; ++i) addresses.push_back(matches_.updates[i].target);
  std::vector<std::string> names;
  for (const file::Field& field : plan_.missing) names.push_back(field.name);
  names.emplace_back(kRowAddressName);
  ARROW_ASSIGN_OR_RAISE(BatchPtr rows, TakeRows(DatasetState::Of(dataset_), addresses, names));
  if (!keeps_blobs_) return rows;
  ARROW_ASSIGN_OR_RAISE(const int64_t fit, RowsThatFitWithBlobs(dataset_, *rows, ScanOptions{}.batch_bytes));
  *count = static_cast<size_t>(fit);
  return ReadBlobs(dataset_, rows->Slice(0, fit));
}

arrow::Result<MergedRowsReader::BatchPtr> MergedRowsReader::NextInserted() {
  std::vector<uint64_t> rows;
  const size_t most = RowsAtOnce();
  for (; next_source_ < source_.num_rows() && rows.size() < most; ++next_source_) {
    if (!matches_.matched[next_source_]) rows.push_back(next_source_);
  }
  if (rows.empty()) return nullptr;
  num_inserted_ += rows.size();
  ARROW_ASSIGN_OR_RAISE(const BatchPtr given, source_.Pick(rows));
  ARROW_RETURN_NOT_OK(Record(*given));
  return Assemble(*given, nullptr);
}

// The columns of the schema: those given, those kept, and nulls.
arrow::Result<MergedRowsReader::BatchPtr> MergedRowsReader::Assemble(const arrow::RecordBatch& given,
                                                                     const arrow::RecordBatch* kept) const {
  arrow::ArrayVector columns;
  for (const auto& field : schema_->fields()) {
    auto column = given.GetColumnByName(field->name());
    if (column == nullptr && kept != nullptr) column = kept->GetColumnByName(field->name());
    if (column == nullptr) {
      ARROW_ASSIGN_OR_RAISE(
          column, arrow::MakeArrayOfNull(field->type(), given.num_rows(), dataset_.session()->resources().pool));
    }
    columns.push_back(std::move(column));
  }
  return arrow::RecordBatch::Make(schema_, given.num_rows(), std::move(columns));
}

arrow::Status MergedRowsReader::Record(const arrow::RecordBatch& inserted) {
  if (!inserted_keys_) return arrow::Status::OK();
  arrow::ArrayVector key;
  for (const file::Field& field : plan_.recorded_key) key.push_back(inserted.GetColumnByName(field.name));
  return inserted_keys_->Add(key);
}

std::optional<table::KeyFilter> MergedRowsReader::TakeInsertedKeys() {
  if (!inserted_keys_) return std::nullopt;
  return std::move(*inserted_keys_).Finish();
}

}  // namespace javelin::internal
