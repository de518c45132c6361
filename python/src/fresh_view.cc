// Views over base table and shards.
#include <arrow/api.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "javelin/memwal/fresh_view.h"
#include "javelin/memwal/shard_writer.h"
#include "src/arrow_bridge.h"
#include "src/mem_wal.h"
#include "src/scan_arguments.h"

namespace javelin::python {

namespace {

using memwal::FreshView;
using View = Handle<FreshView>;

View Open(const Handle<Dataset>& self, std::optional<double> max_staleness) {
  const Dataset& dataset = *self;
  memwal::FreshOptions options;
  if (max_staleness.has_value())
    options.max_staleness = std::chrono::duration_cast<Duration>(std::chrono::duration<double>(*max_staleness));
  return View(self.session(), Unwrap(WithoutGil([&] { return FreshView::Open(dataset, options); })));
}

// Shards as Python lists them: id, and generation and folder of each SSTable.
using Snapshots = std::vector<std::pair<std::string, std::vector<std::pair<uint64_t, std::string>>>>;

std::vector<memwal::ShardSnapshot> ToSnapshots(const Snapshots& given) {
  std::vector<memwal::ShardSnapshot> snapshots;
  for (const auto& [shard, sstables] : given) {
    memwal::ShardSnapshot& snapshot = snapshots.emplace_back();
    snapshot.shard = Unwrap(table::Uuid::Parse(shard));
    for (const auto& [generation, path] : sstables) {
      snapshot.sstables.push_back({.generation = Generation(generation), .path = path});
    }
  }
  return snapshots;
}

View OpenForWriter(const Handle<memwal::ShardWriter>& self, const Snapshots& given) {
  const memwal::ShardWriter& writer = *self;
  const auto others = ToSnapshots(given);
  return View(self.session(), Unwrap(WithoutGil([&] { return FreshView::OpenForWriter(writer, others); })));
}

View OfSnapshots(const Handle<Dataset>& self, const Snapshots& given) {
  const auto snapshots = ToSnapshots(given);
  const auto base = self.object();
  Check(self.session()->runtime().CheckProcess());
  return View(self.session(), Unwrap(WithoutGil([&] { return FreshView::OfSnapshots(base, snapshots); })));
}

PyBatch Get(const View& self, const nb::object& keys, const Columns& columns) {
  const FreshView& view = *self;
  auto batch = ImportBatch(keys);
  return PyBatch{Unwrap(WithoutGil([&] { return view.Get(*batch, columns); }))};
}

nb::dict UnseenLogEntries(const View& self) {
  const FreshView& view = *self;
  nb::dict entries;
  for (const memwal::UnseenLog& log : Unwrap(WithoutGil([&] { return view.UnseenLogs(); }))) {
    entries[log.shard.ToString().c_str()] = log.entries;
  }
  return entries;
}

}  // namespace

std::vector<std::string> KeyColumns(const Dataset& dataset) {
  std::vector<std::string> names;
  for (const file::Field* field : dataset.schema().PrimaryKey()) names.push_back(field->name);
  return names;
}

void RegisterFreshView(nb::module_& module) {
  module.def("open_fresh_view", &Open, nb::arg("dataset"), nb::arg("max_staleness").none());
  module.def("open_fresh_view_for_writer", &OpenForWriter, nb::arg("writer"), nb::arg("others"));
  module.def("open_snapshot_view", &OfSnapshots, nb::arg("dataset"), nb::arg("snapshots"));
  nb::class_<View> view(module, "FreshView", "One immutable view over the base table and its shards.");
  DefineScan(view);
  DefineScan(view, "scan_with_generation", [](const FreshView& view, const ScanOptions& options) {
    return view.Scan(options, /*with_generation=*/true);
  });
  view.def("get", &Get, nb::arg("keys"), nb::arg("columns").none())
      .def("count_rows",
           [](const View& self) {
             const FreshView& view = *self;
             return Unwrap(WithoutGil([&] { return view.CountRows(); }));
           })
      .def("unseen_log_entries", &UnseenLogEntries, "Number of log entries that it does not show, by shard.")
      .def_prop_ro("schema", [](const View& self) { return PySchema{self.object()->arrow_schema()}; })
      .def_prop_ro("version", [](const View& self) { return self.object()->base().version().value(); })
      .def_prop_ro("key_columns", [](const View& self) { return self.object()->key_columns(); })
      .def_prop_ro("tiers", [](const View& self) { return self.object()->tiers(); });
}

}  // namespace javelin::python
