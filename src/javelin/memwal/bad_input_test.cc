// What a caller may do wrong and what storage may hold: every refusal has its kind, names the thing, says what to do.
#include "javelin/memwal/writer_test_world.h"

namespace javelin::memwal {
namespace {

using namespace test;
using ::testing::HasSubstr;
using Batches = std::vector<std::shared_ptr<arrow::RecordBatch>>;

void ExpectAdvice(const arrow::Status& status, ErrorKind kind, const std::string& noun, const std::string& advice) {
  ASSERT_FALSE(status.ok()) << "expected an error with " << noun;
  EXPECT_EQ(ToString(KindOf(status)), ToString(kind)) << status.ToString();
  EXPECT_THAT(status.message(), HasSubstr(noun));
  EXPECT_THAT(status.message(), HasSubstr(advice));
}

// One batch with one row; column `id` is the key and not nullable in the table.
Batches One(const arrow::FieldVector& fields, const std::string& json) { return {Batch(arrow::schema(fields), json)}; }
std::shared_ptr<arrow::Field> Id() { return arrow::field("id", arrow::int64()); }
std::shared_ptr<arrow::Field> Words() { return arrow::field("text", arrow::utf8()); }

TEST(BadInput, APutNamesTheShardTheColumnAndWhatToDo) {
  const struct {
    Batches batches;
    std::string noun, advice;
  } puts[] = {
      {One({Words(), Id()}, R"([["a", 1]])"), "column 0 of the batch is 'text'", "in the order of the table: id, text"},
      {One({Id()}, "[[1]]"), "column 'text' of the table is missing", "give every column"},
      {One({Id(), Words(), arrow::field("more", arrow::int8())}, R"([[1, "a", 1]])"), "column 'more'", "leave it out"},
      {{Row(1, "a"), Must(Row(1, "a")->AddColumn(2, "id", Row(1, "a")->column(0)))},
       "column 'id' is in the batch more than once",
       "give it once"},
      {One({arrow::field("id", arrow::int32()), Words()}, R"([[1, "a"]])"), "column 'id' has type int32",
       "the table has int64; cast it"},
      {One({Id(), Words()}, R"([[null, "a"]])"), "column 'id' has 1 null", "give every row a value"},
      {{}, "no batches", "give at least one"},
      {{Row(1, "a"), nullptr}, "batch 1 of the put is null", "leave it out"},
      {{Row(1, "a"), Rows("[]")}, "batch 1 of the put has no rows", "leave it out"},
      {{Rows(R"([[1, "a"], [2, "b"], [3, "c"]])")}, "a put of 3 rows exceeds max_memtable_rows = 2", "split it"},
      {{Row(1, "a"), Row(2, "a")}, "a put of 2 batches exceeds max_memtable_batches = 1", "combine them"},
  };
  World world;
  world.CreateTable();
  world.Run([&](Process& process) {
    WriterOptions options;
    options.max_memtable_rows = 2;
    for (const auto& put : puts) {
      options.max_memtable_batches = put.advice == "combine them" ? 1 : 2;
      auto writer = process.Open(options);
      const auto refused = writer->Put(put.batches);
      ExpectAdvice(refused, ErrorKind::kInvalidInput, put.noun, put.advice);
      EXPECT_THAT(refused.message(), HasSubstr(kShard));
      EXPECT_EQ(FieldsOf(refused)["shard"], kShard);
    }
  });
}

TEST(BadInput, ADeleteNamesTheShardTheKeyAndWhatToDo) {
  const struct {
    Batches keys;
    std::string noun, advice;
  } deletes[] = {
      {One({Words()}, R"([["a"]])"), "key column 'id' 0 times", "give every key column exactly once"},
      {One({arrow::field("id", arrow::utf8())}, R"([["a"]])"), "column 'id' has type string",
       "the table has int64; cast it"},
      {One({Id()}, "[[null]]"), "column 'id' has 1 null", "give every row a value"},
  };
  World keyed;
  keyed.CreateTable();
  keyed.Run([&](Process& process) {
    auto writer = process.Open();
    for (const auto& row : deletes) {
      const auto refused = writer->Delete(row.keys);
      ExpectAdvice(refused, ErrorKind::kInvalidInput, row.noun, row.advice);
      EXPECT_THAT(refused.message(), HasSubstr(kShard));
    }
  });
  World keyless;
  keyless.CreateTable("[]", {}, KeylessSchema());
  keyless.Run([&](Process& process) {
    ExpectAdvice(process.Open()->Delete({Keys("[[1]]")}), ErrorKind::kInvalidInput, "delete requires a primary key",
                 "create the table with the field metadata lance-schema:unenforced-primary-key");
  });
}

// `damage` happens to a table with one stored row and a shard whose log has three entries; then `use`.
void AfterDamage(const std::function<void(World&)>& damage, const std::function<arrow::Status(Process&)>& use,
                 ErrorKind kind, const std::string& noun, const std::string& advice) {
  World world;
  world.CreateTable(R"([[100, "stored"]])");
  world.Run([&](Process& process) {
    auto writer = process.Open();
    for (int i = 1; i <= 3; ++i) ASSERT_OK(writer->Put({Row(i, "x")}));
  });
  damage(world);
  world.Run([&](Process& process) { ExpectAdvice(use(process), kind, noun, advice); });
}

void Tear(World& world, const std::string& key) {
  const auto bytes = Must(world.store->raw().Get(key));
  ASSERT_OK(world.store->raw().Put(key, arrow::SliceBuffer(bytes, 0, bytes->size() / 2)));
}

arrow::Status OpenWriter(Process& process) { return process.TryOpen().status(); }

arrow::Status ScanTable(Process& process) {
  ARROW_ASSIGN_OR_RAISE(const auto table, Dataset::Open(process.session, kTableUri));
  ARROW_ASSIGN_OR_RAISE(const auto reader, table->Scan({}));
  return reader->ToTable().status();
}

TEST(BadInput, DamageInStorageNamesTheObjectAndWhatToDo) {
  const std::string shard = fmt::format("shard {}", kShard);
  AfterDamage([](World& world) { Tear(world, EntryKey(2)); }, OpenWriter, ErrorKind::kWalCorrupt,
              shard + ", WAL position 2", "restore the object, or let an operator decide");
  AfterDamage([](World& world) { ASSERT_OK(world.store->raw().Delete(EntryKey(2))); }, OpenWriter, ErrorKind::kWalGap,
              shard + ", WAL position 2", "restore the object, or let an operator decide");
  AfterDamage([](World& world) { Tear(world, ManifestKey(1)); }, OpenWriter, ErrorKind::kCorruption,
              "manifest version 1 of " + shard, "restore the object");
}

// The peer can store that its writers have no MemTables; one here that is told otherwise works.
TEST(BadInput, AStoredDefaultThatNoWriterHereFollowsIsNamed) {
  World world;
  world.CreateTable();
  world.Run([&](Process& process) {
    ReplaceDetails(process, [](table::MemWalDetails& details) {
      details.writer_config_defaults = {{"enable_memtable", "false"}, {"durable_write", "true"}};
    });
    const auto before = world.Objects();
    ExpectError(process.TryOpen().status(), ErrorKind::kNotSupported, "enable_memtable");
    EXPECT_EQ(world.Objects(), before);
    WriterOptions options;
    options.enable_memtable = true;
    const auto writer = Must(process.TryOpen(options));
    ASSERT_OK(writer->Put({Row(1, "a")}));
    EXPECT_EQ(ReadBack(*writer), "1:a");
  });
}

TEST(BadInput, AnUnknownFileVersionNamesTheFileAndWhatToDo) {
  std::string file;
  const auto set_version = [&](uint16_t major, uint16_t minor) {
    return [&file, major, minor](World& world) {
      for (const auto& [key, bytes] : world.Objects()) {
        if (!key.ends_with(".lance")) continue;
        file = key.substr(key.rfind('/') + 1);
        std::string changed = bytes;
        std::memcpy(&changed[changed.size() - 8], &major, 2);
        std::memcpy(&changed[changed.size() - 6], &minor, 2);
        ASSERT_OK(world.store->raw().Put(key, arrow::Buffer::FromString(changed)));
      }
    };
  };
  AfterDamage(set_version(9, 1), ScanTable, ErrorKind::kNotSupported, "version 9.1", "rewrite it as 2.0, 2.1 or 2.2");
  AfterDamage(set_version(0, 2), ScanTable, ErrorKind::kNotSupported, "legacy version 0.1",
              "rewrite it as 2.0, 2.1 or 2.2");
  AfterDamage(set_version(9, 1), ScanTable, ErrorKind::kNotSupported, file, "newer version of this library");
}

}  // namespace
}  // namespace javelin::memwal
