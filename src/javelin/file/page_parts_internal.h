// Which pages of a column hold which rows.
#pragma once

#include <span>
#include <vector>

#include "javelin/file/container_internal.h"
#include "javelin/file/decoder_internal.h"

namespace javelin::file {

struct PagePart {
  size_t page = 0;
  std::vector<Slice> rows;  // counted from the page's first row
};
// Splits rows of a column (ascending, disjoint, all of them in its pages) by page.
std::vector<PagePart> SplitByPage(const std::vector<PageMetadata>& pages, std::span<const Slice> rows);

}  // namespace javelin::file
