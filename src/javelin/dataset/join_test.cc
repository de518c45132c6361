#include "javelin/dataset/dataset_world_internal.h"
#include "javelin/dataset/join_key_internal.h"
#include "javelin/dataset/join_source_internal.h"

#include <arrow/json/from_string.h>

namespace javelin::internal {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::shared_ptr<arrow::Array> Values(const std::shared_ptr<arrow::DataType>& type, const std::string& json) {
  return arrow::json::ArrayFromJSONString(type, json).ValueOrDie();
}

std::optional<std::string> KeyOf(const arrow::ArrayVector& columns, int64_t row) {
  std::string key;
  if (!AppendJoinKey(columns, row, key)) return std::nullopt;
  return key;
}

// Rows 0 and 1 are equal, 2 is another, 3 is null; and the same in slices.
TEST(JoinKeys, EqualValuesHaveEqualBytes) {
  const auto st = arrow::struct_({arrow::field("x", arrow::int32()), arrow::field("y", arrow::utf8())});
  const std::vector<std::pair<std::shared_ptr<arrow::DataType>, std::string>> cases = {
      {arrow::int8(), "[-1, -1, 1, null]"},
      {arrow::uint64(), "[18446744073709551615, 18446744073709551615, 0, null]"},
      {arrow::boolean(), "[true, true, false, null]"},
      {arrow::float64(), "[0.5, 0.5, 0.25, null]"},
      {arrow::utf8(), R"(["", "", "a", null])"},
      {arrow::large_binary(), R"(["ab", "ab", "b", null])"},
      {arrow::fixed_size_binary(2), R"(["ab", "ab", "ac", null])"},
      {arrow::decimal128(10, 2), R"(["1.50", "1.50", "1.51", null])"},
      {arrow::timestamp(arrow::TimeUnit::MICRO), "[5, 5, 6, null]"},
      {arrow::list(arrow::int32()), "[[1, null], [1, null], [1], null]"},
      {arrow::large_list(arrow::utf8()), R"([["a", "b"], ["a", "b"], ["ab", ""], null])"},
      {arrow::fixed_size_list(arrow::int16(), 2), "[[1, 2], [1, 2], [2, 1], null]"},
      {st, R"([{"x": 1, "y": null}, {"x": 1, "y": null}, {"x": null, "y": "1"}, null])"},
      {arrow::dictionary(arrow::int8(), arrow::utf8()), R"(["a", "a", "b", null])"},
  };
  for (const auto& [type, json] : cases) {
    SCOPED_TRACE(type->ToString());
    ASSERT_OK(CheckJoinable("k", *type));
    const auto array = Values(type, json);
    for (int64_t from : {0, 1}) {
      const auto part = array->Slice(from);
      EXPECT_EQ(KeyOf({part}, 1 - from), KeyOf({array}, 0));
      EXPECT_NE(KeyOf({part}, 2 - from), KeyOf({array}, 0));
      EXPECT_EQ(KeyOf({part}, 3 - from), std::nullopt);
    }
  }
  ExpectError(CheckJoinable("k", *arrow::list(arrow::null())), ErrorKind::kNotSupported, "'k'");
}

TEST(JoinKeys, PartsDoNotRunIntoEachOther) {
  const auto a = Values(arrow::utf8(), R"(["a", "ab", null, "a"])"),
             b = Values(arrow::utf8(), R"(["bc", "c", "c", null])");
  EXPECT_NE(KeyOf({a, b}, 0), KeyOf({a, b}, 1));
  EXPECT_EQ(KeyOf({a, b}, 2), std::nullopt);
  EXPECT_EQ(KeyOf({a, b}, 3), std::nullopt);
}

class JoinSources : public testing::Test {
 protected:
  arrow::Result<JoinSource> Read(arrow::RecordBatchVector batches, int64_t limit = 1 << 30) {
    resources_ = MakeResources(MakeThreadRuntime(), limit);
    const auto reader = ReaderOf(std::move(batches));
    const auto columns = file::Schema::FromArrow(*reader->schema()).ValueOrDie();
    return JoinSource::Read(*reader, columns, {"id"}, resources_);
  }
  static std::string Key(int64_t id) { return *KeyOf({Values(arrow::int64(), fmt::format("[{}]", id))}, 0); }
  Resources resources_;
};

TEST_F(JoinSources, FindsAndPicksRowsOfAllBatches) {
  arrow::RecordBatchVector batches;
  for (int64_t first = 0; first < 30'000; first += 100) batches.push_back(ToBatch(MakeRows(first, 100)));
  batches.push_back(ToBatch({{5, "again"}}));
  ASSERT_OK_AND_ASSIGN(const JoinSource source, Read(batches));
  EXPECT_EQ(source.num_rows(), 30'001u);
  EXPECT_THAT(source.FindAll(index::HashedKey(Key(5))), ElementsAre(5, 30'000));
  EXPECT_THAT(source.FindAll(index::HashedKey(Key(29'999))), ElementsAre(29'999));
  EXPECT_THAT(source.FindAll(index::HashedKey(Key(-1))), IsEmpty());
  const std::vector<uint64_t> rows = {30'000, 7, 29'999, 7, 0, 15'000};
  ASSERT_OK_AND_ASSIGN(const BatchPtr picked, source.Pick(rows));
  EXPECT_EQ(FromBatch(*picked), (std::vector<TestRow>{{5, "again"},
                                                      {7, MakeRows(7, 1)[0].s},
                                                      {29'999, "s29999"},
                                                      {7, MakeRows(7, 1)[0].s},
                                                      MakeRows(0, 1)[0],
                                                      MakeRows(15'000, 1)[0]}));
  ASSERT_OK_AND_ASSIGN(const BatchPtr names, source.Pick(rows, {"s"}));
  EXPECT_EQ(names->num_columns(), 1);
  EXPECT_TRUE(names->column(0)->Equals(*picked->column(1)));
  ASSERT_OK_AND_ASSIGN(const BatchPtr none, source.Pick(std::vector<uint64_t>()));
  EXPECT_EQ(none->num_rows(), 0);
}

TEST_F(JoinSources, AreHeldWithinTheBudget) {
  const arrow::RecordBatchVector batches(20, ToBatch(MakeRows(0, 10'000)));
  ExpectError(Read(batches, 2 << 20).status(), ErrorKind::kOutOfMemory, "smaller parts");
  EXPECT_EQ(resources_.memory->used(), 0);
  {
    ASSERT_OK_AND_ASSIGN(const JoinSource source, Read(batches));
    EXPECT_GT(resources_.memory->used(), 20 * 10'000 * 16);
  }
  EXPECT_EQ(resources_.memory->used(), 0);
}

}  // namespace
}  // namespace javelin::internal
