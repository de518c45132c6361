// A memory pool that knows what was asked of it.
#pragma once

#include <atomic>
#include <string>

#include <arrow/memory_pool.h>

namespace javelin::file::testing {

// Counts every byte that is asked for; memory that grows counts anew, for it is copied.
class CountingPool final : public arrow::MemoryPool {
 public:
  arrow::Status Allocate(int64_t size, int64_t alignment, uint8_t** out) override {
    asked_ += size;
    Hold(size);
    return pool_->Allocate(size, alignment, out);
  }
  arrow::Status Reallocate(int64_t old_size, int64_t new_size, int64_t alignment, uint8_t** pointer) override {
    if (new_size > old_size) asked_ += new_size;
    Hold(new_size - old_size);
    return pool_->Reallocate(old_size, new_size, alignment, pointer);
  }
  void Free(uint8_t* buffer, int64_t size, int64_t alignment) override {
    Hold(-size);
    pool_->Free(buffer, size, alignment);
  }
  int64_t bytes_allocated() const override { return held_; }
  int64_t max_memory() const override { return peak_; }
  int64_t total_bytes_allocated() const override { return asked_; }
  int64_t num_allocations() const override { return 0; }
  void ForgetPeak() { peak_ = held_.load(); }
  std::string backend_name() const override { return "counting"; }

 private:
  void Hold(int64_t bytes) {
    const int64_t held = held_ += bytes;
    int64_t peak = peak_;
    while (held > peak && !peak_.compare_exchange_weak(peak, held)) {}
  }
  arrow::MemoryPool* pool_ = arrow::system_memory_pool();
  std::atomic<int64_t> asked_ = 0;
  std::atomic<int64_t> held_ = 0;
  std::atomic<int64_t> peak_ = 0;
};

}  // namespace javelin::file::testing
