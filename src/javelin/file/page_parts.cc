#include "javelin/file/page_parts_internal.h"

#include <algorithm>

namespace javelin::file {

std::vector<PagePart> SplitByPage(const std::vector<PageMetadata>& pages, std::span<const Slice> rows) {
  std::vector<PagePart> parts;
  size_t page = 0;
  for (const Slice& slice : rows) {
    for (uint64_t first = slice.first; first < slice.end();) {
      if (first >= pages[page].first_row + pages[page].num_rows) {
        auto after =
            std::upper_bound(pages.begin() + static_cast<ptrdiff_t>(page), pages.end(), first,
                             [](uint64_t row, const PageMetadata& candidate) { return row < candidate.first_row; });
        page = static_cast<size_t>(after - pages.begin()) - 1;
      }
      const uint64_t end = std::min(slice.end(), pages[page].first_row + pages[page].num_rows);
      if (parts.empty() || parts.back().page != page) parts.push_back({page, {}});
      parts.back().rows.push_back({first - pages[page].first_row, end - first});
      first = end;
    }
  }
  return parts;
}

}  // namespace javelin::file
