#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "javelin/dataset/cleanup.h"
#include "src/optimize.h"

namespace javelin::python {

namespace {

nb::dict ToDict(const CleanupStats& stats) {
  nb::dict dict;
  dict["bytes_removed"] = stats.bytes_removed;
  dict["old_versions"] = stats.old_versions;
  dict["data_files_removed"] = stats.data_files_removed;
  dict["transaction_files_removed"] = stats.transaction_files_removed;
  dict["index_files_removed"] = stats.index_files_removed;
  dict["deletion_files_removed"] = stats.deletion_files_removed;
  dict["failed_deletes"] = stats.failed_deletes;
  return dict;
}

CleanupOptions MakeOptions(std::optional<int64_t> older_than_us, std::optional<uint64_t> retain_versions,
                           bool delete_unverified, bool error_if_tagged_old_versions,
                           const std::optional<std::vector<uint64_t>>& versions,
                           std::optional<uint64_t> delete_rate_limit) {
  CleanupOptions options;
  if (older_than_us) options.older_than = std::chrono::microseconds(*older_than_us);
  options.retain_versions = retain_versions;
  options.delete_unverified = delete_unverified;
  options.error_if_tagged_old_versions = error_if_tagged_old_versions;
  options.delete_rate_limit = delete_rate_limit;
  if (!versions) return options;
  options.versions.emplace();
  for (const uint64_t version : *versions) options.versions->emplace_back(version);
  return options;
}

nb::dict Clean(const Handle<Dataset>& self, std::optional<int64_t> older_than_us,
               std::optional<uint64_t> retain_versions, bool delete_unverified, bool error_if_tagged_old_versions,
               const std::optional<std::vector<uint64_t>>& versions, std::optional<uint64_t> delete_rate_limit) {
  const Dataset& dataset = *self;
  const CleanupOptions options = MakeOptions(older_than_us, retain_versions, delete_unverified,
                                             error_if_tagged_old_versions, versions, delete_rate_limit);
  return ToDict(Unwrap(WithoutGil([&] { return Cleanup(dataset, options); })));
}

// Version read, statistics, files (path, kind, unverified, bytes), branches (name, version).
nb::tuple Explain(const Handle<Dataset>& self, std::optional<int64_t> older_than_us,
                  std::optional<uint64_t> retain_versions, bool delete_unverified, bool error_if_tagged_old_versions,
                  const std::optional<std::vector<uint64_t>>& versions, uint64_t max_files) {
  const Dataset& dataset = *self;
  const CleanupOptions options = MakeOptions(older_than_us, retain_versions, delete_unverified,
                                             error_if_tagged_old_versions, versions, std::nullopt);
  const CleanupPlan plan = Unwrap(WithoutGil([&] { return PlanCleanup(dataset, options); }));
  nb::list files, branches;
  for (const CleanupFile& file : plan.files) {
    if (files.size() == max_files) break;
    const std::string_view kind = ToString(file.kind);
    files.append(nb::make_tuple(file.path, nb::str(kind.data(), kind.size()), file.unverified, file.bytes));
  }
  for (const CleanupPlan::Branch& branch : plan.branches)
    branches.append(nb::make_tuple(branch.name, branch.version.value()));
  return nb::make_tuple(plan.read_version.value(), ToDict(plan.stats), files, plan.files.size(), branches);
}

}  // namespace

void DefineCleanup(nb::class_<Handle<Dataset>>& dataset) {
  dataset
      .def("cleanup", &Clean, nb::kw_only(), nb::arg("older_than_us").none(), nb::arg("retain_versions").none(),
           nb::arg("delete_unverified"), nb::arg("error_if_tagged_old_versions"), nb::arg("versions").none(),
           nb::arg("delete_rate_limit").none(), "Statistics as a dict.")
      .def("explain_cleanup", &Explain, nb::kw_only(), nb::arg("older_than_us").none(),
           nb::arg("retain_versions").none(), nb::arg("delete_unverified"), nb::arg("error_if_tagged_old_versions"),
           nb::arg("versions").none(), nb::arg("max_files"),
           "Version read, statistics (dict), up to `max_files` files (path, kind, unverified, bytes), how many there "
           "are, branches (name, version).");
}

}  // namespace javelin::python
