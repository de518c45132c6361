// Row numbers asked for in any order, each once.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace javelin::file {

struct DistinctRows {
  explicit DistinctRows(std::span<const uint64_t> asked);

  std::vector<uint64_t> rows;    // ascending
  std::vector<uint64_t> places;  // which of them each one asked for is
  bool in_order = true;          // they were asked for so, each once
};

}  // namespace javelin::file
