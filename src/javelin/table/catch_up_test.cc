#include "javelin/table/catch_up.h"

#include "javelin/table/index_entry.h"
#include "javelin/table/test_support_internal.h"
#include "lanceproto/table.pb.h"

namespace javelin::table {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

const Uuid kShard = Uuid::Random(1, 1), kOther = Uuid::Random(2, 2);

IndexEntry Index(std::string name, std::optional<std::vector<uint32_t>> coverage, char uuid = 'u') {
  ::lance::table::IndexMetadata message;
  message.mutable_uuid()->set_uuid(std::string(16, uuid));
  message.set_name(name);
  if (coverage) message.set_fragment_bitmap(EncodeRoaring(OffsetSet::FromUnsorted(*coverage)));
  IndexEntry entry;
  entry.uuid = std::string(16, uuid);
  entry.name = std::move(name);
  entry.encoded = message.SerializeAsString();
  return entry;
}

MemWalDetails Details(std::vector<CompactedSsTable> compacted, std::vector<IndexCatchup> catchup = {}) {
  MemWalDetails details;
  details.compacted_sstables = std::move(compacted);
  details.index_catchup = std::move(catchup);
  return details;
}

Manifest Table(std::vector<uint64_t> fragments, std::vector<IndexEntry> indices,
               const std::optional<MemWalDetails>& details) {
  Manifest manifest;
  manifest.version = TableVersion(5);
  for (uint64_t id : fragments) manifest.fragments.push_back({FragmentId(id), {}, {}, 1, ""});
  manifest.indices = std::move(indices);
  if (details) manifest.indices.push_back(MakeMemWalIndexEntry(*details, Uuid::Random(9, 9), 5, 1));
  return manifest;
}

std::vector<IndexCatchup> Derive(const Manifest& read, const std::vector<IndexEntry>& before,
                                 const std::vector<IndexEntry>& after, const MemWalDetails& details) {
  return DeriveCatchUp({read, before, after, details});
}

const std::vector<CompactedSsTable> kThroughNine = {{kShard, Generation(9)}};

TEST(CatchUp, AnIndexOverEveryFragmentEarnsTheProgressOfTheReadVersion) {
  const Manifest read = Table({0, 1}, {}, Details({{kShard, Generation(6)}}));
  EXPECT_THAT(Derive(read, {}, {Index("i", {{0, 1, 7}})}, Details(kThroughNine)),
              ElementsAre(IndexCatchup{"i", {{kShard, Generation(6)}}}));
}

TEST(CatchUp, SegmentsCountTogether) {
  const Manifest read = Table({0, 1, 2}, {}, Details(kThroughNine));
  EXPECT_THAT(Derive(read, {}, {Index("i", {{0}}, 'a'), Index("i", {{1, 2}}, 'b')}, Details(kThroughNine)),
              ElementsAre(IndexCatchup{"i", {{kShard, Generation(9)}}}));
  EXPECT_THAT(Derive(read, {}, {Index("i", {{0}}, 'a'), Index("i", {{1}}, 'b')}, Details(kThroughNine)), IsEmpty());
}

TEST(CatchUp, WhatProvesNothing) {
  const MemWalDetails details = Details(kThroughNine);
  EXPECT_THAT(Derive(Table({0}, {}, details), {}, {Index("i", std::nullopt)}, details), IsEmpty());  // no bitmap
  EXPECT_THAT(Derive(Table({}, {}, details), {}, {Index("i", {{0}})}, details), IsEmpty());          // no fragments
  EXPECT_THAT(Derive(Table({0, 1}, {}, details), {}, {Index("i", {{0}})}, details), IsEmpty());      // a gap
  EXPECT_THAT(Derive(Table({0}, {}, std::nullopt), {}, {Index("i", {{0}})}, details),
              IsEmpty());  // no progress when it was read
  EXPECT_THAT(Derive(Table({0}, {}, Details({{kOther, Generation(4)}})), {}, {Index("i", {{0}})}, details),
              IsEmpty());  // another shard
}

TEST(CatchUp, NeverAboveWhatIsCommitted) {
  const Manifest read = Table({0}, {}, Details({{kShard, Generation(12)}}));
  EXPECT_THAT(Derive(read, {}, {Index("i", {{0}})}, Details(kThroughNine)),
              ElementsAre(IndexCatchup{"i", {{kShard, Generation(9)}}}));
}

TEST(CatchUp, AnUnchangedIndexKeepsWhatItHad) {
  const Manifest read = Table({0, 1}, {}, Details({{kShard, Generation(2)}}));
  const std::vector<IndexEntry> indices = {Index("i", {{0}})};
  const MemWalDetails details = Details(kThroughNine, {{"i", {{kShard, Generation(4)}}}});
  EXPECT_EQ(Derive(read, indices, indices, details), details.index_catchup);
}

TEST(CatchUp, AChangedIndexKeepsNothingThatItDoesNotEarn) {
  const Manifest read = Table({0, 1}, {}, Details({{kShard, Generation(6)}}));
  const MemWalDetails details = Details(kThroughNine, {{"i", {{kShard, Generation(4)}}}});
  // A bitmap pruned in place under the same UUID.
  EXPECT_THAT(Derive(read, {Index("i", {{0, 1}})}, {Index("i", {{0}})}, details), IsEmpty());
  // Rebuilt under another one.
  EXPECT_THAT(Derive(read, {Index("i", {{0, 1}}, 'a')}, {Index("i", {{0}}, 'b')}, details), IsEmpty());
  EXPECT_THAT(Derive(read, {Index("i", {{0}}, 'a')}, {Index("i", {{0, 1}}, 'b')}, details),
              ElementsAre(IndexCatchup{"i", {{kShard, Generation(6)}}}));
}

TEST(CatchUp, ADroppedIndexLosesItsEntryAndOthersStay) {
  const Manifest read = Table({0, 1}, {}, Details(kThroughNine));
  const std::vector<IndexEntry> after = {Index("z", {{0}}), Index("a", {{1}})};
  const MemWalDetails details = Details(
      kThroughNine,
      {{"a", {{kShard, Generation(1)}}}, {"gone", {{kShard, Generation(5)}}}, {"z", {{kShard, Generation(2)}}}});
  EXPECT_THAT(Derive(read, after, after, details),
              ElementsAre(IndexCatchup{"a", {{kShard, Generation(1)}}}, IndexCatchup{"z", {{kShard, Generation(2)}}}));
}

TEST(CatchUp, AShardWithoutProgressGetsNothing) {
  const Manifest read = Table({0}, {}, Details({{kShard, Generation(3)}, {kOther, Generation(3)}}));
  EXPECT_THAT(Derive(read, {}, {Index("i", {{0}})}, Details({{kShard, Generation(3)}})),
              ElementsAre(IndexCatchup{"i", {{kShard, Generation(3)}}}));
}

TEST(CatchUp, SystemIndicesAreNotTracked) {
  const MemWalDetails details = Details(kThroughNine);
  const Manifest read = Table({0}, {}, details);
  EXPECT_THAT(Derive(read, {}, {Index(std::string(kFragmentReuseIndexName), {{0}}), read.indices[0]}, details),
              IsEmpty());
}

TEST(CatchUp, TheEntryIsLeftAloneUnlessSomethingChanges) {
  const Uuid fresh = Uuid::Random(7, 7);
  // Progress, but no index: nothing to record.
  Manifest table = Table({0}, {}, Details(kThroughNine));
  Manifest next = table;
  RefreshCatchUp(table, table.indices, fresh, next);
  EXPECT_EQ(next.indices, table.indices);
  // No progress at all.
  table = Table({0}, {Index("i", {{0}})}, Details({}));
  next = table;
  RefreshCatchUp(table, {}, fresh, next);
  EXPECT_EQ(next.indices, table.indices);
  // No MemWAL entry.
  table = Table({0}, {Index("i", {{0}})}, std::nullopt);
  next = table;
  RefreshCatchUp(table, {}, fresh, next);
  EXPECT_EQ(next.indices, table.indices);
  // An entry that does not decode never stops a commit.
  table = Table({0}, {Index("i", {{0}})}, Details(kThroughNine));
  table.indices[1].details = "\xff";
  next = table;
  RefreshCatchUp(table, {}, fresh, next);
  EXPECT_EQ(next.indices, table.indices);
}

TEST(CatchUp, AChangedEntryIsANewOneInTheSamePlace) {
  Manifest table = Table({0}, {Index("i", {{0}})}, Details(kThroughNine));
  std::swap(table.indices[0], table.indices[1]);
  Manifest next = table;
  next.version = TableVersion(6);
  next.timestamp_ns = 5'000'000;
  RefreshCatchUp(table, {}, Uuid::Random(7, 7), next);
  EXPECT_EQ(next.indices[0].name, kMemWalIndexName);
  EXPECT_EQ(next.indices[0].uuid, Uuid::Random(7, 7).bytes());
  EXPECT_EQ(next.indices[0].dataset_version, 6u);
  ASSERT_OK_AND_ASSIGN(auto details, ReadMemWalDetails(next));
  EXPECT_THAT(details->index_catchup, ElementsAre(IndexCatchup{"i", {{kShard, Generation(9)}}}));
  EXPECT_EQ(details->compacted_sstables, kThroughNine);
  EXPECT_EQ(next.indices[1], table.indices[1]);
}

}  // namespace
}  // namespace javelin::table
