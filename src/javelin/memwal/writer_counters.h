// The figures of one writer, written by its tasks and callers.
#pragma once

#include "javelin/base/runtime.h"
#include "javelin/memwal/shard_writer.h"

namespace javelin::memwal {

class WriterCounters {
 public:
  explicit WriterCounters(Runtime& runtime) : mutex_(runtime) {}

  template <typename Change>
  void Update(const Change& change) {
    std::lock_guard lock(mutex_);
    change(stats_);
  }
  WriterStats Get() const {
    std::lock_guard lock(mutex_);
    return stats_;
  }

 private:
  mutable Mutex mutex_;
  WriterStats stats_;
};

// Nanoseconds since construction.
class Stopwatch {
 public:
  explicit Stopwatch(Runtime& runtime) : runtime_(runtime), start_(runtime.Now()) {}
  uint64_t Nanoseconds() const { return static_cast<uint64_t>((runtime_.Now() - start_).count()); }

 private:
  Runtime& runtime_;
  const TimePoint start_;
};

}  // namespace javelin::memwal
