#include "javelin/file/schema_align.h"

#include <arrow/api.h>
#include <arrow/json/from_string.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "javelin/base/error.h"

namespace javelin::file {
namespace {

using ::testing::HasSubstr;

std::shared_ptr<arrow::Field> WithId(int id, std::string name, std::shared_ptr<arrow::DataType> type,
                                     bool nullable = true) {
  return arrow::field(std::move(name), std::move(type), nullable,
                      arrow::key_value_metadata({std::string(kFieldIdMetadata)}, {std::to_string(id)}));
}

Field Target(int id, std::string name, std::shared_ptr<arrow::DataType> type, bool nullable = true) {
  Schema one =
      Schema::FromArrow(*arrow::schema({arrow::field(std::move(name), std::move(type), nullable)}), FieldId(id))
          .ValueOrDie();
  return one.fields()[0];
}

std::shared_ptr<arrow::Array> Json(const std::shared_ptr<arrow::DataType>& type, const std::string& json) {
  return arrow::json::ArrayFromJSONString(type, json).ValueOrDie();
}

std::shared_ptr<arrow::RecordBatch> Batch(const arrow::FieldVector& fields, const arrow::ArrayVector& columns) {
  return arrow::RecordBatch::Make(arrow::schema(fields), columns[0]->length(), columns);
}

void ExpectRefused(const arrow::FieldVector& source, const std::vector<Field>& target, const std::string& part) {
  const auto status = SchemaAlignment::Make(*arrow::schema(source), Schema(target, {})).status();
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(KindOf(status), ErrorKind::kInvalidInput) << status.ToString();
  EXPECT_THAT(status.message(), HasSubstr(part));
}

TEST(SchemaAlign, IdsFirstThenNamesOfWhatHasNoId) {
  const arrow::FieldVector fields = {WithId(1, "old_name", arrow::int32()), arrow::field("by_name", arrow::int32()),
                                     WithId(7, "replaced", arrow::int32()), arrow::field("dropped", arrow::utf8())};
  auto numbers = Json(arrow::int32(), "[1, 2]");
  auto others = Json(arrow::int32(), "[3, 4]");
  auto batch = Batch(fields, {numbers, others, numbers, Json(arrow::utf8(), R"(["x", "y"])")});
  const Schema target({Target(2, "by_name", arrow::int32()), Target(1, "new_name", arrow::int32()),
                       Target(8, "replaced", arrow::int32()), Target(9, "added", arrow::list(arrow::utf8()))},
                      {});
  auto alignment = SchemaAlignment::Make(*batch->schema(), target).ValueOrDie();
  EXPECT_FALSE(alignment.identity());
  auto aligned = alignment.Apply(*batch).ValueOrDie();
  ASSERT_TRUE(aligned->ValidateFull().ok());
  EXPECT_TRUE(aligned->schema()->Equals(*target.ToArrow(), /*check_metadata=*/true));
  EXPECT_EQ(aligned->column_data(0)->buffers[1], others->data()->buffers[1]);  // not copied
  EXPECT_EQ(aligned->column_data(1)->buffers[1], numbers->data()->buffers[1]);
  // The same name under another id is another column.
  EXPECT_EQ(aligned->column(2)->null_count(), 2);
  EXPECT_EQ(aligned->column(3)->null_count(), 2);
}

TEST(SchemaAlign, AnIdMatchClaimsItsColumn) {
  // Column 1 was renamed from "a" to "b", and a new "a" was added.
  const arrow::FieldVector fields = {WithId(1, "a", arrow::int8())};
  auto batch = Batch(fields, {Json(arrow::int8(), "[5]")});
  const Schema target({Target(2, "a", arrow::int8()), Target(1, "b", arrow::int8())}, {});
  auto aligned = SchemaAlignment::Make(*batch->schema(), target).ValueOrDie().Apply(*batch).ValueOrDie();
  EXPECT_EQ(aligned->column(0)->null_count(), 1);
  EXPECT_EQ(aligned->column(1)->null_count(), 0);
}

TEST(SchemaAlign, SystemColumnsAreFoundByNameOnly) {
  // A MemTable file gave _tombstone the id 3; the table later gave 3 to a column of its own.
  const arrow::FieldVector fields = {WithId(3, "_tombstone", arrow::boolean(), false), WithId(0, "k", arrow::int8())};
  auto batch = Batch(fields, {Json(arrow::boolean(), "[true]"), Json(arrow::int8(), "[1]")});
  const Schema target({Target(0, "k", arrow::int8()), Target(3, "flag", arrow::boolean()),
                       Target(-1, "_tombstone", arrow::boolean(), false)},
                      {});
  auto aligned = SchemaAlignment::Make(*batch->schema(), target).ValueOrDie().Apply(*batch).ValueOrDie();
  EXPECT_EQ(aligned->column(1)->null_count(), 1);
  EXPECT_TRUE(static_cast<const arrow::BooleanArray&>(*aligned->column(2)).Value(0));
}

TEST(SchemaAlign, DefaultsStandInForMissingColumns) {
  auto batch = Batch({WithId(0, "k", arrow::int8())}, {Json(arrow::int8(), "[1, 2, 3]")});
  const Schema target({Target(0, "k", arrow::int8()), Target(-1, "_tombstone", arrow::boolean(), false)}, {});
  AlignOptions options;
  options.defaults["_tombstone"] = std::make_shared<arrow::BooleanScalar>(false);
  auto aligned = SchemaAlignment::Make(*batch->schema(), target, options).ValueOrDie().Apply(*batch).ValueOrDie();
  EXPECT_TRUE(aligned->column(1)->Equals(*Json(arrow::boolean(), "[false, false, false]")));
  options.defaults["_tombstone"] = std::make_shared<arrow::Int8Scalar>(0);
  const auto status = SchemaAlignment::Make(*batch->schema(), target, options).status();
  EXPECT_TRUE(HasKind(status, ErrorKind::kInvalidInput));
}

TEST(SchemaAlign, NestedFieldsGoByIdToo) {
  auto inner = arrow::struct_({WithId(5, "x", arrow::int32()), WithId(6, "gone", arrow::utf8())});
  const arrow::FieldVector fields = {WithId(3, "points", arrow::list(WithId(4, "item", inner)))};
  auto points = Json(fields[0]->type(), R"([[{"x": 1, "gone": "a"}, null], null, [{"x": null, "gone": "b"}], []])");
  auto batch = Batch(fields, {points});
  auto now = arrow::struct_({arrow::field("renamed", arrow::int32()), arrow::field("y", arrow::float64())});
  Field target = Target(3, "points", arrow::list(arrow::field("item", now)));  // ids 3, 4, 5, 6
  target.children[0].children[1].id = FieldId(9);
  auto alignment = SchemaAlignment::Make(*batch->schema(), Schema({target}, {})).ValueOrDie();
  const std::string expected = R"([[{"renamed": 1, "y": null}, null], null, [{"renamed": null, "y": null}], []])";
  auto aligned = alignment.Apply(*batch).ValueOrDie();
  ASSERT_TRUE(aligned->ValidateFull().ok());
  EXPECT_TRUE(aligned->column(0)->Equals(*Json(target.type, expected)));
  // A slice has offsets at every level.
  aligned = alignment.Apply(*batch->Slice(1, 2)).ValueOrDie();
  ASSERT_TRUE(aligned->ValidateFull().ok());
  EXPECT_TRUE(aligned->column(0)->Equals(*Json(target.type, expected)->Slice(1, 2)));
}

TEST(SchemaAlign, SlicedStructsWithNewFields) {
  const arrow::FieldVector fields = {WithId(0, "s", arrow::struct_({WithId(1, "x", arrow::int32())}))};
  auto batch = Batch(fields, {Json(fields[0]->type(), R"([{"x": 1}, null, {"x": 3}])")});
  Field target =
      Target(0, "s", arrow::struct_({arrow::field("x", arrow::int32()), arrow::field("new", arrow::utf8())}));
  auto aligned =
      SchemaAlignment::Make(*batch->schema(), Schema({target}, {})).ValueOrDie().Apply(*batch->Slice(1)).ValueOrDie();
  ASSERT_TRUE(aligned->ValidateFull().ok()) << aligned->ValidateFull().ToString();
  EXPECT_TRUE(aligned->column(0)->Equals(*Json(target.type, R"([null, {"x": 3, "new": null}])")));
}

TEST(SchemaAlign, MapsGoByPosition) {
  auto type = arrow::map(arrow::utf8(), arrow::int32());
  auto batch = Batch({arrow::field("m", type)}, {Json(type, R"([[["a", 1]], null, []])")});
  Field target = Target(4, "m", type);
  auto aligned = SchemaAlignment::Make(*batch->schema(), Schema({target}, {})).ValueOrDie().Apply(*batch).ValueOrDie();
  EXPECT_TRUE(aligned->column(0)->Equals(*batch->column(0)));
  ExpectRefused({arrow::field("m", arrow::map(arrow::utf8(), arrow::int64()))}, {target}, "int64");
}

TEST(SchemaAlign, IdentityIsNoticed) {
  const Schema target(
      {Target(0, "a", arrow::int8()), Target(1, "s", arrow::struct_({arrow::field("x", arrow::int8())}))}, {});
  EXPECT_TRUE(SchemaAlignment::Make(*target.ToArrowWithIds(), target).ValueOrDie().identity());
  EXPECT_TRUE(SchemaAlignment::Make(*target.ToArrow(), target).ValueOrDie().identity());
  const Schema swapped({target.fields()[1], target.fields()[0]}, {});
  EXPECT_FALSE(SchemaAlignment::Make(*target.ToArrow(), swapped).ValueOrDie().identity());
  const Schema fewer({target.fields()[0]}, {});
  EXPECT_FALSE(SchemaAlignment::Make(*target.ToArrow(), fewer).ValueOrDie().identity());
}

TEST(SchemaAlign, ItemsOfVectorsMayBeCalledAnything) {
  auto type = arrow::fixed_size_list(arrow::field("element", arrow::float32(), false), 2);
  auto batch = Batch({arrow::field("v", type)}, {Json(type, "[[1, 2], null]")});
  const Schema target({Target(0, "v", arrow::fixed_size_list(arrow::float32(), 2))}, {});
  auto aligned = SchemaAlignment::Make(*batch->schema(), target).ValueOrDie().Apply(*batch).ValueOrDie();
  EXPECT_TRUE(aligned->column(0)->type()->Equals(*arrow::fixed_size_list(arrow::float32(), 2)));
  ASSERT_TRUE(aligned->ValidateFull().ok());
}

TEST(SchemaAlign, ChangedTypesAndMissingKeysAreRefused) {
  ExpectRefused({arrow::field("a", arrow::int32())}, {Target(0, "a", arrow::int64())}, "int32");
  ExpectRefused({WithId(0, "a", arrow::int32())}, {Target(0, "renamed", arrow::utf8())}, "renamed");
  ExpectRefused({arrow::field("a", arrow::utf8_view())}, {Target(0, "a", arrow::utf8())}, "string_view");
  ExpectRefused({arrow::field("a", arrow::list(arrow::int32()))}, {Target(0, "a", arrow::large_list(arrow::int32()))},
                "large_list");
  ExpectRefused({arrow::field("a", arrow::struct_({arrow::field("x", arrow::int8())}))},
                {Target(0, "a", arrow::struct_({arrow::field("x", arrow::int16())}))}, "'x'");
  ExpectRefused({}, {Target(0, "key", arrow::int64(), false)}, "'key'");
  ExpectRefused({WithId(5, "key", arrow::int64(), false)}, {Target(0, "key", arrow::int64(), false)}, "'key'");
  ExpectRefused({arrow::field("a", arrow::timestamp(arrow::TimeUnit::MICRO))},
                {Target(0, "a", arrow::timestamp(arrow::TimeUnit::MICRO, "UTC"))}, "UTC");
}

}  // namespace
}  // namespace javelin::file
