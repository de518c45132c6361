// The rows of the crash matrix about freezing and flushing: one exact moment, one exact outcome.

#include <gmock/gmock.h>

#include "crash_matrix.h"
#include "javelin/memwal/sstable_files_test_support.h"

namespace javelin::simulation {
namespace {

using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

memwal::WriterOptions BatchesOfAMemTable(uint64_t batches, memwal::WriterOptions options = Quick()) {
  options.max_memtable_batches = batches;
  return options;
}

// Every SSTable that is listed has all its files and no other.
void ExpectWholeSsTables(World& world, const ShardUser& user) {
  const std::shared_ptr<ObjectStore> raw(world.store, &world.store->raw());
  const arrow::Status whole =
      memwal::CheckSsTableFiles(user.dataset().session()->resources(), raw, world.paths(), *world.NewestManifest());
  EXPECT_TRUE(whole.ok()) << whole.ToString();
}

class CrashMatrixFlush : public CrashMatrix {
 protected:
  // Fills one generation, keys 4 and 5 and no 0, and waits for its flush, which dies on the way or does not.
  void FillOneGeneration(const std::string& name) {
    Process(name, [this](ShardUser& user) {
      ASSERT_TRUE(user.Open(BatchesOfAMemTable(3)).ok());
      ASSERT_TRUE(user.Put({{4, 5}, {5}}).ok());
      (void)user.Delete({{0}});
      world.runtime().Sleep(seconds(60));
    });
    Run();
  }

  // A new process sees generation 1 once; so many of its rows come from the log. It flushes what there is to flush.
  void ExpectGenerationOnce(uint64_t rows_in_memory) {
    const int64_t put = static_cast<int64_t>(world.history.operations().size()) - 1;
    Process("successor", [=, this](ShardUser& user) {
      ASSERT_TRUE(user.Open(Quick()).ok());
      EXPECT_EQ(user.writer().memtable_stats().row_count, rows_in_memory);
      const TableState seen = user.Read().ValueOrDie();
      EXPECT_EQ(seen.at(4), (RowVersion{put, 0}));
      EXPECT_EQ(seen.at(5), (RowVersion{put, 2}));
      EXPECT_FALSE(seen.contains(0));
      ASSERT_TRUE(user.Publish().ok());
      EXPECT_EQ(user.Read().ValueOrDie(), seen);
      ExpectWholeSsTables(world, user);
    });
    Run();
    EXPECT_THAT(Listed(), ElementsAre(Generation(1)));
    EXPECT_EQ(Newest().current_generation, Generation(2));
  }

  // What a crash at this step leaves is never read, is flushed again under another name, and can be collected.
  void ExpectOrphan(const std::string& step) {
    const auto crashed = CrashOnceAt(step);
    FillOneGeneration("flusher");
    ASSERT_TRUE(*crashed);
    EXPECT_THAT(Listed(), IsEmpty());
    const auto orphans = Folders();
    ASSERT_EQ(orphans.size(), 1u);
    ExpectGenerationOnce(kRows);
    EXPECT_NE(Newest().sstables.front().path, orphans.front());
    EXPECT_EQ(Folders().size(), 2u);
    Process("collector", [](ShardUser& user) { EXPECT_EQ(user.Collect().ValueOrDie(), 1u); });
    Run();
    EXPECT_THAT(Folders(), ElementsAre(Newest().sstables.front().path));
  }

  static constexpr uint64_t kRows = 5;  // of that generation, with the marker of the delete
};

TEST_F(CrashMatrixFlush, FR1_AFreezeOfWhatWasNotAppendedKeepsAPrefix) {
  const auto crashed = CrashOnceAt("freeze.swapped");
  Process("writer", [](ShardUser& user) {
    ASSERT_TRUE(user.Open(BatchesOfAMemTable(2, NotDurable(seconds(1000)))).ok());
    (void)user.Put({{4}});
    (void)user.Put({{5}});  // fills the MemTable
  });
  Run();
  ASSERT_TRUE(*crashed);
  EXPECT_EQ(world.LogTip(), 0u);
  EXPECT_EQ(Reopened(), BaseState());
}

// Other limits than those that it was written under: the boundaries are those of the log.
TEST_F(CrashMatrixFlush, FR2_ReplayRebuildsTheGenerationThatWasFrozen) {
  const auto crashed = CrashOnceAt("flush.begin");
  FillOneGeneration("writer");
  ASSERT_TRUE(*crashed);
  EXPECT_THAT(Folders(), IsEmpty());
  const ShardObjects shard = world.Load().ValueOrDie();
  for (const LogEntry& entry : shard.log) EXPECT_EQ(entry.entry.generation, Generation(1));
  ExpectGenerationOnce(kRows);
}

TEST_F(CrashMatrixFlush, FR2_ReplayRebuildsSeveralGenerations) {
  const memwal::WriterOptions options = BatchesOfAMemTable(2);
  bool held = true;
  world.simulation.OnSyncPoint("flush.begin", [&](const SyncHit&) {
    return held ? SyncAction::Fail(Transient("flushes are held")) : SyncAction::Continue();
  });
  memwal::MemTableStats before, after;
  Process("writer", [&](ShardUser& user) {
    ASSERT_TRUE(user.Open(options).ok());
    for (int64_t row = 0; row < 5; ++row) ASSERT_TRUE(user.Put({{row}}).ok());
    before = user.writer().memtable_stats();
    user.Drop();
    ASSERT_TRUE(user.Open(Quick()).ok());
    after = user.writer().memtable_stats();
    held = false;
  });
  Run();
  held = false;
  EXPECT_EQ(before.generation, 3u);
  EXPECT_EQ(before.frozen_count, 2u);
  EXPECT_EQ(after.generation, before.generation);
  EXPECT_EQ(after.frozen_count, before.frozen_count);
  EXPECT_EQ(after.row_count, before.row_count);
}

TEST_F(CrashMatrixFlush, FL1_ADataFileAloneIsAnOrphan) { ExpectOrphan("flush.data_written"); }
TEST_F(CrashMatrixFlush, FL2_AnSsTableThatNoManifestListsIsAnOrphan) { ExpectOrphan("flush.sstable_written"); }
TEST_F(CrashMatrixFlush, FL3_AnSsTableWithoutItsManifestIsAnOrphan) { ExpectOrphan("flush.key_files_written"); }

class FlusherThatDies : public CrashMatrixFlush, public ::testing::WithParamInterface<RequestFault> {};

TEST_P(FlusherThatDies, FL4_HasPublishedOrNot) {
  OnRequest("put_if_absent", world.paths().ManifestFolder(), 2, GetParam(), /*crash=*/true);  // after the claim
  FillOneGeneration("flusher");
  world.simulation.LandRequests();
  world.on_request = nullptr;
  const bool published = GetParam() != RequestFault::kRefused;
  EXPECT_EQ(Listed().size(), published ? 1u : 0u);
  ExpectGenerationOnce(published ? 0 : kRows);
}

INSTANTIATE_TEST_SUITE_P(Publish, FlusherThatDies,
                         ::testing::Values(RequestFault::kNone, RequestFault::kLandsLate, RequestFault::kRefused));

TEST_F(CrashMatrixFlush, FL5_ALostAnswerIsFoundPublished) {
  OnRequest("put_if_absent", world.paths().ManifestFolder(), 2, RequestFault::kLostAnswer);
  Process("writer", [&](ShardUser& user) {
    ASSERT_TRUE(user.Open(Quick()).ok());
    ASSERT_TRUE(user.Put({{4}}).ok());
    EXPECT_TRUE(user.Publish().ok());
    EXPECT_EQ(user.writer().memtable_stats().frozen_count, 0u);
    EXPECT_EQ(user.Read().ValueOrDie().at(4), (RowVersion{1, 0}));
  });
  Run();
  EXPECT_THAT(Listed(), ElementsAre(Generation(1)));
}

TEST_F(CrashMatrixFlush, FL6_APublishedGenerationIsNotReplayed) {
  const auto crashed = CrashOnceAt("flush.published");
  FillOneGeneration("flusher");
  ASSERT_TRUE(*crashed);
  EXPECT_THAT(Listed(), ElementsAre(Generation(1)));
  ExpectGenerationOnce(0);
}

TEST_F(CrashMatrixFlush, FL7_AFlushThatMeetsAClaimPublishesNothing) {
  world.simulation.OnSyncPoint("flush.sstable_written", AtHit(1, SyncAction::Delay(seconds(20))));
  arrow::Status fenced;
  Process("predecessor", [&](ShardUser& user) {
    ASSERT_TRUE(user.Open(Quick()).ok());
    ASSERT_TRUE(user.Put({{4}}).ok());
    fenced = user.Publish();
    EXPECT_TRUE(SameReason(user.Put({{5}}), fenced));
  });
  Process(
      "successor",
      [&](ShardUser& user) {
        ASSERT_TRUE(user.Open(Quick()).ok());
        world.runtime().Sleep(seconds(60));
        EXPECT_THAT(Listed(), IsEmpty());
        EXPECT_EQ(Folders().size(), 1u);  // the orphan
        EXPECT_EQ(user.Read().ValueOrDie().at(4), (RowVersion{1, 0}));
        EXPECT_TRUE(user.Publish().ok());
      },
      seconds(10));
  Run();
  EXPECT_EQ(KindOf(fenced), ErrorKind::kFencedPeerClaimedEpoch);
  EXPECT_THAT(Listed(), ElementsAre(Generation(1)));
}

// Only what belongs to generation 1 fails: generation 2 has to wait all the same.
TEST_F(CrashMatrixFlush, FL8_GenerationsArePublishedInOrder) {
  bool held = true;
  uint64_t refused = 0;
  world.on_request = [&](const RequestHit& hit) -> std::optional<RequestFault> {
    if (!held || !hit.method.starts_with("put") || hit.key.find("_gen_1/") == std::string::npos) return std::nullopt;
    ++refused;
    return RequestFault::kRefused;
  };
  Process("writer", [&](ShardUser& user) {
    ASSERT_TRUE(user.Open(BatchesOfAMemTable(1)).ok());
    ASSERT_TRUE(user.Put({{4}}).ok());
    ASSERT_TRUE(user.Put({{4}}).ok());
    world.runtime().Sleep(seconds(30));
    EXPECT_EQ(user.writer().memtable_stats().frozen_count, 2u);
    EXPECT_GT(refused, 3u) << "tried again and again";
    EXPECT_THAT(Listed(), IsEmpty());
    for (const std::string& folder : Folders()) EXPECT_TRUE(folder.ends_with("_gen_1")) << folder;
    user.Drop();
    held = false;
    ASSERT_TRUE(user.Open(BatchesOfAMemTable(1)).ok());  // both replay
    EXPECT_EQ(user.Read().ValueOrDie().at(4), (RowVersion{2, 0}));
    EXPECT_TRUE(user.Publish().ok());
  });
  Run();
  world.on_request = nullptr;
  std::vector<size_t> listed;
  const ShardObjects shard = world.Load().ValueOrDie();
  for (const auto& manifest : shard.manifests) {
    if (listed.empty() || manifest.sstables.size() != listed.back()) listed.push_back(manifest.sstables.size());
  }
  EXPECT_THAT(listed, ElementsAre(0u, 1u, 2u));
  EXPECT_THAT(Listed(), ElementsAre(Generation(1), Generation(2)));
}

// A replay that flushes dies after some generations, twice; what is left is replayed once.
TEST_F(CrashMatrixFlush, CL7_AReplayThatDiesAfterSomeFlushesLosesAndDoublesNothing) {
  constexpr int64_t kGenerations = 12;
  const auto other_key = [](int64_t generation) { return generation % 4; };
  memwal::WriterOptions options = BatchesOfAMemTable(1);
  options.max_memtable_size = 100'000;  // three MemTables: there is a filter of keys in each
  bool held = true;
  world.simulation.OnSyncPoint("flush.begin", [&](const SyncHit&) {
    return held ? SyncAction::Fail(Transient("flushes are held")) : SyncAction::Continue();
  });
  std::optional<int> crash_at;  // of the flushes of one replay
  int flushed = 0;
  world.simulation.OnSyncPoint("open.flushed", [&](const SyncHit&) {
    return ++flushed == crash_at ? SyncAction::Crash() : SyncAction::Continue();
  });
  Process("writer", [&](ShardUser& user) {
    ASSERT_TRUE(user.Open(options).ok());
    for (int64_t generation = 0; generation < kGenerations; ++generation) {
      ASSERT_TRUE(user.Put({{4, other_key(generation)}}).ok());
    }
    EXPECT_THAT(Listed(), IsEmpty());
    user.Drop();
  });
  Run();
  held = false;
  uint64_t published = 0;
  for (const int dies_after : {3, 2}) {
    crash_at = dies_after;
    flushed = 0;
    Process("opener", [&](ShardUser& user) {
      (void)user.Open(options);
      ADD_FAILURE() << "the replay did not flush so often";
    });
    Run();
    published += dies_after;
    EXPECT_EQ(Listed().size(), published);
    EXPECT_EQ(Newest().current_generation, Generation(published + 1));
    EXPECT_EQ(Newest().replay_after, WalPosition(published));
  }
  crash_at.reset();
  flushed = 0;
  held = true;
  Process("successor", [&](ShardUser& user) {
    ASSERT_TRUE(user.Open(BatchesOfAMemTable(1)).ok());  // all that is left fits into its memory
    EXPECT_EQ(flushed, 0);
    uint64_t rows = 0;
    for (const auto& view : user.writer().Snapshot().ValueOrDie()) rows += view.visible_rows;
    EXPECT_EQ(rows, 2 * (kGenerations - published)) << "what is published is not replayed";
    const TableState seen = user.Read().ValueOrDie();
    EXPECT_EQ(seen.at(4), (RowVersion{kGenerations, 0}));
    for (int64_t generation = kGenerations - 4; generation < kGenerations; ++generation) {
      EXPECT_EQ(seen.at(other_key(generation)), (RowVersion{generation + 1, 1}));
    }
    held = false;
    ASSERT_TRUE(user.Publish().ok());
    EXPECT_EQ(user.Read().ValueOrDie(), seen);
  });
  Run();
  std::vector<Generation> all;
  for (uint64_t generation = 1; generation <= kGenerations; ++generation) all.push_back(Generation(generation));
  EXPECT_EQ(Listed(), all);
  for (const auto& entry : Newest().sstables) EXPECT_EQ(entry.physical_rows, 2u);
}

// As a freeze that raced the append of its last entry may leave it.
TEST_F(CrashMatrixFlush, FL9_EntriesAboveALowCursorAreSkippedByGeneration) {
  Process("writer", [&](ShardUser& user) {
    ASSERT_TRUE(user.Open(Quick()).ok());
    ASSERT_TRUE(user.Put({{4, 5}, {5}}).ok());
    ASSERT_TRUE(user.Delete({{0}}).ok());
    ASSERT_TRUE(user.Publish().ok());
    user.Drop();
  });
  Run();
  memwal::ShardManifest low = Newest();
  ASSERT_EQ(low.replay_after, WalPosition(2));
  low.replay_after = WalPosition(1);
  ASSERT_TRUE(world.store->raw().Put(world.paths().Manifest(low.version), EncodeShardManifest(low)).ok());
  ExpectGenerationOnce(0);
}

// ---- requests that arrive after they were reported as failed ----

bool IsWrite(std::string_view method) { return method.starts_with("put") || method == "delete" || method == "copy"; }

// The n-th writing request of a flush lands up to 30 s after the flush was told that it failed. False: there is none.
bool FlushWhileRequestLandsLate(uint64_t n) {
  World world(1, {.stalls = false}, {.faults = false});
  bool flushing = false, late = false;
  uint64_t sent = 0;
  world.simulation.OnSyncPoint("flush.begin", [&](const SyncHit&) {
    flushing = true;
    return SyncAction::Continue();
  });
  world.on_request = [&](const RequestHit& hit) -> std::optional<RequestFault> {
    if (!flushing || late || !IsWrite(hit.method) || ++sent != n) return std::nullopt;
    late = true;
    return RequestFault::kLandsLate;
  };
  world.simulation.StartActor("writer", Duration::zero(), [&world] {
    ShardUser user(world, "writer");
    ASSERT_TRUE(user.Open(Quick()).ok());
    ASSERT_TRUE(user.Put({{4, 0}, {0}}).ok());
    ASSERT_TRUE(user.Delete({{1}}).ok());
    ASSERT_TRUE(user.Publish().ok());
    const TableState seen = user.Read().ValueOrDie();
    EXPECT_EQ(seen, (TableState{{0, {1, 2}}, {2, {0, 2}}, {4, {1, 0}}}));
    ExpectWholeSsTables(world, user);
    ASSERT_TRUE(user.Put({{5}}).ok());
    ASSERT_TRUE(user.Publish().ok());
    world.runtime().Sleep(seconds(60));  // it has landed
    EXPECT_EQ(user.Read().ValueOrDie().size(), seen.size() + 1);
    EXPECT_EQ(world.NewestManifest()->sstables.size(), 2u);
    ExpectWholeSsTables(world, user);
  });
  EXPECT_EQ(world.RunRecoverAndCheck(), Violations());
  return late;
}

TEST(FlushThatLandsLate, AtEachOfItsRequests) {
  uint64_t requests = 0;
  while (FlushWhileRequestLandsLate(requests + 1) && !testing::Test::HasFailure()) ++requests;
  EXPECT_GE(requests, 14u);  // of two flushes
}

}  // namespace
}  // namespace javelin::simulation
