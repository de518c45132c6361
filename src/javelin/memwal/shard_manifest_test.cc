#include "javelin/memwal/shard_manifest.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "javelin/base/error.h"

namespace javelin::memwal {
namespace {

using ::testing::HasSubstr;

constexpr char kShardText[] = "00112233-4455-6677-8899-aabbccddeeff";

std::string FromHex(std::string_view hex) {
  std::string bytes;
  for (size_t i = 0; i < hex.size(); i += 2)
    bytes.push_back(static_cast<char>(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16)));
  return bytes;
}

ShardManifest Example() {
  ShardManifest manifest;
  manifest.shard_id = Uuid::Parse(kShardText).ValueOrDie();
  manifest.version = ManifestVersion(7);
  manifest.shard_spec_id = 1;
  manifest.shard_fields = {{"bucket", std::string("\x05\0\0\0", 4)}, {"day", "x"}};
  manifest.writer_epoch = Epoch(3);
  manifest.replay_after = WalPosition(12);
  manifest.wal_position_last_seen = WalPosition(15);
  manifest.current_generation = Generation(4);
  manifest.sstables = {{.generation = Generation(2),
                        .path = "0badcafe_gen_2",
                        .in_memory_bytes = 59,
                        .physical_rows = 1,
                        .primary_key_bytes = 8},
                       {.generation = Generation(3), .path = "12345678_gen_3"}};
  manifest.status = ShardStatus::kSealed;
  return manifest;
}

arrow::Result<ShardManifest> Decode(const std::string& bytes) {
  return DecodeShardManifest(*arrow::Buffer::FromString(bytes));
}

TEST(ShardManifest, VersionOneOfAFirstClaimByteForByte) {
  ShardManifest manifest;
  manifest.shard_id = Uuid::Parse(kShardText).ValueOrDie();
  manifest.version = ManifestVersion(1);
  manifest.writer_epoch = Epoch(1);
  manifest.shard_spec_id = 1;
  EXPECT_EQ(EncodeShardManifest(manifest)->ToString(), FromHex("08011001300150015a120a10"
                                                               "00112233445566778899aabbccddeeff"));
}

TEST(ShardManifest, RoundTrip) {
  EXPECT_EQ(DecodeShardManifest(*EncodeShardManifest(Example())).ValueOrDie(), Example());
  // Absent is not zero.
  ShardManifest manifest = Example();
  manifest.sstables[1].physical_rows = 0;
  EXPECT_EQ(DecodeShardManifest(*EncodeShardManifest(manifest))->sstables[1].physical_rows, std::optional<uint64_t>(0));
}

TEST(ShardManifest, NextVersionChangesTheVersionOnly) {
  ShardManifest next = Example().NextVersion();
  EXPECT_EQ(next.version, ManifestVersion(8));
  next.version = ManifestVersion(7);
  EXPECT_EQ(next, Example());
}

TEST(ShardManifest, UnknownFieldsSurviveARewrite) {
  std::string later = EncodeShardManifest(Example())->ToString() + FromHex("f2060161");  // field 110 = "a"
  ShardManifest manifest = Decode(later).ValueOrDie();
  EXPECT_NE(manifest, Example());
  manifest.writer_epoch = Epoch(4);
  ShardManifest again = DecodeShardManifest(*EncodeShardManifest(manifest)).ValueOrDie();
  EXPECT_EQ(again, manifest);
  EXPECT_THAT(EncodeShardManifest(again)->ToString(), HasSubstr(FromHex("f2060161")));
}

TEST(ShardManifest, UnknownStatusReadsAsActive) {
  ShardManifest manifest = Example();
  manifest.status = ShardStatus::kActive;
  EXPECT_EQ(Decode(EncodeShardManifest(manifest)->ToString() + FromHex("7809")).ValueOrDie().status,
            ShardStatus::kActive);
}

TEST(ShardManifest, WhatDoesNotDecodeIsCorruption) {
  auto expect = [](const std::string& bytes, const std::string& word) {
    arrow::Status status = Decode(bytes).status();
    ASSERT_FALSE(status.ok()) << word;
    EXPECT_EQ(KindOf(status), ErrorKind::kCorruption) << status.ToString();
    EXPECT_THAT(status.message(), HasSubstr(word));
  };
  const std::string shard = FromHex(
      "5a120a10"
      "00112233445566778899aabbccddeeff");
  expect("not a message", "decode");
  expect(FromHex("080110013001"), "no shard id");
  expect(FromHex("080110013001"
                 "5a040a02aabb"),
         "16");
  expect("", "no shard id");
  expect(FromHex("1001"
                 "3001") +
             shard,
         "version 0");
  expect(FromHex("08011001") + shard, "generation 0");
  const std::string maximum = FromHex("ffffffffffffffffff01");
  expect(FromHex("08") + maximum + FromHex("3001") + shard, "version");
  expect(FromHex("0801"
                 "10") +
             maximum + FromHex("3001") + shard,
         "writer_epoch");
  expect(FromHex("0801"
                 "3001"
                 "18") +
             maximum + shard,
         "replay_after");
  expect(FromHex("0801"
                 "3001"
                 "20") +
             maximum + shard,
         "last_seen");
  expect(FromHex("0801"
                 "30") +
             maximum + shard,
         "generation");
  for (const std::string path : {"", ".", "..", "a/b", "../x"}) {
    ShardManifest manifest = Example();
    manifest.sstables[0].path = path;
    expect(EncodeShardManifest(manifest)->ToString(), "folder name");
  }
  std::string whole = EncodeShardManifest(Example())->ToString();
  std::string twice = whole + FromHex("72080a066275636b6574");
  expect(twice, "twice");
}

TEST(ReversedBits, LeastSignificantFirst) {
  EXPECT_EQ(ReversedBits(5), "101" + std::string(61, '0'));
  EXPECT_EQ(ReversedBits(0), std::string(64, '0'));
  EXPECT_EQ(ReversedBits(UINT64_MAX), std::string(64, '1'));
  EXPECT_EQ(ReversedBits(uint64_t{1} << 63), std::string(63, '0') + "1");
}

TEST(ReversedBits, ParsesItsOwnNamesOnly) {
  for (uint64_t n : {uint64_t{0}, uint64_t{1}, uint64_t{5}, uint64_t{1} << 63, UINT64_MAX}) {
    EXPECT_EQ(ParseReversedBits(ReversedBits(n) + ".arrow", ".arrow"), n);
  }
  const std::string four = ReversedBits(4);
  for (const std::string& hostile :
       {four + ".arrow.tmp.x", four + ".arrow.", four + ".arro", four, four + ".binpb", "." + four + ".arrow",
        four + "0.arrow", four.substr(1) + ".arrow", four.substr(1) + "2.arrow", four.substr(1) + " .arrow",
        four + ".ARROW", std::string(".arrow"), std::string(), "." + std::string(32, 'a') + ".tmp",
        four + ".arrow/x"}) {
    EXPECT_EQ(ParseReversedBits(hostile, ".arrow"), std::nullopt) << hostile;
  }
}

TEST(ShardPaths, Layout) {
  ShardPaths paths("tables/t", Uuid::Parse(kShardText).ValueOrDie());
  const std::string shard = std::string("tables/t/_mem_wal/") + kShardText;
  EXPECT_EQ(paths.shard_folder, shard);
  EXPECT_EQ(paths.ManifestFolder(), shard + "/manifest/");
  EXPECT_EQ(paths.Manifest(ManifestVersion(2)), shard + "/manifest/01" + std::string(62, '0') + ".binpb");
  EXPECT_EQ(paths.ManifestHint(), shard + "/manifest/version_hint.json");
  EXPECT_EQ(paths.WalEntry(WalPosition(1)), shard + "/wal/1" + std::string(63, '0') + ".arrow");
  EXPECT_EQ(ShardPaths("", Uuid::Parse(kShardText).ValueOrDie()).shard_folder, std::string("_mem_wal/") + kShardText);
}

}  // namespace
}  // namespace javelin::memwal
