#include "javelin/memwal/bucket_hash.h"

#include <gtest/gtest.h>

#include <arrow/api.h>
#include <arrow/json/from_string.h>

#include "javelin/base/error.h"

namespace javelin::memwal {
namespace {

std::shared_ptr<arrow::Array> Column(const std::shared_ptr<arrow::DataType>& type, const std::string& json) {
  return arrow::json::ArrayFromJSONString(type, json).ValueOrDie();
}

struct Vector {
  std::shared_ptr<arrow::DataType> type;
  std::string json;  // a column of several values
  std::vector<int32_t> hashes;
  std::vector<int32_t> buckets_of_16;
};

// Values that the released peer gave for num_buckets 2^31 - 1 (the hash itself) and 16.
std::vector<Vector> HashesOfThePeer() {
  using namespace arrow;
  const std::vector<int32_t> small_hashes{593689054, 2079408170, 1982413648, 1012634083, 1931274395};
  const std::vector<int32_t> small_buckets{14, 10, 0, 3, 11};
  const std::string small = "[0, 1, -1, 42, 127]";
  return {
      {boolean(), "[true, false, null]", {2079408170, 593689054, 0}, {10, 14, 0}},
      {int8(), small, small_hashes, small_buckets},
      {int16(), small, small_hashes, small_buckets},
      {int32(), small, small_hashes, small_buckets},
      {int16(), "[-2]", {1087594050}, {2}},
      {int32(), "[2147483647, -2147483648]", {493794114, 429184916}, {2, 4}},
      {int64(),
       "[0, 1, -1, 34, 42, 4294967296, 9223372036854775807]",
       {1669671676, 1392991556, 1651860712, 2017239379, 1871679806, 987256456, 40977599},
       {12, 4, 8, 3, 14, 8, 15}},
      {uint8(), "[255]", {1815112793}, {9}},
      {uint32(), "[4294967295]", {1982413648}, {0}},
      {uint64(), "[18446744073709551615]", {1651860712}, {8}},
      {float32(),
       "[0, -0.0, 1, NaN, -1.5]",
       {593689054, 593689054, 1704440016, 1927335251, 77152391},
       {14, 14, 0, 3, 7}},
      {float64(),
       "[0, -0.0, 1, NaN, -1.5]",
       {1669671676, 1669671676, 2005098639, 1428788237, 3067565},
       {12, 12, 15, 13, 13}},
      {date32(), "[17486]", {1087118125}, {13}},
      {timestamp(TimeUnit::MICRO), "[1510871468000000]", {99539207}, {7}},
      {timestamp(TimeUnit::NANO, "UTC"), "[1510871468000000000]", {1409733579}, {11}},
      {time64(TimeUnit::MICRO), "[81068000000]", {1484720659}, {3}},
      {time32(TimeUnit::SECOND), "[81068]", {837542503}, {7}},
      {utf8(),
       R"(["", "a", "ab", "abc", "abcd", "iceberg", "hello world", "\u00e9", "\u65e5\u672c\u8a9e", null])",
       {0, 721651713, 1142947817, 1298343832, 1139631978, 1172751604, 804326488, 1993752369, 1308133185, 0},
       {0, 1, 9, 8, 10, 4, 8, 1, 1, 0}},
      {large_utf8(), R"(["iceberg"])", {1172751604}, {4}},
  };
}

TEST(BucketHash, HashesOfThePeer) {
  for (const Vector& vector : HashesOfThePeer()) {
    auto values = Column(vector.type, vector.json);
    auto buckets = EvaluateBucket(*values, 16).ValueOrDie();
    ASSERT_EQ(values->length(), static_cast<int64_t>(vector.hashes.size()));
    EXPECT_EQ(buckets->null_count(), 0);
    for (int64_t row = 0; row < values->length(); ++row) {
      EXPECT_EQ(BucketHash(*values, row).ValueOrDie(), vector.hashes[row]) << vector.type->ToString() << " row " << row;
      EXPECT_EQ(static_cast<const arrow::Int32Array&>(*buckets).Value(row), vector.buckets_of_16[row])
          << vector.type->ToString() << " row " << row;
    }
  }
}

TEST(BucketHash, BucketsOf8And1024) {
  struct Buckets {
    std::shared_ptr<arrow::DataType> type;
    const char *values, *of_8, *of_1024;
  };
  const Buckets cases[] = {
      {arrow::int32(), "[1, 2, 3, -1, 2147483647, -2147483648]", "[2, 7, 1, 0, 2, 4]", "[42, 895, 369, 848, 834, 916]"},
      {arrow::int64(), "[1, 2, -1, 4611686018427387904]", "[4, 4, 0, 2]", "[324, 756, 232, 986]"},
      {arrow::utf8(), R"(["", "a", "b", "abcd", "abcde", "h\u00e9llo w\u00f6rld"])", "[0, 1, 5, 2, 4, 2]",
       "[0, 1, 549, 874, 348, 18]"},
      {arrow::boolean(), "[true, false]", "[2, 6]", "[42, 478]"},
      {arrow::float32(), "[1.25, 0, NaN, -3.5]", "[0, 6, 3, 6]", "[584, 478, 339, 30]"},
      {arrow::float64(), "[1.25, -0.0, NaN, 1e300]", "[0, 4, 5, 4]", "[888, 764, 13, 188]"},
      {arrow::date32(), "[1, -3653]", "[2, 4]", "[42, 764]"},
  };
  for (const Buckets& test : cases) {
    auto values = Column(test.type, test.values);
    EXPECT_TRUE(EvaluateBucket(*values, 8).ValueOrDie()->Equals(Column(arrow::int32(), test.of_8))) << test.values;
    EXPECT_TRUE(EvaluateBucket(*values, 1024).ValueOrDie()->Equals(Column(arrow::int32(), test.of_1024)))
        << test.values;
  }
}

TEST(BucketHash, SlicesCountFromTheirOwnStart) {
  auto values = Column(arrow::utf8(), R"(["x", "a", null])")->Slice(1);
  EXPECT_EQ(BucketHash(*values, 0).ValueOrDie(), 721651713);
  EXPECT_TRUE(EvaluateBucket(*values, 16).ValueOrDie()->Equals(Column(arrow::int32(), "[1, 0]")));
}

TEST(BucketHash, RefusesBadCountsAndTypes) {
  auto values = Column(arrow::int32(), "[1]");
  for (uint32_t num_buckets : {0u, kMostBuckets + 1}) {
    EXPECT_TRUE(HasKind(EvaluateBucket(*values, num_buckets).status(), ErrorKind::kInvalidInput));
  }
  EXPECT_TRUE(EvaluateBucket(*values, 1).ok());
  EXPECT_TRUE(EvaluateBucket(*values, kMostBuckets).ok());
  auto list = Column(arrow::list(arrow::int32()), "[[1]]");
  EXPECT_FALSE(IsBucketType(*list->type()));
  EXPECT_TRUE(HasKind(BucketHash(*list, 0).status(), ErrorKind::kInvalidInput));
  EXPECT_TRUE(HasKind(EvaluateBucket(*list, 4).status(), ErrorKind::kInvalidInput));
}

}  // namespace
}  // namespace javelin::memwal
