// Values seen so far, each once.
#pragma once

#include <cstdint>
#include <cstring>
#include <vector>

#include "javelin/file/byte_span_internal.h"

namespace javelin::file {

// Numbered in the order of their first appearance. The bytes stay the caller's. Open addressing.
class DistinctValues {
 public:
  DistinctValues() : slots_(1024, kEmpty) {}

  // The number of the value; fewer than 2^32 - 1 of them.
  uint32_t Add(Bytes value);

  const std::vector<Bytes>& items() const { return items_; }
  uint64_t total_bytes() const { return total_bytes_; }

 private:
  static constexpr uint32_t kEmpty = ~uint32_t{0};

  void Rehash();

  std::vector<uint32_t> slots_;
  std::vector<Bytes> items_;
  uint64_t total_bytes_ = 0;
};

}  // namespace javelin::file
