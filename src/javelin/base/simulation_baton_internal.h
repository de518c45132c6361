// Threads that run one at a time: who holds the baton runs, all others sleep.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace javelin::internal {

// One per thread. Wait returns once for each Pass; what the passer did before is seen by the waiter.
class Baton {
 public:
  void Pass();
  void Wait();

 private:
#ifdef __linux__
  std::atomic<uint32_t> passed_{0};  // also the futex word
#else
  std::mutex mutex_;
  std::condition_variable changed_;
  bool passed_ = false;
#endif
};

// A cached thread. A body runs when the baton comes, and returns the baton to pass on.
class Worker {
 public:
  using Body = std::function<std::shared_ptr<Baton>()>;

  // From a cache of the process: making a thread costs more than a whole small simulation.
  static Worker& Take(Body body);
  const std::shared_ptr<Baton>& baton() const { return baton_; }

 private:
  friend class WorkerCache;
  void Loop();

  const std::shared_ptr<Baton> baton_ = std::make_shared<Baton>();
  Body body_;  // empty = end the thread
  std::thread thread_;
};

}  // namespace javelin::internal
