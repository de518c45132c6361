// Two measures of what record batches cost in memory (docs/format.md, "MemWAL: size measures").
#pragma once

#include <cstdint>
#include <unordered_map>

#include <arrow/type_fwd.h>

namespace javelin::memwal {

// Bytes that the rows themselves take: the slices of all buffers that the batch covers; data buffers of view types,
// unions and run-end encodings count whole. What freeze limits and the size trigger of the log go by.
uint64_t RowBytes(const arrow::RecordBatch& batch);

// Memory that a set of batches keeps alive: the capacity of every distinct allocation behind them, each counted once,
// however little of it a batch covers. What the memory ceiling goes by. Not thread-safe.
class RetainedBytes {
 public:
  // Adds a batch and returns what it pins beyond the batches before it.
  uint64_t Add(const arrow::RecordBatch& batch);
  uint64_t total() const { return total_; }

 private:
  void AddArray(const arrow::ArrayData& data);
  void AddBuffer(const arrow::Buffer& buffer);

  // Allocations by address: looked up only, never walked. The batches keep them alive, so no address is used twice.
  std::unordered_map<uintptr_t, uint64_t> capacity_of_;
  uint64_t total_ = 0;
};

}  // namespace javelin::memwal
