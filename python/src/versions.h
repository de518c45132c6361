// Versions of a table.
#pragma once

#include <nanobind/nanobind.h>

#include "javelin/dataset/dataset.h"
#include "src/handle.h"

namespace javelin::python {

void DefineVersions(nb::class_<Handle<Dataset>>& dataset);

}  // namespace javelin::python
