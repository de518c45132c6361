// The first terminal failure of a writer, kept for ever (row V2).
#pragma once

#include <atomic>
#include <memory>

#include <arrow/status.h>

namespace javelin::memwal {

// Lock-free, so that no failure near it can hide the reason it holds.
class PoisonLatch {
 public:
  PoisonLatch() = default;
  PoisonLatch(const PoisonLatch&) = delete;
  ~PoisonLatch() { delete failure_.load(std::memory_order_acquire); }

  // True if this failure is the one that is kept; a later one is dropped.
  bool Set(const arrow::Status& failure) {
    auto mine = std::make_unique<const arrow::Status>(failure);
    const arrow::Status* none = nullptr;
    if (!failure_.compare_exchange_strong(none, mine.get(), std::memory_order_acq_rel)) return false;
    mine.release();
    return true;
  }
  // OK, or the failure.
  arrow::Status Check() const {
    const arrow::Status* failure = failure_.load(std::memory_order_acquire);
    return failure == nullptr ? arrow::Status::OK() : *failure;
  }
  bool IsSet() const { return failure_.load(std::memory_order_acquire) != nullptr; }

 private:
  std::atomic<const arrow::Status*> failure_{nullptr};
};

}  // namespace javelin::memwal
