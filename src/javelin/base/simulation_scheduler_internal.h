// The heart of the simulation: tasks, actors, virtual time, the choice of who runs next. Only the thread that holds the
// baton touches any of this, so it needs no lock.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "javelin/base/planted_bug.h"
#include "javelin/base/runtime_internal.h"
#include "javelin/base/seeded_random.h"
#include "javelin/base/simulation.h"
#include "javelin/base/simulation_baton_internal.h"

namespace javelin::internal {

// Thrown at crash points to end the tasks of a dead actor. Not a std::exception, so that no handler takes it for one.
struct CrashUnwind {};

struct SimTask;

// A simulated process.
struct SimActor {
  struct Pool {
    int slots = 1;
    int running = 0;
    std::deque<SimTask*> queue;
  };

  ActorId id = 0;
  std::string name;
  bool dead = false;
  Duration wall_skew{};
  bool frozen = false;
  TimePoint frozen_since{};
  std::vector<SimTask*> held;  // ready, but the actor is frozen
  Pool pools[2];               // by PoolKind
};

// What a blocked task waits for.
struct SimWait {
  std::string_view what;  // a literal
  TimePoint deadline = kNoDeadline;
  bool ends_by_crash = true;  // a crash of the actor wakes the task (to unwind); false for locks and Join
  bool limited = true;        // without deadline: longer than the wait limit is a deadlock
  std::string_view detail;    // valid while the task waits
};

struct SimTask {
  enum class State { kNew, kReady, kRunning, kBlocked, kEnded };

  uint64_t number = 0;
  std::string name;
  SimActor* actor = nullptr;
  Job body;
  Context context = Context::kTask;
  std::optional<PoolKind> pool;
  std::shared_ptr<TaskState> state_for_join;
  State state = State::kNew;
  Worker* worker = nullptr;  // null until the task is first picked
  SimWait wait;
  TimePoint waits_since{};
  uint64_t timer = 0;  // entry of the deadline or the wait limit, 0 = none
  bool timed_out = false;
  bool dropping = false;  // its function object is being destroyed: crash points must not throw
  int foreign_depth = 0;
  int quiet_calls = 0;
};

class SimScheduler {
 public:
  // While it lives, the calling thread keeps the baton: hooks and store events may not switch or block.
  class NoSwitchScope {
   public:
    explicit NoSwitchScope(SimScheduler& scheduler) : scheduler_(scheduler) { ++scheduler_.no_switch_; }
    ~NoSwitchScope() { --scheduler_.no_switch_; }
    NoSwitchScope(const NoSwitchScope&) = delete;

   private:
    SimScheduler& scheduler_;
  };

  SimScheduler(uint64_t seed, const SimulationOptions& options);

  // ---- called by the primitives, on behalf of the current task ----

  // The task that holds the baton; null on the thread that made the simulation, outside of RunAll. Ends the process on
  // any other thread.
  SimTask* Current();
  // May give the baton to another task.
  void SwitchPoint();
  // Nothing may happen to a live actor's task. A dead actor's task unwinds; where it may not throw (it already unwinds,
  // or runs foreign code), the answer is true and the call must return without effect.
  bool CrashPoint();
  // Parks the current task until Wake or the deadline. False if the deadline came first.
  bool Block(const SimWait& wait);
  void Wake(SimTask& task, bool timed_out = false);
  // Sleeps without being a crash point.
  void Stall(Duration duration, std::string_view what);

  SimTask& NewTask(SimActor& actor, std::string name, Job body, Context context = Context::kTask);
  void MakeReady(SimTask& task);
  void RunOnPool(PoolKind kind, const std::string& name, Job job);
  TimerId At(TimePoint time, Job callback);
  bool Cancel(TimerId id);
  // Something that happens outside of all actors, e.g. a request arriving at the store. `event` may not block.
  void AtStore(TimePoint time, Job event);
  arrow::Status SyncPoint(std::string_view name);

  // ---- actors and the whole ----

  SimActor& CurrentActor();
  SimActor& actor(ActorId id) { return *actors_.at(id); }
  ActorId StartActor(std::string name, Duration delay, Job body);
  void Crash(SimActor& actor);
  arrow::Status RunAll();
  void LandRequests();
  // Crashes what still lives and destroys all closures.
  void Clear();
  void OnSyncPoint(std::string name, SyncHook hook) { hooks_.emplace_back(std::move(name), std::move(hook)); }

  void Trace(std::string_view operation, std::string_view detail, uint64_t number = 0, std::string_view result = {});

  const uint64_t seed;
  const SimulationOptions options;
  // One stream per purpose, so that a further draw for one does not move all the others.
  SeededRandom setup_random, schedule_random, fault_random, crash_random, product_random, plan_random;
  TimePoint now{std::chrono::seconds(1000)};
  // Since the Unix epoch, without any actor's skew; the simulated world begins in 2026.
  Duration WorldTime() const { return std::chrono::seconds(1'767'225'600) + now.time_since_epoch(); }
  uint64_t hash = 0;
  uint64_t switches = 0;
  uint64_t sync_points = 0;
  std::vector<std::string> log;
  std::string report;
  PlantedBugs planted_bugs;

 private:
  struct Timer {
    SimTask* wakes = nullptr;  // a deadline or the start of an actor
    SimActor* thaws = nullptr;
    SimActor* calls_back = nullptr;  // the actor whose At() it is; number = TimerId
    Job job;                         // of At or AtStore
  };
  using TimerKey = std::pair<TimePoint, uint64_t>;

  void SwitchAway(SimTask& me);
  const std::shared_ptr<Baton>& Hand(SimTask& next);
  SimTask* PickNext();
  bool NothingLeft() const { return live_tasks_ == 0 && callbacks_pending_ == 0; }
  bool AdvanceTime();
  void Fire(uint64_t number, Timer timer);
  uint64_t AddTimer(TimePoint time, Timer timer);
  Timer RemoveTimer(uint64_t number);
  void AddWaitLimit(SimTask& task);
  void CheckWaitLimit(SimTask& task);
  void StartQueued(SimActor::Pool& pool);
  SyncAction AskHooks(const SyncHit& hit);
  std::shared_ptr<Baton> RunTask(SimTask& task);
  void EndTask(SimTask& task);
  void Freeze(SimActor& actor, Duration duration);
  void Thaw(SimActor& actor);
  void Report(const std::string& reason);

  const std::thread::id driver_ = std::this_thread::get_id();
  const std::shared_ptr<Baton> driver_baton_ = std::make_shared<Baton>();
  bool running_ = false;  // inside RunAll
  SimTask* current_ = nullptr;
  int no_switch_ = 0;  // > 0 inside hooks and store events
  uint64_t switch_one_in_;
  bool stalls_;
  bool print_log_;
  int io_slots_, cpu_slots_;

  std::map<ActorId, std::unique_ptr<SimActor>> actors_;
  std::map<uint64_t, std::unique_ptr<SimTask>> tasks_;  // live ones, by number
  uint64_t next_task_ = 1;
  uint64_t live_tasks_ = 0;
  std::vector<SimTask*> ready_;

  std::map<TimerKey, Timer> timers_;
  std::map<TimerKey, SimTask*> wait_limits_;
  std::map<uint64_t, TimePoint> timer_times_;  // of both
  uint64_t next_timer_ = 1;
  uint64_t callbacks_pending_ = 0;
  std::map<TimerId, SimTask*> callback_tasks_;  // called back, not yet ended

  std::vector<std::pair<std::string, SyncHook>> hooks_;
  std::map<std::string, uint64_t, std::less<>> sync_point_hits_;
};

}  // namespace javelin::internal
