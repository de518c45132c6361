#include "javelin/base/error.h"
#include "javelin/table/apply_internal.h"
#include "javelin/table/index_entry.h"
#include "javelin/table/mem_wal_details.h"

namespace javelin::table {

namespace {

auto FindByUuid(std::vector<IndexEntry>& indices, const std::string& uuid) {
  return std::find_if(indices.begin(), indices.end(), [&](const IndexEntry& index) { return index.uuid == uuid; });
}

auto FindByName(std::vector<IndexEntry>& indices, std::string_view name) {
  return std::find_if(indices.begin(), indices.end(), [&](const IndexEntry& index) { return index.name == name; });
}

arrow::Status RemoveIndex(const IndexEntry& removed, Manifest& next) {
  auto found = removed.name == kMemWalIndexName ? FindByName(next.indices, removed.name)
                                                : FindByUuid(next.indices, removed.uuid);
  if (found != next.indices.end()) {
    next.indices.erase(found);
  } else if (FindByName(next.indices, removed.name) != next.indices.end()) {
    return RetryableConflict("index '{}' was rebuilt since; run the operation again on the newest version",
                             removed.name);
  }
  return arrow::Status::OK();
}

// A new MemWAL entry in the place of the old one: progress and catch-up are those of the version this lands on, because
// a copy that was read earlier may hold positions that have been withdrawn since.
arrow::Result<IndexEntry> InheritProgress(const IndexEntry& entry, const Manifest& head) {
  const IndexEntry* current = head.FindIndex(kMemWalIndexName);
  if (current == nullptr) return entry;
  ARROW_ASSIGN_OR_RAISE(const MemWalDetails progress, DecodeMemWalDetails(current->details));
  ARROW_ASSIGN_OR_RAISE(MemWalDetails details, DecodeMemWalDetails(entry.details));
  if (details.compacted_sstables == progress.compacted_sstables && details.index_catchup == progress.index_catchup)
    return entry;
  details.compacted_sstables = progress.compacted_sstables;
  details.index_catchup = progress.index_catchup;
  return WithDetails(entry, EncodeMemWalDetails(details));
}

arrow::Status AddMemWalEntry(const IndexEntry& added, const Manifest& head, Manifest& next) {
  if (next.FindIndex(kMemWalIndexName) != nullptr) return InvalidInput("MemWAL is already initialized on this table");
  ARROW_ASSIGN_OR_RAISE(IndexEntry entry, InheritProgress(added, head));
  const IndexEntry* current = head.FindIndex(kMemWalIndexName);
  size_t place = current == nullptr ? next.indices.size() : static_cast<size_t>(current - head.indices.data());
  place = std::min(place, next.indices.size());
  next.indices.insert(next.indices.begin() + static_cast<ptrdiff_t>(place), std::move(entry));
  return arrow::Status::OK();
}

arrow::Status AddIndex(const IndexEntry& added, const Manifest& head, Manifest& next) {
  if (FindByUuid(next.indices, added.uuid) != next.indices.end())
    return InvalidInput("index '{}' has a UUID that is in use", added.name);
  if (added.name == kMemWalIndexName) return AddMemWalEntry(added, head, next);
  for (FieldId field : added.fields) {
    if (next.schema.FindById(field) == nullptr) {
      return RetryableConflict("index '{}' is on field id {}, which the table no longer has", added.name, field);
    }
  }
  next.indices.push_back(added);
  return arrow::Status::OK();
}

}  // namespace

arrow::Status ApplyCreateIndex(const CreateIndex& create, const ApplyContext& context, Manifest& next) {
  for (const IndexEntry& removed : create.removed_indices) ARROW_RETURN_NOT_OK(RemoveIndex(removed, next));
  for (const IndexEntry& added : create.new_indices) ARROW_RETURN_NOT_OK(AddIndex(added, *context.head, next));
  return arrow::Status::OK();
}

}  // namespace javelin::table
