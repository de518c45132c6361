// What the two runtimes provide to the shared parts of base/runtime.cc, and the check of the waiting rules.
#pragma once

#include <memory>
#include <string>

#include "javelin/base/runtime.h"

namespace javelin::internal {

// Who runs the calling code: T (an outside thread or a task), S, C or B of base/runtime.h.
enum class Context { kOutside, kTask, kStrand, kCpuJob, kCallback };

Context CurrentContext();

// Marks the calling thread for as long as it lives.
class ContextScope {
 public:
  explicit ContextScope(Context context);
  ~ContextScope();
  ContextScope(const ContextScope&) = delete;

 private:
  Context previous_;
};

// Each ends the process with a message where the call is against the rules of base/runtime.h: waiting for other work is
// for context T, blocking (Sleep, store) for T and S, and neither while the caller holds a Mutex. While an exception
// unwinds the caller everything may wait: what it waits for unwinds too.
void RequireMayWait(const char* call);
void RequireMayBlock(const char* call);
// Ends the process: a rule of the runtime was broken by its user.
[[noreturn]] void RuntimeRuleBroken(const std::string& message);

class MutexState {
 public:
  virtual ~MutexState() = default;
  virtual void Lock() = 0;
  virtual void Unlock() = 0;
};

// What a wait without deadline and crash point is for.
enum class EndOf { kTask, kStrandJob, kCpuJobs, kTimerCallback };

class EventState {
 public:
  virtual ~EventState() = default;
  virtual void Set() = 0;
  virtual bool IsSet() const = 0;
  // False if the deadline passed first. Crash point.
  virtual bool Wait(TimePoint deadline) = 0;
  // For Join, Close, Cpu and Cancel, which destructors use. No crash point.
  virtual void WaitToEnd(EndOf what) = 0;
};

// Set once the task has ended and its function object is destroyed.
class TaskState {
 public:
  explicit TaskState(std::shared_ptr<EventState> ended) : ended_(std::move(ended)) {}
  EventState& ended() { return *ended_; }

 private:
  std::shared_ptr<EventState> ended_;
};

}  // namespace javelin::internal
