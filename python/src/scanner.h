// Scans of a dataset.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <nanobind/nanobind.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "javelin/dataset/scanner.h"

namespace javelin::python {

// Names and SQL texts, in the order of the result.
using NamedSql = std::vector<std::pair<std::string, std::string>>;
std::vector<ComputedColumn> ComputedColumns(NamedSql texts);

void RegisterScanner(nanobind::module_& module);

}  // namespace javelin::python
