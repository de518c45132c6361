#include "src/merge_insert.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "javelin/dataset/merge_insert.h"
#include "src/arrow_bridge.h"
#include "src/errors.h"

namespace javelin::python {

namespace {

WhenMatched ParseWhenMatched(const std::string& name) {
  if (name == "nothing") return WhenMatched::kDoNothing;
  if (name == "update") return WhenMatched::kUpdateAll;
  if (name == "delete") return WhenMatched::kDelete;
  if (name == "fail") return WhenMatched::kFail;
  Check(InvalidInput("when_matched must be 'nothing', 'update', 'delete' or 'fail', got '{}'", name));
  return WhenMatched::kDoNothing;
}

nb::tuple Merge(const Handle<Dataset>& self, const nb::object& data, std::vector<std::string> on,
                const std::string& when_matched, std::optional<std::string> update_condition, bool inserts_not_matched,
                bool deletes_not_matched_by_source, std::optional<std::string> delete_condition,
                const std::optional<std::string>& data_storage_version, int conflict_retries,
                int64_t retry_timeout_ms) {
  const Dataset& dataset = *self;
  MergeInsertOptions options{.on = std::move(on),
                             .when_matched = ParseWhenMatched(when_matched),
                             .update_condition = std::move(update_condition),
                             .inserts_not_matched = inserts_not_matched,
                             .deletes_not_matched_by_source = deletes_not_matched_by_source,
                             .delete_condition = std::move(delete_condition)};
  if (data_storage_version.has_value())
    options.write.data_storage_version = Unwrap(file::ParseFileVersion(*data_storage_version));
  const ConflictRetry retry{conflict_retries, std::chrono::milliseconds(retry_timeout_ms)};
  const std::unique_ptr<SourceReader> source = ImportStream(data);
  auto merged = Unwrap(WithoutGil([&] { return MergeInsert(dataset, *source, options, retry); }));
  return nb::make_tuple(Handle<Dataset>(self.session(), std::move(merged.dataset)), merged.num_inserted_rows,
                        merged.num_updated_rows, merged.num_deleted_rows);
}

}  // namespace

void RegisterMergeInsert(nb::module_& module) {
  module.def("merge_insert", &Merge, nb::arg("dataset"), nb::arg("data"), nb::arg("on"), nb::kw_only(),
             nb::arg("when_matched"), nb::arg("update_condition").none(), nb::arg("inserts_not_matched"),
             nb::arg("deletes_not_matched_by_source"), nb::arg("delete_condition").none(),
             nb::arg("data_storage_version").none(), nb::arg("conflict_retries"), nb::arg("retry_timeout_ms"),
             "The version with the rows merged, and how many were inserted, updated and deleted.");
}

}  // namespace javelin::python
