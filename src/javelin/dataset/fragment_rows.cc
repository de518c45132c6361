#include "javelin/dataset/fragment_rows_internal.h"

#include "javelin/base/error.h"
#include "javelin/dataset/open_files_internal.h"
#include "javelin/table/deletion_vector.h"

namespace javelin::internal {

namespace {

// Manifests of old writers leave the number of rows out.
arrow::Result<uint64_t> PhysicalRows(const DatasetState& table, const table::Fragment& fragment) {
  if (fragment.physical_rows != 0 || fragment.files.empty()) return fragment.physical_rows;
  ARROW_ASSIGN_OR_RAISE(const auto reader, OpenFiles::Get(table, fragment.files.front()));
  return reader->num_rows();
}

}  // namespace

arrow::Result<FragmentRows> FragmentRows::Load(const DatasetState& table, const table::Fragment& fragment) {
  FragmentRows rows;
  ARROW_ASSIGN_OR_RAISE(rows.physical_, PhysicalRows(table, fragment));
  if (!fragment.deletion_file) return rows;
  ARROW_ASSIGN_OR_RAISE(const ObjectLocation place, table.Locate(fragment.id, *fragment.deletion_file));
  ARROW_ASSIGN_OR_RAISE(const BufferPtr bytes, place.store->Get(place.key));
  auto deleted = table::DecodeDeletionFile(*fragment.deletion_file, bytes, rows.physical_);
  if (!deleted.ok())
    return WithContext(deleted.status(), fmt::format("deletion file '{}'", place.store->Describe(place.key)));
  rows.deleted_ = *std::move(deleted);
  return rows;
}

arrow::Status CheckLive(const DatasetState& table, const FragmentRows& rows, RowAddress address) {
  if (address.offset() >= rows.physical()) {
    return InvalidInput("row {} of fragment {} of '{}' does not exist; the fragment has {} rows", address.offset(),
                        address.fragment(), table.location.uri, rows.physical());
  }
  if (!rows.IsLive(address.offset()))
    return InvalidInput("row {} of fragment {} of '{}' is deleted", address.offset(), address.fragment(),
                        table.location.uri);
  return arrow::Status::OK();
}

arrow::Result<uint64_t> CountLiveRows(const DatasetState& table, const table::Fragment& fragment) {
  const bool known =
      fragment.physical_rows != 0 && (!fragment.deletion_file || fragment.deletion_file->num_deleted_rows != 0);
  if (!known) {
    ARROW_ASSIGN_OR_RAISE(const FragmentRows rows, FragmentRows::Load(table, fragment));
    return rows.live();
  }
  const uint64_t deleted = fragment.deletion_file ? fragment.deletion_file->num_deleted_rows : 0;
  if (deleted > fragment.physical_rows) {
    return Corruption("fragment {} of '{}' has {} rows and {} deleted ones", fragment.id, table.location.uri,
                      fragment.physical_rows, deleted);
  }
  return fragment.physical_rows - deleted;
}

}  // namespace javelin::internal
