#include "javelin/base/simulation_runtime_internal.h"

#include <algorithm>

namespace javelin::internal {
namespace {

// The primitives know their scheduler by a plain pointer where it owns them (the end of a task), else they keep it
// alive.
class SimMutex final : public MutexState {
 public:
  explicit SimMutex(std::shared_ptr<SimScheduler> scheduler) : scheduler_(std::move(scheduler)) {}

  void Lock() override {
    scheduler_->SwitchPoint();
    SimTask* me = scheduler_->Current();
    if (locked_ && owner_ == me) RuntimeRuleBroken("a Mutex is locked twice by the same task");
    while (locked_) {
      waiters_.push_back(me);
      scheduler_->Block({.what = "a mutex", .ends_by_crash = false});
    }
    locked_ = true;
    owner_ = me;
  }

  void Unlock() override {
    locked_ = false;
    if (!waiters_.empty()) {
      const size_t chosen = scheduler_->schedule_random.Below(waiters_.size());
      SimTask* next = waiters_[chosen];
      waiters_.erase(waiters_.begin() + chosen);
      scheduler_->Wake(*next);
    }
    scheduler_->SwitchPoint();
  }

 private:
  const std::shared_ptr<SimScheduler> scheduler_;
  bool locked_ = false;
  SimTask* owner_ = nullptr;  // null also for the thread that made the simulation
  std::vector<SimTask*> waiters_;
};

class SimEvent final : public EventState {
 public:
  SimEvent(SimScheduler& scheduler, std::shared_ptr<SimScheduler> owner, std::string_view what)
      : scheduler_(scheduler), owner_(std::move(owner)), what_(what) {}

  void Set() override {
    set_ = true;
    for (SimTask* waiter : std::exchange(waiters_, {})) scheduler_.Wake(*waiter);
    scheduler_.SwitchPoint();
  }

  bool IsSet() const override { return set_; }

  bool Wait(TimePoint deadline) override {
    if (scheduler_.CrashPoint()) return set_;
    scheduler_.SwitchPoint();
    if (scheduler_.CrashPoint()) return set_;  // the crash may have come with the switch: nobody would wake us
    if (!set_ && deadline > scheduler_.now) BlockFor({.what = what_, .deadline = deadline});
    scheduler_.CrashPoint();
    return set_;
  }

  void WaitToEnd(EndOf what) override {
    scheduler_.SwitchPoint();
    while (!set_) BlockFor({.what = Text(what), .ends_by_crash = false, .limited = what != EndOf::kTask});
  }

 private:
  static std::string_view Text(EndOf what) {
    switch (what) {
      case EndOf::kTask: return "the end of a task";
      case EndOf::kStrandJob: return "the end of a strand job";
      case EndOf::kCpuJobs: return "the end of CPU jobs";
      case EndOf::kTimerCallback: return "the end of a timer callback";
    }
    return "";
  }

  void BlockFor(const SimWait& wait) {
    SimTask* me = scheduler_.Current();
    waiters_.push_back(me);
    scheduler_.Block(wait);
    std::erase(waiters_, me);
  }

  SimScheduler& scheduler_;
  const std::shared_ptr<SimScheduler> owner_;
  const std::string_view what_;
  bool set_ = false;
  std::vector<SimTask*> waiters_;
};

class SimRuntime final : public Runtime {
 public:
  explicit SimRuntime(std::shared_ptr<SimScheduler> scheduler) : scheduler_(std::move(scheduler)) {}

  TimePoint Now() override { return scheduler_->now; }
  Duration WallTime() override { return scheduler_->WorldTime() + scheduler_->CurrentActor().wall_skew; }
  uint64_t Random() override { return scheduler_->product_random.Next(); }

  void Sleep(Duration duration) override {
    RequireMayBlock("Sleep");
    if (scheduler_->CrashPoint()) return;
    scheduler_->Stall(std::max(duration, Duration(0)), "a sleep");
    scheduler_->CrashPoint();
  }

  TaskHandle Spawn(std::string name, Job body) override {
    scheduler_->CrashPoint();
    SimTask& task = scheduler_->NewTask(scheduler_->CurrentActor(), std::move(name), std::move(body));
    TaskHandle handle(task.state_for_join);
    scheduler_->MakeReady(task);
    scheduler_->SwitchPoint();
    return handle;
  }

  TimerId At(TimePoint time, Job callback) override { return scheduler_->At(time, std::move(callback)); }
  bool Cancel(TimerId id) override { return scheduler_->Cancel(id); }
  arrow::Status SyncPoint(std::string_view name) override { return scheduler_->SyncPoint(name); }
  bool Unwinding() override { return scheduler_->CurrentActor().dead; }
  arrow::Status CheckProcess() override { return arrow::Status::OK(); }
  bool PlantedBug(std::string_view name) override { return scheduler_->planted_bugs.Ask(name); }

 private:
  std::shared_ptr<MutexState> NewMutex() override { return std::make_shared<SimMutex>(scheduler_); }
  std::shared_ptr<EventState> NewEvent() override { return NewSimEvent(scheduler_, "an event"); }
  void RunOnPool(PoolKind kind, const std::string& name, Job job) override {
    scheduler_->RunOnPool(kind, name, std::move(job));
  }
  int cpu_threads() const override { return 2; }

  void EnterForeign() override {
    if (SimTask* me = scheduler_->Current()) ++me->foreign_depth;
  }
  void LeaveForeign() override {
    SimTask* me = scheduler_->Current();
    if (me != nullptr && --me->foreign_depth == 0) scheduler_->CrashPoint();
  }

  const std::shared_ptr<SimScheduler> scheduler_;
};

}  // namespace

std::shared_ptr<EventState> NewSimEvent(std::shared_ptr<SimScheduler> scheduler, std::string_view what) {
  SimScheduler& plain = *scheduler;
  return std::make_shared<SimEvent>(plain, std::move(scheduler), what);
}

std::shared_ptr<EventState> NewTaskEndEvent(SimScheduler& scheduler) {
  return std::make_shared<SimEvent>(scheduler, nullptr, "the end of a task");
}

std::shared_ptr<Runtime> MakeSimRuntime(std::shared_ptr<SimScheduler> scheduler) {
  return std::make_shared<SimRuntime>(std::move(scheduler));
}

}  // namespace javelin::internal
