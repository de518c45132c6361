#include "javelin/table/offset_set.h"

#include <random>

#include "javelin/table/test_support_internal.h"

namespace javelin::table {
namespace {

using Numbers = std::set<uint32_t>;

OffsetSet Make(const Numbers& numbers) { return OffsetSet::FromUnsorted({numbers.begin(), numbers.end()}); }

Numbers Members(const OffsetSet& set) {
  Numbers out;
  for (const OffsetSet::Run& run : set.runs()) {
    for (uint64_t n = run.first; n <= run.last; ++n) out.insert(static_cast<uint32_t>(n));
  }
  return out;
}

Numbers RandomNumbers(std::mt19937& random, uint32_t bound) {
  Numbers numbers;
  const uint32_t count = random() % 60;
  for (uint32_t i = 0; i < count; ++i) {
    uint32_t first = random() % bound;
    for (uint32_t more = random() % 5; more-- > 0 && first < bound; ++first) numbers.insert(first);
  }
  return numbers;
}

TEST(OffsetSet, AgreesWithASetOfNumbers) {
  std::mt19937 random(7);
  for (int round = 0; round < 300; ++round) {
    const Numbers a = RandomNumbers(random, 200), b = RandomNumbers(random, 200);
    const OffsetSet set = Make(a), other = Make(b);
    ASSERT_EQ(Members(set), a);
    ASSERT_EQ(set.size(), a.size());
    uint64_t below = 0, absent = 0;
    for (uint32_t n = 0; n < 220; ++n) {
      ASSERT_EQ(set.Contains(n), a.contains(n)) << n;
      ASSERT_EQ(set.CountBelow(n), below) << n;
      if (a.contains(n)) {
        ++below;
      } else {
        ASSERT_EQ(set.NthAbsent(absent++), n);
      }
    }
    Numbers rest;
    std::set_difference(a.begin(), a.end(), b.begin(), b.end(), std::inserter(rest, rest.end()));
    ASSERT_EQ(Members(set.Without(other)), rest);
    Numbers both = a;
    both.insert(b.begin(), b.end());
    ASSERT_EQ(set.With(other), Make(both));
    ASSERT_EQ(set.Intersects(other), rest.size() != a.size());
    ASSERT_EQ(set.ContainsAll(other), std::includes(a.begin(), a.end(), b.begin(), b.end()));
  }
}

TEST(OffsetSet, TheLargestNumbers) {
  OffsetSet set = Make({UINT32_MAX, UINT32_MAX - 1, 5});
  EXPECT_EQ(set.size(), 3u);
  EXPECT_TRUE(set.Contains(UINT32_MAX));
  EXPECT_EQ(set.CountBelow(uint64_t{1} << 32), 3u);
  EXPECT_TRUE(set.Without(set).empty());
  EXPECT_EQ(set.With(Make({UINT32_MAX, 0})), Make({0, 5, UINT32_MAX - 1, UINT32_MAX}));
  EXPECT_EQ(set.NthAbsent(UINT32_MAX - 3), UINT32_MAX - 2);
}

TEST(OffsetSet, RepeatsCountOnce) {
  const OffsetSet set = OffsetSet::FromUnsorted({3, 1, 3, 2, 1});
  EXPECT_EQ(set.size(), 3u);
  EXPECT_EQ(set.runs().size(), 1u);
}

TEST(Roaring, RoundTripOfEveryContainerKind) {
  std::mt19937 random(11);
  std::vector<Numbers> cases = {{}, {0}, {UINT32_MAX}, {65535, 65536}};
  for (uint32_t count : {10u, 4096u, 4097u, 65536u, 70000u}) {
    Numbers dense, sparse;
    for (uint32_t i = 0; i < count; ++i) dense.insert(100 + i);
    while (sparse.size() < count) sparse.insert(random() % 400000);
    cases.push_back(dense);
    cases.push_back(sparse);
  }
  for (const Numbers& numbers : cases) {
    ASSERT_OK_AND_ASSIGN(const OffsetSet back, DecodeRoaring(EncodeRoaring(Make(numbers))));
    ASSERT_EQ(back, Make(numbers));
  }
}

// 9000 contiguous deleted rows take 8208 bytes in the released writer.
TEST(Roaring, SizeOfAContiguousSet) {
  OffsetSet set;
  set.Append(0, 8999);
  EXPECT_EQ(EncodeRoaring(set).size(), 8208u);
}

TEST(Roaring, RunContainers) {
  // One run container without offsets: cookie, run bits, key 1 with 6 numbers, 2 runs: 10..13 and 20..21.
  const std::string bytes = FromHex("3b30 0000 01  0100 0500  0200 0a00 0300 1400 0100");
  ASSERT_OK_AND_ASSIGN(const OffsetSet set, DecodeRoaring(bytes));
  EXPECT_EQ(Members(set), (Numbers{65546, 65547, 65548, 65549, 65556, 65557}));
}

TEST(Roaring, FourContainersWithRunsHaveOffsets) {
  std::string bytes = FromHex("3b30 0300 05");  // containers 0 and 2 are runs
  bytes += FromHex("0000 0100 0100 0000 0200 0000 0500 0000");
  bytes += FromHex("00000000 00000000 00000000 00000000");
  bytes += FromHex("0100 0300 0100") + FromHex("0700") + FromHex("0100 0000 0000") + FromHex("0900");
  ASSERT_OK_AND_ASSIGN(const OffsetSet set, DecodeRoaring(bytes));
  EXPECT_EQ(Members(set), (Numbers{3, 4, 65536 + 7, 2 * 65536, 5 * 65536 + 9}));
}

TEST(Roaring, BadBytesAreCorruption) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"", "ends"},
      {"3a30", "ends"},
      {"3c300000 00000000", "cookie"},
      {"3a300000 ffffffff", "containers"},
      {"3a300000 00000100", "ends"},
      {"3a300000 01000000 0000 0000 10000000", "ends"},                                // array cut off
      {"3a300000 01000000 0000 0100 10000000 0500 0500", "order"},                     // repeated value
      {"3a300000 02000000 0100 0000 0100 0000 00000000 00000000 0100 0200", "order"},  // repeated key
      {"3b300000 01 0000 0100 0100 ffff 0100", "leaves its container"},
      {"3b300000 01 0000 0500 0100 0000 0100", "holds 2 numbers, its header says 6"},
  };
  for (const auto& [hex, part] : cases) ExpectError(DecodeRoaring(FromHex(hex)).status(), ErrorKind::kCorruption, part);
  std::string bitmap = FromHex("3a300000 01000000 0000 0010 10000000") + std::string(8192, '\x01');
  ExpectError(DecodeRoaring(bitmap).status(), ErrorKind::kCorruption, "holds 8192 numbers");
}

TEST(Roaring, EveryCutIsRefused) {
  Numbers numbers;
  for (uint32_t i = 0; i < 5000; ++i) numbers.insert(i * 3);
  const std::string bytes = EncodeRoaring(Make(numbers));
  for (size_t length = 0; length < bytes.size(); length += 37) {
    ASSERT_TRUE(HasKind(DecodeRoaring(bytes.substr(0, length)).status(), ErrorKind::kCorruption)) << length;
  }
}

}  // namespace
}  // namespace javelin::table
