// Sessions and datasets.
#pragma once

#include <nanobind/nanobind.h>

namespace javelin::python {

void RegisterDataset(nanobind::module_& module);

}  // namespace javelin::python
