#include "javelin/base/simulation_scheduler_internal.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>

#include "javelin/base/error.h"
#include "javelin/base/simulation_runtime_internal.h"

namespace javelin::internal {

namespace {
thread_local const SimScheduler* current_scheduler = nullptr;  // of the task that this thread runs

constexpr uint64_t kSwitchOneIn[] = {1, 2, 4, 16};
constexpr uint64_t kStallOneIn = 200;
constexpr uint64_t kFreezeOneIn = 600;
constexpr int kLongestStallExponent = 36;
constexpr int kMostQuietCalls = 20'000;
constexpr int kMostSkewExponent = 39;  // of the wall clock, in ns: nine minutes

uint64_t HashOf(std::string_view text) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return hash;
}

double Seconds(TimePoint time) { return std::chrono::duration<double>(time.time_since_epoch()).count(); }
}  // namespace

SimScheduler::SimScheduler(uint64_t s, const SimulationOptions& o)
    : seed(s),
      options(o),
      setup_random(s, 0),
      schedule_random(s, 1),
      fault_random(s, 2),
      crash_random(s, 3),
      product_random(s, 4),
      plan_random(s, 5) {
  switch_one_in_ = kSwitchOneIn[setup_random.Below(4)];
  stalls_ = setup_random.OneIn(2) && options.stalls;
  print_log_ = std::getenv("JAVELIN_SIMULATION_LOG") != nullptr;
  io_slots_ = setup_random.Between(1, 4);
  cpu_slots_ = setup_random.Between(1, 2);
  auto test = std::make_unique<SimActor>();
  test->name = "test";
  test->pools[0].slots = io_slots_;
  test->pools[1].slots = cpu_slots_;
  actors_.emplace(0, std::move(test));
}

// ---- who runs ----

SimTask* SimScheduler::Current() {
  if (current_scheduler == this) return current_;
  if (std::this_thread::get_id() == driver_ && !running_) return nullptr;
  RuntimeRuleBroken("a thread from outside entered a simulated runtime");
}

SimActor& SimScheduler::CurrentActor() {
  SimTask* me = Current();
  return me == nullptr ? *actors_.at(0) : *me->actor;
}

void SimScheduler::SwitchPoint() {
  SimTask* me = Current();
  if (me == nullptr || no_switch_ > 0 || !schedule_random.OneIn(switch_one_in_)) return;
  if (stalls_ && !me->actor->dead && schedule_random.OneIn(kStallOneIn)) {
    Stall(Duration(schedule_random.Magnitude(0, kLongestStallExponent - 1)), "a stall");
    return;
  }
  MakeReady(*me);
  SwitchAway(*me);
}

void SimScheduler::SwitchAway(SimTask& me) {
  if (++switches % options.max_switches == 0) Report("the run does not come to an end");
  SimTask* next = PickNext();
  const std::shared_ptr<Baton>& baton = Hand(*next);
  if (next == &me) return;
  baton->Pass();
  me.worker->baton()->Wait();
}

// Makes `next` the current task; its thread goes on once the baton is passed.
const std::shared_ptr<Baton>& SimScheduler::Hand(SimTask& next) {
  current_ = &next;
  next.state = SimTask::State::kRunning;
  hash = SeededRandom::Mix(hash ^ next.number);
  if (next.worker == nullptr) next.worker = &Worker::Take([this, &next] { return RunTask(next); });
  return next.worker->baton();
}

// Null once nothing is left to do.
SimTask* SimScheduler::PickNext() {
  while (true) {
    if (!ready_.empty()) {
      std::swap(ready_[schedule_random.Below(ready_.size())], ready_.back());
      SimTask* next = ready_.back();
      ready_.pop_back();
      return next;
    }
    if (NothingLeft()) return nullptr;
    if (!AdvanceTime()) Report("deadlock: nothing can run and no timer is set");
  }
}

std::shared_ptr<Baton> SimScheduler::RunTask(SimTask& task) {
  current_scheduler = this;
  try {
    ContextScope scope(task.context);
    if (!task.actor->dead) task.body();
  } catch (const CrashUnwind&) {}
  {
    // A task of a dead actor that never started ends here too: what its closure must complete is completed.
    ContextScope scope(Context::kTask);
    task.dropping = true;
    task.body = nullptr;
  }
  EndTask(task);
  current_ = nullptr;
  SimTask* next = PickNext();
  std::shared_ptr<Baton> baton = next == nullptr ? driver_baton_ : Hand(*next);
  current_scheduler = nullptr;
  return baton;
}

void SimScheduler::EndTask(SimTask& task) {
  {
    NoSwitchScope scope(*this);
    task.state_for_join->ended().Set();
  }
  if (task.pool) {
    SimActor::Pool& pool = task.actor->pools[static_cast<int>(*task.pool)];
    --pool.running;
    StartQueued(pool);
  }
  std::erase_if(callback_tasks_, [&](const auto& entry) { return entry.second == &task; });
  --live_tasks_;
  tasks_.erase(task.number);
}

SimTask& SimScheduler::NewTask(SimActor& actor, std::string name, Job body, Context context) {
  auto task = std::make_unique<SimTask>();
  task->number = next_task_++;
  task->name = std::move(name);
  task->actor = &actor;
  task->body = std::move(body);
  task->context = context;
  task->state_for_join = std::make_shared<TaskState>(NewTaskEndEvent(*this));
  ++live_tasks_;
  SimTask& made = *task;
  tasks_.emplace(made.number, std::move(task));
  return made;
}

void SimScheduler::MakeReady(SimTask& task) {
  task.state = SimTask::State::kReady;
  (task.actor->frozen ? task.actor->held : ready_).push_back(&task);
}

void SimScheduler::RunOnPool(PoolKind kind, const std::string& name, Job job) {
  SimActor& actor = CurrentActor();
  SimTask& task = NewTask(actor, name, std::move(job));
  task.pool = kind;
  SimActor::Pool& pool = actor.pools[static_cast<int>(kind)];
  pool.queue.push_back(&task);
  if (actor.dead) pool.slots = INT32_MAX;
  StartQueued(pool);
}

void SimScheduler::StartQueued(SimActor::Pool& pool) {
  while (!pool.queue.empty() && pool.running < pool.slots) {
    ++pool.running;
    MakeReady(*pool.queue.front());
    pool.queue.pop_front();
  }
}

// ---- waiting ----

bool SimScheduler::CrashPoint() {
  SimTask* me = Current();
  if (me == nullptr || !me->actor->dead) return false;
  if (std::uncaught_exceptions() == 0 && !me->dropping && me->foreign_depth == 0 && no_switch_ == 0)
    throw CrashUnwind{};
  if (++me->quiet_calls > kMostQuietCalls) {
    RuntimeRuleBroken(fmt::format("task '{}' of crashed actor '{}' does not end; does a destructor loop?", me->name,
                                  me->actor->name));
  }
  return true;
}

bool SimScheduler::Block(const SimWait& wait) {
  SimTask* me = Current();
  if (me == nullptr)
    RuntimeRuleBroken(fmt::format("waiting for {} outside of an actor; start one with StartActor", wait.what));
  if (no_switch_ > 0) RuntimeRuleBroken(fmt::format("waiting for {} in a hook or store event", wait.what));
  me->state = SimTask::State::kBlocked;
  me->wait = wait;
  me->waits_since = now;
  me->timed_out = false;
  if (wait.deadline != kNoDeadline) {
    me->timer = AddTimer(wait.deadline, {.wakes = me});
  } else if (wait.limited) {
    AddWaitLimit(*me);
  }
  SwitchAway(*me);
  return !me->timed_out;
}

void SimScheduler::Wake(SimTask& task, bool timed_out) {
  if (task.state != SimTask::State::kBlocked) return;
  RemoveTimer(std::exchange(task.timer, 0));
  task.timed_out = timed_out;
  MakeReady(task);
}

void SimScheduler::Stall(Duration duration, std::string_view what) {
  Block({.what = what, .deadline = now + duration});
}

// ---- time ----

uint64_t SimScheduler::AddTimer(TimePoint time, Timer timer) {
  const uint64_t number = next_timer_++;
  if (timer.calls_back != nullptr) ++callbacks_pending_;
  timers_.emplace(TimerKey(time, number), std::move(timer));
  timer_times_.emplace(number, time);
  return number;
}

SimScheduler::Timer SimScheduler::RemoveTimer(uint64_t number) {
  const auto time = timer_times_.find(number);
  if (time == timer_times_.end()) return {};
  const TimerKey key(time->second, number);
  timer_times_.erase(time);
  wait_limits_.erase(key);
  auto node = timers_.extract(key);
  if (node.empty()) return {};
  if (node.mapped().calls_back != nullptr) --callbacks_pending_;
  return std::move(node.mapped());
}

void SimScheduler::AddWaitLimit(SimTask& task) {
  const TimePoint base = task.actor->frozen ? now : task.waits_since;
  task.timer = next_timer_++;
  wait_limits_.emplace(TimerKey(base + options.wait_limit, task.timer), &task);
  timer_times_.emplace(task.timer, base + options.wait_limit);
}

void SimScheduler::CheckWaitLimit(SimTask& task) {
  RemoveTimer(task.timer);
  if (task.actor->frozen || now - task.waits_since < options.wait_limit) {
    AddWaitLimit(task);
  } else {
    task.timer = 0;
    Report(fmt::format("deadlock: task {} waits longer than {} s", task.number,
                       std::chrono::duration_cast<std::chrono::seconds>(options.wait_limit).count()));
  }
}

// To the next timer. False if there is none.
bool SimScheduler::AdvanceTime() {
  if (timers_.empty()) return false;
  if (!wait_limits_.empty() && wait_limits_.begin()->first < timers_.begin()->first) {
    now = std::max(now, wait_limits_.begin()->first.first);
    CheckWaitLimit(*wait_limits_.begin()->second);
    return true;
  }
  const auto [time, number] = timers_.begin()->first;
  now = std::max(now, time);
  Fire(number, RemoveTimer(number));
  return true;
}

void SimScheduler::Fire(uint64_t number, Timer timer) {
  if (timer.wakes != nullptr) {
    timer.wakes->timer = 0;
    if (timer.wakes->state == SimTask::State::kNew) {
      MakeReady(*timer.wakes);
    } else {
      Wake(*timer.wakes, /*timed_out=*/true);
    }
  } else if (timer.thaws != nullptr) {
    Thaw(*timer.thaws);
  } else if (timer.calls_back != nullptr) {
    SimTask& task = NewTask(*timer.calls_back, "timer", std::move(timer.job), Context::kCallback);
    callback_tasks_.emplace(number, &task);
    MakeReady(task);
  } else {
    NoSwitchScope scope(*this);
    timer.job();
    timer.job = nullptr;
  }
}

TimerId SimScheduler::At(TimePoint time, Job callback) {
  SimActor& actor = CurrentActor();
  if (!actor.dead) return AddTimer(time, {.calls_back = &actor, .job = std::move(callback)});
  MakeReady(NewTask(actor, "timer", std::move(callback), Context::kCallback));
  return next_timer_++;
}

bool SimScheduler::Cancel(TimerId id) {
  if (RemoveTimer(id).calls_back != nullptr) return true;
  const auto running = callback_tasks_.find(id);
  if (running == callback_tasks_.end() || running->second == Current()) return false;
  const std::shared_ptr<TaskState> state = running->second->state_for_join;
  state->ended().WaitToEnd(EndOf::kTimerCallback);
  return false;
}

void SimScheduler::AtStore(TimePoint time, Job event) { AddTimer(time, {.job = std::move(event)}); }

// ---- actors ----

ActorId SimScheduler::StartActor(std::string name, Duration delay, Job body) {
  Current();
  auto made = std::make_unique<SimActor>();
  SimActor& actor = *made;
  actor.id = static_cast<ActorId>(actors_.size());
  actor.name = std::move(name);
  actor.pools[0].slots = io_slots_;
  actor.pools[1].slots = cpu_slots_;
  const int64_t skew = setup_random.Magnitude(0, kMostSkewExponent - 1);
  actor.wall_skew = Duration(setup_random.OneIn(2) ? skew : -skew);
  actors_.emplace(actor.id, std::move(made));
  Trace("start", actor.name, actor.id);
  SimTask& task = NewTask(actor, actor.name, std::move(body));
  task.timer = AddTimer(now + delay, {.wakes = &task});
  return actor.id;
}

void SimScheduler::Crash(SimActor& actor) {
  if (actor.dead) return;
  actor.dead = true;
  Trace("crash", actor.name, actor.id);
  Thaw(actor);
  for (auto& [number, task] : tasks_) {
    if (task->actor != &actor) continue;
    if (task->state == SimTask::State::kNew && task->timer != 0) {
      RemoveTimer(std::exchange(task->timer, 0));
      MakeReady(*task);
    } else if (task->state == SimTask::State::kBlocked && task->wait.ends_by_crash) {
      Wake(*task);
    }
  }
  for (SimActor::Pool& pool : actor.pools) {
    pool.slots = INT32_MAX;
    StartQueued(pool);
  }
  std::vector<uint64_t> callbacks;
  for (const auto& [key, timer] : timers_) {
    if (timer.calls_back == &actor) callbacks.push_back(key.second);
  }
  for (const uint64_t number : callbacks) Fire(number, RemoveTimer(number));
}

void SimScheduler::Freeze(SimActor& actor, Duration duration) {
  if (actor.frozen) return;
  Trace("freeze", actor.name, duration.count());
  actor.frozen = true;
  actor.frozen_since = now;
  std::erase_if(ready_, [&](SimTask* task) {
    if (task->actor == &actor) actor.held.push_back(task);
    return task->actor == &actor;
  });
  AddTimer(now + duration, {.thaws = &actor});
}

void SimScheduler::Thaw(SimActor& actor) {
  if (!actor.frozen) return;
  actor.frozen = false;
  ready_.insert(ready_.end(), actor.held.begin(), actor.held.end());
  actor.held.clear();
  // The wait limit is about waits of a process that runs.
  for (auto& [number, task] : tasks_) {
    if (task->actor == &actor && task->state == SimTask::State::kBlocked) {
      task->waits_since += now - std::max(actor.frozen_since, task->waits_since);
    }
  }
}

SyncAction SimScheduler::AskHooks(const SyncHit& hit) {
  NoSwitchScope scope(*this);
  SyncAction action;
  for (size_t i = 0; i < hooks_.size() && action.kind == SyncAction::Kind::kContinue; ++i) {
    if (hooks_[i].first.empty() || hooks_[i].first == hit.name) action = hooks_[i].second(hit);
  }
  return action;
}

arrow::Status SimScheduler::SyncPoint(std::string_view name) {
  SimTask* me = Current();
  if (me == nullptr) return arrow::Status::OK();
  if (CurrentContext() == Context::kCpuJob || CurrentContext() == Context::kCallback) {
    RuntimeRuleBroken(fmt::format("SyncPoint '{}' in a CPU job or callback", name));
  }
  const auto cancelled = [&] { return Cancelled("the process ended at '{}'", name); };
  if (CrashPoint()) return cancelled();
  const uint64_t count = ++sync_point_hits_[std::string(name)];
  const SyncAction action = AskHooks({name, count, ++sync_points, me->actor->id});
  Trace("sync", name, count, action.kind == SyncAction::Kind::kContinue ? "" : "hook");
  if (action.kind == SyncAction::Kind::kCrash) Crash(*me->actor);
  if (action.kind == SyncAction::Kind::kDelay) Stall(action.delay, "a delay by the test");
  if (CrashPoint()) return cancelled();
  if (stalls_ && schedule_random.OneIn(kFreezeOneIn)) {
    Freeze(*me->actor, Duration(schedule_random.Magnitude(0, options.longest_freeze_exponent - 1)));
    MakeReady(*me);
    SwitchAway(*me);
  } else {
    SwitchPoint();
  }
  if (CrashPoint()) return cancelled();
  return action.failure;
}

// ---- the whole ----

arrow::Status SimScheduler::RunAll() {
  if (Current() != nullptr) RuntimeRuleBroken("RunAll was called by a task of the simulation");
  if (SimTask* next = PickNext()) {
    const std::shared_ptr<Baton>& baton = Hand(*next);
    running_ = true;
    baton->Pass();
    driver_baton_->Wait();
    running_ = false;
  }
  if (report.empty()) return arrow::Status::OK();
  return Internal("simulation with seed {}: {}", seed, report);
}

void SimScheduler::LandRequests() {
  if (Current() != nullptr || live_tasks_ > 0) RuntimeRuleBroken("LandRequests was called before RunAll had ended");
  while (AdvanceTime()) continue;
}

void SimScheduler::Clear() {
  for (auto& [id, actor] : actors_) Crash(*actor);
  (void)RunAll();
  timers_.clear();
  timer_times_.clear();
  hooks_.clear();
}

void SimScheduler::Report(const std::string& reason) {
  std::string text = reason;
  for (const auto& [number, task] : tasks_) {
    text += fmt::format("\n  task {} '{}' of actor {} '{}'{}: ", number, task->name, task->actor->id, task->actor->name,
                        task->actor->dead     ? " (crashed)"
                        : task->actor->frozen ? " (frozen)"
                                              : "");
    if (task->state == SimTask::State::kBlocked) {
      text +=
          fmt::format("waits for {} {} since {:.6f} s", task->wait.what, task->wait.detail, Seconds(task->waits_since));
    } else {
      text += task->state == SimTask::State::kNew ? "not started" : "can run";
    }
  }
  text += fmt::format("\n  now {:.6f} s", Seconds(now));
  if (!report.empty())
    RuntimeRuleBroken(fmt::format("seed {}: {}\nand unwinding did not end it:\n{}", seed, report, text));
  report = std::move(text);
  for (auto& [id, actor] : actors_) Crash(*actor);
}

void SimScheduler::Trace(std::string_view operation, std::string_view detail, uint64_t number,
                         std::string_view result) {
  const uint64_t task = current_ == nullptr ? 0 : current_->number;
  for (const uint64_t part : {task, HashOf(operation), HashOf(detail), number, HashOf(result),
                              static_cast<uint64_t>(now.time_since_epoch().count())}) {
    hash = SeededRandom::Mix(hash ^ part);
  }
  if (!options.log && !print_log_) return;
  std::string line = fmt::format("{:.9f} task {} {} {} {} {}", Seconds(now), task, operation, detail, number, result);
  if (print_log_) std::fprintf(stderr, "%s\n", line.c_str());
  if (options.log) log.push_back(std::move(line));
}

}  // namespace javelin::internal
