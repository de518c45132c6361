// The deletion files that a commit reads and writes while it is rebased.
#pragma once

#include <string>
#include <vector>

#include "javelin/base/runtime.h"
#include "javelin/store/stores.h"
#include "javelin/table/row_rebase.h"

namespace javelin::table {

class CommitDeletionFiles : public DeletionFiles {
 public:
  CommitDeletionFiles(Runtime& runtime, const StoreLocation& table) : runtime_(runtime), table_(table) {}

  // RetryableConflict for a file that lies in another table: the operation runs again and reads it its own way.
  arrow::Result<OffsetSet> Read(const Fragment& fragment) override;
  arrow::Result<DeletionFile> Write(FragmentId fragment, const OffsetSet& deleted, const Manifest& head) override;

  // As far as that works: all that were written / all but the last of each fragment.
  void DiscardWritten();
  void DiscardReplaced();

 private:
  void Discard(const std::vector<std::string>& keys);

  Runtime& runtime_;
  const StoreLocation& table_;
  std::map<FragmentId, std::string> current_;  // keys
  std::vector<std::string> replaced_;
};

}  // namespace javelin::table
