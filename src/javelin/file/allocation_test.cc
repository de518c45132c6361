// What the hot paths take from the pool, as multiples of what they answer: a copy too many shows here.
#include <arrow/compute/api.h>
#include <gmock/gmock.h>

#include "javelin/file/counting_pool_test_support.h"
#include "javelin/file/file_test_support.h"

namespace javelin::file {
namespace {

using namespace testing;

constexpr int64_t kRows = 100'000;
// Arrow rounds each buffer up to 64 bytes; there are a few, and some a chunk where there are levels.
constexpr int64_t kRounding = 1024;
constexpr int64_t kChunkRounding = 200 * 4 * 64;
// Memory that doubles as it grows: asked for are 1 + 2 + 4 + ..., and the last may be twice what was needed.
constexpr int64_t kGrowing = 4;
constexpr int64_t kLevelBytes = 2;

class Allocations : public ::testing::Test {
 protected:
  struct Cost {
    int64_t asked = 0;  // in all
    int64_t peak = 0;   // at once
  };

  Cost Measure(const std::shared_ptr<arrow::Array>& column, std::vector<uint64_t> rows = {},
               FileVersion version = {2, 2}) {
    const Resources plain = TestResources();
    const WrittenFile file = WriteFile(plain, {OneColumn(column)}, {.version = version}).ValueOrDie();
    CountingPool pool;
    Resources resources = TestResources();
    resources.pool = &pool;
    Cost cost;
    {
      auto reader = DataFileReader::Open(resources, StoreOf(file.bytes), "f.lance").ValueOrDie();
      // Chunk tables and dictionaries are kept; what a read takes besides is looked at.
      EXPECT_TRUE(reader->Read(file.schema, reader->DefaultColumns(), 0, reader->num_rows()).ok());
      const int64_t kept = pool.bytes_allocated();
      const int64_t before = pool.total_bytes_allocated();
      pool.ForgetPeak();
      auto batch = rows.empty() ? reader->Read(file.schema, reader->DefaultColumns(), 0, reader->num_rows())
                                : reader->Take(file.schema, reader->DefaultColumns(), rows);
      EXPECT_TRUE(batch.ok()) << batch.status().ToString();
      cost = {pool.total_bytes_allocated() - before, pool.max_memory() - kept};
    }
    EXPECT_EQ(pool.bytes_allocated(), 0);
    return cost;
  }

  // Of writing a file, which goes nowhere.
  Cost MeasureWrite(const std::shared_ptr<arrow::Array>& column, FileVersion version = {2, 2}) {
    CountingPool pool;
    Resources resources = TestResources();
    resources.pool = &pool;
    EXPECT_TRUE(WriteFile(resources, {OneColumn(column)}, {.version = version}).ok());
    EXPECT_EQ(pool.bytes_allocated(), 0);
    return {pool.total_bytes_allocated(), pool.max_memory()};
  }

  static std::shared_ptr<arrow::Array> Column(const std::shared_ptr<arrow::DataType>& type, double null_part,
                                              Spread spread) {
    return RandomColumns(7).Make(type, kRows, null_part, spread);
  }
};

TEST_F(Allocations, FixedWidth) {
  for (const Spread spread : {Spread::kAny, Spread::kSmall, Spread::kSequence, Spread::kRuns}) {
    const Cost cost = Measure(Column(arrow::int64(), 0, spread));
    // What is written of runs has a dictionary: in all an index for each row, at once those of a chunk.
    const bool has_dictionary = spread == Spread::kRuns;
    EXPECT_LE(cost.asked, 8 * kRows + kRounding + (has_dictionary ? 4 * kRows : 0));
    EXPECT_LE(cost.peak, 8 * kRows + kRounding + (has_dictionary ? 4 * 4096 : 0));
  }
}

TEST_F(Allocations, FixedWidthWithNulls) {
  const Cost cost = Measure(Column(arrow::int64(), 0.3, Spread::kSmall));
  // Levels: collected, of each chunk, and which of them are null.
  const int64_t levels = (kGrowing + 1 + 1) * kLevelBytes * kRows;
  EXPECT_LE(cost.asked, 8 * kRows + kRows / 8 + levels + kChunkRounding);
  EXPECT_LE(cost.peak, 8 * kRows + kRows / 8 + 3 * kLevelBytes * kRows + kChunkRounding);
}

TEST_F(Allocations, Strings) {
  const auto column = Column(arrow::utf8(), 0, Spread::kAny);
  const int64_t bytes = static_cast<const arrow::StringArray&>(*column).total_values_length();
  const Cost cost = Measure(column);
  EXPECT_LE(cost.asked, 4 * (kRows + 1) + kGrowing * bytes + kRounding);
  EXPECT_LE(cost.peak, 4 * (kRows + 1) + 2 * bytes + kRounding);
}

// They are the bytes of the file as they stand.
TEST_F(Allocations, Vectors) {
  const auto type = arrow::fixed_size_list(arrow::float32(), 64);
  EXPECT_EQ(Measure(RandomColumns(7).Make(type, 20'000, 0, Spread::kAny)).asked, 0);
}

// Their indices, as the file has them, and those of each chunk; the items are those of the page.
TEST_F(Allocations, Dictionaries) {
  const auto words = Column(arrow::utf8(), 0, Spread::kFew);
  const auto column = arrow::compute::DictionaryEncode(*words).ValueOrDie().make_array();
  const Cost cost = Measure(column);
  EXPECT_LE(cost.asked, 2 * 4 * kRows + kChunkRounding);
  EXPECT_LE(cost.peak, 4 * kRows + 4 * 4096 + kRounding);
}

TEST_F(Allocations, TakeOfAThousandRows) {
  constexpr int64_t kTaken = 1000;
  std::vector<uint64_t> rows;
  for (uint64_t i = 0; i < kTaken; ++i) rows.push_back(i * 97);
  const auto numbers = Column(arrow::int64(), 0, Spread::kSmall);
  const auto text = Column(arrow::utf8(), 0, Spread::kAny);
  const auto& strings = static_cast<const arrow::StringArray&>(*text);
  int64_t bytes = 0;
  for (const uint64_t row : rows) bytes += strings.value_length(static_cast<int64_t>(row));
  EXPECT_LE(Measure(numbers, rows).asked, 8 * kTaken + kRounding);
  EXPECT_LE(Measure(text, rows).asked, 4 * (kTaken + 1) + kGrowing * bytes + kRounding);
  // In another order: where each row goes, and all of it once more in that order.
  std::mt19937_64 random(5);
  std::shuffle(rows.begin(), rows.end(), random);
  EXPECT_LE(Measure(numbers, rows).asked, 3 * 8 * kTaken + kRounding);
  EXPECT_LE(Measure(text, rows).asked, 8 * kTaken + 2 * 4 * (kTaken + 1) + (kGrowing + 2) * bytes + kRounding);
}

// Of 0 to 4 items each.
std::shared_ptr<arrow::Array> ListColumn() {
  arrow::ListBuilder lists(arrow::default_memory_pool(), std::make_shared<arrow::Int32Builder>());
  auto& items = static_cast<arrow::Int32Builder&>(*lists.value_builder());
  for (int64_t i = 0; i < kRows; ++i) {
    EXPECT_TRUE(lists.Append().ok());
    for (int64_t j = 0; j < i % 5; ++j) EXPECT_TRUE(items.Append(static_cast<int32_t>(i * j)).ok());
  }
  return lists.Finish().ValueOrDie();
}
constexpr int64_t kItems = kRows * 2;
constexpr int64_t kEmpty = kRows / 5;

TEST_F(Allocations, Lists) {
  const Cost cost = Measure(ListColumn());
  const int64_t answer = 4 * (kRows + 1) + 4 * kItems;
  // Both kinds of levels: collected, and of each chunk; then which of them are null.
  const int64_t levels = (2 * kGrowing + 2 + 1) * kLevelBytes * (kItems + kEmpty);
  EXPECT_LE(cost.asked, kGrowing * answer + levels + kChunkRounding);
  EXPECT_LE(cost.peak, 2 * answer + 5 * kLevelBytes * (kItems + kEmpty) + kChunkRounding);
}

// ---- version 2.0 ----

TEST_F(Allocations, FixedWidthOfVersion20) {
  EXPECT_LE(Measure(Column(arrow::int64(), 0, Spread::kAny), {}, {2, 0}).asked, 8 * kRows + kRounding);
  const Cost cost = Measure(Column(arrow::int64(), 0.3, Spread::kAny), {}, {2, 0});
  EXPECT_LE(cost.asked, 8 * kRows + kRows / 8 + kRounding);
}

TEST_F(Allocations, StringsOfVersion20) {
  const auto column = Column(arrow::utf8(), 0, Spread::kAny);
  const int64_t bytes = static_cast<const arrow::StringArray&>(*column).total_values_length();
  const Cost cost = Measure(column, {}, {2, 0});
  EXPECT_LE(cost.asked, 4 * (kRows + 1) + kGrowing * bytes + kRounding);
  EXPECT_LE(cost.peak, 4 * (kRows + 1) + 2 * bytes + kRounding);
}

TEST_F(Allocations, ListsOfVersion20) {
  const Cost cost = Measure(ListColumn(), {}, {2, 0});
  EXPECT_LE(cost.asked, kGrowing * (4 * (kRows + 1) + 4 * kItems) + kRounding);
}

TEST_F(Allocations, TakeOfVersion20) {
  constexpr int64_t kTaken = 1000;
  std::vector<uint64_t> rows;
  for (uint64_t i = 0; i < kTaken; ++i) rows.push_back(i * 97);
  EXPECT_LE(Measure(Column(arrow::int64(), 0, Spread::kAny), rows, {2, 0}).asked, 8 * kTaken + kRounding);
}

// ---- writing ----

// What pages are made of is the caller's memory; what they become is not the pool's.
TEST_F(Allocations, WritingColumnsAsTheyAre) {
  for (const FileVersion version : kWrittenVersions) {
    for (const auto& type : {arrow::int64(), arrow::boolean(), arrow::decimal128(30, 4)})
      EXPECT_LE(MeasureWrite(Column(type, 0.3, Spread::kAny), version).asked, kRounding) << type->ToString();
    const auto vectors = RandomColumns(7).Make(arrow::fixed_size_list(arrow::float32(), 64), 20'000, 0, Spread::kAny);
    EXPECT_LE(MeasureWrite(vectors, version).asked, kRounding);
  }
}

// Slices that are one page are joined.
TEST_F(Allocations, WritingStrings) {
  const auto column = Column(arrow::utf8(), 0.3, Spread::kAny);
  const int64_t bytes = static_cast<const arrow::StringArray&>(*column).total_values_length();
  for (const FileVersion version : kWrittenVersions)
    EXPECT_LE(MeasureWrite(column, version).asked, bytes + 4 * (kRows + 1) + kRows / 8 + kRounding);
}

// Which of them are null, for each page; items lie side by side in the caller's array.
TEST_F(Allocations, WritingLists) {
  for (const FileVersion version : kWrittenVersions)
    EXPECT_LE(MeasureWrite(ListColumn(), version).asked, (kItems + kEmpty) / 8 + kRounding);
}

}  // namespace
}  // namespace javelin::file
