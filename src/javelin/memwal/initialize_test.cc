#include "javelin/memwal/initialize.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <arrow/api.h>

#include "javelin/memwal/foreign_table_test_support.h"
#include "javelin/memwal/test_support_internal.h"
#include "javelin/table/mem_wal_details.h"

namespace javelin::memwal {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::shared_ptr<const arrow::KeyValueMetadata> KeyMark() {
  return arrow::key_value_metadata({{std::string(file::kPrimaryKeyMetadata), "true"}});
}

std::shared_ptr<arrow::Schema> TableSchema() {
  return arrow::schema({arrow::field("id", arrow::int64(), false, KeyMark()), arrow::field("text", arrow::utf8()),
                        arrow::field("weight", arrow::float64())});
}

std::shared_ptr<arrow::Schema> NestedSchema() {
  auto plain = TableSchema()->fields();
  plain.push_back(
      arrow::field("place", arrow::struct_({arrow::field("x", arrow::int32()), arrow::field("y", arrow::float64())})));
  plain.push_back(arrow::field("items", arrow::list(arrow::int32())));
  return arrow::schema(plain);
}

std::shared_ptr<Dataset> MakeTable(const std::shared_ptr<arrow::Schema>& schema = TableSchema()) {
  auto rows = arrow::RecordBatchReader::Make({}, schema).ValueOrDie();
  return Dataset::Write(Session::Make(), "memory://tables/t", *rows).ValueOrDie();
}

std::shared_ptr<Dataset> MakeForeignTable(const std::shared_ptr<arrow::Schema>& schema) {
  auto session = Session::Make();
  EXPECT_TRUE(WriteForeignTable(*session, "memory://tables/t", *schema).ok());
  return Dataset::Open(session, "memory://tables/t").ValueOrDie();
}

table::MemWalDetails DetailsOf(const Dataset& dataset) {
  return table::ReadMemWalDetails(dataset.manifest()).ValueOrDie().value();
}

TEST(Initialize, ManualShardsHaveNoSpec) {
  auto before = MakeTable();
  auto dataset = Initialize(*before, {}).ValueOrDie();
  EXPECT_EQ(dataset->version(), before->version().Next());
  table::MemWalDetails details = DetailsOf(*dataset);
  EXPECT_THAT(details.sharding_specs, IsEmpty());
  EXPECT_EQ(details.num_shards, 0u);
  EXPECT_EQ(details.maintain_all_indexes, true);
  EXPECT_THAT(details.maintained_indexes, IsEmpty());
  EXPECT_THAT(details.writer_config_defaults, IsEmpty());
  const table::IndexEntry* entry = dataset->manifest().FindIndex(table::kMemWalIndexName);
  EXPECT_EQ(entry->dataset_version, before->version().value());
  EXPECT_THAT(entry->fields, IsEmpty());
  EXPECT_EQ(before->CheckoutLatest().ValueOrDie()->version(), dataset->version());
}

TEST(Initialize, ShardingSpecs) {
  struct Mode {
    InitializeOptions options;
    uint32_t num_shards;
    table::ShardingField field;
  };
  InitializeOptions unsharded, bucket, identity;
  unsharded.unsharded = true;
  bucket.bucket_column = "text";
  bucket.num_buckets = 1024;
  identity.identity_column = "id";
  for (const Mode& mode : {Mode{unsharded, 1, {.transform = "unsharded", .result_type = "int32"}},
                           Mode{bucket,
                                1024,
                                {.source_ids = {1},
                                 .transform = "bucket",
                                 .result_type = "int32",
                                 .parameters = {{"num_buckets", "1024"}}}},
                           Mode{identity, 0, {.source_ids = {0}, .transform = "identity", .result_type = "int64"}}}) {
    table::MemWalDetails details = DetailsOf(*Initialize(*MakeTable(), mode.options).ValueOrDie());
    EXPECT_EQ(details.num_shards, mode.num_shards);
    ASSERT_EQ(details.sharding_specs.size(), 1u);
    EXPECT_EQ(details.sharding_specs[0].spec_id, 1u);
    ASSERT_EQ(details.sharding_specs[0].fields.size(), 1u);
    const table::ShardingField& field = details.sharding_specs[0].fields[0];
    EXPECT_EQ(field.field_id, "bucket");
    EXPECT_EQ(field.source_ids, mode.field.source_ids);
    EXPECT_EQ(field.transform, mode.field.transform);
    EXPECT_EQ(field.expression, std::nullopt);
    EXPECT_EQ(field.result_type, mode.field.result_type);
    EXPECT_EQ(field.parameters, mode.field.parameters);
  }
}

TEST(Initialize, WriterDefaultsAreStoredAllOrNone) {
  InitializeOptions options;
  options.writer_defaults.max_memtable_rows = 10;
  auto stored = DetailsOf(*Initialize(*MakeTable(), options).ValueOrDie()).writer_config_defaults;
  EXPECT_EQ(stored.size(), 13u);
  EXPECT_EQ(stored.at("max_memtable_rows"), "10");
  EXPECT_EQ(stored.at("max_wal_flush_interval_ms"), "100");
}

TEST(Initialize, RefusesBadInputAndCommitsNothing) {
  auto refused = [](const std::shared_ptr<Dataset>& dataset, const std::function<void(InitializeOptions&)>& set,
                    const std::string& word) {
    InitializeOptions options;
    set(options);
    EXPECT_KIND(kInvalidInput, word, Initialize(*dataset, options).status());
    EXPECT_EQ(dataset->CheckoutLatest().ValueOrDie()->version(), dataset->version());
  };
  auto table = MakeForeignTable(NestedSchema());
  refused(
      table,
      [](auto& o) {
        o.bucket_column = "text";
        o.num_buckets = 4;
        o.unsharded = true;
      },
      "at most one");
  refused(
      table,
      [](auto& o) {
        o.identity_column = "text";
        o.unsharded = true;
      },
      "at most one");
  refused(
      table,
      [](auto& o) {
        o.num_buckets = 4;
        o.identity_column = "text";
      },
      "at most one");
  refused(table, [](auto& o) { o.bucket_column = "text"; }, "num_buckets is missing");
  refused(table, [](auto& o) { o.num_buckets = 4; }, "bucket_column is missing");
  for (uint32_t count : {0, 1025})
    refused(
        table,
        [&](auto& o) {
          o.bucket_column = "text";
          o.num_buckets = count;
        },
        "from 1 to 1024");
  for (const char* column : {"nope", "", ".", "place.", "place.z", "text.x", "Text"}) {
    refused(
        table,
        [&](auto& o) {
          o.bucket_column = column;
          o.num_buckets = 4;
        },
        "is not a column");
    refused(table, [&](auto& o) { o.identity_column = column; }, "is not a column");
  }
  refused(
      table,
      [](auto& o) {
        o.bucket_column = "items";
        o.num_buckets = 4;
      },
      "'items' has type");
  refused(table, [](auto& o) { o.identity_column = "place.y"; }, "'place.y' has type double");
  table = MakeTable();
  refused(
      table, [](auto& o) { o.maintained_indexes = {"nope"}; },
      "Index 'nope' from maintained_indexes not found on dataset");
  refused(table, [](auto& o) { o.writer_defaults.max_memtable_batches = 0; }, "max_memtable_batches");
  refused(table, [](auto& o) { o.writer_defaults.shard_spec_id = 1; }, "shard_spec_id");
  auto any = [](auto&) {};
  refused(MakeTable(arrow::schema({arrow::field("id", arrow::float64(), false, KeyMark())})), any, "unsupported type");
  refused(MakeTable(arrow::schema({arrow::field("_tombstone", arrow::boolean(), false)})), any, "_tombstone");
}

// No writer could be opened on it.
TEST(Initialize, RefusesWritersWithoutMemTablesAndCommitsNothing) {
  const auto dataset = MakeTable();
  InitializeOptions options;
  options.writer_defaults.enable_memtable = false;
  EXPECT_KIND(kNotSupported, "enable_memtable", Initialize(*dataset, options).status());
  EXPECT_EQ(dataset->CheckoutLatest().ValueOrDie()->version(), dataset->version());
  options.writer_defaults.max_memtable_rows = 0;
  EXPECT_KIND(kInvalidInput, "max_memtable_rows", Initialize(*dataset, options).status());
  options.writer_defaults = {.enable_memtable = true};
  EXPECT_EQ(DetailsOf(*Initialize(*dataset, options).ValueOrDie()).writer_config_defaults.at("enable_memtable"),
            "true");
}

// Rows of such a table could be put and never leave memory.
TEST(Initialize, RefusesColumnsThatCannotBeWrittenAndCommitsNothing) {
  auto fields = TableSchema()->fields();
  const auto pair = arrow::fixed_size_list(arrow::struct_({arrow::field("x", arrow::int32())}), 2);
  fields.push_back(arrow::field("places", arrow::list(pair)));
  auto dataset = MakeForeignTable(arrow::schema(fields));
  EXPECT_KIND(kNotSupported, "'places'", Initialize(*dataset, {}).status());
  EXPECT_EQ(dataset->CheckoutLatest().ValueOrDie()->version(), dataset->version());
  // They can be written, but rows of shards are not brought together with blobs.
  fields.back() = arrow::field("picture", arrow::large_binary(), true,
                               arrow::key_value_metadata({"lance-encoding:blob"}, {"true"}));
  dataset = MakeForeignTable(arrow::schema(fields));
  EXPECT_KIND(kNotSupported, "'picture'", Initialize(*dataset, {}).status());
}

// SSTables of such a table could be written and never be compacted.
TEST(Initialize, RefusesVersionsOfDataFilesThatAreNotWritten) {
  for (const char* version : {"0.1", "2.3"}) {
    const auto session = Session::Make();
    ASSERT_TRUE(WriteForeignTable(*session, "memory://tables/t", *TableSchema(), version).ok());
    const auto dataset = Dataset::Open(session, "memory://tables/t").ValueOrDie();
    EXPECT_KIND(kNotSupported, version, Initialize(*dataset, {}).status());
    EXPECT_EQ(dataset->CheckoutLatest().ValueOrDie()->version(), dataset->version());
  }
}

TEST(Initialize, OnlyOnce) {
  auto before = MakeTable();
  auto dataset = Initialize(*before, {}).ValueOrDie();
  EXPECT_KIND(kInvalidInput, "already initialized", Initialize(*dataset, {}).status());
  // Also through a handle that does not know it yet.
  EXPECT_KIND(kInvalidInput, "already initialized", Initialize(*before, {}).status());
  EXPECT_EQ(dataset->CheckoutLatest().ValueOrDie()->version(), dataset->version());
}

// Rows of shards are matched to columns by field id.
TEST(Initialize, FieldIdsAreKeptFromHereOn) {
  const auto before = MakeTable();
  EXPECT_EQ(before->manifest().max_allocated_field_id, std::nullopt);
  const auto dataset = Initialize(*before, {}).ValueOrDie();
  EXPECT_EQ(dataset->manifest().max_allocated_field_id, 2);
  ASSERT_TRUE(KeepFieldIds(*dataset).ok());
  ASSERT_TRUE(KeepFieldIds(*before).ok());  // a handle that does not know it yet
  EXPECT_EQ(dataset->CheckoutLatest().ValueOrDie()->version(), dataset->version());
}

}  // namespace
}  // namespace javelin::memwal
