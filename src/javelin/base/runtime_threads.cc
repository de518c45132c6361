// The runtime of production: pools of real threads, real time, real randomness.
#include <unistd.h>

#include <random>

#include "javelin/base/error.h"
#include "javelin/base/runtime_internal.h"
#include "javelin/base/runtime_pool_internal.h"

namespace javelin {
namespace internal {
namespace {

class ThreadMutex final : public MutexState {
 public:
  void Lock() override { mutex_.lock(); }
  void Unlock() override { mutex_.unlock(); }

 private:
  std::mutex mutex_;
};

class ThreadEvent final : public EventState {
 public:
  void Set() override {
    std::lock_guard lock(mutex_);
    set_ = true;
    changed_.notify_all();
  }
  bool IsSet() const override { return set_; }
  bool Wait(TimePoint deadline) override {
    if (set_) return true;
    std::unique_lock lock(mutex_);
    const auto is_set = [this] { return set_.load(); };
    if (deadline != kNoDeadline) return changed_.wait_until(lock, ToSteady(deadline), is_set);
    changed_.wait(lock, is_set);
    return true;
  }
  void WaitToEnd(EndOf what) override { Wait(kNoDeadline); }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::atomic<bool> set_{false};  // written under mutex_
};

// Asking for it opens a file of the system: once in a process, for runtimes are made more often.
int NumCores() {
  static const int cores = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  return cores;
}

class ThreadRuntime final : public Runtime {
 public:
  explicit ThreadRuntime(const ThreadRuntimeOptions& options)
      : cpu_threads_(options.cpu_threads > 0 ? options.cpu_threads : NumCores()),
        group_(std::make_shared<ThreadGroup>()),
        io_(std::make_shared<ThreadPool>(group_, "javelin-io", std::max(1, options.max_io_threads), options.idle_life)),
        cpu_(std::make_shared<ThreadPool>(group_, "javelin-cpu", cpu_threads_, options.idle_life)),
        tasks_(std::make_shared<ThreadPool>(group_, "javelin-task", SIZE_MAX, options.idle_life)),
        timers_(std::make_shared<TimerThread>(group_)) {}

  ~ThreadRuntime() override {
    if (getpid() != process_) return;  // a forked child: the threads, and whatever they held, are the parent's
    timers_->Stop();
    io_->Stop();
    cpu_->Stop();
    tasks_->Stop();
    group_->WaitForOthers();
  }

  TimePoint Now() override { return SteadyNow(); }
  Duration WallTime() override { return std::chrono::system_clock::now().time_since_epoch(); }
  // A device per call: no state that threads share or that a fork would copy.
  uint64_t Random() override {
    std::random_device device;
    return uint64_t{device()} << 32 | device();
  }
  void Sleep(Duration duration) override {
    RequireMayBlock("Sleep");
    std::this_thread::sleep_for(duration);
  }

  TaskHandle Spawn(std::string name, Job body) override {
    auto state = std::make_shared<TaskState>(NewEvent());
    tasks_->Submit([state, body = std::move(body)]() mutable {
      body();
      body = nullptr;
      state->ended().Set();
    });
    return TaskHandle(std::move(state));
  }

  TimerId At(TimePoint time, Job callback) override { return timers_->At(time, std::move(callback)); }
  bool Cancel(TimerId id) override { return timers_->Cancel(id); }
  arrow::Status SyncPoint(std::string_view name) override { return arrow::Status::OK(); }
  bool Unwinding() override { return false; }

  arrow::Status CheckProcess() override {
    if (getpid() == process_) return arrow::Status::OK();
    return Closed("this handle was opened in process {} and is used in its fork {}; open it again after the fork",
                  process_, getpid());
  }

 private:
  std::shared_ptr<MutexState> NewMutex() override { return std::make_shared<ThreadMutex>(); }
  std::shared_ptr<EventState> NewEvent() override { return std::make_shared<ThreadEvent>(); }
  void RunOnPool(PoolKind kind, const std::string& name, Job job) override {
    (kind == PoolKind::kIo ? io_ : cpu_)->Submit(std::move(job));
  }
  int cpu_threads() const override { return cpu_threads_; }
  void EnterForeign() override {}
  void LeaveForeign() override {}

  const pid_t process_ = getpid();
  const int cpu_threads_;
  const std::shared_ptr<ThreadGroup> group_;
  const std::shared_ptr<ThreadPool> io_;
  const std::shared_ptr<ThreadPool> cpu_;
  const std::shared_ptr<ThreadPool> tasks_;
  const std::shared_ptr<TimerThread> timers_;
};

}  // namespace
}  // namespace internal

std::shared_ptr<Runtime> MakeThreadRuntime(const ThreadRuntimeOptions& options) {
  return std::make_shared<internal::ThreadRuntime>(options);
}

}  // namespace javelin
