// Runs a change again when others changed the same rows meanwhile.
#pragma once

#include <functional>
#include <memory>
#include <utility>

#include <arrow/result.h>

#include "javelin/base/error.h"
#include "javelin/dataset/dataset.h"

namespace javelin {

struct ConflictRetry {
  int retries = 10;
  Duration timeout = std::chrono::seconds(30);  // none begins later; the first attempt does always
};

namespace internal {

arrow::Status CheckConflictRetry(const ConflictRetry& retry);
// Waits a random time before attempt `attempt` (from 1).
void WaitBeforeRetry(Runtime& runtime, int attempt);

}  // namespace internal

// What `attempt` gives for `dataset`, or, as long as that is RetryableConflict, for the newest version.
template <typename T>
arrow::Result<T> RetryOnConflict(const Dataset& dataset, const ConflictRetry& retry,
                                 const std::function<arrow::Result<T>(const Dataset&)>& attempt) {
  ARROW_RETURN_NOT_OK(internal::CheckConflictRetry(retry));
  Runtime& runtime = dataset.session()->runtime();
  const TimePoint deadline = runtime.Now() + retry.timeout;
  arrow::Result<T> result = attempt(dataset);
  for (int again = 1; again <= retry.retries && HasKind(result.status(), ErrorKind::kRetryableConflict); ++again) {
    internal::WaitBeforeRetry(runtime, again);
    if (runtime.Now() > deadline) break;
    ARROW_ASSIGN_OR_RAISE(const std::shared_ptr<Dataset> newest, dataset.CheckoutLatest());
    result = attempt(*newest);
  }
  return result;
}

}  // namespace javelin
