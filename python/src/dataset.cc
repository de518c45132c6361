#include "src/dataset.h"

#include <arrow/api.h>
#include <nanobind/stl/map.h>

#include "javelin/dataset/dataset.h"
#include "javelin/table/manifest.h"
#include "src/arrow_bridge.h"
#include "src/blobs.h"
#include "src/optimize.h"
#include "src/scan_arguments.h"
#include "src/uint64_memory.h"
#include "src/versions.h"

namespace javelin::python {

namespace {

using StorageOptions = std::map<std::string, std::string>;

WriteMode ParseMode(const std::string& mode) {
  if (mode == "create") return WriteMode::kCreate;
  if (mode == "append") return WriteMode::kAppend;
  if (mode == "overwrite") return WriteMode::kOverwrite;
  Check(InvalidInput("mode must be 'create', 'append' or 'overwrite', got '{}'", mode));
  return WriteMode::kCreate;
}

Handle<Dataset> Open(const Handle<Session>& session, const std::string& uri, std::optional<uint64_t> version,
                     const StorageOptions& storage_options) {
  Check(session.session()->runtime().CheckProcess());
  OpenOptions options;
  if (version.has_value()) options.version = TableVersion(*version);
  options.storage_options = storage_options;
  auto dataset = WithoutGil([&] { return Dataset::Open(session.session(), uri, options); });
  return Handle<Dataset>(session.session(), Unwrap(std::move(dataset)));
}

// Append to a table that is not there creates it, as with the released package. Nobody else's data is at risk: the
// first attempt read nothing of `source`, and a create that meets another creator appends after all.
arrow::Result<std::shared_ptr<Dataset>> WriteOrCreate(const std::shared_ptr<Session>& session, const std::string& uri,
                                                      SourceReader& source, WriteOptions options) {
  auto written = Dataset::Write(session, uri, source, options);
  if (options.mode != WriteMode::kAppend || source.touched() || !HasKind(written.status(), ErrorKind::kNotFound)) {
    return written;
  }
  options.mode = WriteMode::kCreate;
  auto created = Dataset::Write(session, uri, source, options);
  if (source.touched() || !HasKind(created.status(), ErrorKind::kAlreadyExists)) return created;
  options.mode = WriteMode::kAppend;
  return Dataset::Write(session, uri, source, options);
}

WriteOptions MakeWriteOptions(const std::string& mode, const std::optional<std::string>& data_storage_version,
                              uint64_t max_rows_per_file, uint64_t max_bytes_per_file, bool enable_v2_manifest_paths,
                              const StorageOptions& storage_options) {
  WriteOptions options;
  options.mode = ParseMode(mode);
  if (data_storage_version.has_value())
    options.data_storage_version = Unwrap(file::ParseFileVersion(*data_storage_version));
  options.max_rows_per_file = max_rows_per_file;
  options.max_bytes_per_file = max_bytes_per_file;
  options.enable_v2_manifest_paths = enable_v2_manifest_paths;
  options.storage_options = storage_options;
  return options;
}

Handle<Dataset> Write(const Handle<Session>& session, const std::string& uri, const nb::object& data,
                      const WriteOptions& options) {
  Check(session.session()->runtime().CheckProcess());
  auto source = ImportStream(data);
  auto written = WithoutGil([&] { return WriteOrCreate(session.session(), uri, *source, options); });
  return Handle<Dataset>(session.session(), Unwrap(std::move(written)));
}

// Against the version of the handle: a conflict with what was committed since is an error.
Handle<Dataset> WriteNext(const Handle<Dataset>& self, const nb::object& data, const WriteOptions& options) {
  const Dataset& dataset = *self;
  if (options.mode == WriteMode::kCreate) {
    Check(AlreadyExists(
        "there is already a table at '{}'; add rows with mode \"append\" or replace them with \"overwrite\"",
        dataset.uri()));
  }
  auto source = ImportStream(data);
  auto written = WithoutGil([&] {
    return options.mode == WriteMode::kAppend ? dataset.Append(*source, options) : dataset.Overwrite(*source, options);
  });
  return Handle<Dataset>(self.session(), Unwrap(std::move(written)));
}

// A list or tuple of ints as the bytes of uint64, in one pass; None if one of them is anything else or out of range.
nb::object WholeNumbers(const nb::object& items) {
  const auto sequence = nb::steal(PySequence_Fast(items.ptr(), "row numbers must be a list or tuple"));
  if (!sequence.is_valid()) throw nb::python_error();
  const Py_ssize_t count = PySequence_Fast_GET_SIZE(sequence.ptr());
  nb::object bytes = nb::steal(PyBytes_FromStringAndSize(nullptr, count * static_cast<Py_ssize_t>(sizeof(uint64_t))));
  if (!bytes.is_valid()) throw nb::python_error();
  char* target = PyBytes_AS_STRING(bytes.ptr());
  PyObject** const all = PySequence_Fast_ITEMS(sequence.ptr());
  for (Py_ssize_t i = 0; i < count; ++i, target += sizeof(uint64_t)) {
    const unsigned long long number = PyLong_CheckExact(all[i]) ? PyLong_AsUnsignedLongLong(all[i]) : ~0ull;
    if (number == ~0ull) {  // may be right all the same: who asked looks again
      PyErr_Clear();
      return nb::none();
    }
    std::memcpy(target, &number, sizeof(uint64_t));
  }
  return bytes;
}

PyBatch Take(const Handle<Dataset>& self, const nb::object& rows, const Columns& columns) {
  const Dataset& dataset = *self;
  const UInt64Memory numbers(rows);
  const std::span<const uint64_t> values = numbers.values();
  return PyBatch{Unwrap(WithoutGil([&] { return dataset.Take(values, columns); }))};
}

}  // namespace

void RegisterDataset(nb::module_& module) {
  module.def("whole_numbers", &WholeNumbers, nb::arg("items"),
             "A list or tuple of ints as the bytes of uint64; None if one of them is anything else or out of range.");
  nb::class_<WriteOptions>(module, "WriteOptions", "How rows are written.")
      .def(
          "__init__",
          [](WriteOptions* self, const std::string& mode, const std::optional<std::string>& data_storage_version,
             uint64_t max_rows_per_file, uint64_t max_bytes_per_file, bool enable_v2_manifest_paths,
             const StorageOptions& storage_options) {
            new (self) WriteOptions(MakeWriteOptions(mode, data_storage_version, max_rows_per_file, max_bytes_per_file,
                                                     enable_v2_manifest_paths, storage_options));
          },
          nb::kw_only(), nb::arg("mode"), nb::arg("data_storage_version").none(), nb::arg("max_rows_per_file"),
          nb::arg("max_bytes_per_file"), nb::arg("enable_v2_manifest_paths"), nb::arg("storage_options"));

  nb::class_<Handle<Session>> session(module, "Session", "Threads, stores and caches that datasets share.");
  session
      .def(
          "__init__",
          [](Handle<Session>* self, int64_t memory_limit_bytes) {
            auto session = WithoutGil(
                [&] { return std::make_shared<Session>(MakeResources(MakeThreadRuntime(), memory_limit_bytes)); });
            new (self) Handle<Session>(session, session);
          },
          nb::arg("memory_limit_bytes"), "0 = the library's choice")
      .def_prop_ro("memory_limit_bytes",
                   [](const Handle<Session>& self) { return self.object()->resources().memory->limit(); })
      .def_prop_ro("memory_used_bytes",
                   [](const Handle<Session>& self) { return self.object()->resources().memory->used(); })
      .def("open", &Open, nb::arg("uri"), nb::arg("version").none(), nb::arg("storage_options"))
      .def("write", &Write, nb::arg("uri"), nb::arg("data"), nb::arg("options"));
  DefineOpenings(session);

  RegisterOptimize(module);
  nb::class_<Handle<Dataset>> dataset(module, "Dataset", "One version of a table.");
  DefineScan(dataset);
  dataset.def_prop_ro("uri", [](const Handle<Dataset>& self) { return self.object()->uri(); })
      .def_prop_ro("schema", [](const Handle<Dataset>& self) { return PySchema{self.object()->arrow_schema()}; })
      .def_prop_ro("data_storage_version",
                   [](const Handle<Dataset>& self) { return self.object()->manifest().data_format_version; })
      .def("write", &WriteNext, nb::arg("data"), nb::arg("options"))
      .def("count_rows",
           [](const Handle<Dataset>& self) {
             const Dataset& dataset = *self;
             return Unwrap(WithoutGil([&] { return dataset.CountRows(); }));
           })
      .def("take", &Take, nb::arg("rows"), nb::arg("columns").none(), "`rows`: memory of uint64 (buffer protocol).");
  DefineBlobs(dataset);
  DefineVersions(dataset);
  DefineReferences(dataset);
  DefineMetadata(dataset);
  DefineDelta(dataset);
  DefineOptimize(dataset);
  DefineCleanup(dataset);
}

}  // namespace javelin::python
