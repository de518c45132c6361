#include "javelin/memwal/wal_tailer.h"

#include <arrow/api.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "javelin/memwal/test_support_internal.h"

namespace javelin::memwal {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

struct World {
  explicit World(const Resources& resources)
      : store(std::make_shared<ScriptedStore>(resources)),
        manifests(std::make_shared<ShardManifestStore>(resources, store, "table", TestShard())),
        tailer(resources, store, manifests, "table") {}

  void PutSentinel(uint64_t position) {
    BufferPtr bytes = EncodeWalEntry({.writer_epoch = Epoch(1), .fence_sentinel = true}).ValueOrDie();
    ASSERT_TRUE(store->inner().Put(paths.WalEntry(WalPosition(position)), bytes).ok());
  }
  // An entry of one row whose text is that long.
  void PutRows(uint64_t position, size_t text_bytes) {
    const auto schema = arrow::schema({arrow::field("text", arrow::utf8())});
    auto text = arrow::MakeArrayFromScalar(arrow::StringScalar(std::string(text_bytes, 'x')), 1).ValueOrDie();
    BufferPtr bytes = EncodeWalEntry({.writer_epoch = Epoch(1),
                                      .schema = schema,
                                      .batches = {arrow::RecordBatch::Make(schema, 1, {std::move(text)})}})
                          .ValueOrDie();
    ASSERT_TRUE(store->inner().Put(paths.WalEntry(WalPosition(position)), bytes).ok());
  }
  void PutBytes(uint64_t position, const std::string& bytes) {
    ASSERT_TRUE(store->inner().Put(paths.WalEntry(WalPosition(position)), arrow::Buffer::FromString(bytes)).ok());
  }
  void PutManifest(uint64_t replay_after, uint64_t last_seen) {
    ShardManifest manifest{.shard_id = TestShard(),
                           .version = ManifestVersion(1),
                           .writer_epoch = Epoch(1),
                           .replay_after = WalPosition(replay_after),
                           .wal_position_last_seen = WalPosition(last_seen)};
    ASSERT_TRUE(store->inner().Put(paths.Manifest(ManifestVersion(1)), EncodeShardManifest(manifest)).ok());
  }

  ShardPaths paths{"table", TestShard()};
  std::shared_ptr<ScriptedStore> store;
  std::shared_ptr<ShardManifestStore> manifests;
  WalTailer tailer;
};

void InWorld(const std::function<void(World&)>& body) {
  InVirtualTime([&](Simulation&, const Resources& resources) {
    World world(resources);
    body(world);
  });
}

TEST(WalTailer, ReadsEntriesAndSaysWhereThereIsNone) {
  InWorld([](World& world) {
    world.PutSentinel(1);
    auto entry = world.tailer.ReadEntry(WalPosition(1)).ValueOrDie();
    ASSERT_TRUE(entry.has_value());
    EXPECT_TRUE(entry->fence_sentinel);
    EXPECT_FALSE(world.tailer.ReadEntry(WalPosition(2)).ValueOrDie().has_value());
    EXPECT_KIND(kInvalidInput, "start at 1", world.tailer.ReadEntry(WalPosition(0)).status());
    EXPECT_THAT(world.store->TakeRequests(), ElementsAre("GET wal/1", "GET wal/2"));
  });
}

TEST(WalTailer, OnlyNotFoundMeansNone) {
  InWorld([](World& world) {
    world.PutSentinel(1);
    world.store->Fail("GET wal/1");
    EXPECT_KIND(kTransient, "WAL position 1", world.tailer.ReadEntry(WalPosition(1)).status());
    ASSERT_TRUE(world.store->inner().Put(world.paths.WalEntry(WalPosition(2)), arrow::Buffer::FromString("x")).ok());
    arrow::Status corrupt = world.tailer.ReadEntry(WalPosition(2)).status();
    EXPECT_KIND(kWalCorrupt, "WAL position 2", corrupt);
    EXPECT_EQ(FieldsOf(corrupt).at("shard"), kTestShard);
    world.store->Fail("HEAD wal/");
    EXPECT_KIND(kTransient, "scripted", world.tailer.NextPosition().status());
    world.store->Fail("LIST wal");
    EXPECT_KIND(kTransient, "scripted", world.tailer.FirstPosition().status());
    world.store->Fail("LIST manifest");
    EXPECT_KIND(kTransient, "scripted", world.tailer.NextPosition().status());
  });
}

TEST(WalTailer, NextPositionStartsAtTheHighestReadPosition) {
  InWorld([](World& world) {
    for (uint64_t i = 1; i <= 20; ++i) world.PutSentinel(i);
    WalTailer copy = world.tailer;  // shares what was read
    ASSERT_TRUE(world.tailer.ReadEntry(WalPosition(17)).ok());
    ASSERT_TRUE(world.tailer.ReadEntry(WalPosition(3)).ok());
    world.store->TakeRequests();
    EXPECT_EQ(copy.NextPosition().ValueOrDie(), WalPosition(21));
    EXPECT_THAT(world.store->TakeRequests(), ElementsAre("HEAD wal/18", "HEAD wal/19", "HEAD wal/20", "HEAD wal/21",
                                                         "HEAD wal/22", "HEAD wal/23", "HEAD wal/24"));
    ASSERT_TRUE(world.tailer.ReadEntry(WalPosition(20)).ok());
    world.store->TakeRequests();
    EXPECT_EQ(copy.NextPosition().ValueOrDie(), WalPosition(21));
    EXPECT_THAT(world.store->TakeRequests(), ElementsAre("HEAD wal/21"));
  });
}

TEST(WalTailer, NextPositionFromTheLargerOfTheTwoManifestPositions) {
  for (auto [replay_after, last_seen] : {std::pair(10, 4), std::pair(4, 10)}) {
    InWorld([&](World& world) {
      world.PutManifest(replay_after, last_seen);
      world.PutSentinel(10);
      world.PutSentinel(11);
      EXPECT_EQ(world.tailer.NextPosition().ValueOrDie(), WalPosition(12));
      EXPECT_THAT(world.store->TakeRequests(), ElementsAre("GET manifest/hint", "LIST manifest", "GET manifest/1",
                                                           "HEAD wal/11", "HEAD wal/12", "HEAD wal/13"));
    });
  }
}

TEST(WalTailer, ABacklogCountsEntriesWithRowsAndReadsOnlySmallOnes) {
  InWorld([](World& world) {
    world.PutManifest(/*replay_after=*/2, /*last_seen=*/2);
    for (uint64_t i : {1, 2, 3, 6}) world.PutSentinel(i);
    world.PutRows(4, 1);
    world.PutRows(5, 10'000);
    const WalBacklog backlog = world.tailer.BacklogAfter(WalPosition(2)).ValueOrDie();
    EXPECT_EQ(backlog.tip, WalPosition(6));
    EXPECT_EQ(backlog.entries_with_rows, 2u);
    EXPECT_THAT(
        world.store->TakeRequests(),
        ElementsAre("GET manifest/hint", "LIST manifest", "GET manifest/1", "HEAD wal/3", "GET wal/3", "HEAD wal/4",
                    "HEAD wal/5", "GET wal/4", "HEAD wal/6", "HEAD wal/7", "HEAD wal/8", "HEAD wal/9", "GET wal/6"));
    const WalBacklog rest = world.tailer.BacklogAfter(WalPosition(5)).ValueOrDie();
    EXPECT_EQ(rest.tip, WalPosition(6));
    EXPECT_EQ(rest.entries_with_rows, 0u);
    EXPECT_EQ(world.tailer.BacklogAfter(WalPosition(6)).ValueOrDie().tip, WalPosition(6));
  });
}

TEST(WalTailer, WhatIsMissingOrDamagedMayHaveHeldRows) {
  InWorld([](World& world) {
    world.PutManifest(/*replay_after=*/0, /*last_seen=*/4);
    world.PutSentinel(1);
    world.PutBytes(2, "torn");
    world.PutSentinel(4);
    const WalBacklog backlog = world.tailer.BacklogAfter(WalPosition(0)).ValueOrDie();
    EXPECT_EQ(backlog.tip, WalPosition(4));
    EXPECT_EQ(backlog.entries_with_rows, 2u) << "2 is torn, 3 is missing";
    world.store->Fail("GET wal/4");
    EXPECT_KIND(kTransient, "scripted", world.tailer.BacklogAfter(WalPosition(0)).status());
    world.store->Fail("HEAD wal/3");
    EXPECT_KIND(kTransient, "WAL position 3", world.tailer.BacklogAfter(WalPosition(0)).status());
  });
}

TEST(WalTailer, WithoutAShardTheLogStartsAtOne) {
  InWorld([](World& world) {
    EXPECT_EQ(world.tailer.NextPosition().ValueOrDie(), WalPosition(1));
    EXPECT_EQ(world.tailer.FirstPosition().ValueOrDie(), WalPosition(1));
  });
}

TEST(WalTailer, FirstPositionIsTheSmallestThatExists) {
  InWorld([](World& world) {
    for (uint64_t i : {7, 8, 12}) world.PutSentinel(i);
    ASSERT_TRUE(world.store->inner()
                    .Put(world.paths.WalFolder() + ReversedBits(1) + ".arrow.tmp", arrow::Buffer::FromString("x"))
                    .ok());
    EXPECT_EQ(world.tailer.FirstPosition().ValueOrDie(), WalPosition(7));
  });
}

// Row M9: a tailer holds no epoch and writes nothing, whatever it meets; it does not pin the manifest either.
TEST(WalTailer, NeverWrites) {
  InWorld([](World& world) {
    world.PutManifest(0, 0);
    for (uint64_t i = 1; i <= 5; ++i) world.PutSentinel(i);
    for (uint64_t i = 1; i <= 7; ++i) {
      ASSERT_TRUE(world.tailer.ReadEntry(WalPosition(i)).ok());
      ASSERT_TRUE(world.tailer.NextPosition().ok());
      ASSERT_TRUE(world.tailer.FirstPosition().ok());
    }
    for (const std::string& request : world.store->TakeRequests()) {
      EXPECT_TRUE(request.starts_with("GET ") || request.starts_with("HEAD ") || request.starts_with("LIST "))
          << request;
    }
    EXPECT_FALSE(world.manifests->PositionIsYoung());
  });
}

}  // namespace
}  // namespace javelin::memwal
