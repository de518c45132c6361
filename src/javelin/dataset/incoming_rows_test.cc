#include "javelin/dataset/incoming_rows_internal.h"

#include "javelin/dataset/dataset_world_internal.h"

namespace javelin::internal {
namespace {

using testing::ElementsAre;

std::shared_ptr<arrow::Field> Point(std::string second = "y", bool nullable = true) {
  return arrow::field("p", arrow::struct_({arrow::field("x", arrow::float64()),
                                           arrow::field(std::move(second), arrow::int32(), nullable)}));
}
std::shared_ptr<arrow::Field> Words(std::string item = "item") {
  return arrow::field("words", arrow::list(arrow::field(std::move(item), arrow::utf8())));
}

file::Schema TableOf(arrow::FieldVector fields) {
  return file::Schema::FromArrow(*arrow::schema(std::move(fields))).ValueOrDie();
}

std::vector<std::string> Names(const file::Schema& schema) {
  std::vector<std::string> names;
  for (const file::Field& field : schema.fields()) names.push_back(field.name);
  return names;
}

TEST(ColumnsOfAppend, AreTheTablesInItsOrder) {
  const file::Schema table =
      TableOf({arrow::field("a", arrow::int64(), false), arrow::field("b", arrow::utf8()), Point(), Words()});
  ASSERT_OK_AND_ASSIGN(
      const file::Schema columns,
      ColumnsOfAppend(*arrow::schema({Words("element"), arrow::field("a", arrow::int64()), Point("y", false)}), table));
  EXPECT_THAT(Names(columns), ElementsAre("a", "p", "words"));
  EXPECT_EQ(columns.fields()[1], table.fields()[2]);  // with the table's ids
}

TEST(ColumnsOfAppend, WhatDoesNotFit) {
  const file::Schema table =
      TableOf({arrow::field("a", arrow::int64(), false), arrow::field("b", arrow::utf8()), Point(), Words()});
  const auto a = arrow::field("a", arrow::int64(), false);
  auto refuse = [&](arrow::FieldVector fields, const std::string& part) {
    ExpectError(ColumnsOfAppend(*arrow::schema(std::move(fields)), table).status(), ErrorKind::kInvalidInput, part);
  };
  refuse({a, arrow::field("c", arrow::int8())}, "'c' is not in the table; add it to the table first or leave it out");
  refuse({arrow::field("b", arrow::utf8())}, "'a' is missing and must not be null; give every row a value");
  refuse({arrow::field("a", arrow::int32(), false)}, "'a' has type int32, the table has int64; cast it");
  refuse({a, arrow::field("b", arrow::large_utf8())}, "'b'");
  refuse({a, Point("z")}, "'p'");
  refuse({a, arrow::field("p", arrow::struct_({arrow::field("x", arrow::float64())}))}, "'p'");
  refuse({a, arrow::field("words", arrow::list(arrow::field("item", arrow::int8())))}, "'words'");
  refuse({a, arrow::field("words", arrow::large_list(arrow::field("item", arrow::utf8())))}, "'words'");
  refuse({a, a}, "a");
}

TEST(ColumnsOfAppend, JsonIsNamedAsSuch) {
  const auto json = arrow::field("j", arrow::large_binary(), true,
                                 arrow::key_value_metadata({"ARROW:extension:name"}, {"lance.json"}));
  const file::Schema table = TableOf({json});
  ExpectError(ColumnsOfAppend(*arrow::schema({arrow::field("j", arrow::large_binary())}), table).status(),
              ErrorKind::kInvalidInput,
              "'j' has type large_binary, the table has lance.json; text is not encoded here");
  ExpectError(ColumnsOfAppend(*arrow::schema({json}), TableOf({arrow::field("j", arrow::utf8())})).status(),
              ErrorKind::kInvalidInput, "'j' has type lance.json, the table has string; cast it");
  ASSERT_OK_AND_ASSIGN(const file::Schema same, ColumnsOfAppend(*arrow::schema({json}), table));
  EXPECT_EQ(same, table);
}

BatchPtr PointBatch(const std::shared_ptr<arrow::Field>& field, const std::shared_ptr<arrow::Array>& y) {
  auto x = arrow::MakeArrayFromScalar(arrow::DoubleScalar(1.5), y->length()).ValueOrDie();
  auto points = arrow::StructArray::Make({x, y}, field->type()->fields()).ValueOrDie();
  return arrow::RecordBatch::Make(arrow::schema({field}), y->length(), {points});
}

TEST(IncomingRows, TakeTheTablesTypesWithoutCopying) {
  const file::Schema table = TableOf({Point("y", false)});
  const BatchPtr given =
      PointBatch(Point("y", true), arrow::MakeArrayFromScalar(arrow::Int32Scalar(7), 3).ValueOrDie());
  ASSERT_OK_AND_ASSIGN(const IncomingRows rows, IncomingRows::Make(*given->schema(), table));
  ASSERT_OK_AND_ASSIGN(const BatchPtr shaped, rows.Shape(*given));
  ASSERT_OK(shaped->ValidateFull());
  EXPECT_TRUE(shaped->schema()->Equals(*table.ToArrow()));
  EXPECT_EQ(shaped->column_data(0)->child_data[1]->buffers[1], given->column_data(0)->child_data[1]->buffers[1]);
}

TEST(IncomingRows, NullsAtAnyLevel) {
  arrow::Int32Builder builder;
  ASSERT_OK(builder.Append(1));
  ASSERT_OK(builder.AppendNull());
  const BatchPtr given = PointBatch(Point("y", true), builder.Finish().ValueOrDie());
  ASSERT_OK_AND_ASSIGN(const IncomingRows strict, IncomingRows::Make(*given->schema(), TableOf({Point("y", false)})));
  ExpectError(strict.Shape(*given).status(), ErrorKind::kInvalidInput, "'p.y' has a null");
  ASSERT_OK_AND_ASSIGN(const IncomingRows loose, IncomingRows::Make(*given->schema(), TableOf({Point("y", true)})));
  ASSERT_OK(loose.Shape(*given).status());
}

}  // namespace
}  // namespace javelin::internal
