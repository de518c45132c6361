#include "javelin/dataset/metadata.h"

#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include "src/versions.h"

namespace javelin::python {

namespace {

using Texts = std::map<std::string, std::string>;
using Updates = std::map<std::string, std::optional<std::string>>;

Handle<Dataset> Change(const Handle<Dataset>& self, const MetadataChange& change) {
  const Dataset& dataset = *self;
  return Handle<Dataset>(self.session(), Unwrap(WithoutGil([&] { return ChangeMetadata(dataset, change); })));
}

Handle<Dataset> UpdateConfig(const Handle<Dataset>& self, const Updates& values, bool replace) {
  MetadataChange change;
  change.config = table::MapUpdate{values, replace};
  return Change(self, change);
}

Handle<Dataset> UpdateMetadata(const Handle<Dataset>& self, const Updates& values, bool replace) {
  MetadataChange change;
  change.table_metadata = table::MapUpdate{values, replace};
  return Change(self, change);
}

Handle<Dataset> UpdateSchemaMetadata(const Handle<Dataset>& self, const Updates& values, bool replace) {
  MetadataChange change;
  change.schema_metadata = table::MapUpdate{values, replace};
  return Change(self, change);
}

Handle<Dataset> UpdateFieldMetadata(const Handle<Dataset>& self, const std::map<std::string, Updates>& fields,
                                    bool replace) {
  MetadataChange change;
  for (const auto& [path, values] : fields) change.field_metadata[path] = table::MapUpdate{values, replace};
  return Change(self, change);
}

}  // namespace

void DefineMetadata(nb::class_<Handle<Dataset>>& dataset) {
  dataset.def("config", [](const Handle<Dataset>& self) { return Texts(self.object()->manifest().config); })
      .def("metadata", [](const Handle<Dataset>& self) { return Texts(self.object()->manifest().table_metadata); })
      .def("schema_metadata", [](const Handle<Dataset>& self) { return Texts(self.object()->schema().metadata()); })
      .def("update_config", &UpdateConfig, nb::arg("values"), nb::arg("replace"))
      .def("update_metadata", &UpdateMetadata, nb::arg("values"), nb::arg("replace"))
      .def("update_schema_metadata", &UpdateSchemaMetadata, nb::arg("values"), nb::arg("replace"))
      .def("update_field_metadata", &UpdateFieldMetadata, nb::arg("fields"), nb::arg("replace"));
}

}  // namespace javelin::python
