// Threads of the thread runtime: pools that grow on demand, and the one timer thread.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "javelin/base/runtime.h"

namespace javelin::internal {

// Starts detached threads and counts those that still run. Detached, because the last reference to a runtime may be
// dropped by one of its own threads, which cannot join itself.
class ThreadGroup : public std::enable_shared_from_this<ThreadGroup> {
 public:
  // Throws std::system_error if the machine has no thread left.
  void Start(const std::string& name, std::function<void()> body);
  // Waits for all threads of the group except the calling one.
  void WaitForOthers();

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int running_ = 0;  // guarded by mutex_
};

// Runs jobs in order of arrival; grows when no thread is idle, up to `max_threads`; a thread idle for `idle_life` ends.
class ThreadPool : public std::enable_shared_from_this<ThreadPool> {
 public:
  ThreadPool(std::shared_ptr<ThreadGroup> group, std::string name, size_t max_threads, Duration idle_life)
      : group_(std::move(group)), name_(std::move(name)), max_threads_(max_threads), idle_life_(idle_life) {}
  void Submit(Job job);
  // Threads end once the queue is empty. Does not wait for them.
  void Stop();

 private:
  void Work();

  const std::shared_ptr<ThreadGroup> group_;
  const std::string name_;
  const size_t max_threads_;
  const Duration idle_life_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<Job> queue_;  // all below guarded by mutex_
  size_t threads_ = 0;
  size_t idle_ = 0;
  bool stopping_ = false;
};

// Calls back in order of (time, id), one at a time.
class TimerThread : public std::enable_shared_from_this<TimerThread> {
 public:
  explicit TimerThread(std::shared_ptr<ThreadGroup> group) : group_(std::move(group)) {}
  TimerId At(TimePoint time, Job callback);
  bool Cancel(TimerId id);
  void Stop();

 private:
  void Work();

  const std::shared_ptr<ThreadGroup> group_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::condition_variable callback_ended_;
  std::map<std::pair<TimePoint, TimerId>, Job> queue_;  // all below guarded by mutex_
  std::map<TimerId, TimePoint> times_;
  TimerId next_id_ = 1;
  TimerId running_ = 0;
  std::thread::id thread_;
  bool started_ = false;
  bool stopping_ = false;
};

// The time line of Runtime::Now() is the steady clock.
inline std::chrono::steady_clock::time_point ToSteady(TimePoint time) {
  return std::chrono::steady_clock::time_point(time.time_since_epoch());
}
inline TimePoint SteadyNow() { return TimePoint(std::chrono::steady_clock::now().time_since_epoch()); }

}  // namespace javelin::internal
