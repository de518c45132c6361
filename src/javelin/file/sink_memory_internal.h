// Memory of what is being decoded.
#pragma once

#include <cstdint>
#include <memory>

#include <arrow/buffer.h>
#include <arrow/status.h>

#include "javelin/base/resources.h"

namespace javelin::file {

// Memory of one read: taken from a pool, and counted against the budget while the read runs.
class SinkMemory {
 public:
  SinkMemory(arrow::MemoryPool* pool, MemoryBudget* budget) : pool_(pool), budget_(budget) {}
  ~SinkMemory();
  SinkMemory(const SinkMemory&) = delete;
  SinkMemory& operator=(const SinkMemory&) = delete;
  arrow::MemoryPool* pool() const { return pool_; }
  MemoryBudget* budget() const { return budget_; }  // may be null
  uint64_t bytes() const { return static_cast<uint64_t>(reserved_); }
  // Counts `bytes` that the caller is about to take. OutOfMemory: the budget does not allow it.
  arrow::Status Reserve(uint64_t bytes);
  // Makes room for `size` bytes in all; the first time for `expected` if that is more, later at least doubling, so that
  // appending is cheap.
  arrow::Status Grow(std::shared_ptr<arrow::ResizableBuffer>& buffer, uint64_t size, uint64_t expected = 0);

 private:
  arrow::MemoryPool* pool_;
  MemoryBudget* budget_;  // may be null
  int64_t reserved_ = 0;
};

}  // namespace javelin::file
