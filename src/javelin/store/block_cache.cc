#include "javelin/store/block_cache.h"

#include <fmt/format.h>

#include "javelin/base/error.h"
#include "javelin/store/coalesce.h"

namespace javelin {

namespace {

// What the list and the map of the cache hold for a block beside its bytes, about.
constexpr uint64_t kEntryBytes = 512;

std::string NameOf(const std::string& key, uint64_t offset) { return fmt::format("{}#{}", key, offset); }

}  // namespace

uint64_t BlockCache::Block::memory_bytes() const { return static_cast<uint64_t>(bytes->size()) + kEntryBytes; }

// Parts of one object, apart from each other.
class BlockCache::Pieces {
 public:
  bool contains(uint64_t offset) const { return by_offset_.contains(offset); }
  void Add(uint64_t offset, BufferPtr bytes) { by_offset_.emplace(offset, std::move(bytes)); }

  // A range that lies in them: a view of one where that holds all of it.
  arrow::Result<BufferPtr> Cut(const ByteRange& range, arrow::MemoryPool* pool) const {
    arrow::BufferVector parts;
    for (uint64_t at = range.offset; at < range.end();) {
      const auto& [offset, bytes] = *std::prev(by_offset_.upper_bound(at));
      const uint64_t end = std::min(range.end(), offset + static_cast<uint64_t>(bytes->size()));
      parts.push_back(arrow::SliceBuffer(bytes, static_cast<int64_t>(at - offset), static_cast<int64_t>(end - at)));
      at = end;
    }
    if (parts.size() == 1) return parts[0];
    return arrow::ConcatenateBuffers(parts, pool);
  }

 private:
  std::map<uint64_t, BufferPtr> by_offset_;
};

arrow::Result<std::vector<BufferPtr>> BlockCache::GetRanges(const std::shared_ptr<ObjectStore>& store,
                                                            const std::string& key, uint64_t size,
                                                            std::span<const ByteRange> ranges, Access access) {
  if (access == Access::kScan && size > limit_ / 2) return store->GetRanges(key, ranges);
  Pieces pieces;
  std::vector<ByteRange> missing;
  for (const ByteRange& range : ranges) {
    ARROW_RETURN_NOT_OK(CheckRange(key, range, size));
    for (uint64_t at = range.offset / kBlockBytes * kBlockBytes; at < range.end(); at += kBlockBytes) {
      if (pieces.contains(at)) continue;
      const uint64_t length = std::min(kBlockBytes, size - at);
      const auto block = blocks_.Find(store, NameOf(key, at));
      if (block != nullptr && static_cast<uint64_t>(block->bytes->size()) == length) {
        pieces.Add(at, block->bytes);
      } else {
        missing.push_back({at, length});
      }
    }
  }
  if (!missing.empty()) ARROW_RETURN_NOT_OK(Read(store, key, CoalesceRanges(missing, 0), &pieces));
  std::vector<BufferPtr> answers;
  for (const ByteRange& range : ranges) {
    ARROW_ASSIGN_OR_RAISE(auto answer, pieces.Cut(range, pool_));
    answers.push_back(std::move(answer));
  }
  return answers;
}

// Each block is kept as a copy: a part of what the store answered would keep all of that in memory.
arrow::Status BlockCache::Read(const std::shared_ptr<ObjectStore>& store, const std::string& key,
                               const std::vector<ByteRange>& missing, Pieces* pieces) {
  ARROW_ASSIGN_OR_RAISE(const auto read, store->GetRanges(key, missing));
  if (read.size() != missing.size()) return Internal("the store answered {} of {} ranges", read.size(), missing.size());
  for (size_t i = 0; i < read.size(); ++i) {
    const auto [offset, length] = missing[i];
    if (static_cast<uint64_t>(read[i]->size()) != length)
      return Internal("the store answered another range than asked");
    pieces->Add(offset, read[i]);
    for (uint64_t at = 0; at < length; at += kBlockBytes) {
      ARROW_ASSIGN_OR_RAISE(auto copy,
                            read[i]->CopySlice(static_cast<int64_t>(at),
                                               static_cast<int64_t>(std::min(kBlockBytes, length - at)), pool_));
      blocks_.Keep(store, NameOf(key, offset + at), std::make_shared<const Block>(Block{std::move(copy)}));
    }
  }
  return arrow::Status::OK();
}

}  // namespace javelin
