// How many rows a fragment has, and which of them are deleted.
#pragma once

#include <cstdint>
#include <memory>

#include <arrow/result.h>

#include "javelin/dataset/dataset_state_internal.h"
#include "javelin/table/offset_set.h"

namespace javelin::internal {

class FragmentRows {
 public:
  // Reads the deletion file, if there is one.
  static arrow::Result<FragmentRows> Load(const DatasetState& table, const table::Fragment& fragment);

  uint64_t physical() const { return physical_; }
  uint64_t live() const { return physical_ - deleted_->size(); }
  const table::OffsetSet& deleted() const { return *deleted_; }
  bool IsLive(uint64_t offset) const {
    return offset < physical_ && !deleted_->Contains(static_cast<uint32_t>(offset));
  }
  uint64_t LiveIn(uint64_t first, uint64_t end) const {
    return (end - first) - (deleted_->CountBelow(end) - deleted_->CountBelow(first));
  }
  // Offset of the n-th live row; n < live().
  uint64_t NthLive(uint64_t n) const { return deleted_->NthAbsent(n); }

 private:
  uint64_t physical_ = 0;
  std::shared_ptr<const table::OffsetSet> deleted_ = std::make_shared<const table::OffsetSet>();
};

// InvalidInput: `address`, in the fragment of `rows`, does not exist or is deleted.
arrow::Status CheckLive(const DatasetState& table, const FragmentRows& rows, RowAddress address);

// The number of rows that are not deleted, where the manifest says it.
std::optional<uint64_t> KnownLiveRows(const table::Fragment& fragment);
// The same, from the fragment's files where the manifest does not say it.
arrow::Result<uint64_t> CountLiveRows(const DatasetState& table, const table::Fragment& fragment);

}  // namespace javelin::internal
