#include "javelin/base/simulation_baton_internal.h"

#ifdef __linux__
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

#include <utility>

namespace javelin::internal {

#ifdef __linux__
void Baton::Pass() {
  passed_.store(1, std::memory_order_release);
  ::syscall(SYS_futex, &passed_, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
}

void Baton::Wait() {
  while (passed_.exchange(0, std::memory_order_acquire) == 0) {
    ::syscall(SYS_futex, &passed_, FUTEX_WAIT_PRIVATE, 0, nullptr, nullptr, 0);
  }
}
#else
void Baton::Pass() {
  std::lock_guard lock(mutex_);
  passed_ = true;
  changed_.notify_one();
}

void Baton::Wait() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return passed_; });
  passed_ = false;
}
#endif

class WorkerCache {
 public:
  static WorkerCache& Instance() {
    static WorkerCache cache;
    return cache;
  }

  ~WorkerCache() {
    for (const auto& worker : workers_) {
      worker->baton_->Pass();
      worker->thread_.join();
    }
  }

  Worker& Take(Worker::Body body) {
    std::lock_guard lock(mutex_);
    if (idle_.empty()) {
      workers_.push_back(std::make_unique<Worker>());
      idle_.push_back(workers_.back().get());
      idle_.back()->thread_ = std::thread([worker = idle_.back()] { worker->Loop(); });
    }
    Worker& worker = *idle_.back();
    idle_.pop_back();
    worker.body_ = std::move(body);
    return worker;
  }

  void Return(Worker& worker) {
    std::lock_guard lock(mutex_);
    idle_.push_back(&worker);
  }

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<Worker>> workers_;  // guarded by mutex_
  std::vector<Worker*> idle_;                     // guarded by mutex_
};

Worker& Worker::Take(Body body) { return WorkerCache::Instance().Take(std::move(body)); }

void Worker::Loop() {
  while (true) {
    baton_->Wait();
    if (!body_) return;
    const std::shared_ptr<Baton> next = std::exchange(body_, nullptr)();
    // Returned before the baton goes on, so that the next holder can already use this thread.
    WorkerCache::Instance().Return(*this);
    next->Pass();
  }
}

}  // namespace javelin::internal
