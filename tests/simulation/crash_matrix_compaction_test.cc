// The rows of the crash matrix about compaction, retiring and collecting: one exact moment, one exact outcome. That a
// value written to the base directly after a compaction is not hidden (CP3) is in src/javelin/memwal.

#include <gmock/gmock.h>

#include "crash_matrix.h"

namespace javelin::simulation {
namespace {

using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class CrashMatrixCompaction : public CrashMatrix {
 protected:
  // Two generations over the base rows of the keys 0, 1 and 2. They leave kFlushed.
  void FlushTwoGenerations() {
    Process("writer", [](ShardUser& user) {
      ASSERT_TRUE(user.Open(Quick()).ok());
      ASSERT_TRUE(user.Put({{0, 4, 5}}).ok());
      ASSERT_TRUE(user.Publish().ok());
      ASSERT_TRUE(user.Delete({{1, 5}}).ok());
      ASSERT_TRUE(user.Put({{4}}).ok());
      ASSERT_TRUE(user.Publish().ok());
    });
    Run();
  }
  const TableState kFlushed{{0, {1, 0}}, {2, {0, 2}}, {4, {3, 0}}};

  // The process ends during its compaction, or it fails.
  void Compact(bool collect = true) {
    Process("compactor", [collect](ShardUser& user) { (void)user.Compact(collect); });
    Run();
  }

  std::vector<BaseVersion> BaseVersions() {
    std::vector<BaseVersion> versions;
    Process("inspector", [&](ShardUser& user) {
      versions = LoadBaseVersions(user.dataset(), table::Uuid::Parse(kShard).ValueOrDie()).ValueOrDie();
    });
    Run();
    return versions;
  }
  BaseVersion Base() { return BaseVersions().back(); }

  // What a process without a writer sees.
  TableState Published() {
    TableState state;
    Process("reader", [&](ShardUser& user) { state = user.ReadPublished().ValueOrDie(); });
    Run();
    return state;
  }

  // Another compactor takes over, and nothing is left to do or to collect.
  void ExpectCompacted() {
    Process("next compactor", [&](ShardUser& user) { EXPECT_TRUE(user.Compact().ok()); });
    Run();
    EXPECT_EQ(Base().rows, kFlushed);
    EXPECT_EQ(Base().compacted_through, Generation(2));
    EXPECT_THAT(Listed(), IsEmpty());
    EXPECT_THAT(Folders(), IsEmpty());
    EXPECT_EQ(Published(), kFlushed);
  }
};

// There is nothing yet that would delete the files.
TEST_F(CrashMatrixCompaction, CP1_FilesWithoutACommitChangeNothing) {
  FlushTwoGenerations();
  const auto crashed = CrashOnceAt("commit.before_manifest");
  Compact();
  ASSERT_TRUE(*crashed);
  EXPECT_EQ(Base().rows, BaseState());
  EXPECT_EQ(Base().compacted_through, Generation(0));
  EXPECT_EQ(Published(), kFlushed);
  ExpectCompacted();
}

class CompactorAtItsCommit : public CrashMatrixCompaction,
                             public ::testing::WithParamInterface<std::pair<RequestFault, bool>> {};

TEST_P(CompactorAtItsCommit, CP2_HasCommittedOrNot) {
  const auto [fault, crash] = GetParam();
  FlushTwoGenerations();
  OnRequest("put_if_absent", "table/_versions/", 1, fault, crash);
  Compact();
  world.simulation.LandRequests();
  world.on_request = nullptr;
  const bool committed = !crash || fault != RequestFault::kRefused;
  EXPECT_EQ(Base().compacted_through, Generation(committed ? 2 : 0));
  EXPECT_EQ(Base().rows, committed ? kFlushed : BaseState());
  EXPECT_EQ(Published(), kFlushed);
  ExpectCompacted();
  EXPECT_EQ(BaseVersions().size(), 3u);  // as it was made, with MemWAL, and one compaction
}

INSTANTIATE_TEST_SUITE_P(EachFault, CompactorAtItsCommit,
                         ::testing::Values(std::pair(RequestFault::kNone, true),
                                           std::pair(RequestFault::kRefused, true),
                                           std::pair(RequestFault::kLandsLate, true),
                                           std::pair(RequestFault::kLostAnswer, false),
                                           std::pair(RequestFault::kLandsLate, false)));

TEST_F(CrashMatrixCompaction, CP3_WhatIsCommittedAndListedCountsOnce) {
  FlushTwoGenerations();
  const auto crashed = CrashOnceAt("compact.committed");
  Compact();
  ASSERT_TRUE(*crashed);
  EXPECT_EQ(Base().rows, kFlushed);
  EXPECT_THAT(Listed(), ElementsAre(Generation(1), Generation(2)));
  EXPECT_EQ(Published(), kFlushed);
  ExpectCompacted();
  EXPECT_EQ(BaseVersions().size(), 3u);
}

TEST_F(CrashMatrixCompaction, CP4_ARetiredFolderIsNotReadAndIsCollected) {
  FlushTwoGenerations();
  const auto crashed = CrashOnceAt("compact.retired");
  Compact();
  ASSERT_TRUE(*crashed);
  EXPECT_THAT(Listed(), IsEmpty());
  EXPECT_EQ(Folders().size(), 2u);
  EXPECT_EQ(Published(), kFlushed);
  Process("collector", [](ShardUser& user) { EXPECT_EQ(user.Collect().ValueOrDie(), 2u); });
  Run();
  EXPECT_THAT(Folders(), IsEmpty());
  EXPECT_EQ(Published(), kFlushed);
}

// A collector that dies between two objects leaves a folder that nobody opens, and the next one deletes the rest.
TEST_F(CrashMatrixCompaction, CP4_AHalfDeletedFolderIsCollected) {
  FlushTwoGenerations();
  Compact(/*collect=*/false);
  OnRequest("delete", world.paths().shard_folder, 2, RequestFault::kNone, /*crash=*/true);
  Process("collector", [](ShardUser& user) { (void)user.Collect(); });
  Run();
  world.on_request = nullptr;
  EXPECT_EQ(Folders().size(), 2u);
  EXPECT_EQ(Published(), kFlushed);
  ExpectCompacted();
}

TEST_F(CrashMatrixCompaction, CP5_AReaderOfAnOldViewIsToldOrReadsOn) {
  FlushTwoGenerations();
  Process("reader", [this](ShardUser& user) {
    const auto unread = memwal::FreshView::Open(user.dataset()).ValueOrDie();
    ShardUser other(world, "other reader");
    const auto read = memwal::FreshView::Open(other.dataset()).ValueOrDie();
    EXPECT_EQ(ScanAll(*read).ValueOrDie(), kFlushed);
    ShardUser third(world, "third reader");
    const auto fixed = memwal::FreshView::Open(third.dataset()).ValueOrDie();
    EXPECT_THAT(fixed->tiers(), SizeIs(3));  // its first answer
    ShardUser compactor(world, "compactor");
    EXPECT_EQ(compactor.Compact().ValueOrDie().folders_deleted, 2u);
    EXPECT_EQ(ScanAll(*unread).ValueOrDie(), kFlushed) << "nothing was said yet: it is taken anew";
    EXPECT_THAT(unread->tiers(), SizeIs(1));
    EXPECT_EQ(KindOf(ScanAll(*fixed).status()), ErrorKind::kNotFound);
    const auto again = ScanAll(*read);
    if (again.ok()) {
      EXPECT_EQ(*again, kFlushed);
    } else {
      EXPECT_EQ(KindOf(again.status()), ErrorKind::kNotFound) << again.status().ToString();
    }
    for (ShardUser* reader : {&user, &other, &third}) EXPECT_EQ(reader->ReadPublished().ValueOrDie(), kFlushed);
  });
  Run();
}

TEST_F(CrashMatrixCompaction, CP6_TheLoserOfTwoCompactorsLeavesNothing) {
  FlushTwoGenerations();
  world.simulation.OnSyncPoint("commit.before_manifest", AtHit(1, SyncAction::Delay(seconds(20))));
  uint64_t passes = 0;
  const auto compact = [&](ShardUser& user) {
    const auto done = user.Compact();
    ASSERT_TRUE(done.ok()) << done.status().ToString();
    passes += done->passes;
  };
  Process("first", compact);
  Process("second", compact, seconds(10));
  Run();
  EXPECT_EQ(passes, 1u);
  EXPECT_EQ(BaseVersions().size(), 3u);
  ExpectCompacted();
}

TEST_F(CrashMatrixCompaction, CP7_AFlushDuringAPassStaysAboveTheBase) {
  FlushTwoGenerations();
  world.simulation.OnSyncPoint("compact.rows_found", AtHit(1, SyncAction::Delay(seconds(20))));
  Process("compactor", [](ShardUser& user) {
    EXPECT_THAT(user.Compact().ValueOrDie().generations, ElementsAre(Generation(1), Generation(2)));
  });
  Process(
      "writer",
      [](ShardUser& user) {
        ASSERT_TRUE(user.Open(Quick()).ok());
        ASSERT_TRUE(user.Put({{4}}).ok());
        ASSERT_TRUE(user.Delete({{2}}).ok());
        ASSERT_TRUE(user.Publish().ok());
      },
      seconds(10));
  Run();
  EXPECT_THAT(Listed(), ElementsAre(Generation(3)));
  EXPECT_EQ(Base().rows, kFlushed);
  EXPECT_EQ(Base().compacted_through, Generation(2));
  EXPECT_EQ(Published(), (TableState{{0, {1, 0}}, {4, {4, 0}}}));
}

TEST_F(CrashMatrixCompaction, CP8_DeletesAloneEmptyTheBase) {
  Process("writer", [](ShardUser& user) {
    ASSERT_TRUE(user.Open(Quick()).ok());
    ASSERT_TRUE(user.Delete({{0, 1, 7}}).ok());
    ASSERT_TRUE(user.Publish().ok());
    EXPECT_EQ(user.Compact().ValueOrDie().rows_upserted, 0u);
    EXPECT_EQ(user.Read().ValueOrDie(), (TableState{{2, {0, 2}}}));
  });
  Run();
  EXPECT_EQ(Base().rows, (TableState{{2, {0, 2}}}));
  EXPECT_EQ(Base().compacted_through, Generation(1));
  EXPECT_THAT(Listed(), IsEmpty());
}

}  // namespace
}  // namespace javelin::simulation
