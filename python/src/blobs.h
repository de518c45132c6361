// Blobs of single rows, and their bytes in batches.
#pragma once

#include <nanobind/nanobind.h>

#include "javelin/dataset/dataset.h"
#include "src/handle.h"

namespace javelin::python {

void RegisterBlobs(nb::module_& module);
void DefineBlobs(nb::class_<Handle<Dataset>>& dataset);

}  // namespace javelin::python
