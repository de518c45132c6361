#include "javelin/store/coalesce.h"

#include <algorithm>

namespace javelin {

std::vector<ByteRange> CoalesceRanges(std::span<const ByteRange> ranges, uint64_t max_gap) {
  std::vector<ByteRange> sorted;
  std::copy_if(ranges.begin(), ranges.end(), std::back_inserter(sorted),
               [](const ByteRange& range) { return range.length > 0; });
  std::sort(sorted.begin(), sorted.end(), [](const ByteRange& a, const ByteRange& b) { return a.offset < b.offset; });
  std::vector<ByteRange> merged;
  for (const ByteRange& range : sorted) {
    if (merged.empty() || (range.offset > merged.back().end() && range.offset - merged.back().end() > max_gap)) {
      merged.push_back(range);
    } else {
      merged.back().length = std::max(merged.back().end(), range.end()) - merged.back().offset;
    }
  }
  return merged;
}

}  // namespace javelin
