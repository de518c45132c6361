// The rows of a MemTable: an append-only array of record batches that readers walk without a lock.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include <arrow/type_fwd.h>

#include "javelin/base/ids.h"
#include "javelin/base/segmented_array.h"
#include "javelin/memwal/cursors.h"
#include "javelin/memwal/memory_size.h"

namespace javelin::memwal {

struct StoredBatch {
  std::shared_ptr<arrow::RecordBatch> batch;
  uint64_t first_row = 0;  // rows of the store before it: position of its first row
  uint64_t end_row() const;
};

// One producer at a time (the writer's state lock or the replay); any number of readers. Slots are written first, then
// one release store of the committed count makes them readable, so a put of several batches appears whole or not at
// all.
class BatchStore {
 public:
  // `global_offset`: number of this writer's batches before this store; fixed for ever.
  explicit BatchStore(GlobalBatch global_offset) : global_offset_(global_offset) {}

  // Producer only. Every batch has at least one row.
  void Append(const std::vector<std::shared_ptr<arrow::RecordBatch>>& batches);

  LocalBatch committed() const { return LocalBatch(committed_.load(std::memory_order_acquire)); }
  // `index` < a committed() that this thread has seen.
  const StoredBatch& operator[](uint64_t index) const { return slots_[index]; }
  // Rows in the first `end` batches; `end` as for operator[] plus one.
  uint64_t RowsBefore(LocalBatch end) const { return end.value() == 0 ? 0 : slots_[end.value() - 1].end_row(); }
  // Which of the first `end` batches holds `row`, which must lie in one of them.
  uint64_t BatchOfRow(uint64_t row, LocalBatch end) const;

  GlobalBatch global_offset() const { return global_offset_; }
  GlobalBatch GlobalEnd(LocalBatch end) const { return GlobalBatch(global_offset_.value() + end.value()); }
  GlobalBatch global_end() const { return GlobalEnd(committed()); }

  uint64_t num_rows() const { return RowsBefore(committed()); }
  uint64_t row_bytes() const { return row_bytes_.load(std::memory_order_relaxed); }
  uint64_t retained_bytes() const { return retained_bytes_.load(std::memory_order_relaxed); }

 private:
  const GlobalBatch global_offset_;
  SegmentedArray<StoredBatch> slots_;
  RetainedBytes retained_;  // producer only
  std::atomic<uint64_t> row_bytes_{0};
  std::atomic<uint64_t> retained_bytes_{0};
  std::atomic<uint64_t> committed_{0};
};

}  // namespace javelin::memwal
