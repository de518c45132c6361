// The arguments of every scan, as the package passes them down.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "javelin/dataset/dataset.h"
#include "src/arrow_bridge.h"

namespace javelin::python {

using Columns = std::optional<std::vector<std::string>>;

// Binds `name(columns, limit, offset, with_row_id, with_row_address, batch_rows, batch_bytes) -> Reader` to a class of
// Handle<Scanned>; `run(scanned, options)` makes the reader, without the GIL.
template <typename Scanned, typename Run>
void DefineScan(nb::class_<Handle<Scanned>>& type, const char* name, Run run) {
  type.def(
      name,
      [run](const Handle<Scanned>& self, Columns columns, std::optional<uint64_t> limit, uint64_t offset,
            bool with_row_id, bool with_row_address, std::optional<uint64_t> batch_rows,
            std::optional<uint64_t> batch_bytes) {
        ScanOptions options;
        options.columns = std::move(columns);
        options.limit = limit;
        options.offset = offset;
        options.with_row_id = with_row_id;
        options.with_row_address = with_row_address;
        if (batch_rows.has_value()) options.batch_rows = *batch_rows;
        if (batch_bytes.has_value()) options.batch_bytes = *batch_bytes;
        const Scanned& scanned = *self;
        return PyReader(self.session(), Unwrap(WithoutGil([&] { return run(scanned, options); })));
      },
      nb::kw_only(), nb::arg("columns") = nb::none(), nb::arg("limit") = nb::none(), nb::arg("offset") = 0,
      nb::arg("with_row_id") = false, nb::arg("with_row_address") = false, nb::arg("batch_rows") = nb::none(),
      nb::arg("batch_bytes") = nb::none());
}

template <typename Scanned>
void DefineScan(nb::class_<Handle<Scanned>>& type) {
  DefineScan(type, "scan", [](const Scanned& scanned, const ScanOptions& options) { return scanned.Scan(options); });
}

}  // namespace javelin::python
