// Going back to an older version of a table that has shards.
#include "javelin/memwal/restore.h"

#include "javelin/memwal/compactor_test_world.h"
#include "javelin/table/transaction.h"

namespace javelin::memwal {
namespace {

using namespace test;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

std::shared_ptr<Dataset> Old(const Process& process, TableVersion version) {
  return Must(process.Table()->Checkout(version));
}

TEST(RestoreWithShards, RowsThatWereRetiredSinceAreNotForgotten) {
  World world;
  world.CreateTable(R"([[1, "base"]])");
  world.Run([&](Process& process) {
    FlushGenerations(process, {R"([[2, "one"]])", R"([[3, "two"]])"});
    const auto before = process.Table()->version();
    Compact(process);
    ASSERT_THAT(Listed(process), IsEmpty());
    const auto after = process.Table()->version();
    const auto objects = world.Objects();
    const auto refused = Restore(*Old(process, before));
    ExpectError(refused.status(), ErrorKind::kInvalidInput, "generation 1 was retired");
    EXPECT_THAT(refused.status().message(), HasSubstr(kShard));
    const auto fields = FieldsOf(refused.status());
    EXPECT_THAT(fields, Contains(Pair("shard", kShard)));
    EXPECT_THAT(fields, Contains(Pair("generation", "1")));
    EXPECT_THAT(fields, Contains(Pair("recorded_generation", "0")));
    EXPECT_EQ(world.Objects(), objects) << "nothing was written";

    // By force; whoever uses the shard is told, and a version that holds the rows brings them back.
    const auto forced = Must(Restore(*Old(process, before), /*force=*/true));
    EXPECT_EQ(forced->version(), after.Next());
    EXPECT_EQ(Base(process), "1:base");
    ExpectError(FreshView::Open(*process.Table()).status(), ErrorKind::kCorruption, "generation 1");
    Must(Restore(*Old(process, after)));
    EXPECT_EQ(process.Fresh(), "1:base 2:one 3:two");
  });
}

TEST(RestoreWithShards, WhatTheShardStillListsMayComeBack) {
  World world;
  world.CreateTable(R"([[1, "base"]])");
  world.Run([&](Process& process) {
    FlushGenerations(process, {R"([[2, "one"]])"});
    const auto before = process.Table()->version();
    // A compactor that died between its commit and retiring.
    world.sim.OnSyncPoint("compact.before_retiring",
                          [](const SyncHit&) { return SyncAction::Fail(arrow::Status::IOError("the process dies")); });
    EXPECT_FALSE(CompactShards(*process.Table()).ok());
    ASSERT_EQ(Listed(process), Generations(1, 1));
    ASSERT_EQ(Recorded(process), Generation(1));
    Must(Restore(*Old(process, before)));
    EXPECT_EQ(Recorded(process), Generation(0)) << "progress comes with the version";
    EXPECT_EQ(Base(process), "1:base");
    EXPECT_EQ(process.Fresh(), "1:base 2:one");
  });
}

TEST(RestoreWithShards, ToWhatHoldsAsMuch) {
  World world;
  world.CreateTable(R"([[1, "base"]])");
  world.Run([&](Process& process) {
    FlushGenerations(process, {R"([[2, "one"]])"});
    Compact(process);
    const auto held = process.Table()->version();
    table::Transaction config;
    table::UpdateConfig update;
    update.config = table::MapUpdate{{{"k", "v"}}, false};
    config.operation = update;
    Must(process.Table()->Commit(config));
    Must(Restore(*Old(process, held)));
    EXPECT_EQ(process.Table()->manifest().config.count("k"), 0u);
    EXPECT_EQ(process.Fresh(), "1:base 2:one");
    FlushGenerations(process, {R"([[3, "two"]])"});
    Compact(process);
    EXPECT_EQ(Base(process), "1:base 2:one 3:two");
  });
}

TEST(RestoreWithShards, AVersionFromBeforeMemWalIsRefusedAlsoByForce) {
  World world;
  world.CreateTable(R"([[1, "base"]])");
  world.Run([&](Process& process) {
    for (const bool force : {false, true})
      ExpectError(Restore(*Old(process, TableVersion(1)), force).status(), ErrorKind::kInvalidInput, "MemWAL");
  });
}

// MemWAL was dropped since, so the newest version says nothing of shards; the older one would.
TEST(RestoreWithShards, ADroppedEntryDoesNotComeBackWithRowsMissing) {
  World world;
  world.CreateTable(R"([[1, "base"]])");
  world.Run([&](Process& process) {
    FlushGenerations(process, {R"([[2, "one"]])"});
    const auto before = process.Table()->version();
    Compact(process);
    table::Transaction drop;
    drop.operation = table::CreateIndex{{}, {*process.Table()->manifest().FindIndex(table::kMemWalIndexName)}};
    const auto dropped = Must(process.Table()->Commit(drop));
    ASSERT_EQ(dropped->manifest().FindIndex(table::kMemWalIndexName), nullptr);
    ExpectError(Restore(*Old(process, before)).status(), ErrorKind::kInvalidInput, "generation 1 was retired");
    Must(Restore(*Old(process, dropped->version())));
    EXPECT_EQ(Base(process), "1:base 2:one");
  });
}

}  // namespace
}  // namespace javelin::memwal
