// Upkeep of a table: optimize, and clean-up of old versions.
#pragma once

#include <nanobind/nanobind.h>

#include "javelin/dataset/dataset.h"
#include "src/handle.h"

namespace javelin::python {

// Before the class Dataset has methods that take options.
void RegisterOptimize(nb::module_& module);
void DefineOptimize(nb::class_<Handle<Dataset>>& dataset);
void DefineCleanup(nb::class_<Handle<Dataset>>& dataset);

}  // namespace javelin::python
