// Memory of a list whose length nobody knows before.
#pragma once

#include <algorithm>
#include <vector>

#include <arrow/status.h>

#include "javelin/base/resources.h"

namespace javelin::internal {

class GrowingMemory {
 public:
  // `what` is of whom a refusal speaks; it must outlive this.
  GrowingMemory(MemoryBudget& budget, uint64_t bytes_each, const char* what)
      : budget_(budget), bytes_each_(bytes_each), what_(what) {}

  // Reserves for at least so many, a growing number at a time. OutOfMemory: the budget does not allow it.
  arrow::Status ReserveFor(uint64_t count) {
    while (reserved_ < count) {
      constexpr uint64_t kLeast = 1024;
      const uint64_t more = std::max(kLeast, reserved_);
      ARROW_ASSIGN_OR_RAISE(auto memory,
                            MemoryReservation::Make(budget_, static_cast<int64_t>(more * bytes_each_), what_));
      memory_.push_back(std::move(memory));
      reserved_ += more;
    }
    return arrow::Status::OK();
  }

 private:
  MemoryBudget& budget_;
  const uint64_t bytes_each_;
  const char* const what_;
  uint64_t reserved_ = 0;
  std::vector<MemoryReservation> memory_;
};

}  // namespace javelin::internal
