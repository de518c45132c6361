// What doors and tests make once and pass down: runtime, memory budget, metrics. No globals.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include <arrow/status.h>
#include <arrow/type_fwd.h>

#include "javelin/base/runtime.h"

namespace javelin {

// A limit on bytes that large operations hold at once. Reservations fail typed (OutOfMemory), they never block.
class MemoryBudget {
 public:
  explicit MemoryBudget(int64_t limit_bytes) : limit_(limit_bytes) {}
  arrow::Status Reserve(int64_t bytes, const char* what);
  void Release(int64_t bytes) { used_.fetch_sub(bytes); }
  int64_t used() const { return used_.load(); }
  int64_t limit() const { return limit_; }

 private:
  const int64_t limit_;
  std::atomic<int64_t> used_{0};
};

// Holds a reservation for as long as it lives.
class MemoryReservation {
 public:
  MemoryReservation() = default;
  static arrow::Result<MemoryReservation> Make(MemoryBudget& budget, int64_t bytes, const char* what);
  MemoryReservation(MemoryReservation&& other) noexcept { *this = std::move(other); }
  MemoryReservation& operator=(MemoryReservation&& other) noexcept;
  ~MemoryReservation();

 private:
  MemoryReservation(MemoryBudget* budget, int64_t bytes) : budget_(budget), bytes_(bytes) {}
  MemoryBudget* budget_ = nullptr;
  int64_t bytes_ = 0;
};

// Named counters of one Resources; cheap to add to, read as one sorted map.
class Metrics {
 public:
  explicit Metrics(Runtime& runtime) : mutex_(runtime) {}
  void Add(const std::string& name, int64_t amount = 1);
  std::map<std::string, int64_t> Snapshot() const;

 private:
  mutable Mutex mutex_;
  std::map<std::string, int64_t> counters_;
};

struct Resources {
  std::shared_ptr<Runtime> runtime;
  std::shared_ptr<MemoryBudget> memory;
  std::shared_ptr<Metrics> metrics;
  arrow::MemoryPool* pool = nullptr;
};

// `memory_limit_bytes` 0 = a quarter of the machine's memory, at most 4 GiB.
Resources MakeResources(std::shared_ptr<Runtime> runtime, int64_t memory_limit_bytes = 0);

}  // namespace javelin
