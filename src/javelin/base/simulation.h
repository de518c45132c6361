// A whole world from one seed: actors (simulated processes), virtual time, every interleaving, crashes and stalls.
//
// Product code runs unchanged on `simulation.runtime()`. Every task is a real thread, but only the one that holds the
// baton runs; the baton moves inside Mutex, Event, Sleep, Spawn, Join, store calls and SyncPoints, to a task that the
// seed picks. The same seed gives the same run, which `trace_hash` proves. Actors meet only in a SimStore
// (store/sim_store.h).
//
// Use one from one thread. Between construction, RunAll and destruction that thread may use the runtime for what does
// not block (posting, locks that are free, events that are set); everything else belongs into an actor.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <arrow/status.h>

#include "javelin/base/runtime.h"
#include "javelin/base/seeded_random.h"

namespace javelin {

namespace internal {
class SimScheduler;
}

struct SimulationOptions {
  bool stalls = true;                // tasks stall and actors freeze, in half of the seeds
  int longest_freeze_exponent = 40;  // a freeze lasts 2^0 .. 2^this ns; 43 for rules that speak of hours
  Duration wait_limit =
      std::chrono::minutes(10);        // a wait without deadline that lasts longer is reported as a deadlock
  uint64_t max_switches = 20'000'000;  // more is reported as a run that does not end
  bool log = false;                    // keep the trace as text too (JAVELIN_SIMULATION_LOG=1 prints it)
};

using ActorId = int;

// One passing of a SyncPoint by a live actor.
struct SyncHit {
  std::string_view name;
  uint64_t count;  // n-th passing of this name, from 1
  uint64_t index;  // n-th passing of any name, from 1
  ActorId actor;
};

// What shall happen there.
struct SyncAction {
  enum class Kind { kContinue, kCrash, kDelay, kFail };
  Kind kind = Kind::kContinue;
  Duration delay{};
  arrow::Status failure;

  static SyncAction Continue() { return {}; }
  static SyncAction Crash() { return {.kind = Kind::kCrash}; }
  static SyncAction Delay(Duration duration) { return {.kind = Kind::kDelay, .delay = duration}; }
  static SyncAction Fail(arrow::Status status) { return {.kind = Kind::kFail, .failure = std::move(status)}; }
};

// May start and crash actors and look at a store's raw(); may not block.
using SyncHook = std::function<SyncAction(const SyncHit&)>;
// A hook that acts on the n-th passing only.
SyncHook AtHit(uint64_t n, SyncAction action);

class Simulation {
 public:
  explicit Simulation(uint64_t seed, SimulationOptions options = {});
  // Crashes what still lives.
  ~Simulation();
  Simulation(const Simulation&) = delete;

  uint64_t seed() const;
  std::shared_ptr<Runtime> runtime() const { return runtime_; }

  // An actor is a process: what its body spawns, posts and times belongs to it and dies with it. Several may have the
  // same name (one after the other, say).
  ActorId StartActor(std::string name, Duration delay, Job body);
  // Ends the actor: nothing of it has an effect any more, its tasks unwind. Requests it sent stay in the store.
  void Crash(ActorId actor);
  bool IsAlive(ActorId actor) const;
  // The actor of the calling task; 0 = the test itself.
  ActorId current_actor() const;

  // Runs until all tasks have ended. Internal with a report (which task of which actor waits for what, since when) if
  // they never will; then all tasks are unwound, so that the process goes on.
  arrow::Status RunAll();
  // What is still under way to a store arrives now. After RunAll.
  void LandRequests();

  // `name` "" = every SyncPoint. Hooks are asked in order; the first answer other than Continue counts.
  void OnSyncPoint(std::string name, SyncHook hook);
  uint64_t sync_points_passed() const;

  // base/planted_bug.h
  void PlantBug(std::string_view name);
  bool PlantedBugWasAsked(std::string_view name) const;

  TimePoint Now() const;
  // For a test's own draws, apart from those of the scheduler: crash decisions, and everything else.
  SeededRandom& crash_random();
  SeededRandom& plan_random();

  // Of everything that happened so far, in order: (task, operation, detail, number, result, virtual time).
  uint64_t trace_hash() const;
  const std::vector<std::string>& log() const;
  uint64_t switches() const;

  // For stores and other worlds that are built on the simulation.
  const std::shared_ptr<internal::SimScheduler>& scheduler() const { return scheduler_; }

 private:
  std::shared_ptr<internal::SimScheduler> scheduler_;
  std::shared_ptr<Runtime> runtime_;
};

// The seeds a test shall run: JAVELIN_SEED alone, or JAVELIN_SEEDS (default `count`) of them from JAVELIN_SEED_START
// (default 1) on.
std::vector<uint64_t> Seeds(uint64_t count = 200);

// Runs the same seed twice; `run` returns the trace hash. Internal if they differ.
arrow::Status CheckSameHash(uint64_t seed, const std::function<uint64_t(uint64_t seed)>& run);

}  // namespace javelin
