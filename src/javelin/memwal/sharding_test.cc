// Sharding specs evaluated over rows, and rows split by their shard. Values of the bucket transform:
// bucket_hash_test.cc.
#include "javelin/memwal/sharding.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <arrow/api.h>
#include <arrow/compute/initialize.h>
#include <arrow/json/from_string.h>

#include "javelin/base/error.h"
#include "javelin/memwal/bucket_hash.h"

namespace javelin::memwal {
namespace {

using table::ShardingField;
using table::ShardingSpec;

std::shared_ptr<arrow::Schema> Columns() {
  return arrow::schema({arrow::field("id", arrow::int64(), false), arrow::field("text", arrow::utf8()),
                        arrow::field("place", arrow::struct_({arrow::field("city", arrow::utf8()),
                                                              arrow::field("zone", arrow::int32(), false)})),
                        arrow::field("share", arrow::float64()), arrow::field("flag", arrow::boolean())});
}
constexpr int32_t kId = 0, kText = 1, kPlace = 2, kCity = 3, kZone = 4, kShare = 5, kFlag = 6;

file::Schema TableSchema() { return file::Schema::FromArrow(*Columns()).ValueOrDie(); }

std::shared_ptr<arrow::RecordBatch> Batch() {
  const auto rows = arrow::json::ArrayFromJSONString(arrow::struct_(Columns()->fields()), R"([
      [1, "a", {"city": "X", "zone": 7}, 0.5, true],
      [2, null, null, null, null],
      [3, "c", {"city": null, "zone": 7}, 1.5, false],
      [4, "a", {"city": "X", "zone": 9}, 0.5, true]])")
                        .ValueOrDie();
  return arrow::RecordBatch::FromStructArray(rows).ValueOrDie()->ReplaceSchema(Columns()).ValueOrDie();
}

ShardingField Bucket(int32_t source, const std::string& count = "16") {
  return {.field_id = "bucket",
          .source_ids = {source},
          .transform = "bucket",
          .result_type = "int32",
          .parameters = {{"num_buckets", count}}};
}
ShardingField Identity(int32_t source) {
  return {.field_id = "value", .source_ids = {source}, .transform = "identity"};
}
ShardingField Unsharded() { return {.field_id = "all", .transform = "unsharded", .result_type = "int32"}; }

arrow::Result<std::shared_ptr<arrow::RecordBatch>> Evaluate(std::vector<ShardingField> fields) {
  return EvaluateShardingSpec({.spec_id = 1, .fields = std::move(fields)}, TableSchema(), *Batch());
}

std::string Values(const arrow::Array& array) {
  std::string text;
  for (int64_t row = 0; row < array.length(); ++row) {
    text += (row > 0 ? " " : "") + array.GetScalar(row).ValueOrDie()->ToString();
  }
  return text;
}

// The only column, with its type.
std::string One(const ShardingField& field) {
  const auto batch = Evaluate({field}).ValueOrDie();
  EXPECT_EQ(batch->num_columns(), 1);
  EXPECT_TRUE(batch->ValidateFull().ok());
  return batch->schema()->field(0)->ToString() + ": " + Values(*batch->column(0));
}

void ExpectRefused(const ShardingField& field, const std::string& word) {
  const auto status = Evaluate({field}).status();
  EXPECT_TRUE(HasKind(status, ErrorKind::kInvalidInput)) << status.ToString();
  EXPECT_THAT(status.message(), ::testing::HasSubstr(word));
}

TEST(Sharding, Transforms) {
  EXPECT_EQ(One(Unsharded()), "all: int32 not null: 0 0 0 0");
  EXPECT_EQ(One(Identity(kId)), "value: int64 not null: 1 2 3 4");
  EXPECT_EQ(One(Identity(kText)), "value: string: a null c a");
  EXPECT_EQ(One(Identity(kFlag)), "value: bool: true null false true");
  // 1: 1392991556; "a": 721651713; null: 0; false: 593689054
  EXPECT_THAT(One(Bucket(kId)), ::testing::StartsWith("bucket: int32 not null: 4 "));
  EXPECT_THAT(One(Bucket(kText)), ::testing::StartsWith("bucket: int32 not null: 1 0 "));
  EXPECT_THAT(One(Bucket(kFlag)), ::testing::StartsWith("bucket: int32 not null: 10 0 14 10"));
  EXPECT_THAT(One(Bucket(kId, "2147483647")), ::testing::StartsWith("bucket: int32 not null: 1392991556 "));
  EXPECT_THAT(One(Bucket(kId, "1")), ::testing::StartsWith("bucket: int32 not null: 0 0 0 0"));
}

TEST(Sharding, SourcesInsideStructs) {
  EXPECT_EQ(One(Identity(kCity)), "value: string: X null null X");
  EXPECT_EQ(One(Identity(kZone)), "value: int32: 7 null 7 9") << "a null parent makes its children null";
  EXPECT_THAT(One(Bucket(kZone, "1024")), ::testing::ContainsRegex("not null: [0-9]+ 0 [0-9]+ "));
  ExpectRefused(Identity(kPlace), "struct");
}

// Rows of elsewhere may hold the path as a name of its own.
TEST(Sharding, AColumnWhoseNameIsThePathCounts) {
  const auto rows =
      arrow::RecordBatch::Make(arrow::schema({arrow::field("place.city", arrow::utf8())}), 1,
                               {arrow::json::ArrayFromJSONString(arrow::utf8(), R"(["Y"])").ValueOrDie()});
  const auto batch = EvaluateShardingSpec({.fields = {Identity(kCity)}}, TableSchema(), *rows).ValueOrDie();
  EXPECT_EQ(Values(*batch->column(0)), "Y");
}

TEST(Sharding, TheColumnParameterTakesThePlaceOfTheSource) {
  for (ShardingField field : {Bucket(kId), Identity(kId)}) {
    field.parameters["column"] = "text";
    field.source_ids = {99};
    EXPECT_THAT(One(field), ::testing::HasSubstr(field.transform == "bucket" ? ": 1 0 " : ": a null c a"));
    field.parameters["column"] = "place.city";
    EXPECT_THAT(One(field), ::testing::HasSubstr(field.transform == "bucket" ? " 0 0 " : ": X null null X"));
    for (const char* missing : {"nope", "place.nope", "text.city", "", ".", "place.city.x"}) {
      field.parameters["column"] = missing;
      ExpectRefused(field, fmt::format("'{}'", missing));
    }
  }
}

TEST(Sharding, SeveralFieldsInTheOrderOfTheSpec) {
  const auto batch = Evaluate({Identity(kText), Bucket(kId), Unsharded()}).ValueOrDie();
  EXPECT_EQ(batch->schema()->field_names(), (std::vector<std::string>{"value", "bucket", "all"}));
  EXPECT_EQ(batch->num_rows(), 4);
  EXPECT_EQ(Values(*batch->column(0)), "a null c a");
  EXPECT_EQ(Values(*batch->column(2)), "0 0 0 0");
}

TEST(Sharding, NoRows) {
  const auto none = Batch()->Slice(1, 0);
  const auto batch =
      EvaluateShardingSpec({.fields = {Bucket(kId), Unsharded(), Identity(kText)}}, TableSchema(), *none);
  EXPECT_EQ(batch.ValueOrDie()->num_rows(), 0);
  EXPECT_TRUE(RouteRows({.fields = {Bucket(kId)}}, TableSchema(), none).ValueOrDie().empty());
}

TEST(Sharding, WhatCannotBeEvaluated) {
  ShardingField field = Identity(kId);
  field.transform = "year";
  ExpectRefused(field, "year");
  field.transform = "BUCKET";
  ExpectRefused(field, "BUCKET");
  field.transform = std::nullopt;
  ExpectRefused(field, "must be");
  field.expression = "id + 1";
  ExpectRefused(field, "id + 1");
  field.transform = "identity";
  ExpectRefused(field, "id + 1");
  ExpectRefused(Identity(99), "99");
  ExpectRefused(Identity(-1), "-1");
  ExpectRefused(Identity(kShare), "double");
  for (const char* count :
       {"", "0", "-1", "+", "++4", "four", "4.0", " 4", "4 ", "2147483648", "99999999999999999999"}) {
    ExpectRefused(Bucket(kId, count), fmt::format("'{}'", count));
  }
  field = Bucket(kId);
  field.parameters.clear();
  ExpectRefused(field, "num_buckets");
  for (ShardingField sources : {Bucket(kId), Identity(kId)}) {
    sources.source_ids = {};
    ExpectRefused(sources, "0 source columns");
    sources.source_ids = {kId, kText};
    ExpectRefused(sources, "2 source columns");
  }
  EXPECT_TRUE(HasKind(Evaluate({}).status(), ErrorKind::kInvalidInput));
  EXPECT_TRUE(HasKind(Evaluate({Bucket(kId), Bucket(kText)}).status(), ErrorKind::kInvalidInput)) << "one name twice";
}

TEST(Sharding, RowsThatDoNotHoldTheSourceOnce) {
  const auto batch = Batch();
  const auto without = batch->RemoveColumn(0).ValueOrDie();
  const auto twice = batch->AddColumn(0, "id", batch->column(0)).ValueOrDie();
  for (const auto& rows : {without, twice}) {
    const auto status = EvaluateShardingSpec({.fields = {Bucket(kId)}}, TableSchema(), *rows).status();
    EXPECT_TRUE(HasKind(status, ErrorKind::kInvalidInput)) << status.ToString();
    EXPECT_THAT(status.message(), ::testing::HasSubstr("'id'"));
  }
}

// What a manifest says of the shard, and the ids of its rows.
std::vector<std::string> Routed(const std::vector<ShardingField>& fields,
                                const std::shared_ptr<arrow::RecordBatch>& batch = Batch()) {
  std::vector<std::string> shards;
  for (const ShardRows& shard : RouteRows({.fields = fields}, TableSchema(), batch).ValueOrDie()) {
    std::string text;
    for (const auto& [name, value] : shard.values) {
      text += name + "=";
      for (const char byte : value.value_or("null"))
        text += byte < ' ' ? fmt::format("\\{}", int{byte}) : std::string(1, byte);
      text += " ";
    }
    EXPECT_TRUE(shard.rows->ValidateFull().ok());
    EXPECT_TRUE(shard.rows->schema()->Equals(*batch->schema()));
    shards.push_back(text + "-> " + Values(*shard.rows->column(0)));
  }
  return shards;
}

TEST(Routing, RowsOfAShardInTheirOrderShardsByFirstAppearance) {
  EXPECT_TRUE(arrow::compute::Initialize().ok());
  EXPECT_THAT(Routed({Identity(kText)}), ::testing::ElementsAre("value=a -> 1 4", "value=null -> 2", "value=c -> 3"));
  EXPECT_THAT(Routed({Unsharded()}), ::testing::ElementsAre("all=\\0\\0\\0\\0 -> 1 2 3 4"));
  EXPECT_THAT(Routed({Identity(kFlag)}),
              ::testing::ElementsAre("value=\\1 -> 1 4", "value=null -> 2", "value=\\0 -> 3"));
  EXPECT_THAT(Routed({Identity(kText)}, Batch()->Slice(1)),
              ::testing::ElementsAre("value=null -> 2", "value=c -> 3", "value=a -> 4"));
  EXPECT_THAT(Routed({Identity(kZone), Unsharded()}),
              ::testing::ElementsAre("all=\\0\\0\\0\\0 value=\\7\\0\\0\\0 -> 1 3", "all=\\0\\0\\0\\0 value=null -> 2",
                                     "all=\\0\\0\\0\\0 value=\\9\\0\\0\\0 -> 4"));
  EXPECT_THAT(Routed({Identity(kId)}, Batch()->Slice(2)),
              ::testing::ElementsAre("value=\\3\\0\\0\\0\\0\\0\\0\\0 -> 3", "value=\\4\\0\\0\\0\\0\\0\\0\\0 -> 4"));
}

// The empty text and null are two shards, not one.
TEST(Routing, NullIsAValueOfItsOwn) {
  const auto rows =
      arrow::RecordBatch::Make(arrow::schema({arrow::field("text", arrow::utf8())}), 3,
                               {arrow::json::ArrayFromJSONString(arrow::utf8(), R"(["", null, ""])").ValueOrDie()});
  const auto shards = RouteRows({.fields = {Identity(kText)}}, TableSchema(), rows).ValueOrDie();
  ASSERT_EQ(shards.size(), 2u);
  EXPECT_EQ(shards[0].values.at("value"), "");
  EXPECT_EQ(shards[0].rows->num_rows(), 2);
  EXPECT_EQ(shards[1].values.at("value"), std::nullopt);
}

// Every row comes out once, and in the shard of its bucket.
TEST(Routing, ManyRowsOverManyBuckets) {
  EXPECT_TRUE(arrow::compute::Initialize().ok());
  arrow::Int64Builder builder;
  for (int64_t i = 0; i < 5'000; ++i) ASSERT_TRUE(builder.Append(i * 7919).ok());
  const auto ids = builder.Finish().ValueOrDie();
  const auto rows = arrow::RecordBatch::Make(arrow::schema({arrow::field("id", arrow::int64())}), ids->length(), {ids});
  const auto shards = RouteRows({.fields = {Bucket(kId, "64")}}, TableSchema(), rows).ValueOrDie();
  EXPECT_EQ(shards.size(), 64u);
  std::set<int64_t> seen;
  for (const ShardRows& shard : shards) {
    int64_t last = -1;
    const auto& held = static_cast<const arrow::Int64Array&>(*shard.rows->column(0));
    for (int64_t row = 0; row < held.length(); ++row) {
      EXPECT_LT(last, held.Value(row));
      last = held.Value(row);
      EXPECT_TRUE(seen.insert(last).second);
      int32_t bucket = BucketHash(held, row).ValueOrDie() % 64;
      EXPECT_EQ(shard.values.at("bucket"), std::string(reinterpret_cast<const char*>(&bucket), 4));
    }
  }
  EXPECT_EQ(seen.size(), 5'000u);
}

}  // namespace
}  // namespace javelin::memwal
