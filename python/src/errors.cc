#include "src/errors.h"

#include <nanobind/stl/map.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>

namespace javelin::python {

namespace nb = nanobind;

namespace {

// Leaves the exception that javelin.errors makes of the status set in the interpreter.
void Raise(const arrow::Status& status) {
  const ErrorKind kind = KindOf(status);
  nb::object make = nb::module_::import_("javelin.errors").attr("_from_core");
  nb::object error = make(ToString(kind), status.message(), FieldsOf(status));
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(error.ptr())), error.ptr());
}

}  // namespace

void RegisterErrors(nb::module_& module) {
  nb::register_exception_translator([](const std::exception_ptr& thrown, void*) {
    try {
      std::rethrow_exception(thrown);
    } catch (const StatusError& error) {
      Raise(error.status());
    }
  });
  nb::list kinds;
  for (int number = 0; number <= static_cast<int>(ErrorKind::kInternal); ++number) {
    const auto kind = static_cast<ErrorKind>(number);
    kinds.append(nb::make_tuple(ToString(kind), IsRetryable(kind)));
  }
  module.attr("ERROR_KINDS") = nb::tuple(kinds);
}

}  // namespace javelin::python
