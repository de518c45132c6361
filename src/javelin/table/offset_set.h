// A set of 32-bit numbers kept as sorted runs: deleted row offsets of a fragment, fragment ids of an index.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <arrow/result.h>

namespace javelin::table {

class OffsetSet {
 public:
  struct Run {
    uint32_t first = 0;
    uint32_t last = 0;    // inclusive, so that 2^32 - 1 can be in a set
    uint64_t before = 0;  // numbers of the set below `first`
    uint64_t size() const { return uint64_t{last} - first + 1; }
    friend bool operator==(const Run&, const Run&) = default;
  };

  OffsetSet() = default;
  static OffsetSet FromUnsorted(std::vector<uint32_t> numbers);  // repeats count once

  // Adds [first, last]; `first` must be above every number in the set.
  void Append(uint32_t first, uint32_t last);

  bool empty() const { return runs_.empty(); }
  uint64_t size() const { return runs_.empty() ? 0 : runs_.back().before + runs_.back().size(); }
  uint32_t max() const { return runs_.back().last; }  // of a set that is not empty
  const std::vector<Run>& runs() const { return runs_; }
  bool Contains(uint32_t number) const;
  uint64_t CountBelow(uint64_t bound) const;  // numbers < bound
  bool ContainsAll(const OffsetSet& other) const;
  bool Intersects(const OffsetSet& other) const;
  OffsetSet Without(const OffsetSet& other) const;
  OffsetSet With(const OffsetSet& other) const;
  // The n-th number (from 0) that is NOT in the set.
  uint64_t NthAbsent(uint64_t n) const;

  friend bool operator==(const OffsetSet&, const OffsetSet&) = default;

 private:
  std::vector<Run> runs_;  // ascending, not touching
};

// The portable 32-bit Roaring format; array, bitmap and run containers. Corruption for anything else: the memory used
// is bounded by a small multiple of the bytes given.
arrow::Result<OffsetSet> DecodeRoaring(std::string_view bytes);
// Array and bitmap containers, as the released writer does.
std::string EncodeRoaring(const OffsetSet& set);

}  // namespace javelin::table
