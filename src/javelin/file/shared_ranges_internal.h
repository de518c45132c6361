// What several scans of a page want alike is asked for once.
#pragma once

#include <vector>

#include "javelin/store/object_store.h"

namespace javelin::file {

class SharedRanges {
 public:
  explicit SharedRanges(std::vector<ByteRange> wanted);
  const std::vector<ByteRange>& distinct() const { return distinct_; }
  // The bytes of what was wanted, in that order, from those of distinct().
  std::vector<BufferPtr> Share(std::vector<BufferPtr> bytes) const;

 private:
  std::vector<ByteRange> wanted_;
  std::vector<ByteRange> distinct_;  // ascending, disjoint
};

}  // namespace javelin::file
