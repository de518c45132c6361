#include "javelin/dataset/conflict_retry.h"

#include <algorithm>

namespace javelin::internal {

arrow::Status CheckConflictRetry(const ConflictRetry& retry) {
  constexpr Duration kLongest = std::chrono::hours(24 * 365 * 10);
  if (retry.retries < 0) return InvalidInput("conflict_retries must not be negative, it is {}", retry.retries);
  if (retry.timeout < Duration(0) || retry.timeout > kLongest)
    return InvalidInput("retry_timeout must be from 0 to ten years");
  return arrow::Status::OK();
}

void WaitBeforeRetry(Runtime& runtime, int attempt) {
  constexpr Duration kSlot = std::chrono::milliseconds(5);
  constexpr int kMostDoublings = 6;
  const uint64_t slots = uint64_t{2} << std::min(attempt, kMostDoublings);
  runtime.Sleep(kSlot * static_cast<int64_t>(runtime.Random() % slots));
}

}  // namespace javelin::internal
