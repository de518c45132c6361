#include "src/versions.h"

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

nb::list Versions(const Handle<Dataset>& self) {
  const Dataset& dataset = *self;
  nb::list versions;
  for (const auto& info : Unwrap(WithoutGil([&] { return dataset.Versions(); }))) {
    versions.append(nb::make_tuple(info.version.value(), info.timestamp_ns, ToDict(info.summary)));
  }
  return versions;
}

Handle<Dataset> Checkout(const Handle<Dataset>& self, uint64_t version) {
  const Dataset& dataset = *self;
  return Handle<Dataset>(self.session(), Unwrap(WithoutGil([&] { return dataset.Checkout(TableVersion(version)); })));
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
      .def_prop_ro("is_pinned", [](const Handle<Dataset>& self) { return self.object()->is_pinned(); })
      .def("checkout", &Checkout, nb::arg("version"))
      .def("unpinned", &Unpinned, "The same version, as if it had been the newest when it was opened.")
      .def("latest", &Latest);
}

}  // namespace javelin::python
