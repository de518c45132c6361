#include "javelin/base/resources.h"

#include <unistd.h>

#include <algorithm>
#include <mutex>

#include <arrow/memory_pool.h>

#include "javelin/base/error.h"

namespace javelin {

arrow::Status MemoryBudget::Reserve(int64_t bytes, const char* what) {
  if (bytes < 0) return Internal("negative memory reservation of {} bytes for {}", bytes, what);
  int64_t used = used_.load();
  do {
    if (bytes > limit_ - used) {
      return OutOfMemory(
          "{} needs {} bytes, but {} of the memory limit of {} bytes are in use; raise the limit or do less at once",
          what, bytes, used, limit_);
    }
  } while (!used_.compare_exchange_weak(used, used + bytes));
  return arrow::Status::OK();
}

arrow::Result<MemoryReservation> MemoryReservation::Make(MemoryBudget& budget, int64_t bytes, const char* what) {
  ARROW_RETURN_NOT_OK(budget.Reserve(bytes, what));
  return MemoryReservation(&budget, bytes);
}

MemoryReservation& MemoryReservation::operator=(MemoryReservation&& other) noexcept {
  std::swap(budget_, other.budget_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

MemoryReservation::~MemoryReservation() {
  if (budget_ != nullptr) budget_->Release(bytes_);
}

void Metrics::Add(const std::string& name, int64_t amount) {
  std::lock_guard lock(mutex_);
  counters_[name] += amount;
}

std::map<std::string, int64_t> Metrics::Snapshot() const {
  std::lock_guard lock(mutex_);
  return counters_;
}

namespace {
// The system is asked once in a process, for sessions are made more often.
int64_t DefaultMemoryLimit() {
  constexpr int64_t kMost = int64_t{4} << 30;
  static const int64_t machine = int64_t{sysconf(_SC_PHYS_PAGES)} * sysconf(_SC_PAGESIZE);
  return machine > 0 ? std::min(machine / 4, kMost) : kMost;
}
}  // namespace

Resources MakeResources(std::shared_ptr<Runtime> runtime, int64_t memory_limit_bytes) {
  Resources resources;
  resources.memory = std::make_shared<MemoryBudget>(memory_limit_bytes > 0 ? memory_limit_bytes : DefaultMemoryLimit());
  resources.metrics = std::make_shared<Metrics>(*runtime);
  resources.pool = arrow::default_memory_pool();
  resources.runtime = std::move(runtime);
  return resources;
}

}  // namespace javelin
