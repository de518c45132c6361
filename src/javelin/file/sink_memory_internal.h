// Memory of what is being decoded.
#pragma once

#include <cstdint>
#include <memory>

#include <arrow/buffer.h>
#include <arrow/status.h>

#include "javelin/base/resources.h"
#include "javelin/store/object_store.h"

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
  void Release(uint64_t bytes);

 private:
  arrow::MemoryPool* pool_;
  MemoryBudget* budget_;  // may be null
  int64_t reserved_ = 0;
};

// Bytes as they grow. What is there is known without asking Arrow: appending within it costs no call.
class SinkBuffer {
 public:
  explicit SinkBuffer(SinkMemory& memory) : memory_(&memory) {}
  uint8_t* data() { return data_; }
  const uint8_t* data() const { return data_; }
  uint64_t size() const { return size_; }
  // Null before anything was asked for.
  bool is_null() const { return data_ == nullptr; }
  // Room for `size` bytes in all; the first time for `expected` if that is more, later at least doubling, so that
  // appending is cheap. Not null afterwards.
  arrow::Status Reserve(uint64_t size, uint64_t expected = 0) {
    return size <= capacity_ && data_ != nullptr ? arrow::Status::OK() : Grow(size, expected);
  }
  arrow::Status Resize(uint64_t size, uint64_t expected = 0) {
    ARROW_RETURN_NOT_OK(Reserve(size, expected));
    size_ = size;
    return arrow::Status::OK();
  }
  // Takes `count` more bytes of what was reserved.
  void Add(uint64_t count) { size_ += count; }
  uint64_t capacity() const { return capacity_; }
  // Must not be null.
  BufferPtr Finish() const;

 private:
  arrow::Status Grow(uint64_t size, uint64_t expected);

  SinkMemory* memory_;
  std::shared_ptr<arrow::ResizableBuffer> buffer_;
  uint8_t* data_ = nullptr;
  uint64_t size_ = 0;
  uint64_t capacity_ = 0;
};

}  // namespace javelin::file
