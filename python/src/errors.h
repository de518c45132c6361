// Failed statuses as Python exceptions: one class per ErrorKind, in javelin/errors.py.
#pragma once

#include <exception>
#include <string>
#include <utility>

#include <nanobind/nanobind.h>

#include "javelin/base/error.h"

namespace javelin::python {

// Carries a failed status through nanobind, whose translator (RegisterErrors) raises it.
class StatusError final : public std::exception {
 public:
  explicit StatusError(arrow::Status status) : status_(std::move(status)), text_(status_.message()) {}
  const char* what() const noexcept override { return text_.c_str(); }
  const arrow::Status& status() const { return status_; }

 private:
  arrow::Status status_;
  std::string text_;
};

inline void Check(const arrow::Status& status) {
  if (!status.ok()) throw StatusError(status);
}

template <typename T>
T Unwrap(arrow::Result<T> result) {
  Check(result.status());
  return std::move(result).ValueUnsafe();
}

// Installs the translator and adds ERROR_KINDS, a tuple of (kind, retryable), to the module.
void RegisterErrors(nanobind::module_& module);

}  // namespace javelin::python
