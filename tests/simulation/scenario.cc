#include "scenario.h"

#include <cstdlib>

#include "compactor_actor.h"
#include "javelin/memwal/shard_writer.h"
#include "reader_actor.h"
#include "sealer_actor.h"
#include "writer_actor.h"

namespace javelin::simulation {

namespace {

using std::chrono::milliseconds;

// A close may wait for dozens of flushes, each of dozens of requests, of which any takes up to 20 s where it has a
// fault.
constexpr Duration kWaitLimit = std::chrono::hours(3);

class Scenario {
 public:
  Scenario(uint64_t seed, const ScenarioOptions& options)
      : world_(seed, {.wait_limit = kWaitLimit, .log = options.log}, {}), random_(seed, /*stream=*/77) {
    if (!options.planted_bug.empty()) world_.simulation.PlantBug(options.planted_bug);
  }

  ScenarioResult Run(const ScenarioOptions& options) {
    seals_ = random_.OneIn(4);
    if (seals_) world_.history.SealsMayHappen();
    StartWriters();
    StartReader();
    StartCompactors();
    if (seals_) {
      const SealerPlan plan = DrawSealerPlan(random_, "S", 700);
      StartSealer(plan, plan.start, 0);
    }
    PlanCrashes();
    PlanFailures();
    ScenarioResult result;
    result.violations = world_.RunRecoverAndCheck();
    if (auto shard = world_.Load(); shard.ok()) result.objects = Describe(*shard);
    if (result.violations.empty()) DamageAndReopen(&result);
    result.hash = world_.simulation.trace_hash();
    result.coverage = world_.coverage;
    result.bug_was_asked = world_.simulation.PlantedBugWasAsked(options.planted_bug);
    result.log = world_.simulation.log();
    return result;
  }

 private:
  void StartWriters() {
    const int writers = random_.OneIn(8) ? 1 : 2;
    for (int i = 0; i < writers; ++i) {
      WriterPlan plan = DrawWriterPlan(random_, i == 0 ? "A" : "B", static_cast<uint64_t>(i) + 1);
      if (seals_ && random_.OneIn(3)) plan.ending = Ending::kSeal;
      StartWriter(plan, plan.start, 0);
    }
  }

  void StartWriter(const WriterPlan& plan, Duration delay, int life) {
    ActorId actor =
        world_.simulation.StartActor(plan.name, delay, [this, plan, life] { WriterActor(world_, plan, life).Run(); });
    after_crash_[actor] = [this, plan, life](Duration pause) { StartWriter(plan, pause, life + 1); };
  }

  // Two of them find each other's work half done.
  void StartCompactors() {
    const uint64_t compactors = random_.OneIn(4) ? 0 : 1 + random_.Below(2);
    const bool together = random_.OneIn(2);
    Duration start{};
    for (uint64_t i = 0; i < compactors; ++i) {
      const CompactorPlan plan = DrawCompactorPlan(random_, i == 0 ? "C" : "D", 600 + i);
      if (i == 0 || !together) start = plan.start;
      StartCompactor(plan, start, 0);
    }
  }

  void StartCompactor(const CompactorPlan& plan, Duration delay, int life) {
    ActorId actor =
        world_.simulation.StartActor(plan.name, delay, [this, plan, life] { RunCompactor(world_, plan, life); });
    after_crash_[actor] = [this, plan, life](Duration pause) { StartCompactor(plan, pause, life + 1); };
  }

  void StartSealer(const SealerPlan& plan, Duration delay, int life) {
    ActorId actor =
        world_.simulation.StartActor(plan.name, delay, [this, plan, life] { RunSealer(world_, plan, life); });
    after_crash_[actor] = [this, plan, life](Duration pause) { StartSealer(plan, pause, life + 1); };
  }

  void StartReader() {
    if (random_.OneIn(4)) return;
    int rounds = static_cast<int>(random_.Between(1, 6));
    world_.simulation.StartActor("R", milliseconds(random_.Between(0, 3000)),
                                 [this, rounds] { ReaderActor(world_, 900, rounds).Run(); });
  }

  // Who writes dies at any SyncPoint, up to three times in all, and starts again after a while.
  void PlanCrashes() {
    const uint64_t one_in = static_cast<uint64_t>(random_.Between(20, 420));
    crashes_left_ = static_cast<int>(random_.Below(4));
    world_.simulation.OnSyncPoint("", [this, one_in](const SyncHit& hit) {
      if (world_.quiet() || crashes_left_ == 0 || !world_.simulation.crash_random().OneIn(one_in))
        return SyncAction::Continue();
      const auto start_again = after_crash_.find(hit.actor);
      if (start_again == after_crash_.end()) return SyncAction::Continue();
      --crashes_left_;
      ++world_.coverage.crashes;
      start_again->second(milliseconds(world_.simulation.crash_random().Below(5000)));
      return SyncAction::Crash();
    });
  }

  // In some seeds steps of the protocol fail by themselves.
  void PlanFailures() {
    if (!random_.OneIn(6)) return;
    world_.simulation.OnSyncPoint("", [this](const SyncHit&) {
      if (world_.quiet() || !world_.simulation.crash_random().OneIn(150)) return SyncAction::Continue();
      return SyncAction::Fail(Transient("a step that the test made fail"));
    });
  }

  // In some seeds an operator loses or tears an entry below the tip: an open must say so, and must not lose what lies
  // above.
  void DamageAndReopen(ScenarioResult* result) {
    if (!random_.OneIn(3)) return;
    const uint64_t flushed = world_.LogTip();  // the recovery made SSTables of everything
    LeaveALog();
    const uint64_t tip = world_.LogTip();
    if (tip < flushed + 2) std::abort();
    WalPosition victim(flushed + 1 + random_.Below(tip - flushed - 1));
    const bool torn = random_.OneIn(2);
    std::string key = world_.paths().WalEntry(victim);
    auto bytes = world_.store->raw().Get(key);
    if (!bytes.ok() || !world_.store->raw().Delete(key).ok()) std::abort();
    if (torn && !world_.store->raw().Put(key, arrow::SliceBuffer(*bytes, 0, (*bytes)->size() / 2)).ok()) std::abort();
    ++world_.coverage.damaged;
    arrow::Status opened = arrow::Status::Invalid("did not run");
    world_.simulation.StartActor("after damage", Duration::zero(), [this, &opened] {
      auto dataset = world_.OpenTable(world_.NewSession(false));
      opened = dataset.status();
      if (dataset.ok()) opened = memwal::ShardWriter::Open(**dataset, std::string(kShard)).status();
    });
    arrow::Status ended = world_.simulation.RunAll();
    if (!ended.ok()) result->violations.push_back(ended.ToString());
    ErrorKind expected = torn ? ErrorKind::kWalCorrupt : ErrorKind::kWalGap;
    if (!HasKind(opened, expected) || opened.ToString().find(fmt::format("{}", victim)) == std::string::npos) {
      result->violations.push_back(fmt::format("entry {} of {} was {}, but the open ended with {}", victim, tip,
                                               torn ? "torn" : "lost", opened.ToString()));
    }
  }

  // A few entries that no SSTable covers.
  void LeaveALog() {
    world_.simulation.StartActor("before damage", Duration::zero(), [this] {
      auto dataset = world_.OpenTable(world_.NewSession(false)).ValueOrDie();
      auto writer = memwal::ShardWriter::Open(*dataset, std::string(kShard)).ValueOrDie();
      for (int64_t operation = 1'000'000; operation < 1'000'005; ++operation) {
        if (!writer->Put({MakePutBatch(operation, 0, {1})}).ok()) std::abort();
      }
    });
    if (!world_.simulation.RunAll().ok()) std::abort();
  }

  World world_;
  SeededRandom random_;
  bool seals_ = false;
  int crashes_left_ = 0;
  std::map<ActorId, std::function<void(Duration pause)>> after_crash_;
};

}  // namespace

ScenarioResult RunScenario(uint64_t seed, const ScenarioOptions& options) {
  return Scenario(seed, options).Run(options);
}

std::string DescribeFailure(uint64_t seed, const ScenarioResult& result) {
  std::string text = fmt::format("seed {}:\n", seed);
  for (const std::string& violation : result.violations) text += "  " + violation + "\n";
  text += fmt::format(
      "repeat it with:  JAVELIN_SEED={} JAVELIN_SIMULATION_LOG=1 build/<preset>/tests/simulation/simulation_test "
      "--gtest_filter=WriterSimulation.RandomRuns\n",
      seed);
  text += result.objects;
  for (const std::string& line : result.log) text += line + "\n";
  return text;
}

}  // namespace javelin::simulation
