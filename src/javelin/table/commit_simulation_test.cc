// Many writers of one table under seeded schedules, faults, lost answers, late requests and crashes.
#include "javelin/base/simulation.h"
#include "javelin/store/sim_store.h"
#include "javelin/table/table_world_internal.h"

namespace javelin::table {
namespace {

// What became of each append, by the number of rows that names it.
struct History {
  std::set<uint64_t> sent, acknowledged, refused;
};

class CommitSimulation {
 public:
  explicit CommitSimulation(uint64_t seed, bool in_order)
      : simulation_(seed),
        store_(std::make_shared<SimStore>(simulation_, SimStoreOptions{.lists_in_order = in_order})) {
    simulation_.OnSyncPoint("", [this](const SyncHit& hit) {
      if (crashes_ == 3 || simulation_.crash_random().Below(25) != 0) return SyncAction::Continue();
      ++crashes_;
      StartWriter(std::chrono::seconds(simulation_.crash_random().Below(5)));
      return SyncAction::Crash();
    });
  }

  uint64_t Run() {
    for (int writer = 0; writer < 3; ++writer)
      StartWriter(std::chrono::milliseconds(simulation_.plan_random().Below(2000)));
    const arrow::Status ended = simulation_.RunAll();
    EXPECT_TRUE(ended.ok()) << ended.ToString();
    simulation_.LandRequests();
    Check();
    return simulation_.trace_hash();
  }

  uint64_t acknowledged() const { return history_.acknowledged.size(); }
  uint64_t crashes() const { return crashes_; }

 private:
  void StartWriter(Duration delay) {
    const uint64_t first = 1000 * ++writers_;
    simulation_.StartActor("writer", delay, [this, first] { Write(first); });
  }

  void Write(uint64_t first) {
    const Resources resources = MakeResources(simulation_.runtime());
    const StoreLocation table{store_, "t", "sim://t"};
    std::optional<LoadedManifest> head;
    for (uint64_t i = 0; i < 6; ++i) {
      const uint64_t rows = first + i;
      // Sometimes through a handle that has fallen behind.
      if (!head || resources.runtime->Random() % 2 == 0) {
        auto loaded = LoadLatestVersion(table);
        if (loaded.ok()) head = *std::move(loaded);
        if (!loaded.ok() && !HasKind(loaded.status(), ErrorKind::kNotFound)) continue;
      }
      history_.sent.insert(rows);
      auto committed = head ? CommitTransaction(resources, table, &*head, TableWorld::AppendOf(rows))
                            : CommitTransaction(resources, table, nullptr, TableWorld::CreateOf(rows));
      if (!simulation_.IsAlive(simulation_.current_actor())) return;
      Record(rows, committed.status());
      if (committed.ok()) head = *std::move(committed);
    }
  }

  void Record(uint64_t rows, const arrow::Status& status) {
    if (status.ok()) {
      history_.acknowledged.insert(rows);
    } else if (!HasKind(status, ErrorKind::kOutcomeUnknown)) {
      history_.refused.insert(rows);
    }
  }

  void Check() {
    const StoreLocation table{std::shared_ptr<ObjectStore>(&store_->raw(), [](ObjectStore*) {}), "t", "sim://t"};
    const auto versions = ListVersions(table).ValueOrDie();
    for (uint64_t i = 0; i < versions.size(); ++i) ASSERT_EQ(versions[i].version, TableVersion(i + 1)) << "a hole";
    std::multiset<uint64_t> stored;
    if (!versions.empty()) {
      const LoadedManifest latest = LoadVersion(table, versions.back()).ValueOrDie();
      uint64_t next_id = 0;
      for (const Fragment& fragment : latest.manifest->fragments) {
        stored.insert(fragment.physical_rows);
        EXPECT_EQ(fragment.id.value(), next_id++);
      }
      EXPECT_EQ(stored.size(), versions.size()) << "every version adds one fragment";
    }
    for (uint64_t rows : stored) {
      EXPECT_EQ(stored.count(rows), 1u) << rows << " landed twice";
      EXPECT_TRUE(history_.sent.contains(rows)) << rows << " was never sent";
    }
    for (uint64_t rows : history_.acknowledged)
      EXPECT_EQ(stored.count(rows), 1u) << rows << " was acknowledged and is not there";
    for (uint64_t rows : history_.refused) EXPECT_EQ(stored.count(rows), 0u) << rows << " was refused and is there";
  }

  Simulation simulation_;
  std::shared_ptr<SimStore> store_;
  History history_;
  uint64_t writers_ = 0;
  uint64_t crashes_ = 0;
};

TEST(CommitSimulations, NoAppendIsLostTwiceOrUnsaid) {
  uint64_t acknowledged = 0, crashes = 0;
  for (uint64_t seed : Seeds(150)) {
    SCOPED_TRACE(fmt::format("JAVELIN_SEED={}", seed));
    CommitSimulation run(seed, seed % 2 == 0);
    run.Run();
    acknowledged += run.acknowledged();
    crashes += run.crashes();
    if (testing::Test::HasFailure()) return;
  }
  // The runs did something.
  EXPECT_GT(acknowledged, Seeds(150).size() * 2);
  if (Seeds(150).size() > 20) {
    EXPECT_GT(crashes, 20u);
  }
}

TEST(CommitSimulations, TheSameSeedIsTheSameRun) {
  for (uint64_t seed : Seeds(5)) EXPECT_EQ(CommitSimulation(seed, true).Run(), CommitSimulation(seed, true).Run());
}

}  // namespace
}  // namespace javelin::table
