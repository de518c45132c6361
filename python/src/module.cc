// The extension module `_javelin_core`. Thin on purpose: names, defaults, documentation and conversions of Python data
// are those of the package `javelin`; this module only crosses the border (docs of each function: the header it calls).
#include <arrow/compute/initialize.h>
#include <nanobind/nanobind.h>

#include "src/arrow_bridge.h"
#include "src/blobs.h"
#include "src/dataset.h"
#include "src/errors.h"
#include "src/mem_wal.h"
#include "src/merge_insert.h"
#include "src/rows.h"
#include "src/scanner.h"
#include "src/wake_queue.h"

NB_MODULE(_javelin_core, module) {
  namespace python = javelin::python;
  // What a pyarrow reader or a daemon thread still holds when the interpreter ends is not freed; that is no news to a
  // user.
  nanobind::set_leak_warnings(false);
  python::RegisterErrors(module);
  python::Check(arrow::compute::Initialize());
  python::RegisterArrowBridge(module);
  python::RegisterBlobs(module);
  python::RegisterDataset(module);
  python::RegisterScanner(module);
  python::RegisterMergeInsert(module);
  python::RegisterRows(module);
  python::RegisterMemWal(module);
  python::RegisterWakeQueue(module);
  python::RegisterShardWriter(module);
  python::RegisterFreshView(module);
  python::RegisterSharding(module);
  module.attr("VERSION") = JAVELIN_VERSION;
}
