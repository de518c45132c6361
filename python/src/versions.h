// Versions of a table: their numbers (versions.cc), names for them (references.cc), and what a version says about
// itself (metadata.cc).
#pragma once

#include <nanobind/nanobind.h>

#include "javelin/dataset/dataset.h"
#include "src/handle.h"

namespace javelin::python {

void DefineVersions(nb::class_<Handle<Dataset>>& dataset);
void DefineReferences(nb::class_<Handle<Dataset>>& dataset);
void DefineMetadata(nb::class_<Handle<Dataset>>& dataset);
void DefineDelta(nb::class_<Handle<Dataset>>& dataset);
// What opens a table at something other than a number.
void DefineOpenings(nb::class_<Handle<Session>>& session);

}  // namespace javelin::python
