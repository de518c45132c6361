// Merges of rows by key.
#pragma once

#include <nanobind/nanobind.h>

namespace javelin::python {

void RegisterMergeInsert(nanobind::module_& module);

}  // namespace javelin::python
