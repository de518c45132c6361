// One way to wait: tasks, strands, timers, locks and results for all of Javelin.
//
// Code is written blocking. Two implementations run the same code: MakeThreadRuntime() (pools of real threads) and
// Simulation (base/simulation.h: one baton, virtual time, every interleaving from one seed). Nothing outside
// base/runtime* and base/simulation* names a thread, a clock, a sleep or a random device; scripts/check_layers proves
// it.
//
// Contexts:   T  a spawned task or a thread from outside (Python, tests)
//             S  a strand job         C  a CPU job         B  a timer or wait-list callback
// "Crash point": the simulation may end the calling task there by unwinding it. The thread runtime never does.
//
// A strand job waits for the store, Sleep, Mutex and Cpu only. It never waits for another strand: it ends, and
// `cell.Then(strand, job)` continues. Both implementations assert this.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <arrow/result.h>
#include <arrow/status.h>

namespace javelin {

using Duration = std::chrono::nanoseconds;
// Names the time line of Runtime::Now(); has no now() of its own on purpose.
struct RuntimeClock {
  using duration = Duration;
};
using TimePoint = std::chrono::time_point<RuntimeClock, Duration>;
inline constexpr TimePoint kNoDeadline = TimePoint::max();

// Copyable on purpose (std::function); what must be completed exactly once is captured in a shared_ptr whose
// destructor completes it, so that a job that is dropped still resolves what waits for it.
using Job = std::function<void()>;

enum class PoolKind { kIo, kCpu };

class Runtime;
template <typename T>
class Cell;
namespace internal {
// What an implementation provides (base/runtime_internal.h) and what is built on top of it once (base/runtime.cc).
class MutexState;
class EventState;
class StrandState;
class TaskState;
class TickerState;
}  // namespace internal

// A spawned task. Copyable; dropping it detaches.
class TaskHandle {
 public:
  TaskHandle() = default;
  explicit TaskHandle(std::shared_ptr<internal::TaskState> state) : state_(std::move(state)) {}
  // Returns when the task has ended and its function object is destroyed. Blocks; no crash point; context T.
  void Join();
  bool valid() const { return state_ != nullptr; }

 private:
  std::shared_ptr<internal::TaskState> state_;
};

using TimerId = uint64_t;

class Runtime {
 public:
  virtual ~Runtime() = default;

  // Monotonic; virtual in simulation.
  virtual TimePoint Now() = 0;
  // Since the Unix epoch, for stored time stamps only (skewed per actor in simulation).
  virtual Duration WallTime() = 0;
  // 64 random bits: ids, file names, jitter. The only source of chance.
  virtual uint64_t Random() = 0;
  // Blocks; crash point; contexts T, S.
  virtual void Sleep(Duration duration) = 0;
  // A task with a thread of its own (from a cache); may wait for anything. Few: upkeep, compaction, test bodies.
  virtual TaskHandle Spawn(std::string name, Job body) = 0;
  // Runs short pure jobs on the CPU pool and returns when all are done; the caller works too. Contexts T, S. A job may
  // lock a Mutex; it may not block otherwise. No crash point.
  void Cpu(std::vector<Job> jobs);
  // Calls back at `time` in context B. Cancel waits for a callback that is running; false if it already ran.
  virtual TimerId At(TimePoint time, Job callback) = 0;
  virtual bool Cancel(TimerId id) = 0;
  // A named step of a protocol. In production OK at the cost of one branch; in simulation a switch, delay, failure
  // (returns non-OK) or crash point.
  virtual arrow::Status SyncPoint(std::string_view name) = 0;
  // True while the calling task is being unwound or its actor is dead: a destructor then skips what would need I/O.
  virtual bool Unwinding() = 0;
  // Closed if the calling process is not the one that made this runtime (a fork): no thread of ours lives here.
  virtual arrow::Status CheckProcess() = 0;
  // True where a test planted this bug on purpose (base/planted_bug.h); never outside a Simulation.
  virtual bool PlantedBug(std::string_view /*name*/) { return false; }

 private:
  friend class Mutex;
  friend class Event;
  friend class ForeignScope;
  friend class internal::StrandState;
  virtual std::shared_ptr<internal::MutexState> NewMutex() = 0;
  virtual std::shared_ptr<internal::EventState> NewEvent() = 0;
  // Runs `job` on a thread of the pool, in order of arrival as far as threads are free.
  virtual void RunOnPool(PoolKind kind, const std::string& name, Job job) = 0;
  virtual int cpu_threads() const = 0;
  virtual void EnterForeign() = 0;
  virtual void LeaveForeign() = 0;
};

struct ThreadRuntimeOptions {
  int max_io_threads = 256;                       // the blocking-I/O pool grows when nothing is idle, up to this
  int cpu_threads = 0;                            // 0 = one per core
  Duration idle_life = std::chrono::seconds(10);  // a thread without work for so long ends
};
// The last reference to go waits for every task, queued job and running callback; timers still pending are dropped.
std::shared_ptr<Runtime> MakeThreadRuntime(const ThreadRuntimeOptions& options = {});

// A leaf lock for memory work; never held over a store call, Sleep, wait or callback. Never a crash point.
// Works with std::lock_guard and std::unique_lock.
class Mutex {
 public:
  explicit Mutex(Runtime& runtime) : state_(runtime.NewMutex()) {}
  Mutex(const Mutex&) = delete;
  Mutex& operator=(const Mutex&) = delete;
  void lock();
  void unlock();

 private:
  std::shared_ptr<internal::MutexState> state_;
};

// One shot. Set: any context. Wait: blocks, crash point, context T only; false if the deadline passed first.
class Event {
 public:
  explicit Event(Runtime& runtime) : state_(runtime.NewEvent()) {}
  void Set();
  bool IsSet() const;
  bool Wait(TimePoint deadline = kNoDeadline);

 private:
  friend class Runtime;
  friend class internal::StrandState;
  std::shared_ptr<internal::EventState> state_;  // copies of an Event are the same event
};

// A serial queue: one job at a time, in order; owns no thread while idle, so thousands fit.
class Strand {
 public:
  Strand(Runtime& runtime, std::string name, PoolKind kind = PoolKind::kIo);
  ~Strand();  // Close()
  Strand(const Strand&) = delete;
  Strand& operator=(const Strand&) = delete;
  // False once closed (the job is destroyed, which completes its captured cells). Any context.
  bool Post(Job job);
  // Runs the job on the calling thread if the strand is idle (no job queued or running) and returns when it has ended;
  // else false, and the job did not run. Saves two changes of thread where the caller would wait for the job anyway.
  // Contexts T; the job's own context is S.
  bool TryRunHere(Job job);
  // Refuses and drops queued jobs, waits for the running one. Context T; no crash point.
  void Close();
  // Waits until the queue is empty and idle. Context T; crash point.
  void Drain();

 private:
  friend class Ticker;
  template <typename T>
  friend class Cell;
  static bool PostTo(internal::StrandState& strand, Job job);
  std::shared_ptr<internal::StrandState> state_;
};

// Posts `job` to `strand` every `every`, only while none of its own is queued or running: a late tick is delayed, never
// repeated. Stop waits for a posting in progress, not for a running job; a job still queued then does not run.
class Ticker {
 public:
  Ticker(Runtime& runtime, Duration every, Strand& strand, Job job);
  ~Ticker();  // Stop()
  Ticker(const Ticker&) = delete;
  Ticker& operator=(const Ticker&) = delete;
  void Stop();

 private:
  std::shared_ptr<internal::TickerState> state_;
};

// Callbacks to run on the next Notify. Register, then check the predicate, then wait; again on each wake.
// A callback is context B: it may only Post, Set or Notify.
class WaitList {
 public:
  explicit WaitList(Runtime& runtime) : mutex_(runtime) {}
  uint64_t Register(Job callback);
  void Remove(uint64_t id);
  // Takes all callbacks out under the lock and runs them outside it.
  void Notify();

 private:
  Mutex mutex_;
  uint64_t next_id_ = 1;
  std::vector<std::pair<uint64_t, Job>> callbacks_;
};

// Around a call into code that cannot be unwound (C callbacks): inside, crash points return instead of throwing and the
// store answers Cancelled; the unwinding follows when the scope ends.
class ForeignScope {
 public:
  explicit ForeignScope(Runtime& runtime) : runtime_(runtime) { runtime_.EnterForeign(); }
  ~ForeignScope() noexcept(false) { runtime_.LeaveForeign(); }
  ForeignScope(const ForeignScope&) = delete;

 private:
  Runtime& runtime_;
};

// The value of a result that carries none.
struct Unit {};

namespace internal {
template <typename T>
struct CellState {
  explicit CellState(Runtime& runtime) : mutex(runtime), event(runtime) {}
  Mutex mutex;
  Event event;
  std::shared_ptr<const arrow::Result<T>> result;    // guarded by mutex until set; constant afterwards
  std::vector<std::function<void()>> continuations;  // guarded by mutex
  void Resolve(arrow::Result<T> value);
};
}  // namespace internal

// Consumer side of a one-shot result. Copies see the same result.
template <typename T>
class Cell {
 public:
  Cell() = default;
  explicit Cell(std::shared_ptr<internal::CellState<T>> state) : state_(std::move(state)) {}
  bool valid() const { return state_ != nullptr; }
  bool IsSet() const { return state_->event.IsSet(); }
  // Blocks; crash point; context T only. Cancelled if the deadline passes first.
  arrow::Result<T> Get(TimePoint deadline = kNoDeadline) const {
    if (!state_->event.Wait(deadline)) return arrow::Status::Cancelled("deadline passed while waiting for a result");
    return *state_->result;
  }
  // Posts job(result) to the strand once the result is there (at once if it already is). Any context.
  // If the strand is closed or destroyed by then, the job is dropped.
  void Then(Strand& strand, std::function<void(const arrow::Result<T>&)> job) const;
  // Calls back in context B once the result is there (at once if it already is). Any context.
  void OnSet(std::function<void(const arrow::Result<T>&)> callback) const;

 private:
  std::shared_ptr<internal::CellState<T>> state_;
};

// Producer side. Destroyed without Set = the cell resolves with Cancelled, so nobody waits for a dropped job.
// Copyable so that it can be captured in a Job; the last copy that goes resolves the cell.
template <typename T>
class CellSetter {
 public:
  explicit CellSetter(Runtime& runtime) : guard_(std::make_shared<Guard>(runtime)) {}
  Cell<T> cell() const { return Cell<T>(guard_->state); }
  // The first Set counts; later ones are ignored. Any context.
  void Set(arrow::Result<T> result) const { guard_->state->Resolve(std::move(result)); }

 private:
  struct Guard {
    explicit Guard(Runtime& runtime) : state(std::make_shared<internal::CellState<T>>(runtime)) {}
    ~Guard() { state->Resolve(arrow::Status::Cancelled("the work was dropped before it ran")); }
    std::shared_ptr<internal::CellState<T>> state;
  };
  std::shared_ptr<Guard> guard_;
};

namespace internal {
template <typename T>
void CellState<T>::Resolve(arrow::Result<T> value) {
  std::vector<std::function<void()>> ready;
  {
    std::lock_guard lock(mutex);
    if (result != nullptr) return;
    result = std::make_shared<const arrow::Result<T>>(std::move(value));
    ready.swap(continuations);
  }
  event.Set();
  for (auto& continuation : ready) continuation();
}
}  // namespace internal

template <typename T>
void Cell<T>::OnSet(std::function<void(const arrow::Result<T>&)> callback) const {
  // The continuation lives inside the state it reads, so a plain pointer is enough and makes no cycle.
  internal::CellState<T>* state = state_.get();
  {
    std::lock_guard lock(state->mutex);
    if (state->result == nullptr) {
      state->continuations.push_back([state, callback] { callback(*state->result); });
      return;
    }
  }
  callback(*state->result);
}

template <typename T>
void Cell<T>::Then(Strand& strand, std::function<void(const arrow::Result<T>&)> job) const {
  // The cycle state -> continuation -> state ends when the cell resolves, which it always does.
  OnSet([state = state_, target = strand.state_, job](const arrow::Result<T>&) {
    Strand::PostTo(*target, [state, job] { job(*state->result); });
  });
}

}  // namespace javelin
