#include "javelin/dataset/delta.h"

#include <arrow/record_batch.h>
#include <nanobind/stl/string.h>

#include "src/arrow_bridge.h"
#include "src/versions.h"

namespace javelin::python {

namespace {

PyReader Delta(const Handle<Dataset>& self, const std::string& kind, uint64_t begin, uint64_t end) {
  const Dataset& dataset = *self;
  const DeltaKind wanted = kind == "inserted" ? DeltaKind::kInserted : DeltaKind::kUpdated;
  return PyReader(
      self.session(),
      Unwrap(WithoutGil([&] { return ScanDelta(dataset, wanted, TableVersion(begin), TableVersion(end)); })));
}

}  // namespace

void DefineDelta(nb::class_<Handle<Dataset>>& dataset) {
  dataset.def("delta", &Delta, nb::arg("kind"), nb::arg("begin"), nb::arg("end"),
              "Rows \"inserted\" or \"updated\" by the versions after `begin` up to `end`.");
}

}  // namespace javelin::python
