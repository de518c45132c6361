// Blocks of objects that never change, kept while memory allows: what was read once is not asked for again.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <arrow/result.h>

#include "javelin/base/resources.h"
#include "javelin/store/object_cache.h"
#include "javelin/store/object_store.h"

namespace javelin {

// Any number of threads. What was used longest ago goes first.
class BlockCache {
 public:
  // Blocks lie at multiples of this. It is what a read steps over rather than ask twice (coalesce.h): smaller blocks
  // would make more requests, larger ones bring in more than a row needs.
  static constexpr uint64_t kBlockBytes = 64 * 1024;

  BlockCache(const Resources& resources, uint64_t limit_bytes)
      : pool_(resources.pool), limit_(limit_bytes), blocks_(*resources.runtime, limit_bytes) {}

  enum class Access {
    kRows,  // of a few rows, which may well be asked for again: always kept
    kScan,  // of rows one after another: kept only if all of the object leaves half of the cache to others
  };

  // As ObjectStore::GetRanges, of an object of `size` bytes that never changes. Whole blocks
  // are read, neighbours that are missing as one range. A scan that is not kept reads the ranges alone. Contexts T, S.
  arrow::Result<std::vector<BufferPtr>> GetRanges(const std::shared_ptr<ObjectStore>& store, const std::string& key,
                                                  uint64_t size, std::span<const ByteRange> ranges, Access access);

  uint64_t memory_bytes() const { return blocks_.memory_bytes(); }

 private:
  struct Block {
    BufferPtr bytes;
    uint64_t memory_bytes() const;
  };
  class Pieces;
  arrow::Status Read(const std::shared_ptr<ObjectStore>& store, const std::string& key,
                     const std::vector<ByteRange>& missing, Pieces* pieces);

  arrow::MemoryPool* const pool_;
  const uint64_t limit_;
  ObjectCache<const Block> blocks_;
};

}  // namespace javelin
