#include "javelin/dataset/row_rewrite_internal.h"

#include <algorithm>

#include "javelin/base/error.h"
#include "javelin/dataset/incoming_rows_internal.h"
#include "javelin/dataset/write_internal.h"
#include "javelin/table/commit.h"

namespace javelin::internal {

void AddFieldIds(const file::Field& field, std::vector<FieldId>& ids) {
  ids.push_back(field.id);
  for (const file::Field& child : field.children) AddFieldIds(child, ids);
}

RowRewrite::~RowRewrite() {
  if (keeps_files_ || table_->session->runtime().Unwinding()) return;
  if (data_) data_->Discard();
  masks_.Discard();
}

arrow::Status RowRewrite::Check() const {
  ARROW_RETURN_NOT_OK(table_->session->runtime().CheckProcess());
  ARROW_RETURN_NOT_OK(CheckWriteOptions(options_));
  return CheckCanFollow(*table_);
}

arrow::Status RowRewrite::CheckNewRows(const arrow::Schema& columns) {
  ARROW_ASSIGN_OR_RAISE(columns_, ColumnsOfAppend(columns, table_->manifest().schema));
  return CheckAppendable(*table_, columns_, options_).Value(&version_);
}

arrow::Status RowRewrite::WriteRows(arrow::RecordBatchReader& rows) {
  data_.emplace(table_->session->resources(), table_->location, columns_, version_,
                DataFileLimits{options_.max_rows_per_file, options_.max_bytes_per_file});
  return WriteFiles(rows, columns_, *data_).Value(&update_.new_fragments);
}

uint64_t RowRewrite::rows_written() const {
  uint64_t rows = 0;
  for (const table::Fragment& fragment : update_.new_fragments) rows += fragment.physical_rows;
  return rows;
}

arrow::Status RowRewrite::HandOn(std::span<const table::RowOrigin> origins) {
  if (rows_written() < origins.size())
    return InvalidInput("{} new rows cannot replace {}", rows_written(), origins.size());
  for (table::Fragment& fragment : update_.new_fragments) {
    const uint64_t count = std::min<uint64_t>(fragment.physical_rows, origins.size());
    if (count == 0) break;
    fragment.lineage = table::LineageOfReplacedRows(origins.first(count));
    origins = origins.subspan(count);
  }
  return arrow::Status::OK();
}

arrow::Status RowRewrite::Mask(RowMasks masks) {
  masks_ = std::move(masks);
  update_.updated_fragments = masks_.updated();
  update_.removed_fragment_ids = masks_.removed();
  return masks_.WriteFiles();
}

arrow::Result<table::LoadedManifest> RowRewrite::Commit() {
  table::Transaction transaction;
  transaction.operation = std::move(update_);
  transaction.affected_rows = masks_.rows();
  auto committed = table::CommitTransaction(table_->session->resources(), table_->location, &table_->loaded,
                                            std::move(transaction), {.max_retries = options_.max_commit_retries});
  // With an unknown outcome a manifest may refer to the files.
  keeps_files_ = committed.ok() || HasKind(committed.status(), ErrorKind::kOutcomeUnknown);
  return committed;
}

}  // namespace javelin::internal
