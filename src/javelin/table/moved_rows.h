// Row ids and versions of rows that go to other fragments and stay what they are (docs/format.md, "Tables: row ids").
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace javelin::table {

// Theirs, in the new order.
class MovedRows {
 public:
  // Of the rows that follow, as many of each.
  void Append(std::span<const uint64_t> row_ids, std::span<const uint64_t> created_versions,
              std::span<const uint64_t> updated_versions);
  // The whole lineage of a fragment of the rows [first, first + rows), which must have been appended.
  std::string Lineage(uint64_t first, uint64_t rows) const;

 private:
  struct Run {
    uint64_t end = 0;     // rows up to here
    uint64_t row_id = 0;  // of its first row; the others follow
    uint64_t rows = 0;
    uint64_t created = 0, updated = 0;
  };
  std::vector<Run> runs_;
};

}  // namespace javelin::table
