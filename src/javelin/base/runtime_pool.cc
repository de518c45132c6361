#include "javelin/base/runtime_pool_internal.h"

#include <pthread.h>
#include <signal.h>

#include <system_error>

#include "javelin/base/runtime_internal.h"

namespace javelin::internal {

namespace {
thread_local const ThreadGroup* current_group = nullptr;

// Signals belong to the host program's threads; a new thread inherits the mask of its maker.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &previous_);
  }
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &previous_, nullptr); }

 private:
  sigset_t previous_;
};
}  // namespace

void ThreadGroup::Start(const std::string& name, std::function<void()> body) {
  {
    std::lock_guard lock(mutex_);
    ++running_;
  }
  auto run = [self = shared_from_this(), name, body = std::move(body)]() mutable {
#ifdef __linux__
    pthread_setname_np(pthread_self(), name.substr(0, 15).c_str());
#endif
    current_group = self.get();
    body();
    body = nullptr;
    std::lock_guard lock(self->mutex_);
    --self->running_;
    self->changed_.notify_all();
  };
  SignalsBlocked blocked;
  try {
    std::thread(std::move(run)).detach();
  } catch (const std::system_error&) {
    std::lock_guard lock(mutex_);
    --running_;
    throw;
  }
}

void ThreadGroup::WaitForOthers() {
  const int own = current_group == this ? 1 : 0;
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return running_ <= own; });
}

void ThreadPool::Submit(Job job) {
  std::unique_lock lock(mutex_);
  queue_.push_back(std::move(job));
  if (idle_ >= queue_.size() || threads_ >= max_threads_) {
    wake_.notify_one();
    return;
  }
  ++threads_;
  try {
    // Under the lock: a thread that could not be started must not have been counted by anybody.
    group_->Start(name_, [self = shared_from_this()] { self->Work(); });
  } catch (const std::system_error& error) {
    if (--threads_ == 0 || max_threads_ == SIZE_MAX) {
      RuntimeRuleBroken(fmt::format("cannot start a thread for pool '{}': {}", name_, error.what()));
    }
  }
}

void ThreadPool::Stop() {
  std::lock_guard lock(mutex_);
  stopping_ = true;
  wake_.notify_all();
}

void ThreadPool::Work() {
  ContextScope scope(Context::kTask);
  std::unique_lock lock(mutex_);
  while (true) {
    if (queue_.empty()) {
      ++idle_;
      wake_.wait_for(lock, idle_life_, [this] { return stopping_ || !queue_.empty(); });
      --idle_;
      if (queue_.empty()) break;
    }
    Job job = std::move(queue_.front());
    queue_.pop_front();
    lock.unlock();
    job();
    job = nullptr;
    lock.lock();
  }
  --threads_;
}

TimerId TimerThread::At(TimePoint time, Job callback) {
  std::lock_guard lock(mutex_);
  const TimerId id = next_id_++;
  queue_.emplace(std::pair(time, id), std::move(callback));
  times_.emplace(id, time);
  if (!started_) {
    group_->Start("javelin-timer", [self = shared_from_this()] { self->Work(); });
    started_ = true;
  } else if (queue_.begin()->first.second == id) {
    wake_.notify_one();
  }
  return id;
}

bool TimerThread::Cancel(TimerId id) {
  Job dropped;  // destroyed outside the lock
  std::unique_lock lock(mutex_);
  auto found = times_.find(id);
  if (found != times_.end()) {
    auto entry = queue_.find({found->second, id});
    dropped = std::move(entry->second);
    queue_.erase(entry);
    times_.erase(found);
    return true;
  }
  if (std::this_thread::get_id() != thread_) callback_ended_.wait(lock, [&] { return running_ != id; });
  return false;
}

void TimerThread::Stop() {
  std::lock_guard lock(mutex_);
  stopping_ = true;
  wake_.notify_one();
}

void TimerThread::Work() {
  ContextScope scope(Context::kCallback);
  std::unique_lock lock(mutex_);
  thread_ = std::this_thread::get_id();
  while (!stopping_) {
    if (queue_.empty()) {
      wake_.wait(lock);
      continue;
    }
    auto first = queue_.begin();
    if (first->first.first > SteadyNow()) {
      wake_.wait_until(lock, ToSteady(first->first.first));
      continue;
    }
    running_ = first->first.second;
    Job callback = std::move(first->second);
    times_.erase(running_);
    queue_.erase(first);
    lock.unlock();
    callback();
    callback = nullptr;
    lock.lock();
    running_ = 0;
    callback_ended_.notify_all();
  }
}

}  // namespace javelin::internal
