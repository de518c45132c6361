// The parts of the runtime that both implementations share: strands, tickers, wait lists, CPU batches.
#include "javelin/base/runtime.h"

#include <cstdio>
#include <cstdlib>
#include <deque>
#include <exception>
#include <mutex>

#include "javelin/base/runtime_internal.h"

namespace javelin {

namespace internal {

namespace {
thread_local Context current_context = Context::kOutside;
thread_local const StrandState* current_strand = nullptr;
thread_local int locks_held = 0;
}  // namespace

Context CurrentContext() { return current_context; }

ContextScope::ContextScope(Context context) : previous_(current_context) { current_context = context; }
ContextScope::~ContextScope() { current_context = previous_; }

void RuntimeRuleBroken(const std::string& message) {
  std::fprintf(stderr, "javelin runtime: %s\n", message.c_str());
  std::fflush(stderr);
  std::abort();
}

namespace {
void RequireNoLock(const char* call) {
  if (locks_held > 0) RuntimeRuleBroken(fmt::format("{} was called while a Mutex is held", call));
}

[[noreturn]] void RefuseIn(Context context, const char* call) {
  switch (context) {
    case Context::kStrand:
      RuntimeRuleBroken(fmt::format("{} was called in a strand job; end the job and continue with cell.Then", call));
    case Context::kCpuJob: RuntimeRuleBroken(fmt::format("{} was called in a CPU job, which may not wait", call));
    default: RuntimeRuleBroken(fmt::format("{} was called in a timer or wait-list callback, which may not wait", call));
  }
}

bool IsTask(Context context) { return context == Context::kOutside || context == Context::kTask; }
}  // namespace

void RequireMayWait(const char* call) {
  if (std::uncaught_exceptions() > 0) return;
  if (!IsTask(current_context)) RefuseIn(current_context, call);
  RequireNoLock(call);
}

void RequireMayBlock(const char* call) {
  if (std::uncaught_exceptions() > 0) return;
  if (!IsTask(current_context) && current_context != Context::kStrand) RefuseIn(current_context, call);
  RequireNoLock(call);
}

// A strand takes turns on its pool: a turn runs a few queued jobs, then goes to the back of the pool's queue.
class StrandState : public std::enable_shared_from_this<StrandState> {
 public:
  StrandState(Runtime& runtime, std::string name, PoolKind kind)
      : runtime_(runtime), name_(std::move(name)), kind_(kind), mutex_(runtime) {}

  bool Post(Job job) {
    {
      std::lock_guard lock(mutex_);
      if (closed_) return false;
      queue_.push_back(std::move(job));
      if (has_turn_) return true;
      has_turn_ = true;
    }
    AskForTurn();
    return true;
  }

  bool TryRunHere(Job job) {
    RequireMayWait("Strand::TryRunHere");
    {
      std::lock_guard lock(mutex_);
      if (closed_ || has_turn_ || running_) return false;
      has_turn_ = running_ = true;
    }
    Turn turn(shared_from_this());  // closes the strand if this task is unwound within the job
    RunJob(std::move(job));
    turn.ended = true;
    {
      std::lock_guard lock(mutex_);
      has_turn_ = !queue_.empty();
      if (!has_turn_) return true;
    }
    AskForTurn();
    return true;
  }

  void Close() {
    RequireMayWait("Strand::Close");
    Event idle(runtime_);
    std::deque<Job> dropped;
    bool must_wait;
    std::vector<Event> waiters;
    {
      std::lock_guard lock(mutex_);
      closed_ = true;
      dropped.swap(queue_);
      must_wait = running_ && current_strand != this;  // a job that is unwound may own its strand
      if (must_wait) {
        idle_waiters_.push_back(idle);
      } else if (!running_) {
        waiters.swap(idle_waiters_);
      }
    }
    dropped.clear();
    for (Event& waiter : waiters) waiter.Set();
    if (must_wait) idle.state_->WaitToEnd(EndOf::kStrandJob);
  }

  void Drain() {
    Event idle(runtime_);
    {
      std::lock_guard lock(mutex_);
      if (queue_.empty() && !running_) return;
      idle_waiters_.push_back(idle);
    }
    idle.Wait();
  }

 private:
  static constexpr int kJobsPerTurn = 16;

  // Owned by the pool job of a turn. A turn destroyed before it ended (its actor crashed) closes the strand, so that
  // nobody waits for jobs that will never run.
  struct Turn {
    explicit Turn(std::shared_ptr<StrandState> owner) : strand(std::move(owner)) {}
    ~Turn() {
      if (!ended) strand->Abandon();
    }
    void Run() {
      strand->RunTurn();
      ended = true;
    }
    std::shared_ptr<StrandState> strand;
    bool ended = false;
  };

  // Which strand the calling thread runs a job of.
  struct RunningScope {
    explicit RunningScope(const StrandState* strand) : previous(current_strand) { current_strand = strand; }
    ~RunningScope() { current_strand = previous; }
    ContextScope context{Context::kStrand};
    const StrandState* previous;
  };

  void AskForTurn() {
    runtime_.RunOnPool(kind_, name_, [turn = std::make_shared<Turn>(shared_from_this())] { turn->Run(); });
  }

  void RunTurn() {
    for (int i = 0; i < kJobsPerTurn; ++i) {
      Job job;
      {
        std::lock_guard lock(mutex_);
        if (queue_.empty()) {
          has_turn_ = false;
          return;
        }
        job = std::move(queue_.front());
        queue_.pop_front();
        running_ = true;
      }
      RunJob(std::move(job));
    }
    AskForTurn();
  }

  // With running_ set.
  void RunJob(Job job) {
    {
      RunningScope scope(this);
      job();
      job = nullptr;
    }
    EndJob();
  }

  void EndJob() {
    std::vector<Event> waiters;
    {
      std::lock_guard lock(mutex_);
      running_ = false;
      if (queue_.empty()) waiters.swap(idle_waiters_);
    }
    for (Event& waiter : waiters) waiter.Set();
  }

  void Abandon() {
    std::deque<Job> dropped;
    {
      std::lock_guard lock(mutex_);
      closed_ = true;
      has_turn_ = false;
      dropped.swap(queue_);
    }
    dropped.clear();
    EndJob();
  }

  Runtime& runtime_;
  const std::string name_;
  const PoolKind kind_;
  Mutex mutex_;
  std::deque<Job> queue_;  // all below guarded by mutex_
  bool closed_ = false;
  bool has_turn_ = false;            // a turn is queued or runs
  bool running_ = false;             // a job runs
  std::vector<Event> idle_waiters_;  // set when the queue is empty and no job runs
};

// One chain of timer -> strand job -> timer, so two ticks can never be queued at once.
class TickerState : public std::enable_shared_from_this<TickerState> {
 public:
  TickerState(Runtime& runtime, Duration every, std::shared_ptr<StrandState> strand, Job job)
      : runtime_(runtime), every_(every), strand_(std::move(strand)), job_(std::move(job)), mutex_(runtime) {}

  void ArmAt(TimePoint time) {
    std::lock_guard lock(mutex_);
    if (stopped_) return;
    timer_ = runtime_.At(time, [self = shared_from_this()] { self->strand_->Post([self] { self->Tick(); }); });
  }

  void Stop() {
    TimerId timer;
    {
      std::lock_guard lock(mutex_);
      stopped_ = true;
      timer = timer_;
    }
    runtime_.Cancel(timer);
  }

 private:
  void Tick() {
    {
      std::lock_guard lock(mutex_);
      if (stopped_) return;
    }
    const TimePoint start = runtime_.Now();
    job_();
    ArmAt(std::max(start + every_, runtime_.Now()));
  }

  Runtime& runtime_;
  const Duration every_;
  const std::shared_ptr<StrandState> strand_;
  const Job job_;
  Mutex mutex_;
  bool stopped_ = false;  // guarded by mutex_
  TimerId timer_ = 0;     // guarded by mutex_
};

namespace {
// Jobs of one Cpu call; the caller and its helpers take them one by one.
struct CpuBatch {
  CpuBatch(Runtime& runtime, std::vector<Job> work)
      : mutex(runtime), jobs(std::move(work)), unfinished(jobs.size()), all_done(runtime) {}

  void Work() {
    ContextScope scope(Context::kCpuJob);
    while (true) {
      Job job;
      {
        std::lock_guard lock(mutex);
        if (next == jobs.size()) return;
        job = std::move(jobs[next++]);
      }
      job();
      job = nullptr;
      std::lock_guard lock(mutex);
      if (--unfinished == 0) all_done.Set();
    }
  }

  Mutex mutex;
  std::vector<Job> jobs;  // all below guarded by mutex
  size_t next = 0;
  size_t unfinished;
  Event all_done;
};
}  // namespace
}  // namespace internal

void Runtime::Cpu(std::vector<Job> jobs) {
  internal::RequireMayBlock("Cpu");
  if (jobs.empty()) return;
  const size_t helpers = std::min<size_t>(jobs.size() - 1, cpu_threads());
  auto batch = std::make_shared<internal::CpuBatch>(*this, std::move(jobs));
  for (size_t i = 0; i < helpers; ++i) RunOnPool(PoolKind::kCpu, "cpu", [batch] { batch->Work(); });
  batch->Work();
  batch->all_done.state_->WaitToEnd(internal::EndOf::kCpuJobs);
}

void TaskHandle::Join() {
  internal::RequireMayWait("Join");
  state_->ended().WaitToEnd(internal::EndOf::kTask);
}

void Mutex::lock() {
  state_->Lock();
  ++internal::locks_held;
}
void Mutex::unlock() {
  --internal::locks_held;
  state_->Unlock();
}

void Event::Set() {
  // The waiter may destroy this object as soon as it sees the event.
  const std::shared_ptr<internal::EventState> state = state_;
  state->Set();
}
bool Event::IsSet() const { return state_->IsSet(); }
bool Event::Wait(TimePoint deadline) {
  internal::RequireMayWait("Event::Wait");
  return state_->Wait(deadline);
}

Strand::Strand(Runtime& runtime, std::string name, PoolKind kind)
    : state_(std::make_shared<internal::StrandState>(runtime, std::move(name), kind)) {}
Strand::~Strand() { Close(); }
bool Strand::Post(Job job) { return state_->Post(std::move(job)); }
bool Strand::PostTo(internal::StrandState& strand, Job job) { return strand.Post(std::move(job)); }
bool Strand::TryRunHere(Job job) { return state_->TryRunHere(std::move(job)); }
void Strand::Close() { state_->Close(); }
void Strand::Drain() {
  internal::RequireMayWait("Strand::Drain");
  state_->Drain();
}

Ticker::Ticker(Runtime& runtime, Duration every, Strand& strand, Job job)
    : state_(std::make_shared<internal::TickerState>(runtime, every, strand.state_, std::move(job))) {
  state_->ArmAt(runtime.Now() + every);
}
Ticker::~Ticker() { Stop(); }
void Ticker::Stop() { state_->Stop(); }

uint64_t WaitList::Register(Job callback) {
  std::lock_guard lock(mutex_);
  callbacks_.emplace_back(next_id_, std::move(callback));
  return next_id_++;
}

void WaitList::Remove(uint64_t id) {
  Job removed;  // destroyed outside the lock
  std::lock_guard lock(mutex_);
  for (auto it = callbacks_.begin(); it != callbacks_.end(); ++it) {
    if (it->first != id) continue;
    removed = std::move(it->second);
    callbacks_.erase(it);
    return;
  }
}

void WaitList::Notify() {
  std::vector<std::pair<uint64_t, Job>> ready;
  {
    std::lock_guard lock(mutex_);
    ready.swap(callbacks_);
  }
  internal::ContextScope scope(internal::Context::kCallback);
  for (auto& [id, callback] : ready) callback();
}

}  // namespace javelin
