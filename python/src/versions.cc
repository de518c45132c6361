#include "src/versions.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "javelin/memwal/restore.h"
#include "javelin/table/manifest.h"
#include "javelin/table/versions.h"

namespace javelin::python {

namespace {

nb::dict ToDict(const table::ManifestSummary& summary) {
  nb::dict dict;
  dict["total_data_file_rows"] = summary.data_file_rows;
  dict["total_data_files"] = summary.data_files;
  dict["total_deletion_file_rows"] = summary.deleted_rows;
  dict["total_deletion_files"] = summary.deletion_files;
  dict["total_files_size"] = summary.data_file_bytes;
  dict["total_fragments"] = summary.fragments;
  dict["total_rows"] = summary.rows;
  return dict;
}

nb::tuple ToTuple(TableVersion version, int64_t timestamp_ns, const table::ManifestSummary& summary) {
  return nb::make_tuple(version.value(), timestamp_ns, ToDict(summary));
}

nb::list Versions(const Handle<Dataset>& self) {
  const Dataset& dataset = *self;
  nb::list versions;
  for (const auto& info : Unwrap(WithoutGil([&] { return dataset.Versions(); })))
    versions.append(ToTuple(info.version, info.timestamp_ns, info.summary));
  return versions;
}

nb::tuple ThisVersion(const Handle<Dataset>& self) {
  const table::Manifest& manifest = self.object()->manifest();
  return ToTuple(manifest.version, manifest.timestamp_ns, table::Summarize(manifest));
}

std::vector<uint64_t> VersionNumbers(const Handle<Dataset>& self) {
  const Dataset& dataset = *self;
  std::vector<uint64_t> numbers;
  for (const auto& name : Unwrap(WithoutGil([&] { return table::ListVersions(dataset.location()); })))
    numbers.push_back(name.version.value());
  return numbers;
}

uint64_t LatestNumber(const Handle<Dataset>& self) {
  const Dataset& dataset = *self;
  return Unwrap(WithoutGil([&] { return table::FindLatestVersion(dataset.location()); })).version.value();
}

Handle<Dataset> Restore(const Handle<Dataset>& self, bool force) {
  const Dataset& dataset = *self;
  return Handle<Dataset>(self.session(), Unwrap(WithoutGil([&] { return memwal::Restore(dataset, force); })));
}

Handle<Dataset> Latest(const Handle<Dataset>& self) {
  const Dataset& dataset = *self;
  return Handle<Dataset>(self.session(), Unwrap(WithoutGil([&] { return dataset.CheckoutLatest(); })));
}

Handle<Dataset> Unpinned(const Handle<Dataset>& self) {
  return Handle<Dataset>(self.session(), self.object()->At(self.object()->loaded()));
}

}  // namespace

void DefineVersions(nb::class_<Handle<Dataset>>& dataset) {
  dataset.def_prop_ro("version", [](const Handle<Dataset>& self) { return self.object()->version().value(); })
      .def("versions", &Versions,
           "Version, time of its commit in nanoseconds since the Unix epoch, what it holds (a dict of numbers).")
      .def_prop_ro("branch", [](const Handle<Dataset>& self) { return self.object()->manifest().branch; })
      .def_prop_ro("is_pinned", [](const Handle<Dataset>& self) { return self.object()->is_pinned(); })
      .def("this_version", &ThisVersion, "The same of this version alone.")
      .def("version_numbers", &VersionNumbers)
      .def("latest_number", &LatestNumber)
      .def("restore", &Restore, nb::arg("force"))
      .def("unpinned", &Unpinned, "The same version, as if it had been the newest when it was opened.")
      .def("latest", &Latest);
}

}  // namespace javelin::python
