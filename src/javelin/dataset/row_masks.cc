#include "javelin/dataset/row_masks_internal.h"

#include <map>

#include "javelin/base/error.h"
#include "javelin/dataset/fragment_rows_internal.h"
#include "javelin/table/deletion_vector.h"
#include "javelin/table/versions.h"

namespace javelin::internal {

namespace {

arrow::Status CheckAllLive(const DatasetState& table, const FragmentRows& now, FragmentId fragment,
                           const table::OffsetSet& rows) {
  if (rows.empty() || (rows.max() < now.physical() && !now.deleted().Intersects(rows))) return arrow::Status::OK();
  for (const table::OffsetSet::Run& run : rows.runs()) {
    for (uint64_t offset = run.first; offset <= run.last; ++offset)
      ARROW_RETURN_NOT_OK(CheckLive(table, now, RowAddress(fragment, static_cast<uint32_t>(offset))));
  }
  return arrow::Status::OK();
}

}  // namespace

arrow::Result<RowMasks> RowMasks::Make(const DatasetState& table, std::span<const RowAddress> rows) {
  std::map<FragmentId, std::vector<uint32_t>> offsets;
  for (const RowAddress row : rows) offsets[row.fragment()].push_back(row.offset());
  table::RowsByFragment by_fragment;
  for (auto& [fragment, numbers] : offsets) by_fragment[fragment] = table::OffsetSet::FromUnsorted(std::move(numbers));
  return Make(table, std::move(by_fragment));
}

arrow::Result<RowMasks> RowMasks::Make(const DatasetState& table, table::RowsByFragment rows) {
  RowMasks masks;
  masks.table_ = &table;
  masks.rows_ = std::move(rows);
  std::erase_if(masks.rows_, [](const auto& rows_of) { return rows_of.second.empty(); });
  for (const auto& [id, gone] : masks.rows_) {
    ARROW_ASSIGN_OR_RAISE(const table::Fragment* fragment, table.GetFragment(id));
    ARROW_RETURN_NOT_OK(masks.Add(*fragment, gone));
  }
  return masks;
}

arrow::Status RowMasks::Add(const table::Fragment& fragment, const table::OffsetSet& gone) {
  ARROW_ASSIGN_OR_RAISE(const FragmentRows now, FragmentRows::Load(*table_, fragment));
  ARROW_RETURN_NOT_OK(CheckAllLive(*table_, now, fragment.id, gone));
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
