#include "javelin/base/error.h"
#include "javelin/table/commit_files_internal.h"
#include "javelin/table/deletion_vector.h"
#include "javelin/table/versions.h"

namespace javelin::table {

namespace {
std::string KeyOf(const StoreLocation& table, FragmentId fragment, const DeletionFile& file) {
  return TableKey(table, "_deletions/" + DeletionFileName(fragment, file));
}
}  // namespace

arrow::Result<OffsetSet> CommitDeletionFiles::Read(const Fragment& fragment) {
  const DeletionFile& file = *fragment.deletion_file;
  if (file.base_id)
    return RetryableConflict("rows of fragment {} were deleted by another commit; run the operation again",
                             fragment.id);
  const std::string key = KeyOf(table_, fragment.id, file);
  ARROW_ASSIGN_OR_RAISE(const BufferPtr bytes, table_.store->Get(key));
  auto deleted = DecodeDeletionFile(file, bytes, fragment.physical_rows);
  if (!deleted.ok()) return WithField(deleted.status(), "path", table_.store->Describe(key));
  return deleted;
}

arrow::Result<DeletionFile> CommitDeletionFiles::Write(FragmentId fragment, const OffsetSet& deleted,
                                                       const Manifest& head) {
  ARROW_ASSIGN_OR_RAISE(const EncodedDeletionFile encoded, EncodeDeletionFile(deleted));
  const DeletionFile file{encoded.type, head.version.value(), runtime_.Random(), deleted.size(), std::nullopt};
  const std::string key = KeyOf(table_, fragment, file);
  std::string& current = current_[fragment];
  if (!current.empty()) replaced_.push_back(current);
  current = key;
  ARROW_RETURN_NOT_OK(table_.store->Put(key, encoded.bytes));
  return file;
}

void CommitDeletionFiles::DiscardWritten() {
  DiscardReplaced();
  std::vector<std::string> keys;
  for (const auto& [fragment, key] : current_) keys.push_back(key);
  Discard(keys);
  current_.clear();
}

void CommitDeletionFiles::DiscardReplaced() {
  Discard(replaced_);
  replaced_.clear();
}

void CommitDeletionFiles::Discard(const std::vector<std::string>& keys) {
  for (const std::string& key : keys) {
    const arrow::Status ignored = table_.store->Delete(key);
    static_cast<void>(ignored);
  }
}

}  // namespace javelin::table
