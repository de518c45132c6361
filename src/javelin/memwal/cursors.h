// What of a writer's rows is durable and what may be read: three exclusive counts that only grow (rows V5-V7).
//
//   durable  batches of this writer that are in the log; global numbers over the writer's life. Proves: a put whose end
//   it
//            covers survives a crash.
//   indexed  batches of one MemTable that every index of it has taken; local numbers. Proves: a lookup finds them.
//   visible  derived on every use, never stored: durable_write ? min(indexed, local_end(durable)) : indexed.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "javelin/base/ids.h"

namespace javelin::memwal {

// A count that only grows and may be raised from several tasks.
class MonotonicCount {
 public:
  uint64_t Get() const { return value_.load(std::memory_order_acquire); }
  void RaiseTo(uint64_t value) {
    uint64_t seen = value_.load(std::memory_order_relaxed);
    while (seen < value &&
           !value_.compare_exchange_weak(seen, value, std::memory_order_release, std::memory_order_relaxed)) {}
  }

 private:
  std::atomic<uint64_t> value_{0};
};

// The only place that turns a global count into a local one; saturates at both ends, because a fresh MemTable starts
// ahead of the cursor and a frozen one lies behind it.
inline LocalBatch LocalEnd(GlobalBatch cursor, GlobalBatch offset_of_first, LocalBatch committed) {
  if (cursor <= offset_of_first) return LocalBatch(0);
  return LocalBatch(std::min(cursor.value() - offset_of_first.value(), committed.value()));
}

}  // namespace javelin::memwal
