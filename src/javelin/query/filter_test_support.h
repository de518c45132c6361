// Six rows of a table with a column of every kind, and what tests of filters ask of it.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <arrow/api.h>
#include <arrow/json/from_string.h>

#include "javelin/base/error.h"
#include "javelin/query/filter.h"

namespace javelin::query {

struct TestColumn {
  std::string name;
  std::shared_ptr<arrow::DataType> type;
  std::string values;
};

inline std::vector<TestColumn> Columns() {
  return {
      {"id", arrow::int64(), "[0, 1, 2, 3, 4, 5]"},
      {"i8", arrow::int8(), "[null, -128, -1, 0, 1, 127]"},
      {"i32", arrow::int32(), "[null, -2147483648, -1, 0, 1, 2147483647]"},
      {"u64", arrow::uint64(), "[null, 0, 1, 2, 9223372036854775808, 18446744073709551615]"},
      {"f32", arrow::float32(), "[null, 0.5, -0.0, 0, 1.5, -1]"},
      {"f64", arrow::float64(), "[null, NaN, Inf, -Inf, 0, -0.0]"},
      {"dec", arrow::decimal128(10, 2), R"([null, "1.00", "-1.50", "0.00", "2.25", "1.50"])"},
      {"s", arrow::utf8(), R"([null, "", "a", "A", "äöü", "a%b_c\\"])"},
      {"ls", arrow::large_utf8(), R"([null, "", "a", "A", "äöü", "a%b_c\\"])"},
      {"bin", arrow::binary(), R"([null, "", "a", "ab", "abc", "b"])"},
      {"fsb", arrow::fixed_size_binary(2), R"([null, "ab", "aa", "bb", "zz", "  "])"},
      {"b", arrow::boolean(), "[null, true, false, true, false, true]"},
      {"c", arrow::boolean(), "[null, null, null, true, true, false]"},
      {"d", arrow::date32(), "[null, 0, 1, -1, 18262, 2]"},
      {"ts", arrow::timestamp(arrow::TimeUnit::MICRO), "[null, 0, 3600000000, -1, 86400000000, 1]"},
      {"tz", arrow::timestamp(arrow::TimeUnit::MICRO, "UTC"), "[null, 0, 3600000000, -1, 86400000000, 1]"},
      {"dur", arrow::duration(arrow::TimeUnit::MICRO), "[null, 0, 1, 2, -3, 60]"},
      {"l", arrow::list(arrow::int64()), "[null, [], [1, 2], [3], [null, 1], [1]]"},
      {"tags", arrow::list(arrow::utf8()), R"([null, [], ["x", "y"], ["x"], [null, "z"], ["y"]])"},
      {"v", arrow::fixed_size_list(arrow::float32(), 2), "[null, [1, 2], [0, 0], [NaN, 1], [3, 4], [1, 2]]"},
      {"st", arrow::struct_({arrow::field("x", arrow::int32()), arrow::field("y", arrow::utf8())}),
       R"([null, {"x": 1, "y": "a"}, {"x": null, "y": "b"}, {"x": 2, "y": null}, {"x": 1, "y": ""}, {"x": 3, "y": "c"}])"},
      {"dict", arrow::dictionary(arrow::int32(), arrow::utf8()), R"([null, "a", "b", "a", "c", ""])"},
      {"Mixed Case", arrow::int32(), "[0, 1, 2, 3, 4, 5]"},
      {"order", arrow::int32(), "[0, 1, 2, 3, 4, 5]"},
      {"Cap", arrow::int32(), "[0, 1, 2, 3, 4, 5]"},
      {"_rowid", arrow::uint64(), "[10, 11, 12, 13, 14, 15]"},
  };
}

inline std::shared_ptr<arrow::RecordBatch> Rows() {
  static const auto rows = [] {
    arrow::FieldVector fields;
    arrow::ArrayVector arrays;
    for (const TestColumn& column : Columns()) {
      fields.push_back(arrow::field(column.name, column.type));
      arrays.push_back(arrow::json::ArrayFromJSONString(column.type, column.values).ValueOrDie());
    }
    return arrow::RecordBatch::Make(arrow::schema(fields), 6, arrays);
  }();
  return rows;
}

inline Scope TestScope() { return Scope::Of(*Rows()->schema()); }

inline std::vector<int> Passing(const std::string& text) {
  const auto filter = Filter::Parse(text, TestScope(), {.now_nanoseconds = 2'000'000'000'000'000'000});
  EXPECT_TRUE(filter.ok()) << text << ": " << filter.status().message();
  if (!filter.ok()) return {-1};
  const auto mask = filter->Mask(*Rows());
  EXPECT_TRUE(mask.ok()) << text << ": " << mask.status().message();
  if (!mask.ok()) return {-2};
  EXPECT_EQ((*mask)->null_count(), 0);
  std::vector<int> rows;
  for (int i = 0; i < 6; ++i)
    if ((*mask)->Value(i)) rows.push_back(i);
  return rows;
}

inline void ExpectRefused(const std::string& text, ErrorKind kind, const std::string& part = "") {
  auto status = Filter::Parse(text, TestScope()).status();
  if (status.ok()) status = Filter::Parse(text, TestScope())->Mask(*Rows()).status();
  ASSERT_FALSE(status.ok()) << text << " is accepted";
  EXPECT_EQ(KindOf(status), kind) << text << ": " << status.message();
  EXPECT_THAT(status.message(), ::testing::HasSubstr(part)) << text;
  EXPECT_TRUE(FieldsOf(status).contains("column")) << text << ": " << status.message();
}

inline void ExpectInvalid(const std::string& text, const std::string& part = "") {
  ExpectRefused(text, ErrorKind::kInvalidInput, part);
}

}  // namespace javelin::query
