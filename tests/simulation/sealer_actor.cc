#include "sealer_actor.h"

namespace javelin::simulation {

namespace {

using std::chrono::milliseconds;

// What a claim and a commit may meet in a world whose store and SyncPoints fail, and where others claim the shard.
constexpr std::initializer_list<ErrorKind> kSealFailures = {
    ErrorKind::kTransient,      ErrorKind::kIO,
    ErrorKind::kClaimLost,      ErrorKind::kFencedPeerClaimedEpoch,
    ErrorKind::kOutcomeUnknown, ErrorKind::kVersionConflict};

}  // namespace

SealerPlan DrawSealerPlan(SeededRandom& random, std::string name, uint64_t stream) {
  SealerPlan plan;
  plan.name = std::move(name);
  plan.stream = stream;
  plan.start = milliseconds(random.Between(0, 6000));
  plan.rounds = static_cast<int>(random.Between(1, 3));
  plan.pause_ms = static_cast<uint64_t>(random.OneIn(2) ? 300 : 3000);
  plan.retries = random.OneIn(3);
  return plan;
}

void RunSealer(World& world, const SealerPlan& plan, int life) {
  SeededRandom random(world.seed(), plan.stream * 1000 + static_cast<uint64_t>(life));
  const auto pause = [&] {
    world.runtime().Sleep(milliseconds(random.Between(0, static_cast<int64_t>(plan.pause_ms))));
  };
  const auto dataset = world.OpenTable(world.NewSession(plan.retries));
  world.Expect("opening the table to seal its shard", dataset.status(), {ErrorKind::kTransient, ErrorKind::kIO});
  for (int round = 0; dataset.ok() && round < plan.rounds; ++round) {
    const bool there = world.ManifestTip() > 0;
    const auto sealed = memwal::SealShard(**dataset, std::string(kShard));
    if (there || !HasKind(sealed.status(), ErrorKind::kNotFound)) ExpectSeal(world, sealed.status());
    pause();
    if (random.OneIn(2)) ReadPublished(world, **dataset);
    Unseal(world, **dataset);
    pause();
  }
}

void Unseal(World& world, const Dataset& dataset) {
  if (world.ManifestTip() == 0) return;
  for (int attempt = 0; attempt < 5; ++attempt) {
    const auto unsealed = memwal::UnsealShard(dataset, std::string(kShard));
    world.Expect("unsealing the shard", unsealed.status(), kSealFailures);
    if (world.runtime().Unwinding()) return;
    if (unsealed.ok()) {
      ++world.coverage.unseals;
      return;
    }
    world.runtime().Sleep(milliseconds(100));
  }
}

void ExpectSeal(World& world, const arrow::Status& status) {
  world.Expect("sealing the shard", status, kSealFailures);
  if (status.ok() && !world.runtime().Unwinding()) ++world.coverage.seals;
}

}  // namespace javelin::simulation
