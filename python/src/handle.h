// How Python holds objects of the library.
#pragma once

#include <functional>
#include <memory>
#include <utility>

#include <nanobind/nanobind.h>

#include "javelin/base/runtime.h"
#include "javelin/dataset/session.h"
#include "src/errors.h"

namespace javelin::python {

namespace nb = nanobind;

// Lets go of the GIL for a scope. When the interpreter has ended meanwhile, taking it again ends the thread (a daemon
// thread) by unwinding it, which no C++ frame above survives: such a thread then rests until the process is gone.
class GilRelease {
 public:
  GilRelease() : state_(PyEval_SaveThread()) {}
  ~GilRelease();
  GilRelease(const GilRelease&) = delete;
  GilRelease& operator=(const GilRelease&) = delete;

 private:
  PyThreadState* state_;
};

// Runs `work` without the GIL: around every call that can block or compute. A thread of the library may need the GIL to
// let go of rows that Python owns, so nothing may wait for the library while it holds the GIL. `work` must not touch
// Python.
template <typename Work>
auto WithoutGil(Work&& work) {
  GilRelease release;
  return std::forward<Work>(work)();
}

// The same where the caller may be a thread that does not hold the GIL, or knows no Python at all.
template <typename Work>
auto WithoutGilIfHeld(Work&& work) {
  if (Py_IsInitialized() && PyGILState_Check()) return WithoutGil(std::forward<Work>(work));
  return std::forward<Work>(work)();
}

// Destroys what `object` holds without the GIL if this thread has it (destructors may join threads). In a forked child
// it is left alone instead, for ever: the threads its destructor would wait for do not exist there.
void LetGo(std::shared_ptr<Session> session, std::shared_ptr<void> object);

// A shared library object together with the session that it lives in.
template <typename T>
class Handle {
 public:
  Handle(std::shared_ptr<Session> session, std::shared_ptr<T> object)
      : session_(std::move(session)), object_(std::move(object)) {}
  Handle(Handle&& other) noexcept = default;
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  ~Handle() {
    if (session_ != nullptr) LetGo(std::move(session_), std::move(object_));
  }

  // Throws Closed in a forked child.
  T& operator*() const {
    Check(session_->runtime().CheckProcess());
    return *object_;
  }
  T* operator->() const { return &**this; }
  const std::shared_ptr<Session>& session() const { return session_; }
  // Without the check of operator*: for what only reads memory.
  const std::shared_ptr<T>& object() const { return object_; }

 private:
  std::shared_ptr<Session> session_;
  std::shared_ptr<T> object_;
};

// How long a wait may keep the interpreter from looking at signals.
inline constexpr Duration kSignalCheckInterval = std::chrono::milliseconds(100);

// Runs `work` on a task of its own and waits for it so that Ctrl-C ends the wait (not the work: it goes on, and its
// result is dropped). `work` must not touch Python and must own what it uses.
template <typename T>
T WaitInSlices(const std::shared_ptr<Session>& session, std::function<arrow::Result<T>()> work) {
  Runtime& runtime = session->runtime();
  Check(runtime.CheckProcess());
  CellSetter<T> setter(runtime);
  const Cell<T> cell = setter.cell();
  runtime.Spawn("python.call", [setter = std::move(setter), work = std::move(work)] { setter.Set(work()); });
  while (!cell.IsSet()) {
    WithoutGil([&] { return cell.Get(runtime.Now() + kSignalCheckInterval).ok(); });
    if (!cell.IsSet() && PyErr_CheckSignals() != 0) throw nb::python_error();
  }
  return Unwrap(cell.Get());
}

}  // namespace javelin::python
