#include "javelin/memwal/parallel_internal.h"

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

namespace javelin::memwal {

arrow::Status InParallel(Runtime& runtime, size_t count, const std::function<arrow::Status(size_t)>& work) {
  Mutex mutex(runtime);
  size_t next = 0;
  std::map<size_t, arrow::Status> failures;  // by number
  const auto take = [&]() -> std::optional<size_t> {
    std::lock_guard lock(mutex);
    if (next == count || !failures.empty()) return std::nullopt;
    return next++;
  };
  const auto run = [&] {
    while (const auto number = take()) {
      const arrow::Status done = work(*number);
      if (done.ok()) continue;
      std::lock_guard lock(mutex);
      failures.emplace(*number, done);
    }
  };
  std::vector<std::unique_ptr<Strand>> strands;  // declared last: their jobs end before what they use
  for (size_t i = 1; i < std::min(count, kRequestsAtOnce); ++i) {
    strands.push_back(std::make_unique<Strand>(runtime, "parallel"));
    strands.back()->Post(run);
  }
  run();
  // Nothing is left to begin, so those that got no thread yet are not waited for.
  strands.clear();
  return failures.empty() ? arrow::Status::OK() : failures.begin()->second;
}

}  // namespace javelin::memwal
