#include "javelin/base/simulation.h"

#include <cstdlib>

#include "javelin/base/error.h"
#include "javelin/base/simulation_runtime_internal.h"

namespace javelin {

SyncHook AtHit(uint64_t n, SyncAction action) {
  return
      [n, action = std::move(action)](const SyncHit& hit) { return hit.count == n ? action : SyncAction::Continue(); };
}

Simulation::Simulation(uint64_t seed, SimulationOptions options)
    : scheduler_(std::make_shared<internal::SimScheduler>(seed, options)),
      runtime_(internal::MakeSimRuntime(scheduler_)) {}

Simulation::~Simulation() { scheduler_->Clear(); }

uint64_t Simulation::seed() const { return scheduler_->seed; }

ActorId Simulation::StartActor(std::string name, Duration delay, Job body) {
  return scheduler_->StartActor(std::move(name), delay, std::move(body));
}
void Simulation::Crash(ActorId actor) { scheduler_->Crash(scheduler_->actor(actor)); }
bool Simulation::IsAlive(ActorId actor) const { return !scheduler_->actor(actor).dead; }
ActorId Simulation::current_actor() const { return scheduler_->CurrentActor().id; }

arrow::Status Simulation::RunAll() { return scheduler_->RunAll(); }
void Simulation::LandRequests() { scheduler_->LandRequests(); }

void Simulation::OnSyncPoint(std::string name, SyncHook hook) {
  scheduler_->OnSyncPoint(std::move(name), std::move(hook));
}
uint64_t Simulation::sync_points_passed() const { return scheduler_->sync_points; }

void Simulation::PlantBug(std::string_view name) { scheduler_->planted_bugs.Plant(name); }
bool Simulation::PlantedBugWasAsked(std::string_view name) const { return scheduler_->planted_bugs.WasAsked(name); }

TimePoint Simulation::Now() const { return scheduler_->now; }
SeededRandom& Simulation::crash_random() { return scheduler_->crash_random; }
SeededRandom& Simulation::plan_random() { return scheduler_->plan_random; }

uint64_t Simulation::trace_hash() const { return scheduler_->hash; }
const std::vector<std::string>& Simulation::log() const { return scheduler_->log; }
uint64_t Simulation::switches() const { return scheduler_->switches; }

std::vector<uint64_t> Seeds(uint64_t count) {
  const auto number = [](const char* name, uint64_t otherwise) {
    const char* text = std::getenv(name);
    return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
  };
  if (std::getenv("JAVELIN_SEED") != nullptr) return {number("JAVELIN_SEED", 0)};
  std::vector<uint64_t> seeds(number("JAVELIN_SEEDS", count));
  uint64_t next = number("JAVELIN_SEED_START", 1);
  for (uint64_t& seed : seeds) seed = next++;
  return seeds;
}

arrow::Status CheckSameHash(uint64_t seed, const std::function<uint64_t(uint64_t)>& run) {
  const uint64_t first = run(seed);
  const uint64_t second = run(seed);
  if (first == second) return arrow::Status::OK();
  return Internal("seed {} ran in two ways: trace hash {:016x}, then {:016x}", seed, first, second);
}

}  // namespace javelin
