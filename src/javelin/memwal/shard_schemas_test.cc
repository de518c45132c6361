#include "javelin/memwal/shard_schemas.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <arrow/api.h>
#include <arrow/json/from_string.h>

#include "javelin/base/error.h"

namespace javelin::memwal {
namespace {

using ::testing::HasSubstr;

std::shared_ptr<const arrow::KeyValueMetadata> KeyMark() {
  return arrow::key_value_metadata({{std::string(file::kPrimaryKeyMetadata), "true"}});
}

std::shared_ptr<arrow::Schema> TableSchema() {
  return arrow::schema(
      {arrow::field("id", arrow::int64(), false, KeyMark()), arrow::field("score", arrow::float64(), false),
       arrow::field("place",
                    arrow::struct_({arrow::field("x", arrow::int32(), false), arrow::field("y", arrow::int32())})),
       arrow::field("tags", arrow::list(arrow::field("item", arrow::utf8(), false)))},
      arrow::key_value_metadata({{"owner", "me"}}));
}

ShardSchemas Schemas(const std::shared_ptr<arrow::Schema>& schema = TableSchema()) {
  return ShardSchemas::Make(file::Schema::FromArrow(*schema).ValueOrDie()).ValueOrDie();
}

std::shared_ptr<arrow::RecordBatch> Batch(const std::shared_ptr<arrow::Schema>& schema, const std::string& json) {
  auto rows = arrow::json::ArrayFromJSONString(arrow::struct_(schema->fields()), json).ValueOrDie();
  return arrow::RecordBatch::FromStructArray(rows).ValueOrDie()->ReplaceSchema(schema).ValueOrDie();
}

void ExpectInvalid(const arrow::Status& status, const std::string& word) {
  ASSERT_FALSE(status.ok()) << word;
  EXPECT_EQ(KindOf(status), ErrorKind::kInvalidInput) << status.ToString();
  EXPECT_THAT(status.message(), HasSubstr(word));
}

std::string IdOf(const arrow::Field& field) {
  return field.metadata() == nullptr ? "none" : field.metadata()->Get("lance:field_id").ValueOr("none");
}

TEST(ShardSchemas, StorageCarriesIdsAndATombstone) {
  ShardSchemas schemas = Schemas();
  EXPECT_TRUE(schemas.logical()->Equals(*TableSchema(), true));
  const arrow::Schema& storage = *schemas.storage();
  ASSERT_EQ(storage.num_fields(), 5);
  EXPECT_EQ(storage.metadata()->Get("owner").ValueOrDie(), "me");
  // Keys keep their nullability, everything else can hold a tombstone's null; children are untouched.
  EXPECT_FALSE(storage.field(0)->nullable());
  EXPECT_TRUE(storage.field(1)->nullable());
  EXPECT_TRUE(storage.field(2)->nullable());
  EXPECT_FALSE(storage.field(2)->type()->field(0)->nullable());
  EXPECT_EQ(IdOf(*storage.field(0)), "0");
  EXPECT_EQ(IdOf(*storage.field(1)), "1");
  EXPECT_EQ(IdOf(*storage.field(2)), "2");
  EXPECT_EQ(IdOf(*storage.field(2)->type()->field(0)), "3");
  EXPECT_EQ(IdOf(*storage.field(2)->type()->field(1)), "4");
  EXPECT_EQ(IdOf(*storage.field(3)), "5");
  EXPECT_EQ(IdOf(*storage.field(3)->type()->field(0)), "6");
  EXPECT_TRUE(storage.field(4)->Equals(*arrow::field("_tombstone", arrow::boolean(), false), true));
  EXPECT_EQ(schemas.storage_fields().fields().size(), 5u);
  EXPECT_EQ(schemas.storage_fields().fields()[4].id, FieldId(-1));
  EXPECT_TRUE(schemas.storage_fields().fields()[1].nullable);
  EXPECT_TRUE(schemas.storage_fields().ToArrow()->Equals(storage));
  EXPECT_EQ(schemas.key_columns(), std::vector<int>{0});
}

TEST(ShardSchemas, KeyOrderComesFromPositions) {
  auto mark = [](const char* position) {
    return arrow::key_value_metadata(
        {{std::string(file::kPrimaryKeyMetadata), "true"}, {std::string(file::kPrimaryKeyPositionMetadata), position}});
  };
  auto schema = arrow::schema({arrow::field("a", arrow::utf8(), false, mark("2")), arrow::field("v", arrow::int8()),
                               arrow::field("b", arrow::int32(), false, mark("1"))});
  EXPECT_EQ(Schemas(schema).key_columns(), (std::vector<int>{2, 0}));
  EXPECT_FALSE(Schemas(arrow::schema({arrow::field("v", arrow::int8())})).has_key());
}

TEST(ShardSchemas, RefusesUnusableTables) {
  auto make = [](const arrow::Schema& schema) {
    return ShardSchemas::Make(file::Schema::FromArrow(schema).ValueOrDie()).status();
  };
  ExpectInvalid(make(*arrow::schema({arrow::field("id", arrow::float64(), false, KeyMark())})), "unsupported type");
  ExpectInvalid(
      make(*arrow::schema({arrow::field("id", arrow::int64()), arrow::field("_tombstone", arrow::boolean(), false)})),
      "_tombstone");
  ExpectInvalid(make(*arrow::schema({arrow::field(
                    "s", arrow::struct_({arrow::field("id", arrow::int64(), false, KeyMark())}), false)})),
                "top-level");
}

TEST(ShapePut, AddsTheTombstoneAndTheStorageSchema) {
  ShardSchemas schemas = Schemas();
  auto shaped =
      schemas.ShapePut(*Batch(TableSchema(), R"([[1, 0.5, [1, null], ["a"]], [2, 1.5, null, null]])")).ValueOrDie();
  EXPECT_TRUE(shaped->schema()->Equals(*schemas.storage(), true));
  EXPECT_TRUE(
      shaped->Equals(*Batch(schemas.storage(), R"([[1, 0.5, [1, null], ["a"], false], [2, 1.5, null, null, false]])")));
  EXPECT_TRUE(shaped->ValidateFull().ok());
  // Types of the columns are those of the schema, metadata included.
  EXPECT_EQ(IdOf(*shaped->column(2)->type()->field(1)), "4");
}

TEST(ShapePut, TakesSlicesAndOtherItemNames) {
  auto schema = TableSchema();
  auto renamed =
      schema->SetField(3, arrow::field("tags", arrow::list(arrow::field("element", arrow::utf8(), true)))).ValueOrDie();
  auto batch =
      Batch(renamed, R"([[1, 0.5, null, ["a", null]], [2, 1.5, [7, 8], ["b", "c"]], [3, 2.5, null, []]])")->Slice(1, 2);
  ShardSchemas schemas = Schemas();
  auto shaped = schemas.ShapePut(*batch).ValueOrDie();  // the null item lies outside the slice
  EXPECT_TRUE(
      shaped->Equals(*Batch(schemas.storage(), R"([[2, 1.5, [7, 8], ["b", "c"], false], [3, 2.5, null, [], false]])")));
  EXPECT_TRUE(shaped->ValidateFull().ok());
}

TEST(ShapePut, TakesViewsOfStringsAtAnyDepth) {
  const auto table = [](const std::shared_ptr<arrow::DataType>& text, const std::shared_ptr<arrow::DataType>& bytes) {
    return arrow::schema({arrow::field("t", text), arrow::field("b", bytes),
                          arrow::field("s", arrow::struct_({arrow::field("l", arrow::list(text))}))});
  };
  const std::string rows = R"([["no", "x", null], ["a text of more than twelve bytes", null, {"l": ["b", null]}],
                               [null, "bytes of more than twelve", {"l": []}]])";
  const auto plain = Batch(table(arrow::utf8(), arrow::binary()), rows);
  const ShardSchemas schemas = Schemas(plain->schema());
  const auto views = Batch(table(arrow::utf8_view(), arrow::binary_view()), rows);
  for (const int64_t first : {0, 1}) {
    const auto shaped = schemas.ShapePut(*views->Slice(first)).ValueOrDie();
    EXPECT_TRUE(shaped->ValidateFull().ok());
    EXPECT_TRUE(shaped->Equals(*schemas.ShapePut(*plain->Slice(first)).ValueOrDie()));
  }
  // A table of other strings has no place for them.
  const auto large = Schemas(table(arrow::large_utf8(), arrow::large_binary()));
  ExpectInvalid(large.ShapePut(*views).status(), "'t' has type string_view");
}

TEST(ShapePut, RefusesOtherShapes) {
  ShardSchemas schemas = Schemas();
  auto schema = TableSchema();
  auto put = [&](const std::shared_ptr<arrow::Schema>& given, const std::string& json) {
    return schemas.ShapePut(*Batch(given, json)).status();
  };
  auto fields = schema->fields();
  ExpectInvalid(put(schema->RemoveField(3).ValueOrDie(), R"([[1, 0.5, null]])"), "'tags' of the table is missing");
  ExpectInvalid(
      put(schema->AddField(4, arrow::field("more", arrow::int8())).ValueOrDie(), R"([[1, 0.5, null, null, null]])"),
      "'more' of the batch does not exist");
  ExpectInvalid(
      put(arrow::schema({fields[1], fields[0], fields[2], fields[3]}), R"([[0.5, 1, null, null]])"),
      "column 0 of the batch is 'score', the table has 'id' there; give the columns in the order of the table: "
      "id, score, place, tags");
  ExpectInvalid(
      put(arrow::schema({fields[0], fields[1], fields[2], fields[3], fields[1]}), R"([[1, 0.5, null, null, 0.5]])"),
      "'score' is in the batch more than once");
  ExpectInvalid(
      put(schema->SetField(0, arrow::field("id", arrow::int32(), false)).ValueOrDie(), R"([[1, 0.5, null, null]])"),
      "int32");
  ExpectInvalid(
      put(schema->SetField(0, arrow::field("id", arrow::int64())).ValueOrDie(), R"([[null, 0.5, null, null]])"),
      "'id'");
  ExpectInvalid(
      put(schema->SetField(1, arrow::field("score", arrow::float64())).ValueOrDie(), R"([[1, null, null, null]])"),
      "'score'");
  auto other_names = arrow::struct_({arrow::field("x", arrow::int32()), arrow::field("z", arrow::int32())});
  ExpectInvalid(
      put(schema->SetField(2, arrow::field("place", other_names)).ValueOrDie(), R"([[1, 0.5, [1, 2], null]])"),
      "'place'");
  auto nullable_child = arrow::struct_({arrow::field("x", arrow::int32()), arrow::field("y", arrow::int32())});
  auto nullable_place = schema->SetField(2, arrow::field("place", nullable_child)).ValueOrDie();
  ExpectInvalid(put(nullable_place, R"([[1, 0.5, [null, 2], null]])"), "'place.x'");
  EXPECT_TRUE(put(nullable_place, R"([[1, 0.5, [1, 2], null], [2, 0.5, null, null]])").ok());
  auto nullable_items = schema->SetField(3, arrow::field("tags", arrow::list(arrow::utf8()))).ValueOrDie();
  ExpectInvalid(put(nullable_items, R"([[1, 0.5, null, ["a", null]]])"), "'tags.item'");
  ExpectInvalid(put(schema->SetField(3, arrow::field("tags", arrow::list(arrow::int8()))).ValueOrDie(),
                    R"([[1, 0.5, null, [1]]])"),
                "'tags.item'");
}

TEST(ShapePut, RefusesColumnsOfDifferentLength) {
  auto batch = Batch(TableSchema(), R"([[1, 0.5, null, null]])");
  auto columns = batch->columns();
  columns[1] = arrow::json::ArrayFromJSONString(arrow::float64(), "[1, 2]").ValueOrDie();
  ExpectInvalid(Schemas().ShapePut(*arrow::RecordBatch::Make(batch->schema(), 1, columns)).status(), "not valid");
}

TEST(ShapeDelete, OneTombstonePerKey) {
  ShardSchemas schemas = Schemas();
  auto keys = arrow::schema({arrow::field("other", arrow::utf8()), arrow::field("id", arrow::int64())});
  auto shaped = schemas.ShapeDelete(*Batch(keys, R"([["x", 4], ["y", 5]])")).ValueOrDie();
  EXPECT_TRUE(shaped->schema()->Equals(*schemas.storage(), true));
  EXPECT_TRUE(
      shaped->Equals(*Batch(schemas.storage(), R"([[4, null, null, null, true], [5, null, null, null, true]])")));
  EXPECT_TRUE(shaped->ValidateFull().ok());
}

TEST(ShapeDelete, RefusesBadKeys) {
  ShardSchemas schemas = Schemas();
  auto remove = [&](const arrow::FieldVector& fields, const std::string& json) {
    return schemas.ShapeDelete(*Batch(arrow::schema(fields), json)).status();
  };
  ExpectInvalid(remove({arrow::field("x", arrow::int64())}, "[[1]]"), "'id'");
  ExpectInvalid(remove({arrow::field("id", arrow::int32())}, "[[1]]"), "int32");
  ExpectInvalid(remove({arrow::field("id", arrow::int64())}, "[[null]]"), "'id'");
  auto twice = arrow::RecordBatch::Make(
      arrow::schema({arrow::field("id", arrow::int64()), arrow::field("id", arrow::int64())}), 1,
      arrow::ArrayVector(2, arrow::json::ArrayFromJSONString(arrow::int64(), "[1]").ValueOrDie()));
  ExpectInvalid(schemas.ShapeDelete(*twice).status(), "2 times");
  ShardSchemas no_key = Schemas(arrow::schema({arrow::field("v", arrow::int8())}));
  ExpectInvalid(no_key.ShapeDelete(*Batch(arrow::schema({arrow::field("v", arrow::int8())}), "[[1]]")).status(),
                "primary key");
}

}  // namespace
}  // namespace javelin::memwal
