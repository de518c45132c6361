// Tells an event loop which tickets are done, through a file descriptor: the library's threads never take the GIL for
// it, never run Python code, and may finish after the interpreter. However many tickets one tick completes, the loop
// wakes once.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include <nanobind/nanobind.h>

namespace javelin::python {

class WakeQueue {
 public:
  WakeQueue();
  ~WakeQueue();
  WakeQueue(const WakeQueue&) = delete;
  WakeQueue& operator=(const WakeQueue&) = delete;

  // Readable while something is queued. Belongs to this object.
  int file_descriptor() const { return descriptor_; }
  // Any thread; no lock, no wait.
  void Push(uint64_t key);
  // Everything queued so far, oldest first. One consumer.
  std::vector<uint64_t> Take();

 private:
  struct Node {
    uint64_t key;
    Node* next;
  };
  std::atomic<Node*> newest_{nullptr};
  int descriptor_;
};

void RegisterWakeQueue(nanobind::module_& module);

}  // namespace javelin::python
