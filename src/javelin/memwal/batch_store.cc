#include "javelin/memwal/batch_store.h"

namespace javelin::memwal {

uint64_t StoredBatch::end_row() const { return first_row + static_cast<uint64_t>(batch->num_rows()); }

void BatchStore::Append(const std::vector<std::shared_ptr<arrow::RecordBatch>>& batches) {
  uint64_t end = committed_.load(std::memory_order_relaxed);
  uint64_t row = RowsBefore(LocalBatch(end));
  uint64_t row_bytes = 0;
  for (const auto& batch : batches) {
    slots_.Grow(end++) = {batch, row};
    row += static_cast<uint64_t>(batch->num_rows());
    row_bytes += RowBytes(*batch);
    retained_.Add(*batch);
  }
  row_bytes_.fetch_add(row_bytes, std::memory_order_relaxed);
  retained_bytes_.store(retained_.total() + slots_.allocated_bytes(), std::memory_order_relaxed);
  committed_.store(end, std::memory_order_release);
}

uint64_t BatchStore::BatchOfRow(uint64_t row, LocalBatch end) const {
  uint64_t low = 0;
  uint64_t high = end.value();
  while (high - low > 1) {
    const uint64_t middle = low + (high - low) / 2;
    (slots_[middle].first_row <= row ? low : high) = middle;
  }
  return low;
}

}  // namespace javelin::memwal
