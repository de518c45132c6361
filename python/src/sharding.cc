// Schemas with field ids, and sharding specs over rows.
#include "javelin/memwal/sharding.h"

#include <arrow/api.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "javelin/dataset/dataset.h"
#include "javelin/file/schema.h"
#include "src/arrow_bridge.h"
#include "src/mem_wal.h"

namespace javelin::python {

namespace {

table::ShardingSpec ToSpec(const nb::dict& given) {
  table::ShardingSpec spec;
  spec.spec_id = nb::cast<uint32_t>(given["spec_id"]);
  for (const nb::handle item : nb::cast<nb::list>(given["fields"])) {
    const auto field = nb::cast<nb::dict>(item);
    spec.fields.push_back({.field_id = nb::cast<std::string>(field["field_id"]),
                           .source_ids = nb::cast<std::vector<int32_t>>(field["source_ids"]),
                           .transform = nb::cast<std::optional<std::string>>(field["transform"]),
                           .expression = nb::cast<std::optional<std::string>>(field["expression"]),
                           .result_type = nb::cast<std::string>(field["result_type"]),
                           .parameters = nb::cast<std::map<std::string, std::string>>(field["parameters"])});
  }
  return spec;
}

PyBatch Evaluate(const nb::object& rows, const nb::dict& given, const file::Schema& schema) {
  const table::ShardingSpec spec = ToSpec(given);
  const auto batch = ImportBatch(rows);
  return PyBatch{Unwrap(WithoutGil([&] { return memwal::EvaluateShardingSpec(spec, schema, *batch); }))};
}

std::optional<uint32_t> KeyPosition(const file::Field& field) {
  if (!field.primary_key || field.primary_key_position == 0) return std::nullopt;
  return field.primary_key_position;
}

std::vector<file::Field> PrimaryKey(const file::Schema& schema) {
  std::vector<file::Field> key;
  for (const file::Field* field : schema.PrimaryKey()) key.push_back(*field);
  return key;
}

}  // namespace

void RegisterSharding(nb::module_& module) {
  nb::class_<file::Field>(module, "TableField", "A column, or a part of one.")
      .def_prop_ro("id", [](const file::Field& self) { return self.id.value(); })
      .def_prop_ro("name", [](const file::Field& self) { return self.name; })
      .def_prop_ro("children", [](const file::Field& self) { return self.children; })
      .def_prop_ro("metadata", [](const file::Field& self) { return self.metadata; })
      .def_prop_ro("primary_key", [](const file::Field& self) { return self.primary_key; })
      .def_prop_ro("primary_key_position", &KeyPosition)
      .def_prop_ro(
          "as_schema", [](const file::Field& self) { return PySchema{arrow::schema({file::ToArrowField(self)})}; },
          "A schema of this field alone.");
  nb::class_<file::Schema>(module, "TableSchema", "The columns of a table with their ids.")
      .def_static("of_arrow",
                  [](const nb::object& schema) { return Unwrap(file::Schema::FromArrow(*ImportSchema(schema))); })
      .def_static("of_dataset", [](const Handle<Dataset>& dataset) { return dataset.object()->schema(); })
      .def_prop_ro("fields", [](const file::Schema& self) { return self.fields(); })
      .def_prop_ro("primary_key", &PrimaryKey)
      .def_prop_ro("arrow", [](const file::Schema& self) { return PySchema{self.ToArrow()}; })
      .def("__eq__", [](const file::Schema& self, const file::Schema& other) { return self == other; });
  module.def("evaluate_sharding_spec", &Evaluate, nb::arg("batch"), nb::arg("spec"), nb::arg("schema"));
}

}  // namespace javelin::python
