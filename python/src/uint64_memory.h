// Numbers that cross as memory, without an object each.
#pragma once

#include <cstdint>
#include <span>

#include "src/handle.h"

namespace javelin::python {

// Memory of uint64 that a Python object shows while this lives.
class UInt64Memory {
 public:
  explicit UInt64Memory(const nb::object& source) {
    if (PyObject_GetBuffer(source.ptr(), &view_, PyBUF_SIMPLE) != 0) throw nb::python_error();
  }
  ~UInt64Memory() { PyBuffer_Release(&view_); }
  UInt64Memory(const UInt64Memory&) = delete;
  UInt64Memory& operator=(const UInt64Memory&) = delete;
  std::span<const uint64_t> values() const {
    const auto size = static_cast<size_t>(view_.len);
    if (size == 0) return {};
    if (size % sizeof(uint64_t) != 0 || reinterpret_cast<uintptr_t>(view_.buf) % alignof(uint64_t) != 0)
      Check(InvalidInput("row numbers must be aligned memory of uint64, got {} bytes", size));
    return {static_cast<const uint64_t*>(view_.buf), size / sizeof(uint64_t)};
  }

 private:
  Py_buffer view_;
};

}  // namespace javelin::python
