#include "javelin/file/shared_ranges_internal.h"

#include <algorithm>

#include <arrow/buffer.h>

namespace javelin::file {

SharedRanges::SharedRanges(std::vector<ByteRange> wanted) : wanted_(std::move(wanted)) {
  std::vector<ByteRange> sorted = wanted_;
  std::sort(sorted.begin(), sorted.end(), [](const ByteRange& a, const ByteRange& b) { return a.offset < b.offset; });
  for (const ByteRange& range : sorted) {
    if (distinct_.empty() || range.offset >= distinct_.back().end()) {
      distinct_.push_back(range);
    } else {
      distinct_.back().length = std::max(distinct_.back().end(), range.end()) - distinct_.back().offset;
    }
  }
}

std::vector<BufferPtr> SharedRanges::Share(std::vector<BufferPtr> bytes) const {
  std::vector<BufferPtr> shares;
  shares.reserve(wanted_.size());
  for (const ByteRange& range : wanted_) {
    const auto after = std::upper_bound(distinct_.begin(), distinct_.end(), range.offset,
                                        [](uint64_t offset, const ByteRange& one) { return offset < one.offset; });
    const size_t index = static_cast<size_t>(after - distinct_.begin()) - 1;
    shares.push_back(range == distinct_[index]
                         ? bytes[index]
                         : arrow::SliceBuffer(bytes[index],
                                              static_cast<int64_t>(range.offset - distinct_[index].offset),
                                              static_cast<int64_t>(range.length)));
  }
  return shares;
}

}  // namespace javelin::file
