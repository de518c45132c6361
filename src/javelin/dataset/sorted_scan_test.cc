#include "javelin/dataset/sorted_scan_internal.h"

#include <random>

#include <arrow/json/from_string.h>

#include "javelin/dataset/dataset_world_internal.h"

namespace javelin {
namespace {

using testing::ElementsAre;

std::vector<uint64_t> Sorted(const std::shared_ptr<arrow::DataType>& type, const std::string& values, bool ascending,
                             bool nulls_first) {
  const auto key = arrow::json::ArrayFromJSONString(type, values).ValueOrDie();
  const auto rows = arrow::RecordBatch::Make(arrow::schema({arrow::field("k", type)}), key->length(), {key});
  const auto positions =
      internal::SortedPositions(*rows, {{"k", ascending, nulls_first}}, arrow::default_memory_pool()).ValueOrDie();
  const auto& numbers = static_cast<const arrow::UInt64Array&>(*positions);
  return std::vector<uint64_t>(numbers.raw_values(), numbers.raw_values() + numbers.length());
}

TEST(SortedPositions, FloatsInTotalOrder) {
  for (const auto& type : {arrow::float16(), arrow::float32(), arrow::float64()}) {
    const std::string values = "[null, 1, NaN, -0.0, 0, -Inf, 2, Inf, -3, -2]";
    EXPECT_THAT(Sorted(type, values, true, false), ElementsAre(5, 8, 9, 3, 4, 1, 6, 7, 2, 0)) << type->ToString();
    EXPECT_THAT(Sorted(type, values, true, true), ElementsAre(0, 5, 8, 9, 3, 4, 1, 6, 7, 2));
    EXPECT_THAT(Sorted(type, values, false, false), ElementsAre(2, 7, 6, 1, 4, 3, 9, 8, 5, 0));
    EXPECT_THAT(Sorted(type, values, false, true), ElementsAre(0, 2, 7, 6, 1, 4, 3, 9, 8, 5));
  }
}

TEST(SortedPositions, EqualRowsStayAsTheyAre) {
  EXPECT_THAT(Sorted(arrow::int32(), "[1, null, 0, 1, null, 0]", true, false), ElementsAre(2, 5, 0, 3, 1, 4));
  EXPECT_THAT(Sorted(arrow::int32(), "[1, null, 0, 1, null, 0]", false, false), ElementsAre(0, 3, 2, 5, 1, 4));
  EXPECT_THAT(Sorted(arrow::null(), "[null, null]", false, false), ElementsAre(0, 1));
  EXPECT_THAT(Sorted(arrow::utf8(), R"(["b", "B", "", "a"])", true, false), ElementsAre(2, 1, 3, 0));
  EXPECT_THAT(Sorted(arrow::dictionary(arrow::int8(), arrow::utf8()), R"(["b", null, "a"])", true, true),
              ElementsAre(1, 2, 0));
}

// Random keys, limits and batch sizes against a stable sort of the rows.
TEST(SortedScans, RandomOrders) {
  std::mt19937_64 random(3);
  const auto draw = [&](uint64_t bound) { return random() % bound; };
  DatasetWorld world;
  std::vector<TestRow> rows;
  for (int64_t i = 0; i < 20'000; ++i)
    rows.push_back(
        {static_cast<int64_t>(draw(50)),
         draw(5) == 0 ? std::nullopt : std::optional(std::string(1 + draw(2), static_cast<char>('a' + draw(4))))});
  ASSERT_OK_AND_ASSIGN(const auto dataset, world.Write(rows, WriteMode::kCreate, {.max_rows_per_file = 7000}));
  for (int round = 0; round < 30; ++round) {
    ScannerOptions options{
        .limit = draw(2) == 0 ? std::nullopt : std::optional(draw(2) == 0 ? draw(300) : draw(15'000)),
        .offset = draw(2) == 0 ? 0 : draw(200),
        .batch_rows = 1 + draw(3000)};
    const bool filtered = draw(2) == 0, down = draw(2) == 0, first = draw(2) == 0;
    if (filtered) options.filter = "id > 20";
    options.order_by = {{"s", !down, first}, {"id", down, false}};
    std::vector<TestRow> expected = rows;
    if (filtered) std::erase_if(expected, [](const TestRow& row) { return row.id <= 20; });
    std::stable_sort(expected.begin(), expected.end(), [&](const TestRow& a, const TestRow& b) {
      if (a.s.has_value() != b.s.has_value()) return a.s.has_value() != first;
      if (a.s != b.s) return down ? *b.s < *a.s : *a.s < *b.s;
      return down ? a.id < b.id : b.id < a.id;
    });
    expected.erase(expected.begin(),
                   expected.begin() + static_cast<int64_t>(std::min(options.offset, expected.size())));
    if (options.limit && *options.limit < expected.size()) expected.resize(*options.limit);
    ASSERT_OK_AND_ASSIGN(const Scanner scanner, Scanner::Make(*dataset, options));
    ASSERT_OK_AND_ASSIGN(const auto reader, scanner.ToReader());
    ASSERT_OK_AND_ASSIGN(const BatchPtr found, ReadAll(*reader));
    ASSERT_EQ(FromBatch(*found), expected);
  }
}

TEST(SortedScans, WhatDoesNotFitMemoryIsRefused) {
  DatasetWorld world;
  std::vector<TestRow> rows;
  for (int64_t i = 0; i < 50'000; ++i) rows.push_back({50'000 - i, std::string(100, 'x')});
  ASSERT_OK(world.Write(rows, WriteMode::kCreate).status());
  const auto session = std::make_shared<Session>(MakeResources(MakeThreadRuntime(), 4 << 20));
  ASSERT_OK_AND_ASSIGN(const auto dataset, Dataset::OpenAt(session, world.location()));
  ScannerOptions options;
  options.order_by = {{"id"}};
  ASSERT_OK_AND_ASSIGN(const Scanner all, Scanner::Make(*dataset, options));
  ASSERT_OK_AND_ASSIGN(const auto reader, all.ToReader());
  BatchPtr batch;
  ExpectError(reader->ReadNext(&batch), ErrorKind::kOutOfMemory, "sorted in memory");
  options.limit = 2;  // keeps little, whatever it reads
  ASSERT_OK_AND_ASSIGN(const Scanner few, Scanner::Make(*dataset, options));
  ASSERT_OK_AND_ASSIGN(const auto first, few.ToReader());
  ASSERT_OK_AND_ASSIGN(const BatchPtr found, ReadAll(*first));
  EXPECT_EQ(FromBatch(*found)[0].id, 1);
}

TEST(SortedScans, KeysThatHaveNoOrder) {
  DatasetWorld world;
  const auto type = arrow::struct_({arrow::field("x", arrow::int64())});
  ASSERT_OK_AND_ASSIGN(const auto structs, arrow::json::ArrayFromJSONString(type, R"([{"x": 2}, {"x": 1}])"));
  const auto rows = arrow::RecordBatch::Make(arrow::schema({arrow::field("st", type)}), 2, {structs});
  ASSERT_OK_AND_ASSIGN(const auto dataset, world.WriteBatches({rows}, WriteMode::kCreate));
  ScannerOptions options;
  options.order_by = {{"st"}};
  ExpectError(Scanner::Make(*dataset, options).status(), ErrorKind::kNotSupported, "'st'");
  options.order_by = {{"nope"}};
  ExpectError(Scanner::Make(*dataset, options).status(), ErrorKind::kInvalidInput, "'nope'");
  options.order_by = {{"st.x"}};
  ASSERT_OK_AND_ASSIGN(const Scanner scanner, Scanner::Make(*dataset, options));
  ASSERT_OK_AND_ASSIGN(const auto reader, scanner.ToReader());
  ASSERT_OK_AND_ASSIGN(const BatchPtr found, ReadAll(*reader));
  ASSERT_OK_AND_ASSIGN(const auto first, found->column(0)->GetScalar(0));
  ASSERT_OK_AND_ASSIGN(const auto least, structs->GetScalar(1));
  EXPECT_TRUE(first->Equals(*least));
}

}  // namespace
}  // namespace javelin
