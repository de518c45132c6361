#include "javelin/file/distinct_rows.h"

#include <algorithm>
#include <functional>

namespace javelin::file {

DistinctRows::DistinctRows(std::span<const uint64_t> asked) : places(asked.size()) {
  struct Asked {
    uint64_t row;
    size_t place;
  };
  std::vector<Asked> sorted(asked.size());
  for (size_t i = 0; i < asked.size(); ++i) sorted[i] = {asked[i], i};
  in_order = std::adjacent_find(asked.begin(), asked.end(), std::greater_equal<>()) == asked.end();
  if (!in_order) std::sort(sorted.begin(), sorted.end(), [](const Asked& a, const Asked& b) { return a.row < b.row; });
  rows.reserve(asked.size());
  for (const auto& [row, place] : sorted) {
    if (rows.empty() || rows.back() != row) rows.push_back(row);
    places[place] = rows.size() - 1;
  }
}

}  // namespace javelin::file
