#include "src/rows.h"

#include <nanobind/stl/optional.h>

#include "javelin/dataset/delete_rows.h"
#include "javelin/dataset/update.h"
#include "src/arrow_bridge.h"
#include "src/scanner.h"

namespace javelin::python {

namespace {

ConflictRetry MakeRetry(int retries, int64_t timeout_ms) { return {retries, std::chrono::milliseconds(timeout_ms)}; }

nb::tuple Delete(const Handle<Dataset>& self, const std::string& predicate, int conflict_retries,
                 int64_t retry_timeout_ms) {
  const Dataset& dataset = *self;
  const ConflictRetry retry = MakeRetry(conflict_retries, retry_timeout_ms);
  auto deleted = Unwrap(WithoutGil([&] { return DeleteRows(dataset, predicate, retry); }));
  return nb::make_tuple(Handle<Dataset>(self.session(), std::move(deleted.dataset)), deleted.num_deleted_rows);
}

nb::tuple Update(const Handle<Dataset>& self, NamedSql set, const std::optional<std::string>& where,
                 const std::optional<std::string>& data_storage_version, int conflict_retries,
                 int64_t retry_timeout_ms) {
  const Dataset& dataset = *self;
  const ConflictRetry retry = MakeRetry(conflict_retries, retry_timeout_ms);
  WriteOptions options;
  if (data_storage_version.has_value())
    options.data_storage_version = Unwrap(file::ParseFileVersion(*data_storage_version));
  const std::vector<ComputedColumn> columns = ComputedColumns(std::move(set));
  auto updated = Unwrap(WithoutGil([&] { return UpdateRows(dataset, columns, where, options, retry); }));
  return nb::make_tuple(Handle<Dataset>(self.session(), std::move(updated.dataset)), updated.num_rows_updated);
}

}  // namespace

void RegisterRows(nb::module_& module) {
  module.def("delete_rows", &Delete, nb::arg("dataset"), nb::arg("predicate"), nb::arg("conflict_retries"),
             nb::arg("retry_timeout_ms"), "The version without the rows, and how many went.");
  module.def("update_rows", &Update, nb::arg("dataset"), nb::arg("set"), nb::arg("where").none(),
             nb::arg("data_storage_version").none(), nb::arg("conflict_retries"), nb::arg("retry_timeout_ms"),
             "The version with the new values, and of how many rows.");
}

}  // namespace javelin::python
