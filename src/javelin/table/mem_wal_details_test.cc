#include "javelin/table/mem_wal_details.h"

#include "javelin/table/test_support_internal.h"
#include "lanceproto/table.pb.h"

namespace javelin::table {
namespace {

using testing::ElementsAre;

constexpr char kShardText[] = "0f8fad5b-d9cb-469f-a165-70867728950e";

Uuid Shard(std::string_view text = kShardText) { return Uuid::Parse(text).ValueOrDie(); }

TEST(Uuid, TextAndBytes) {
  const Uuid uuid = Shard();
  EXPECT_EQ(uuid.ToString(), kShardText);
  EXPECT_EQ(uuid.bytes(), FromHex("0f8fad5bd9cb469fa16570867728950e"));
  EXPECT_EQ(Uuid::Parse("0F8FAD5B-D9CB-469F-A165-70867728950E").ValueOrDie(), uuid);
  EXPECT_EQ(Uuid::FromBytes(uuid.bytes()).ValueOrDie(), uuid);
}

TEST(Uuid, RandomIsVersionFour) {
  EXPECT_EQ(Uuid::Random(0, 0).ToString(), "00000000-0000-4000-8000-000000000000");
  EXPECT_EQ(Uuid::Random(UINT64_MAX, UINT64_MAX).ToString(), "ffffffff-ffff-4fff-bfff-ffffffffffff");
  EXPECT_EQ(Uuid::Random(0x0123456789abcdef, 0x0123456789abcdef).ToString(), "01234567-89ab-4def-8123-456789abcdef");
}

TEST(Uuid, BadTextAndBytesAreRefused) {
  for (std::string text : {"", "0f8fad5b", "0f8fad5bd9cb469fa16570867728950e", "0f8fad5b-d9cb-469f-a165-70867728950g",
                           "0f8fad5b-d9cb-469f-a165-70867728950e ", "0f8fad5bd-9cb-469f-a165-70867728950e"}) {
    ExpectError(Uuid::Parse(text).status(), ErrorKind::kInvalidInput, "'" + text + "'");
  }
  ExpectError(Uuid::FromBytes("short").status(), ErrorKind::kCorruption, "5 bytes");
}

// The details that the released writer stores for an unsharded table.
const std::string kUnsharded =
    FromHex("10 01  3a 1e 08 01 12 1a 0a 06 6275636b6574 1a 09 756e73686172646564 2a 05 696e743332  60 01");

std::string Unsharded() {
  MemWalDetails details;
  details.num_shards = 1;
  ShardingField field;
  field.field_id = "bucket";
  field.transform = "unsharded";
  field.result_type = "int32";
  details.sharding_specs = {{1, {field}}};
  details.maintain_all_indexes = true;
  return EncodeMemWalDetails(details);
}

TEST(MemWalDetails, UnshardedTableByteForByte) {
  const std::string bytes = Unsharded();
  EXPECT_EQ(bytes, kUnsharded);
  ASSERT_OK_AND_ASSIGN(const MemWalDetails details, DecodeMemWalDetails(bytes));
  EXPECT_EQ(details.num_shards, 1u);
  ASSERT_EQ(details.sharding_specs.size(), 1u);
  EXPECT_EQ(details.sharding_specs[0].fields[0].transform, "unsharded");
  EXPECT_EQ(details.maintain_all_indexes, true);
  EXPECT_EQ(EncodeMemWalDetails(details), bytes);
}

MemWalDetails Everything() {
  MemWalDetails details;
  details.snapshot_ts_millis = 5;
  details.num_shards = 3;
  ShardingField field{"bucket", {0, 2}, "bucket", "x + 1", "int32", {{"num_buckets", "3"}, {"column", "id"}}};
  details.sharding_specs = {{1, {field, field}}, {2, {}}};
  details.maintained_indexes = {"b", "a"};
  details.maintain_all_indexes = false;
  details.compacted_sstables = {{Shard(), Generation(7)}, {Uuid::Random(1, 2), Generation(9)}};
  details.index_catchup = {{"a", {{Shard(), Generation(3)}}}, {"b", {}}};
  details.writer_config_defaults = {{"durable_write", "true"}, {"zzz", "kept"}};
  return details;
}

TEST(MemWalDetails, EveryFieldSurvives) {
  MemWalDetails details = Everything();
  ASSERT_OK_AND_ASSIGN(MemWalDetails back, DecodeMemWalDetails(EncodeMemWalDetails(details)));
  back.encoded.clear();
  EXPECT_EQ(back, details);
}

TEST(MemWalDetails, UnknownFieldsAndTheSnapshotSurviveAChange) {
  // Field 3 is the inline snapshot, 13 and 77 are not ours.
  const std::string snapshot = FromHex("1a 03 010203"), unknown = FromHex("68 2a") + FromHex("ea 04 02 7878");
  ASSERT_OK_AND_ASSIGN(MemWalDetails details, DecodeMemWalDetails(Unsharded() + snapshot + unknown));
  details.compacted_sstables = {{Shard(), Generation(4)}};
  const std::string again = EncodeMemWalDetails(details);
  EXPECT_THAT(again, testing::HasSubstr(snapshot));
  EXPECT_THAT(again, testing::HasSubstr(unknown));
  ASSERT_OK_AND_ASSIGN(const MemWalDetails back, DecodeMemWalDetails(again));
  EXPECT_EQ(back.compacted_sstables, details.compacted_sstables);
  EXPECT_EQ(back.sharding_specs, details.sharding_specs);
}

TEST(MemWalDetails, AbsentMaintainAllStaysAbsent) {
  ASSERT_OK_AND_ASSIGN(const MemWalDetails details, DecodeMemWalDetails(FromHex("10 01")));
  EXPECT_EQ(details.maintain_all_indexes, std::nullopt);
  EXPECT_EQ(EncodeMemWalDetails(details), FromHex("10 01"));
}

TEST(MemWalDetails, BadBytesAreCorruption) {
  ExpectError(DecodeMemWalDetails(FromHex("3a ff")).status(), ErrorKind::kCorruption, "MemWAL details");
  ExpectError(DecodeMemWalDetails(FromHex("4a 04 0a 02 0a 00")).status(), ErrorKind::kCorruption, "UUID");
}

TEST(MemWalDetails, CompactedThroughIsPerShard) {
  const MemWalDetails details = Everything();
  EXPECT_EQ(details.CompactedThrough(Shard()), Generation(7));
  EXPECT_EQ(details.CompactedThrough(Uuid::Random(1, 2)), Generation(9));
  EXPECT_EQ(details.CompactedThrough(Uuid::Random(3, 4)), Generation(0));
}

TEST(MemWalDetails, IndexEntryAsTheReleasedWriterStoresIt) {
  const IndexEntry entry = MakeMemWalIndexEntry(Everything(), Shard(), 6, 1234);
  ::lance::table::IndexMetadata message;
  ASSERT_TRUE(message.ParseFromString(entry.encoded));
  EXPECT_EQ(message.uuid().uuid(), Shard().bytes());
  EXPECT_EQ(message.name(), "__lance_mem_wal");
  EXPECT_EQ(message.fields_size(), 0);
  EXPECT_EQ(message.dataset_version(), 6u);
  EXPECT_TRUE(message.fragment_bitmap().empty());
  EXPECT_EQ(message.index_details().type_url(), "/lance.table.MemWalIndexDetails");
  EXPECT_TRUE(message.has_index_version());
  EXPECT_EQ(message.index_version(), 0);
  EXPECT_EQ(message.created_at(), 1234u);
  EXPECT_EQ(message.files_size(), 0);

  Manifest manifest;
  ASSERT_OK_AND_ASSIGN(auto none, ReadMemWalDetails(manifest));
  EXPECT_EQ(none, std::nullopt);
  manifest.indices = {entry};
  ASSERT_OK_AND_ASSIGN(auto details, ReadMemWalDetails(manifest));
  ASSERT_TRUE(details.has_value());
  EXPECT_EQ(details->index_catchup, Everything().index_catchup);
  manifest.indices[0].details = "\xff";
  ExpectError(ReadMemWalDetails(manifest).status(), ErrorKind::kCorruption, "MemWAL details");
}

}  // namespace
}  // namespace javelin::table
