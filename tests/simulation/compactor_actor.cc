#include "compactor_actor.h"

namespace javelin::simulation {

namespace {

using std::chrono::milliseconds;

constexpr std::initializer_list<ErrorKind> kOpenFailures = {ErrorKind::kTransient, ErrorKind::kIO};
// What it may meet in a world whose store and SyncPoints fail, and where others compact too.
constexpr std::initializer_list<ErrorKind> kCompactFailures = {ErrorKind::kTransient,
                                                               ErrorKind::kIO,
                                                               ErrorKind::kOutcomeUnknown,
                                                               ErrorKind::kRetryableConflict,
                                                               ErrorKind::kIncompatibleConflict,
                                                               ErrorKind::kVersionConflict};

// The second task owns what it uses: in a crash the frame of the first may go before it.
void CompactOneRound(World& world, const CompactorPlan& plan, const std::shared_ptr<Dataset>& dataset,
                     SeededRandom& random) {
  std::optional<TaskHandle> second;
  if (plan.two_tasks) {
    memwal::CompactOptions options = plan.options;
    options.max_bytes_per_pass = 1;
    second = world.runtime().Spawn(plan.name + " second", [&world, dataset, options, stream = random.Next()] {
      SeededRandom own(world.seed(), stream);
      CompactOnce(world, *dataset, options, own);
    });
  }
  CompactOnce(world, *dataset, plan.options, random);
  if (second.has_value()) second->Join();
}

}  // namespace

CompactorPlan DrawCompactorPlan(SeededRandom& random, std::string name, uint64_t stream) {
  CompactorPlan plan;
  plan.name = std::move(name);
  plan.stream = stream;
  plan.start = milliseconds(random.Between(0, 4000));
  plan.rounds = static_cast<int>(random.Between(2, 8));
  plan.pause_ms = static_cast<uint64_t>(random.OneIn(2) ? 500 : 2000);
  plan.retries = random.OneIn(3);
  plan.two_tasks = random.OneIn(2);
  plan.options.max_bytes_per_pass = random.OneIn(2) ? static_cast<uint64_t>(random.Between(1, 3000)) : 1u << 20;
  plan.options.retired_grace = random.OneIn(3) ? milliseconds(random.Between(0, 5000)) : Duration::zero();
  return plan;
}

void RunCompactor(World& world, const CompactorPlan& plan, int life) {
  SeededRandom random(world.seed(), plan.stream * 1000 + static_cast<uint64_t>(life));
  const auto session = world.NewSession(plan.retries);
  arrow::Result<std::shared_ptr<Dataset>> dataset = arrow::Status::Invalid("never opened");
  for (int round = 0; round < plan.rounds; ++round) {
    if (!dataset.ok()) dataset = world.OpenTable(session);
    world.Expect("opening the table to compact it", dataset.status(), kOpenFailures);
    if (dataset.ok()) CompactOneRound(world, plan, *dataset, random);
    world.runtime().Sleep(milliseconds(random.Between(0, static_cast<int64_t>(plan.pause_ms))));
  }
}

void CompactOnce(World& world, const Dataset& dataset, const memwal::CompactOptions& options, SeededRandom& random) {
  if (random.OneIn(6)) {
    const auto collected = memwal::CollectRetired(dataset, options);
    ExpectCompaction(world, "collecting retired SSTables", collected.status());
    if (collected.ok()) world.coverage.folders_deleted += *collected;
    return;
  }
  const auto report = memwal::CompactShards(dataset, options);
  ExpectCompaction(world, "compacting", report.status());
  if (world.runtime().Unwinding()) return;
  if (!report.ok()) ++world.coverage.compactions_failed;
  if (!report.ok()) return;
  for (const memwal::ShardCompaction& shard : report->shards) {
    world.coverage.passes += shard.passes;
    world.coverage.retired += shard.retired.size();
    world.coverage.folders_deleted += shard.folders_deleted;
  }
}

void ExpectCompaction(World& world, const std::string& call, const arrow::Status& status) {
  world.ExpectRead(call, status, kCompactFailures);
}

}  // namespace javelin::simulation
