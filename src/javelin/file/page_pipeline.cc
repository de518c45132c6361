#include "javelin/file/page_pipeline_internal.h"

#include <algorithm>
#include <numeric>
#include <optional>

#include "javelin/base/error.h"

namespace javelin::file {

namespace {

constexpr size_t kPagesAtOnce = 8;

}  // namespace

arrow::Status PagePipeline::Add(ClosedPage page) {
  bytes_ += page.bytes;
  waiting_.push_back(std::move(page));
  return waiting_.size() >= kPagesAtOnce || bytes_ >= max_bytes_ ? Drain() : arrow::Status::OK();
}

arrow::Status PagePipeline::Drain() {
  while (!waiting_.empty()) {
    std::vector<MemoryReservation> room;
    while (room.size() < std::min(kPagesAtOnce, waiting_.size())) {
      auto more = MemoryReservation::Make(*resources_.memory, static_cast<int64_t>(waiting_[room.size()].bytes),
                                          "encoded pages of a data file");
      if (!more.ok()) break;
      room.push_back(std::move(*more));
    }
    ARROW_RETURN_NOT_OK(WriteFirst(std::max<size_t>(room.size(), 1)));
  }
  return arrow::Status::OK();
}

arrow::Status PagePipeline::WriteFirst(size_t count) {
  std::vector<std::optional<arrow::Result<std::vector<EncodedPage>>>> encoded(count);
  std::vector<size_t> order(count);
  std::iota(order.begin(), order.end(), 0);
  // The largest first, so that none is left alone at the end.
  std::ranges::stable_sort(order, [&](size_t a, size_t b) { return waiting_[a].bytes > waiting_[b].bytes; });
  std::vector<Job> jobs;
  for (size_t i : order) jobs.push_back([this, &encoded, i] { encoded[i] = waiting_[i].encode(); });
  if (jobs.size() == 1) {
    jobs[0]();
  } else {
    resources_.runtime->Cpu(std::move(jobs));
  }
  for (size_t i = 0; i < count; ++i) {
    const ClosedPage& page = waiting_[i];
    if (!encoded[i]->ok())
      return WithField(WithContext(encoded[i]->status(), fmt::format("column '{}'", page.name)), "column", page.name);
    for (const EncodedPage& part : **encoded[i]) ARROW_RETURN_NOT_OK(container_.WritePage(page.column, part));
    encoded[i].reset();
    bytes_ -= page.bytes;
  }
  waiting_.erase(waiting_.begin(), waiting_.begin() + static_cast<std::ptrdiff_t>(count));
  return arrow::Status::OK();
}

}  // namespace javelin::file
