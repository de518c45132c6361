#include "javelin/dataset/row_masks_internal.h"

#include "javelin/base/error.h"
#include "javelin/dataset/fragment_rows_internal.h"
#include "javelin/table/deletion_vector.h"
#include "javelin/table/versions.h"

namespace javelin::internal {

arrow::Result<RowMasks> RowMasks::Make(const DatasetState& table, std::span<const RowAddress> rows) {
  RowMasks masks;
  masks.table_ = &table;
  std::vector<RowAddress> sorted(rows.begin(), rows.end());
  std::sort(sorted.begin(), sorted.end());
  for (size_t start = 0; start < sorted.size();) {
    size_t end = start;
    while (end < sorted.size() && sorted[end].fragment() == sorted[start].fragment()) ++end;
    ARROW_ASSIGN_OR_RAISE(const table::Fragment* fragment, table.GetFragment(sorted[start].fragment()));
    ARROW_RETURN_NOT_OK(masks.Add(*fragment, std::span(sorted).subspan(start, end - start)));
    start = end;
  }
  return masks;
}

arrow::Status RowMasks::Add(const table::Fragment& fragment, std::span<const RowAddress> rows) {
  ARROW_ASSIGN_OR_RAISE(const FragmentRows now, FragmentRows::Load(*table_, fragment));
  std::vector<uint32_t> offsets;
  for (RowAddress row : rows) {
    ARROW_RETURN_NOT_OK(CheckLive(*table_, now, row));
    offsets.push_back(row.offset());
  }
  const auto& gone = rows_[fragment.id] = table::OffsetSet::FromUnsorted(std::move(offsets));
  const table::OffsetSet deleted = now.deleted().With(gone);
  if (deleted.size() == now.physical()) {
    removed_.push_back(fragment.id);
    return arrow::Status::OK();
  }
  ARROW_ASSIGN_OR_RAISE(table::EncodedDeletionFile file, table::EncodeDeletionFile(deleted));
  table::Fragment& updated = updated_.emplace_back(fragment);
  updated.deletion_file = table::DeletionFile{file.type, table_->manifest().version.value(),
                                              table_->session->runtime().Random(), deleted.size(), std::nullopt};
  const std::string name = table::DeletionFileName(fragment.id, *updated.deletion_file);
  files_.push_back({table::TableKey(table_->location, "_deletions/" + name), std::move(file.bytes)});
  return arrow::Status::OK();
}

arrow::Status RowMasks::WriteFiles() {
  if (files_.empty()) return arrow::Status::OK();
  written_ = true;
  for (const arrow::Status& status : table_->location.store->PutMany(files_)) ARROW_RETURN_NOT_OK(status);
  return arrow::Status::OK();
}

void RowMasks::Discard() {
  if (!written_) return;
  for (const PutRequest& file : files_) {
    const arrow::Status ignored = table_->location.store->Delete(file.key);
    static_cast<void>(ignored);
  }
}

}  // namespace javelin::internal
