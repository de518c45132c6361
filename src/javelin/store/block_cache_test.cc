// What is kept of the bytes that were read, what is asked of the store for the rest, and what goes first.
#include "javelin/store/block_cache.h"

#include <map>
#include <numeric>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "javelin/base/error.h"
#include "javelin/base/seeded_random.h"
#include "javelin/store/counting_store.h"
#include "javelin/store/fault_store.h"
#include "javelin/store/stores.h"

namespace javelin {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using Access = BlockCache::Access;

constexpr uint64_t kBlock = BlockCache::kBlockBytes;

std::string RandomText(SeededRandom& random, uint64_t size) {
  std::string text;
  while (text.size() < size) text.push_back(static_cast<char>(random.Below(256)));
  return text;
}

class BlockCacheTest : public testing::Test {
 protected:
  // An object of random bytes under that key.
  const std::string& Make(const std::string& key, uint64_t size) {
    const std::string& text = texts_[key] = RandomText(random_, size);
    EXPECT_TRUE(memory_->Put(key, arrow::Buffer::FromString(text)).ok());
    return text;
  }
  // Reads through the cache and compares with what was put.
  void Read(BlockCache& cache, const std::string& key, std::vector<ByteRange> ranges, Access access = Access::kRows) {
    const std::string& text = texts_.at(key);
    const auto answers = cache.GetRanges(store_, key, text.size(), ranges, access);
    ASSERT_TRUE(answers.ok()) << answers.status().ToString();
    ASSERT_EQ(answers->size(), ranges.size());
    for (size_t i = 0; i < ranges.size(); ++i)
      ASSERT_EQ((*answers)[i]->ToString(), text.substr(ranges[i].offset, ranges[i].length)) << key << " " << i;
  }
  // Bytes of each request since the last call.
  std::vector<uint64_t> Requested() {
    std::vector<uint64_t> bytes;
    for (const RequestRecord& request : store_->log()) bytes.push_back(request.bytes);
    store_->Reset();
    return bytes;
  }

  SeededRandom random_{1};
  const Resources resources_ = MakeResources(MakeThreadRuntime());
  const std::shared_ptr<ObjectStore> memory_ = MakeMemoryStore(resources_);
  const std::shared_ptr<CountingStore> store_ = std::make_shared<CountingStore>(*resources_.runtime, memory_);
  std::map<std::string, std::string> texts_;
};

TEST_F(BlockCacheTest, WhatWasReadIsNotAskedForAgain) {
  BlockCache cache(resources_, 100 * kBlock);
  Make("a", 10 * kBlock + 100);
  Read(cache, "a", {{10, 20}});
  EXPECT_THAT(Requested(), ElementsAre(kBlock));
  Read(cache, "a", {{0, kBlock}, {100, 1}, {5, 0}});
  EXPECT_THAT(Requested(), IsEmpty());
  Read(cache, "a", {{kBlock - 1, 2}});
  EXPECT_THAT(Requested(), ElementsAre(kBlock)) << "the first one is here";
  Read(cache, "a", {{10 * kBlock, 100}});
  EXPECT_THAT(Requested(), ElementsAre(100)) << "the last one is short";
  Read(cache, "a", {{0, 10 * kBlock + 100}}, Access::kScan);
  EXPECT_THAT(Requested(), ElementsAre(8 * kBlock)) << "neighbours at once";
  Read(cache, "a", {{kBlock / 2, 9 * kBlock}, {0, 10 * kBlock + 100}}, Access::kScan);
  EXPECT_THAT(Requested(), IsEmpty());
}

TEST_F(BlockCacheTest, RangesApartAreOneCallToTheStore) {
  BlockCache cache(resources_, 100 * kBlock);
  Make("a", 10 * kBlock);
  Read(cache, "a", {{9 * kBlock, 1}, {0, 1}, {3 * kBlock, 1}, {1, 1}});
  EXPECT_THAT(Requested(), ElementsAre(kBlock, kBlock, kBlock));
}

TEST_F(BlockCacheTest, WhatWasUsedLongestAgoGoesFirst) {
  BlockCache cache(resources_, 4 * kBlock);  // three blocks and what they cost beside their bytes
  Make("a", 2 * kBlock);
  Make("b", 2 * kBlock);
  Read(cache, "a", {{0, 1}});
  Read(cache, "a", {{kBlock, 1}});
  Read(cache, "b", {{0, 1}});
  Requested();
  Read(cache, "a", {{0, 1}});
  Read(cache, "b", {{kBlock, 1}});
  EXPECT_THAT(Requested(), ElementsAre(kBlock));
  Read(cache, "a", {{0, 1}});
  Read(cache, "b", {{0, 2 * kBlock}});
  EXPECT_THAT(Requested(), IsEmpty());
  Read(cache, "a", {{kBlock, 1}});
  EXPECT_THAT(Requested(), ElementsAre(kBlock)) << "the second block of a had to go";
  EXPECT_LE(cache.memory_bytes(), 4 * kBlock);
}

TEST_F(BlockCacheTest, AScanOfMoreThanHalfOfTheCachePushesNothingOut) {
  BlockCache cache(resources_, 8 * kBlock);
  Make("rows", 3 * kBlock);
  Make("large", 5 * kBlock);
  Make("small", 4 * kBlock);
  Read(cache, "rows", {{0, 3 * kBlock}});
  Requested();
  for (int i = 0; i < 2; ++i) {
    Read(cache, "large", {{7, 5 * kBlock - 7}}, Access::kScan);
    EXPECT_THAT(Requested(), ElementsAre(5 * kBlock - 7)) << "what was asked for and no more";
  }
  Read(cache, "small", {{0, 4 * kBlock}}, Access::kScan);
  EXPECT_THAT(Requested(), ElementsAre(4 * kBlock));
  Read(cache, "rows", {{0, 3 * kBlock}});
  Read(cache, "small", {{0, 4 * kBlock}}, Access::kScan);
  EXPECT_THAT(Requested(), IsEmpty());
  Read(cache, "large", {{0, 1}});
  Requested();
  Read(cache, "large", {{1, 1}});
  EXPECT_THAT(Requested(), IsEmpty()) << "a few rows of it are kept";
}

TEST_F(BlockCacheTest, AnotherStoreAndAnotherSizeAreOtherObjects) {
  BlockCache cache(resources_, 100 * kBlock);
  Make("a", kBlock);
  Read(cache, "a", {{0, 10}});
  const auto other = MakeMemoryStore(resources_);
  ASSERT_EQ(other->Describe("a"), store_->Describe("a"));
  EXPECT_TRUE(HasKind(cache.GetRanges(other, "a", kBlock, std::vector<ByteRange>{{0, 10}}, Access::kRows).status(),
                      ErrorKind::kNotFound));
  Make("a", kBlock / 2);
  Read(cache, "a", {{0, kBlock / 2}});
}

TEST_F(BlockCacheTest, AFailureIsAnsweredAndNotKept) {
  const auto faults = std::make_shared<FaultStore>(*resources_.runtime, memory_);
  faults->AddRule({.method = "get", .kind = ErrorKind::kDenied});
  BlockCache cache(resources_, 100 * kBlock);
  const std::string& text = Make("a", 100);
  const std::vector<ByteRange> range{{10, 20}};
  EXPECT_TRUE(HasKind(cache.GetRanges(faults, "a", 100, range, Access::kRows).status(), ErrorKind::kDenied));
  EXPECT_EQ(cache.memory_bytes(), 0u);
  EXPECT_EQ(cache.GetRanges(faults, "a", 100, range, Access::kRows).ValueOrDie()[0]->ToString(), text.substr(10, 20));
  for (const ByteRange& outside : {ByteRange{90, 11}, ByteRange{101, 0}, ByteRange{UINT64_MAX, 2}}) {
    const auto refused = cache.GetRanges(faults, "a", 100, std::vector<ByteRange>{outside}, Access::kRows);
    EXPECT_TRUE(HasKind(refused.status(), ErrorKind::kIO)) << refused.status().ToString();
  }
}

// ---- what is not kept ----

constexpr uint64_t kLargeBytes = BlockCache::kKeptScanBytes + 1;

// Where the bytes lie in memory that the store answers with.
const uint8_t* BytesOf(ObjectStore& store, const std::string& key) { return store.Get(key).ValueOrDie()->data(); }

TEST_F(BlockCacheTest, AScanOfALargeObjectReadsWhatItIsAskedForAndKeepsNothing) {
  BlockCache cache(resources_, 10 * kLargeBytes);
  const std::string& text = Make("a", kLargeBytes);
  const std::vector<ByteRange> ranges{{7, 40 * kBlock}, {60 * kBlock + 1, 10 * kBlock - 2}};
  for (int i = 0; i < 2; ++i) {
    Read(cache, "a", ranges, Access::kScan);
    EXPECT_THAT(Requested(), ElementsAre(40 * kBlock, 10 * kBlock - 2));
  }
  EXPECT_EQ(cache.memory_bytes(), 0u);
  const auto answers = cache.GetRanges(memory_, "a", text.size(), ranges, Access::kScan).ValueOrDie();
  for (size_t i = 0; i < ranges.size(); ++i)
    EXPECT_EQ(answers[i]->data(), BytesOf(*memory_, "a") + ranges[i].offset) << "a copy was made";
  Make("b", kLargeBytes - 1);
  Read(cache, "b", {{0, kLargeBytes - 1}}, Access::kScan);
  Requested();
  Read(cache, "b", {{0, kLargeBytes - 1}}, Access::kScan);
  EXPECT_THAT(Requested(), IsEmpty()) << "a byte less is small";
}

TEST_F(BlockCacheTest, AScanOfALargeObjectUsesWhatIsHere) {
  BlockCache cache(resources_, 10 * kLargeBytes);
  Make("a", kLargeBytes);
  Read(cache, "a", {{0, 2 * kBlock}, {8 * kBlock, 1}});
  Requested();
  Read(cache, "a", {{100, 2 * kBlock - 100}, {8 * kBlock + 10, 5}, {9 * kBlock, 0}}, Access::kScan);
  EXPECT_THAT(Requested(), IsEmpty());
  Read(cache, "a", {{100, kBlock}, {2 * kBlock - 1, 2}, {8 * kBlock, kBlock}, {20 * kBlock, 5}}, Access::kScan);
  EXPECT_THAT(Requested(), ElementsAre(2, 5)) << "one reaches into a block that is not here, one lies in none";
  const uint64_t kept = cache.memory_bytes();
  Read(cache, "a", {{0, kLargeBytes}}, Access::kScan);
  EXPECT_THAT(Requested(), ElementsAre(kLargeBytes)) << "read as a whole rather than put together";
  EXPECT_EQ(cache.memory_bytes(), kept);
}

TEST_F(BlockCacheTest, RowsFarApartAreReadWithoutTheirBlocks) {
  BlockCache cache(resources_, 10 * kLargeBytes);
  Make("a", kLargeBytes);
  constexpr uint64_t kMost = BlockCache::kWideningBytes / kBlock;
  const auto rows_apart = [](uint64_t count, uint64_t bytes) {
    std::vector<ByteRange> ranges;
    for (uint64_t i = 0; i < count; ++i) ranges.push_back({3 * i * kBlock, bytes});
    return ranges;
  };
  Read(cache, "a", rows_apart(kMost + 1, 512));
  EXPECT_EQ(Requested(), std::vector<uint64_t>(kMost + 1, 512)) << "64 KiB each would be 128 times as much";
  EXPECT_EQ(cache.memory_bytes(), 0u);
  Read(cache, "a", rows_apart(kMost, 512));
  EXPECT_EQ(Requested(), std::vector<uint64_t>(kMost, kBlock)) << "few enough to be kept";
  Read(cache, "a", rows_apart(kMost + 1, 512));
  EXPECT_THAT(Requested(), ElementsAre(512)) << "all others are here";
  Read(cache, "a", {{100 * kBlock, (kMost + 1) * kBlock / 2}, {0, 1}});
  EXPECT_THAT(Requested(), ElementsAre((kMost + 2) / 2 * kBlock)) << "not twice as much as was asked for";
}

TEST_F(BlockCacheTest, ABlockReadAloneIsKeptWithoutACopy) {
  const auto store = MakeLocalStore(resources_, testing::TempDir(), {.sync = false});
  ASSERT_TRUE(store->Put("block_cache_test_object", arrow::Buffer::FromString(RandomText(random_, 3 * kBlock))).ok());
  BlockCache cache(resources_, 10 * kBlock);
  const auto bytes_of = [&](uint64_t offset) {
    const std::vector<ByteRange> range{{offset, 1}};
    return cache.GetRanges(store, "block_cache_test_object", 3 * kBlock, range, Access::kRows).ValueOrDie()[0]->data();
  };
  const uint8_t* first = bytes_of(0);
  EXPECT_EQ(bytes_of(0), first);
  EXPECT_EQ(bytes_of(kBlock - 1), first + kBlock - 1);
  EXPECT_TRUE(store->Delete("block_cache_test_object").ok());
}

// Whatever is kept and dropped, the answers are the bytes of the object.
TEST_F(BlockCacheTest, RandomReadsAnswerWhatWasWritten) {
  for (const uint64_t limit : {kBlock / 2, 3 * kBlock, 20 * kBlock, 1000 * kBlock}) {
    BlockCache cache(resources_, limit);
    const std::vector<std::string> keys{"a", "b", "a#0"};
    for (const std::string& key : keys) Make(key, 1 + random_.Below(12 * kBlock));
    for (int round = 0; round < 200; ++round) {
      const std::string& key = keys[random_.Below(keys.size())];
      const uint64_t size = texts_.at(key).size();
      std::vector<ByteRange> ranges;
      for (uint64_t i = random_.Below(5); i > 0; --i) {
        const uint64_t offset = random_.Below(size);
        ranges.push_back({offset, random_.Below(std::min(size - offset, 1 + random_.Below(3 * kBlock)) + 1)});
      }
      Read(cache, key, ranges, random_.Below(2) == 0 ? Access::kRows : Access::kScan);
      if (HasFatalFailure()) return;
      EXPECT_LE(cache.memory_bytes(), std::max(limit, 2 * kBlock));
    }
    uint64_t bytes = 0;
    for (const std::string& key : keys) bytes += texts_.at(key).size();
    Requested();
    for (const std::string& key : keys) Read(cache, key, {{0, texts_.at(key).size()}});
    for (const std::string& key : keys) Read(cache, key, {{0, texts_.at(key).size()}});
    const auto requested = Requested();
    if (limit > 2 * bytes) {
      EXPECT_THAT(std::accumulate(requested.begin(), requested.end(), uint64_t{0}), testing::Le(bytes));
    }
  }
}

}  // namespace
}  // namespace javelin
