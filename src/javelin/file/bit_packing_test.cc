#include "javelin/file/bit_packing.h"

#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace javelin::file {
namespace {

template <typename T>
class BitPackingTest : public ::testing::Test {};
using WordTypes = ::testing::Types<uint8_t, uint16_t, uint32_t, uint64_t>;
TYPED_TEST_SUITE(BitPackingTest, WordTypes);

TYPED_TEST(BitPackingTest, EveryWidthRoundTripsAtAnyAddress) {
  using T = TypeParam;
  std::mt19937_64 random(7);
  for (unsigned width = 0; width <= sizeof(T) * 8; ++width) {
    std::vector<T> in(kPackedUnit);
    for (T& word : in) word = width == 0 ? T{0} : static_cast<T>(static_cast<T>(random()) >> (sizeof(T) * 8 - width));
    if (width > 0) in[500] = static_cast<T>(static_cast<T>(~T{0}) >> (sizeof(T) * 8 - width));
    EXPECT_EQ(WidthOf(in.data(), in.size()), width);
    // One byte off, and with a guard behind.
    std::vector<uint8_t> packed(PackedBytes(width) + 2, 0xA5);
    PackUnit(in.data(), width, packed.data() + 1);
    EXPECT_EQ(packed.back(), 0xA5);
    EXPECT_EQ(packed.front(), 0xA5);
    std::vector<T> out(kPackedUnit);
    UnpackUnit(packed.data() + 1, width, out.data());
    ASSERT_EQ(in, out) << "width " << width;
    for (size_t i = 0; i < kPackedUnit; ++i)
      ASSERT_EQ(UnpackOne<T>(packed.data() + 1, width, i), in[i]) << "width " << width << " index " << i;
  }
}

template <typename T>
std::vector<T> Packed(unsigned width, const std::function<T(size_t)>& value) {
  std::vector<T> in(kPackedUnit);
  for (size_t i = 0; i < kPackedUnit; ++i) in[i] = value(i);
  std::vector<T> out(PackedBytes(width) / sizeof(T));
  PackUnit(in.data(), width, reinterpret_cast<uint8_t*>(out.data()));
  return out;
}

// Words of real files (docs/format.md, "Test vectors").
TEST(BitPacking, WordsOfTheFormat) {
  auto bytes = Packed<uint8_t>(3, [](size_t i) { return static_cast<uint8_t>(i % 8); });
  EXPECT_EQ(std::vector<uint8_t>(bytes.begin(), bytes.begin() + 3), (std::vector<uint8_t>{0x00, 0x49, 0x92}));
  EXPECT_EQ(bytes.back(), 0xFF);
  auto shorts = Packed<uint16_t>(1, [](size_t i) { return static_cast<uint16_t>(i % 7 == 0); });
  EXPECT_EQ(std::vector<uint16_t>(shorts.begin(), shorts.begin() + 3), (std::vector<uint16_t>{0x0881, 0x4008, 0x0440}));
  EXPECT_EQ(shorts.back(), 0x0881);
  auto words = Packed<uint32_t>(10, [](size_t i) { return static_cast<uint32_t>(i); });
  EXPECT_EQ(std::vector<uint32_t>(words.begin(), words.begin() + 3),
            (std::vector<uint32_t>{0x10020000, 0x50120401, 0x90220802}));
  EXPECT_EQ(words.back(), 0xFFF7FBFEu);
  auto longs = Packed<uint64_t>(10, [](size_t i) { return static_cast<uint64_t>(i); });
  EXPECT_EQ(std::vector<uint64_t>(longs.begin(), longs.begin() + 3),
            (std::vector<uint64_t>{0x0A02006010020000, 0x1A06016050120401, 0x2A0A026090220802}));
  EXPECT_EQ(longs.back(), 0xFFF7FBFE7F7FD7F3u);
}

}  // namespace
}  // namespace javelin::file
