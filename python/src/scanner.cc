#include "src/scanner.h"

#include <tuple>

#include <nanobind/stl/tuple.h>

#include "src/arrow_bridge.h"
#include "src/scan_arguments.h"

namespace javelin::python {

namespace {

using PyScanner = Handle<Scanner>;

PyScanner Make(const Handle<Dataset>& dataset, Columns columns, std::optional<NamedSql> computed,
               std::optional<std::string> filter, std::optional<uint64_t> limit, uint64_t offset, bool with_row_id,
               bool with_row_address, std::optional<uint64_t> batch_rows, std::optional<uint64_t> batch_bytes,
               std::optional<bool> late_columns, const std::vector<std::tuple<std::string, bool, bool>>& order_by,
               const std::optional<std::vector<uint64_t>>& fragments) {
  ScannerOptions options;
  options.columns = std::move(columns);
  if (computed.has_value()) options.computed = ComputedColumns(*std::move(computed));
  options.filter = std::move(filter);
  options.limit = limit;
  options.offset = offset;
  options.with_row_id = with_row_id;
  options.with_row_address = with_row_address;
  if (batch_rows.has_value()) options.batch_rows = *batch_rows;
  if (batch_bytes.has_value()) options.batch_bytes = *batch_bytes;
  if (late_columns.has_value()) options.late_columns = *late_columns ? LateColumns::kAlways : LateColumns::kNever;
  for (const auto& [column, ascending, nulls_first] : order_by)
    options.order_by.push_back({column, ascending, nulls_first});
  if (fragments.has_value()) {
    options.fragments.emplace();
    for (const uint64_t id : *fragments) options.fragments->emplace_back(id);
  }
  const Dataset& scanned = *dataset;
  auto scanner = Unwrap(WithoutGil([&] { return Scanner::Make(scanned, options); }));
  return PyScanner(dataset.session(), std::make_shared<Scanner>(std::move(scanner)));
}

PyReader ToReader(const PyScanner& self) {
  const Scanner& scanner = *self;
  return PyReader(self.session(), Unwrap(WithoutGil([&] { return scanner.ToReader(); })));
}

// Id, rows and rows deleted of each fragment.
nb::list Fragments(const Handle<Dataset>& self) {
  nb::list fragments;
  for (const table::Fragment& fragment : self.object()->manifest().fragments) {
    const uint64_t deleted = fragment.deletion_file ? fragment.deletion_file->num_deleted_rows : 0;
    fragments.append(nb::make_tuple(fragment.id.value(), fragment.physical_rows, deleted));
  }
  return fragments;
}

uint64_t CountRows(const PyScanner& self) {
  const Scanner& scanner = *self;
  return Unwrap(WithoutGil([&] { return scanner.CountRows(); }));
}

std::string Explain(const PyScanner& self, bool verbose) { return Unwrap(self->Explain(verbose)); }

std::string Analyze(const PyScanner& self) {
  const Scanner& scanner = *self;
  return Unwrap(WithoutGil([&] { return scanner.Analyze(); }));
}

}  // namespace

std::vector<ComputedColumn> ComputedColumns(NamedSql texts) {
  std::vector<ComputedColumn> columns;
  for (auto& [name, sql] : texts) columns.push_back({std::move(name), std::move(sql)});
  return columns;
}

void RegisterScanner(nb::module_& module) {
  module.def("fragments", &Fragments, nb::arg("dataset"), "Id, rows and rows deleted of each, as the manifest says.");
  module.def("scanner", &Make, nb::arg("dataset"), nb::kw_only(), nb::arg("columns") = nb::none(),
             nb::arg("computed") = nb::none(), nb::arg("filter") = nb::none(), nb::arg("limit") = nb::none(),
             nb::arg("offset") = 0, nb::arg("with_row_id") = false, nb::arg("with_row_address") = false,
             nb::arg("batch_rows") = nb::none(), nb::arg("batch_bytes") = nb::none(),
             nb::arg("late_columns") = nb::none(),
             nb::arg("order_by") = std::vector<std::tuple<std::string, bool, bool>>(),
             nb::arg("fragments") = nb::none(), "A scan that is ready to run.");
  nb::class_<PyScanner>(module, "Scanner", "A scan that is ready to run.")
      .def_prop_ro("schema", [](const PyScanner& self) { return PySchema{self.object()->schema()}; })
      .def("to_reader", &ToReader)
      .def("count_rows", &CountRows)
      .def("explain", &Explain, nb::arg("verbose"))
      .def("analyze", &Analyze);
}

}  // namespace javelin::python
