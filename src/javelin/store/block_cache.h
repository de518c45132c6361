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

  // Rows are kept in whole blocks while those are not more than this, or not more than twice what was asked.
  static constexpr uint64_t kWideningBytes = 16 * kBlockBytes;
  // A scan of a larger object keeps nothing.
  static constexpr uint64_t kKeptScanBytes = 8 << 20;

  BlockCache(const Resources& resources, uint64_t limit_bytes)
      : pool_(resources.pool), limit_(limit_bytes), blocks_(*resources.runtime, limit_bytes) {}

  enum class Access {
    kRows,  // of a few rows, which may well be asked for again: kept unless they lie too far apart
    kScan,  // of rows one after another: kept only if the object is small and leaves half of the cache to others
  };

  // As ObjectStore::GetRanges, of an object of `size` bytes that never changes. For what is kept whole blocks are read,
  // neighbours that are missing as one range. For what is not, the ranges alone are, without those that lie in blocks
  // that are here; answers are then what the store answered, not copies. Contexts T, S.
  arrow::Result<std::vector<BufferPtr>> GetRanges(const std::shared_ptr<ObjectStore>& store, const std::string& key,
                                                  uint64_t size, std::span<const ByteRange> ranges, Access access);

  uint64_t memory_bytes() const { return blocks_.memory_bytes(); }

 private:
  struct Block {
    BufferPtr bytes;
    uint64_t memory_bytes() const;
  };
  class Pieces;
  // An object as it is asked for.
  struct Object {
    const std::shared_ptr<ObjectStore>& store;
    const std::string& key;
    uint64_t size;
  };

  bool Keeps(const Object& object, std::span<const ByteRange> ranges, Access access) const;
  arrow::Result<std::vector<BufferPtr>> GetKept(const Object& object, std::span<const ByteRange> ranges);
  arrow::Result<std::vector<BufferPtr>> GetStraight(const Object& object, std::span<const ByteRange> ranges);
  bool FindBlocks(const Object& object, const ByteRange& range, Pieces* pieces);
  BufferPtr FindBlock(const Object& object, uint64_t offset);
  arrow::Status Read(const Object& object, const std::vector<ByteRange>& missing, Pieces* pieces);

  arrow::MemoryPool* const pool_;
  const uint64_t limit_;
  ObjectCache<const Block> blocks_;
};

}  // namespace javelin
