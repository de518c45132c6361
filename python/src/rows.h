// Changes of rows by condition: delete, update.
#pragma once

#include <nanobind/nanobind.h>

namespace javelin::python {

void RegisterRows(nanobind::module_& module);

}  // namespace javelin::python
