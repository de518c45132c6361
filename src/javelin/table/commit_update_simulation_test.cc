// Compactors that race for the same shards under seeded schedules, faults, lost answers, late requests and crashes:
// rows and progress move together or not at all.
#include "javelin/base/simulation.h"
#include "javelin/store/sim_store.h"
#include "javelin/table/table_world_internal.h"

namespace javelin::table {
namespace {

constexpr uint64_t kShards = 2, kCompactorsPerShard = 2, kPasses = 6;

Uuid ShardId(uint64_t shard) { return Uuid::Random(shard + 1, shard + 1); }

// The one fragment of a shard in the table has so many rows: which shard, and up to which generation.
uint64_t RowsOf(uint64_t shard, uint64_t generation) { return (shard + 1) * 1000 + generation; }

class CompactionSimulation {
 public:
  explicit CompactionSimulation(uint64_t seed)
      : simulation_(seed),
        store_(std::make_shared<SimStore>(simulation_, SimStoreOptions{.lists_in_order = seed % 2 == 0})) {
    simulation_.OnSyncPoint("", [this](const SyncHit& hit) {
      if (crashes_ == 3 || simulation_.crash_random().Below(25) != 0) return SyncAction::Continue();
      ++crashes_;
      Start(crashes_ % kShards, std::chrono::seconds(simulation_.crash_random().Below(5)));
      return SyncAction::Crash();
    });
  }

  uint64_t Run() {
    MakeTable();
    for (uint64_t i = 0; i < kShards * kCompactorsPerShard; ++i)
      Start(i % kShards, std::chrono::milliseconds(simulation_.plan_random().Below(500)));
    simulation_.StartActor("appender", Duration{}, [this] { Append(); });
    const arrow::Status ended = simulation_.RunAll();
    EXPECT_TRUE(ended.ok()) << ended.ToString();
    simulation_.LandRequests();
    const LoadedManifest last = LoadLatestVersion(Direct()).ValueOrDie();
    for (uint64_t shard = 0; shard < kShards; ++shard) {
      const uint64_t reached = CheckShard(*last.manifest, shard);
      for (const auto& [acknowledged, generation] : acknowledged_) {
        if (acknowledged != shard) continue;
        EXPECT_LE(generation, reached) << "acknowledged progress is gone";
      }
    }
    CheckAppended(*last.manifest);
    return simulation_.trace_hash();
  }

  uint64_t acknowledged() const { return acknowledged_.size(); }
  uint64_t crashes() const { return crashes_; }
  const std::map<ErrorKind, uint64_t>& refusals() const { return refusals_; }

 private:
  StoreLocation Direct() {
    return {std::shared_ptr<ObjectStore>(&store_->raw(), [](ObjectStore*) {}), "t", "sim://t"};
  }

  void MakeTable() {
    const Resources resources = MakeResources(MakeThreadRuntime());
    const auto first = CommitTransaction(resources, Direct(), nullptr, TableWorld::CreateOf(1)).ValueOrDie();
    Transaction install;
    install.operation = CreateIndex{{MakeMemWalIndexEntry({}, Uuid::Random(9, 9), 1, 5)}, {}};
    ASSERT_OK(CommitTransaction(resources, Direct(), &first, install).status());
  }

  void Start(uint64_t shard, Duration delay) {
    simulation_.StartActor("compactor", delay, [this, shard] { Compact(shard); });
  }

  void Compact(uint64_t shard) {
    const Resources resources = MakeResources(simulation_.runtime());
    const StoreLocation table{store_, "t", "sim://t"};
    std::optional<LoadedManifest> head;
    for (uint64_t pass = 0; pass < kPasses; ++pass) {
      // Sometimes through a handle that has fallen behind.
      if (!head || resources.runtime->Random() % 3 != 0) {
        auto loaded = LoadLatestVersion(table);
        if (!loaded.ok()) continue;
        head = *std::move(loaded);
      }
      const uint64_t generation = CheckShard(*head->manifest, shard) + 1;
      Update update;
      for (const Fragment& fragment : head->manifest->fragments) {
        if (fragment.physical_rows / 1000 == shard + 1) update.removed_fragment_ids.push_back(fragment.id);
      }
      update.new_fragments = {TableWorld::Rows(RowsOf(shard, generation))};
      update.compacted_sstables = {{ShardId(shard), Generation(generation)}};
      Transaction transaction;
      transaction.operation = std::move(update);
      auto committed = CommitTransaction(resources, table, &*head, std::move(transaction));
      if (!simulation_.IsAlive(simulation_.current_actor())) return;
      if (!committed.ok()) {
        ++refusals_[KindOf(committed.status())];
        continue;
      }
      EXPECT_TRUE(acknowledged_.emplace(shard, generation).second) << "two compactors made the same progress";
      head = *std::move(committed);
    }
  }

  void Append() {
    const Resources resources = MakeResources(simulation_.runtime());
    const StoreLocation table{store_, "t", "sim://t"};
    for (uint64_t rows = 2; rows < 8; ++rows) {
      const auto head = LoadLatestVersion(table);
      if (!head.ok()) continue;
      const auto committed = CommitTransaction(resources, table, &*head, TableWorld::AppendOf(rows));
      if (!simulation_.IsAlive(simulation_.current_actor())) return;
      if (committed.ok()) appended_.insert(rows);
    }
  }

  // In every version: the rows of a shard are exactly those that its progress says. Returns the generation.
  uint64_t CheckShard(const Manifest& manifest, uint64_t shard) {
    const auto details = ReadMemWalDetails(manifest).ValueOrDie();
    const uint64_t generation = details->CompactedThrough(ShardId(shard)).value();
    std::vector<uint64_t> rows;
    for (const Fragment& fragment : manifest.fragments) {
      if (fragment.physical_rows / 1000 == shard + 1) rows.push_back(fragment.physical_rows);
    }
    const auto expected = generation == 0 ? std::vector<uint64_t>{} : std::vector<uint64_t>{RowsOf(shard, generation)};
    EXPECT_EQ(rows, expected) << "shard " << shard << " at version " << manifest.version.value();
    return generation;
  }

  void CheckAppended(const Manifest& manifest) {
    std::multiset<uint64_t> stored;
    for (const Fragment& fragment : manifest.fragments) stored.insert(fragment.physical_rows);
    for (uint64_t rows : appended_) EXPECT_EQ(stored.count(rows), 1u) << rows;
  }

  Simulation simulation_;
  std::shared_ptr<SimStore> store_;
  std::set<std::pair<uint64_t, uint64_t>> acknowledged_;  // shard, generation
  std::set<uint64_t> appended_;
  std::map<ErrorKind, uint64_t> refusals_;
  uint64_t crashes_ = 0;
};

TEST(CompactionSimulations, RowsAndProgressMoveTogether) {
  uint64_t acknowledged = 0, crashes = 0;
  std::map<ErrorKind, uint64_t> refusals;
  for (uint64_t seed : Seeds(100)) {
    SCOPED_TRACE(fmt::format("JAVELIN_SEED={}", seed));
    CompactionSimulation run(seed);
    run.Run();
    acknowledged += run.acknowledged();
    crashes += run.crashes();
    for (const auto& [kind, count] : run.refusals()) refusals[kind] += count;
    if (testing::Test::HasFailure()) return;
  }
  // The runs did something.
  if (Seeds(100).size() > 20) {
    EXPECT_GT(acknowledged, 200u);
    EXPECT_GT(crashes, 20u);
    EXPECT_GT(refusals[ErrorKind::kRetryableConflict] + refusals[ErrorKind::kIncompatibleConflict], 20u);
  }
  EXPECT_EQ(refusals.count(ErrorKind::kInternal), 0u);
}

TEST(CompactionSimulations, TheSameSeedIsTheSameRun) {
  for (uint64_t seed : Seeds(3)) EXPECT_EQ(CompactionSimulation(seed).Run(), CompactionSimulation(seed).Run());
}

}  // namespace
}  // namespace javelin::table
