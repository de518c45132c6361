#include "javelin/store/block_cache.h"

#include <fmt/format.h>

#include "javelin/base/error.h"
#include "javelin/store/coalesce.h"

namespace javelin {

namespace {

// What the list and the map of the cache hold for a block beside its bytes, about.
constexpr uint64_t kEntryBytes = 512;

std::string NameOf(const std::string& key, uint64_t offset) { return fmt::format("{}#{}", key, offset); }

uint64_t BlockStart(uint64_t offset) { return offset / BlockCache::kBlockBytes * BlockCache::kBlockBytes; }

// The blocks that hold them, as ranges apart from each other; their last one may reach past the end of the object.
std::vector<ByteRange> Widened(std::span<const ByteRange> ranges) {
  std::vector<ByteRange> blocks;
  for (const ByteRange& range : ranges) {
    if (range.length == 0) continue;
    const uint64_t start = BlockStart(range.offset);
    blocks.push_back({start, BlockStart(range.end() - 1) + BlockCache::kBlockBytes - start});
  }
  return CoalesceRanges(blocks, 0);
}

uint64_t TotalBytes(std::span<const ByteRange> ranges) {
  uint64_t bytes = 0;
  for (const ByteRange& range : ranges) bytes += range.length;
  return bytes;
}

}  // namespace

uint64_t BlockCache::Block::memory_bytes() const { return static_cast<uint64_t>(bytes->size()) + kEntryBytes; }

// Parts of one object, apart from each other.
class BlockCache::Pieces {
 public:
  bool contains(uint64_t offset) const { return by_offset_.contains(offset); }
  void Add(uint64_t offset, BufferPtr bytes) { by_offset_.emplace(offset, std::move(bytes)); }

  // A range that lies in them: a view of one where that holds all of it.
  arrow::Result<BufferPtr> Cut(const ByteRange& range, arrow::MemoryPool* pool) const {
    if (range.length == 0) return arrow::AllocateBuffer(0, pool);
    auto piece = std::prev(by_offset_.upper_bound(range.offset));
    if (range.end() <= EndOf(*piece)) {
      return arrow::SliceBuffer(piece->second, static_cast<int64_t>(range.offset - piece->first),
                                static_cast<int64_t>(range.length));
    }
    ARROW_ASSIGN_OR_RAISE(std::unique_ptr<arrow::Buffer> copy,
                          arrow::AllocateBuffer(static_cast<int64_t>(range.length), pool));
    uint8_t* target = copy->mutable_data();
    for (uint64_t at = range.offset; at < range.end(); ++piece) {
      const uint64_t length = std::min(range.end(), EndOf(*piece)) - at;
      std::memcpy(target, piece->second->data() + (at - piece->first), length);
      target += length;
      at += length;
    }
    return BufferPtr(std::move(copy));
  }

 private:
  static uint64_t EndOf(const std::pair<const uint64_t, BufferPtr>& piece) {
    return piece.first + static_cast<uint64_t>(piece.second->size());
  }
  std::map<uint64_t, BufferPtr> by_offset_;
};

arrow::Result<std::vector<BufferPtr>> BlockCache::GetRanges(const std::shared_ptr<ObjectStore>& store,
                                                            const std::string& key, uint64_t size,
                                                            std::span<const ByteRange> ranges, Access access) {
  for (const ByteRange& range : ranges) ARROW_RETURN_NOT_OK(CheckRange(key, range, size));
  const Object object{store, key, size};
  return Keeps(object, ranges, access) ? GetKept(object, ranges) : GetStraight(object, ranges);
}

bool BlockCache::Keeps(const Object& object, std::span<const ByteRange> ranges, Access access) const {
  if (access == Access::kScan) return object.size <= std::min(kKeptScanBytes, limit_ / 2);
  return TotalBytes(Widened(ranges)) <= std::max(kWideningBytes, 2 * TotalBytes(ranges));
}

BufferPtr BlockCache::FindBlock(const Object& object, uint64_t offset) {
  const auto block = blocks_.Find(object.store, NameOf(object.key, offset));
  const uint64_t length = std::min(kBlockBytes, object.size - offset);
  if (block == nullptr || static_cast<uint64_t>(block->bytes->size()) != length) return nullptr;
  return block->bytes;
}

arrow::Result<std::vector<BufferPtr>> BlockCache::GetKept(const Object& object, std::span<const ByteRange> ranges) {
  Pieces pieces;
  std::vector<ByteRange> missing;
  for (const ByteRange& run : Widened(ranges)) {
    for (uint64_t at = run.offset; at < std::min(run.end(), object.size); at += kBlockBytes) {
      if (BufferPtr block = FindBlock(object, at)) {
        pieces.Add(at, std::move(block));
      } else {
        missing.push_back({at, std::min(kBlockBytes, object.size - at)});
      }
    }
  }
  if (!missing.empty()) ARROW_RETURN_NOT_OK(Read(object, CoalesceRanges(missing, 0), &pieces));
  std::vector<BufferPtr> answers;
  for (const ByteRange& range : ranges) {
    ARROW_ASSIGN_OR_RAISE(auto answer, pieces.Cut(range, pool_));
    answers.push_back(std::move(answer));
  }
  return answers;
}

// A range is read as a whole where a block of it is missing: putting it together would copy it, and what is saved is
// less than a request.
arrow::Result<std::vector<BufferPtr>> BlockCache::GetStraight(const Object& object, std::span<const ByteRange> ranges) {
  std::vector<BufferPtr> answers(ranges.size());
  std::vector<ByteRange> missing;
  std::vector<size_t> missing_index;
  for (size_t i = 0; i < ranges.size(); ++i) {
    Pieces pieces;
    if (FindBlocks(object, ranges[i], &pieces)) {
      ARROW_ASSIGN_OR_RAISE(answers[i], pieces.Cut(ranges[i], pool_));
    } else {
      missing.push_back(ranges[i]);
      missing_index.push_back(i);
    }
  }
  if (missing.empty()) return answers;
  ARROW_ASSIGN_OR_RAISE(auto read, object.store->GetRanges(object.key, missing));
  if (read.size() != missing.size()) return Internal("the store answered {} of {} ranges", read.size(), missing.size());
  for (size_t i = 0; i < read.size(); ++i) answers[missing_index[i]] = std::move(read[i]);
  return answers;
}

// False if one of the blocks that hold the range is not here.
bool BlockCache::FindBlocks(const Object& object, const ByteRange& range, Pieces* pieces) {
  if (range.length == 0) return true;
  for (uint64_t at = BlockStart(range.offset); at < range.end(); at += kBlockBytes) {
    BufferPtr block = FindBlock(object, at);
    if (block == nullptr) return false;
    pieces->Add(at, std::move(block));
  }
  return true;
}

// Blocks are kept as copies where the store answered more than one: a part would keep all of that in memory.
arrow::Status BlockCache::Read(const Object& object, const std::vector<ByteRange>& missing, Pieces* pieces) {
  ARROW_ASSIGN_OR_RAISE(const auto read, object.store->GetRanges(object.key, missing));
  if (read.size() != missing.size()) return Internal("the store answered {} of {} ranges", read.size(), missing.size());
  for (size_t i = 0; i < read.size(); ++i) {
    const auto [offset, length] = missing[i];
    if (static_cast<uint64_t>(read[i]->size()) != length)
      return Internal("the store answered another range than asked");
    pieces->Add(offset, read[i]);
    const bool is_one_block = length <= kBlockBytes && read[i]->parent() == nullptr;
    for (uint64_t at = 0; at < length; at += kBlockBytes) {
      BufferPtr block = read[i];
      if (!is_one_block) {
        const auto end = static_cast<int64_t>(std::min(length, at + kBlockBytes));
        ARROW_ASSIGN_OR_RAISE(block,
                              read[i]->CopySlice(static_cast<int64_t>(at), end - static_cast<int64_t>(at), pool_));
      }
      blocks_.Keep(object.store, NameOf(object.key, offset + at),
                   std::make_shared<const Block>(Block{std::move(block)}));
    }
  }
  return arrow::Status::OK();
}

}  // namespace javelin
