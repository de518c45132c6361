#include "javelin/dataset/fragment_rows_internal.h"

#include "javelin/base/error.h"
#include "javelin/dataset/open_files_internal.h"
#include "javelin/store/object_cache.h"
#include "javelin/table/deletion_vector.h"

namespace javelin::internal {

namespace {

struct OneFile {
  table::OffsetSet rows;
  uint64_t memory_bytes() const { return sizeof(*this) + rows.runs().size() * sizeof(table::OffsetSet::Run); }
};

// The deletion files that a session has read. They never change; a 64th of its memory limit.
struct DeletedRows final : SessionPart {
  explicit DeletedRows(const Resources& resources)
      : files(*resources.runtime, static_cast<uint64_t>(resources.memory->limit()) / 64) {}
  ObjectCache<const OneFile> files;
};

// Manifests of old writers leave the number of rows out.
arrow::Result<uint64_t> PhysicalRows(const DatasetState& table, const table::Fragment& fragment) {
  if (fragment.physical_rows != 0 || fragment.files.empty()) return fragment.physical_rows;
  ARROW_ASSIGN_OR_RAISE(const auto reader, OpenFiles::Get(table, fragment.files.front()));
  return reader->num_rows();
}

arrow::Result<std::shared_ptr<const OneFile>> ReadDeletionFile(const table::DeletionFile& file,
                                                               const ObjectLocation& place, uint64_t physical_rows) {
  ARROW_ASSIGN_OR_RAISE(const BufferPtr bytes, place.store->Get(place.key));
  auto deleted = table::DecodeDeletionFile(file, bytes, physical_rows);
  if (deleted.ok()) return std::make_shared<const OneFile>(OneFile{*std::move(deleted)});
  return WithContext(deleted.status(), fmt::format("deletion file '{}'", place.store->Describe(place.key)));
}

}  // namespace

arrow::Result<FragmentRows> FragmentRows::Load(const DatasetState& table, const table::Fragment& fragment) {
  FragmentRows rows;
  ARROW_ASSIGN_OR_RAISE(rows.physical_, PhysicalRows(table, fragment));
  if (!fragment.deletion_file) return rows;
  ARROW_ASSIGN_OR_RAISE(const ObjectLocation place, table.Locate(fragment.id, *fragment.deletion_file));
  const Resources& resources = table.session->resources();
  const auto part = table.session->Part("dataset.deleted", [&] { return std::make_shared<DeletedRows>(resources); });
  // What was checked when it was read holds for these numbers only.
  const std::string name = fmt::format("{}#{}#{}", place.key, rows.physical_, fragment.deletion_file->num_deleted_rows);
  ARROW_ASSIGN_OR_RAISE(const std::shared_ptr<const OneFile> file,
                        std::static_pointer_cast<DeletedRows>(part)->files.Get(place.store, name, [&] {
                          return ReadDeletionFile(*fragment.deletion_file, place, rows.physical_);
                        }));
  rows.deleted_ = {file, &file->rows};
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

std::optional<uint64_t> KnownLiveRows(const table::Fragment& fragment) {
  if (fragment.physical_rows == 0) return std::nullopt;
  if (!fragment.deletion_file) return fragment.physical_rows;
  const uint64_t deleted = fragment.deletion_file->num_deleted_rows;
  if (deleted == 0 || deleted > fragment.physical_rows) return std::nullopt;
  return fragment.physical_rows - deleted;
}

arrow::Result<uint64_t> CountLiveRows(const DatasetState& table, const table::Fragment& fragment) {
  if (const auto known = KnownLiveRows(fragment)) return *known;
  if (fragment.physical_rows != 0 && fragment.deletion_file->num_deleted_rows > fragment.physical_rows) {
    return Corruption("fragment {} of '{}' has {} rows and {} deleted ones", fragment.id, table.location.uri,
                      fragment.physical_rows, fragment.deletion_file->num_deleted_rows);
  }
  ARROW_ASSIGN_OR_RAISE(const FragmentRows rows, FragmentRows::Load(table, fragment));
  return rows.live();
}

}  // namespace javelin::internal
