#include "javelin/index/bloom_filter.h"

#include <gtest/gtest.h>

#include <arrow/api.h>

#include "javelin/base/error.h"
#include "javelin/base/seeded_random.h"

namespace javelin::index {
namespace {

std::vector<uint32_t> Words(const BloomFilter& filter) {
  const auto bytes = filter.ToBytes();
  std::vector<uint32_t> words(static_cast<size_t>(bytes->size()) / 4);
  std::memcpy(words.data(), bytes->data(), static_cast<size_t>(bytes->size()));
  return words;
}

TEST(BloomFilter, WhereTheBitsOfAHashLie) {
  BloomFilter filter;
  filter.Add(0x8000000000000001);  // block 512; with a low half of 1 each bit is the top five of the salt
  std::vector<uint32_t> expected(8192, 0);
  const int bits[] = {0x47 >> 3, 0x44 >> 3, 0x88 >> 3, 0xa2 >> 3, 0x70 >> 3, 0x2d >> 3, 0x9e >> 3, 0x5c >> 3};
  for (size_t i = 0; i < 8; ++i) expected[512 * 8 + i] = uint32_t{1} << bits[i];
  EXPECT_EQ(Words(filter), expected);
  filter.Add(0x8000000000000001);
  EXPECT_EQ(Words(filter), expected);
  EXPECT_TRUE(filter.MayContain(0x8000000000000001));
  EXPECT_FALSE(filter.MayContain(0x8000000000000002));
  EXPECT_FALSE(filter.MayContain(0x0000000000000001));
  filter.Add(0xffffffff00000000);  // the last block
  EXPECT_EQ(Words(filter)[8191], 1u);
}

TEST(BloomFilter, NeverDeniesWhatWasAdded) {
  SeededRandom random(7);
  std::vector<uint64_t> in, out;
  for (int i = 0; i < 8192; ++i) in.push_back(random.Next());
  for (int i = 0; i < 20000; ++i) out.push_back(random.Next());
  BloomFilter filter;
  filter.Add(in);
  const BloomFilter again = BloomFilter::FromBytes(*filter.ToBytes()).ValueOrDie();
  for (uint64_t hash : in) ASSERT_TRUE(filter.MayContain(hash) && again.MayContain(hash));
  // Sized for 8192 keys and 0.00057: about 11 of 20000.
  const auto wrong = std::count_if(out.begin(), out.end(), [&](uint64_t hash) { return again.MayContain(hash); });
  EXPECT_LT(wrong, 40);
}

TEST(BloomFilter, StoredOnesOfOtherSizes) {
  for (int64_t size : {32, 64, 65536}) {
    BloomFilter filter =
        BloomFilter::FromBytes(arrow::Buffer(std::string(static_cast<size_t>(size), '\0'))).ValueOrDie();
    filter.Add(0x8000000000000001);
    EXPECT_TRUE(filter.MayContain(0x8000000000000001));
    EXPECT_EQ(filter.ToBytes()->size(), size);
  }
  for (size_t size : {0, 16, 31, 33, 96, 32769}) {
    EXPECT_TRUE(
        HasKind(BloomFilter::FromBytes(arrow::Buffer(std::string(size, '\0'))).status(), ErrorKind::kCorruption))
        << size;
  }
}

}  // namespace
}  // namespace javelin::index
