#include "src/wake_queue.h"

#include <algorithm>

#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/vector.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "src/errors.h"

namespace javelin::python {

namespace nb = nanobind;

WakeQueue::WakeQueue() : descriptor_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
  if (descriptor_ < 0) Check(MakeError(ErrorKind::kIO, "no file descriptor is left for waking an event loop"));
}

WakeQueue::~WakeQueue() {
  Take();
  close(descriptor_);
}

void WakeQueue::Push(uint64_t key) {
  Node* before = newest_.load(std::memory_order_relaxed);
  auto* node = new Node{key, before};
  while (!newest_.compare_exchange_weak(before, node, std::memory_order_release, std::memory_order_relaxed)) {
    node->next = before;
  }
  // Whoever finds the queue empty wakes the loop; the others share that wake-up. (`node` may be gone by now.) The count
  // cannot overflow, so the write cannot fail.
  if (before == nullptr) {
    const uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = write(descriptor_, &one, sizeof(one));
  }
}

std::vector<uint64_t> WakeQueue::Take() {
  // First the descriptor, then the queue: what arrives in between makes the descriptor readable again.
  uint64_t count;
  [[maybe_unused]] const ssize_t got = read(descriptor_, &count, sizeof(count));
  std::vector<uint64_t> keys;
  for (Node* node = newest_.exchange(nullptr, std::memory_order_acquire); node != nullptr;) {
    keys.push_back(node->key);
    delete std::exchange(node, node->next);
  }
  std::reverse(keys.begin(), keys.end());
  return keys;
}

void RegisterWakeQueue(nb::module_& module) {
  nb::class_<WakeQueue>(module, "WakeQueue", "Announces finished tickets to one event loop.")
      .def(nb::init<>())
      .def("fileno", &WakeQueue::file_descriptor)
      .def("take", &WakeQueue::Take, "Keys of the tickets that are done, oldest first.");
}

}  // namespace javelin::python
