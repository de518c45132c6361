#include "javelin/index/key_index.h"

#include <gtest/gtest.h>

#include <atomic>
#include <map>

#include "javelin/base/runtime.h"

namespace javelin::index {
namespace {

std::string KeyNumber(uint64_t n) { return "key-" + std::to_string(n * 7919 % 1'000'003); }

TEST(KeyIndex, NewestVersionBelowABound) {
  KeyIndex index;
  for (const char* key : {"a", "b", "a", "c", "a"}) ASSERT_TRUE(index.Add(key).ok());
  const HashedKey a("a");
  EXPECT_EQ(index.FindNewest(a, 5), 4u);
  EXPECT_EQ(index.FindNewest(a, 4), 2u);
  EXPECT_EQ(index.FindNewest(a, 2), 0u);
  EXPECT_EQ(index.FindNewest(a, 0), std::nullopt);
  EXPECT_EQ(index.FindNewest(HashedKey("c"), 3), std::nullopt);
  EXPECT_EQ(index.FindNewest(HashedKey("d"), 5), std::nullopt);
  EXPECT_EQ(index.FindAll(a, 5), (std::vector<uint64_t>{4, 2, 0}));
  EXPECT_EQ(index.KeyOf(3).bytes, "c");
  EXPECT_EQ(index.KeyOf(3).hash, HashedKey("c").hash);
}

TEST(KeyIndex, KnowsWhetherAKeyCameTwice) {
  KeyIndex index;
  ASSERT_TRUE(index.Add("a").ok());
  ASSERT_TRUE(index.Add("b").ok());
  EXPECT_FALSE(index.has_overrides());
  ASSERT_TRUE(index.Add("a").ok());
  EXPECT_TRUE(index.has_overrides());
}

TEST(KeyIndex, KeysMayHoldAnyBytes) {
  KeyIndex index;
  const std::string zero("\0", 1), two_zeros("\0\0", 2), empty, large(3'000'000, 'x');
  for (const auto& key : {zero, two_zeros, empty, large}) ASSERT_TRUE(index.Add(key).ok());
  EXPECT_EQ(index.FindNewest(HashedKey(zero), 4), 0u);
  EXPECT_EQ(index.FindNewest(HashedKey(two_zeros), 4), 1u);
  EXPECT_EQ(index.FindNewest(HashedKey(empty), 4), 2u);
  EXPECT_EQ(index.FindNewest(HashedKey(large), 4), 3u);
}

TEST(KeyIndex, AgreesWithAMapWhileItGrows) {
  KeyIndex index;
  std::map<std::string, std::vector<uint64_t>> model;
  for (uint64_t row = 0; row < 20'000; ++row) {
    const std::string key = KeyNumber(row % 6'001);
    ASSERT_TRUE(index.Add(key).ok());
    model[key].insert(model[key].begin(), row);
  }
  EXPECT_EQ(index.num_rows(), 20'000u);
  for (const auto& [key, rows] : model) ASSERT_EQ(index.FindAll(HashedKey(key), 20'000), rows) << key;
  EXPECT_GT(index.memory_bytes(), 20'000u * 24);
}

// Readers beside the producer: every row below the published count is found, across all growths of the table.
TEST(KeyIndex, ReadersRunBesideTheProducer) {
  auto runtime = MakeThreadRuntime();
  KeyIndex index;
  std::atomic<uint64_t> published{0};
  constexpr uint64_t kRows = 30'000;
  constexpr uint64_t kKeys = 9'973;
  auto producer = runtime->Spawn("producer", [&] {
    for (uint64_t row = 0; row < kRows; ++row) {
      ASSERT_TRUE(index.Add(KeyNumber(row % kKeys)).ok());
      published.store(row + 1, std::memory_order_release);
    }
  });
  std::atomic<uint64_t> checks{0};
  std::vector<TaskHandle> readers;
  for (uint64_t reader = 0; reader < 2; ++reader) {
    readers.push_back(runtime->Spawn("reader", [&, reader] {
      uint64_t bound = 0;
      for (uint64_t step = reader; bound < kRows; step += 31) {
        bound = published.load(std::memory_order_acquire);
        if (bound == 0) continue;
        const uint64_t row = step % bound;
        const uint64_t newest = row + (bound - 1 - row) / kKeys * kKeys;
        ASSERT_EQ(index.FindNewest(HashedKey(KeyNumber(row % kKeys)), bound), newest)
            << "row " << row << " bound " << bound;
        ASSERT_EQ(index.KeyOf(row).bytes, KeyNumber(row % kKeys));
        checks.fetch_add(1);
      }
    }));
  }
  producer.Join();
  for (auto& reader : readers) reader.Join();
  EXPECT_GT(checks.load(), 0u);
}

}  // namespace
}  // namespace javelin::index
