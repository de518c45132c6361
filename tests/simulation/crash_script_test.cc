// A short fixed script, run once to count the SyncPoints it passes and the requests it sends, and then once for each of
// them: crashed there, failed there, or its answer lost. It puts, deletes, flushes, compacts and collects, and so
// covers the rows CL2, CL3, CL5, CL6, CL8, W1c-W5c, FR1, FR2, FL1-FL6, CP1-CP4 and CLO1 of the crash matrix wherever
// they can happen.

#include <gtest/gtest.h>

#include "shard_user.h"

namespace javelin::simulation {
namespace {

constexpr uint64_t kSeed = 1;

enum class Damage {
  kNone,
  kCrashAtSyncPoint,    // the process ends there
  kFailSyncPoint,       // the step fails
  kCrashWithRequest,    // the process ends; what it sent arrives
  kCrashBeforeRequest,  // the process ends; what it sent is lost
  kRefuseRequest,       // no effect, an error
  kLoseAnswer,          // takes effect, an error
  kLandLate,            // an error, takes effect later
};

memwal::WriterOptions ScriptOptions() {
  memwal::WriterOptions options;
  options.max_wal_flush_interval = std::chrono::milliseconds(50);
  options.max_memtable_batches = 3;  // the second put fills a MemTable
  return options;
}

// Calls go on after a failure as an application's would: it opens the shard again.
void FirstProcess(World& world) {
  ShardUser user(world, "A");
  if (user.Open(ScriptOptions()).ok()) {
    (void)user.Put({{0, 5}});
    (void)user.Put({{5, 6}, {7}});
    (void)user.Put({{6}});
    (void)user.Delete({{5}});
    (void)user.Read();
    (void)user.Close();
  }
  if (!user.Open(ScriptOptions()).ok()) (void)user.Open(ScriptOptions());
  (void)user.Put({{5}});
  (void)user.Put({{7, 8}, {1}});
  (void)user.Read();
  world.runtime().Sleep(std::chrono::seconds(10));
  (void)user.Put({{2}});  // fenced by then
}

void SecondProcess(World& world) {
  ShardUser user(world, "B");
  if (!user.Open(ScriptOptions()).ok()) (void)user.Open(ScriptOptions());
  (void)user.Put({{0}});
  (void)user.Publish();
  (void)user.Compact(/*collect=*/false);
  (void)user.Delete({{8}});
  (void)user.Publish();
  (void)user.Compact();
  (void)user.Collect();
  (void)user.Read();
}

struct Counts {
  uint64_t sync_points = 0, requests = 0;
};

class ScriptRun {
 public:
  ScriptRun(Damage damage, uint64_t at) : world_(kSeed, {.stalls = false}, {.faults = false}) {
    if (damage == Damage::kCrashAtSyncPoint || damage == Damage::kFailSyncPoint) {
      world_.simulation.OnSyncPoint("", [this, damage, at](const SyncHit& hit) {
        if (world_.quiet() || hit.index != at) return SyncAction::Continue();
        reached_ = true;
        return damage == Damage::kCrashAtSyncPoint ? SyncAction::Crash()
                                                   : SyncAction::Fail(Transient("step {} was made to fail", at));
      });
    }
    world_.on_request = [this, damage, at](const RequestHit& hit) -> std::optional<RequestFault> {
      if (hit.index != at) return std::nullopt;
      return Befall(damage, hit.actor);
    };
  }

  Violations Run() {
    world_.simulation.StartActor("A", Duration::zero(), [this] { FirstProcess(world_); });
    world_.simulation.StartActor("B", std::chrono::seconds(5), [this] { SecondProcess(world_); });
    return world_.RunRecoverAndCheck();
  }

  bool reached() const { return reached_; }
  World& world() { return world_; }

  // Of the script alone, without the recovery.
  static Counts Count() {
    ScriptRun run(Damage::kNone, 0);
    run.world_.simulation.StartActor("A", Duration::zero(), [&run] { FirstProcess(run.world_); });
    run.world_.simulation.StartActor("B", std::chrono::seconds(5), [&run] { SecondProcess(run.world_); });
    EXPECT_TRUE(run.world_.simulation.RunAll().ok());
    return {run.world_.simulation.sync_points_passed(), run.world_.store->requests_sent()};
  }

 private:
  std::optional<RequestFault> Befall(Damage damage, ActorId actor) {
    const bool crashes = damage == Damage::kCrashWithRequest || damage == Damage::kCrashBeforeRequest;
    std::optional<RequestFault> fault;
    if (damage == Damage::kRefuseRequest || damage == Damage::kCrashBeforeRequest) fault = RequestFault::kRefused;
    if (damage == Damage::kLoseAnswer) fault = RequestFault::kLostAnswer;
    if (damage == Damage::kLandLate) fault = RequestFault::kLandsLate;
    reached_ |= crashes || fault.has_value();
    if (crashes) world_.simulation.Crash(actor);
    return fault;
  }

  World world_;
  bool reached_ = false;
};

TEST(CrashScript, RunsWithoutDamage) {
  ScriptRun run(Damage::kNone, 0);
  EXPECT_EQ(run.Run(), Violations());
  const History& history = run.world().history;
  size_t acknowledged = 0;
  for (const auto& [id, operation] : history.operations()) acknowledged += operation.outcome == Outcome::kAcknowledged;
  EXPECT_EQ(history.operations().size(), 9u);
  EXPECT_EQ(acknowledged, 8u);
  ASSERT_TRUE(history.writers().at(1).terminal_failure.has_value());
  EXPECT_EQ(KindOf(*history.writers().at(1).terminal_failure), ErrorKind::kFencedPeerClaimedEpoch);
  EXPECT_GT(history.deletions().size(), 0u);  // compacted, retired and collected
  Counts counts = ScriptRun::Count();
  EXPECT_GT(counts.sync_points, 40u);
  EXPECT_GT(counts.requests, 40u);
}

class DamagedScript : public ::testing::TestWithParam<std::pair<const char*, Damage>> {};

TEST_P(DamagedScript, KeepsEveryInvariant) {
  const Damage damage = GetParam().second;
  const Counts counts = ScriptRun::Count();
  const bool at_sync_points = damage == Damage::kCrashAtSyncPoint || damage == Damage::kFailSyncPoint;
  const uint64_t steps = at_sync_points ? counts.sync_points : counts.requests;
  for (uint64_t at = 1; at <= steps; ++at) {
    ScriptRun run(damage, at);
    Violations violations = run.Run();
    ASSERT_TRUE(run.reached()) << "step " << at << " of " << steps << " was not reached";
    std::string text;
    for (const std::string& violation : violations) text += violation + "\n";
    ASSERT_TRUE(violations.empty()) << GetParam().first << " " << at << " of " << steps << ":\n"
                                    << text << Describe(*run.world().Load());
  }
}

INSTANTIATE_TEST_SUITE_P(EachStep, DamagedScript,
                         ::testing::Values(std::pair("CrashAtSyncPoint", Damage::kCrashAtSyncPoint),
                                           std::pair("FailSyncPoint", Damage::kFailSyncPoint),
                                           std::pair("CrashWithRequest", Damage::kCrashWithRequest),
                                           std::pair("CrashBeforeRequest", Damage::kCrashBeforeRequest),
                                           std::pair("RefuseRequest", Damage::kRefuseRequest),
                                           std::pair("LoseAnswer", Damage::kLoseAnswer),
                                           std::pair("LandLate", Damage::kLandLate)),
                         [](const auto& info) { return std::string(info.param.first); });

}  // namespace
}  // namespace javelin::simulation
