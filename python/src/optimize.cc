#include "src/optimize.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "javelin/dataset/optimize.h"

namespace javelin::python {

namespace {

// fragments_removed, fragments_added, files_removed, files_added
using Metrics = std::tuple<uint64_t, uint64_t, uint64_t, uint64_t>;
// Version read, old fragments, new ones (bytes), metrics.
using TaskResult = std::tuple<uint64_t, std::vector<uint64_t>, nb::bytes, Metrics>;

Metrics ToTuple(const OptimizeMetrics& metrics) {
  return {metrics.fragments_removed, metrics.fragments_added, metrics.files_removed, metrics.files_added};
}

OptimizeMetrics FromTuple(const Metrics& metrics) {
  return {std::get<0>(metrics), std::get<1>(metrics), std::get<2>(metrics), std::get<3>(metrics)};
}

std::vector<FragmentId> ToIds(const std::vector<uint64_t>& numbers) {
  std::vector<FragmentId> ids;
  for (const uint64_t number : numbers) ids.emplace_back(number);
  return ids;
}

std::vector<uint64_t> ToNumbers(const std::vector<FragmentId>& ids) {
  std::vector<uint64_t> numbers;
  for (const FragmentId id : ids) numbers.push_back(id.value());
  return numbers;
}

std::optional<OptimizeMode> ParseMode(const std::optional<std::string>& mode) {
  if (!mode) return std::nullopt;
  if (*mode == "reencode") return OptimizeMode::kReencode;
  if (*mode == "try_binary_copy") return OptimizeMode::kTryBinaryCopy;
  if (*mode == "force_binary_copy") return OptimizeMode::kForceBinaryCopy;
  Check(InvalidInput("compaction_mode must be 'reencode', 'try_binary_copy' or 'force_binary_copy', got '{}'", *mode));
  return std::nullopt;
}

// The tasks as lists of fragment ids.
std::vector<std::vector<uint64_t>> Plan(const Handle<Dataset>& self, const OptimizeOptions& options) {
  const Dataset& dataset = *self;
  const OptimizePlan plan = Unwrap(WithoutGil([&] { return PlanOptimize(dataset, options); }));
  std::vector<std::vector<uint64_t>> tasks;
  for (const OptimizeTask& task : plan.tasks) tasks.push_back(ToNumbers(task.fragments));
  return tasks;
}

TaskResult RunTask(const Handle<Dataset>& self, uint64_t read_version, const std::vector<uint64_t>& fragments,
                   const OptimizeOptions& options) {
  const Dataset& dataset = *self;
  const OptimizeTask task{TableVersion(read_version), ToIds(fragments)};
  const OptimizeResult result = Unwrap(WithoutGil([&] { return RunOptimizeTask(dataset, task, options); }));
  const std::string bytes = Unwrap(EncodeFragments(result.new_fragments));
  return {read_version, fragments, nb::bytes(bytes.data(), bytes.size()), ToTuple(result.metrics)};
}

// The new version, and metrics.
nb::tuple Done(const Handle<Dataset>& self, arrow::Result<Optimized> result) {
  Optimized done = Unwrap(std::move(result));
  return nb::make_tuple(Handle<Dataset>(self.session(), std::move(done.dataset)), ToTuple(done.metrics));
}

nb::tuple Commit(const Handle<Dataset>& self, const std::vector<TaskResult>& given) {
  const Dataset& dataset = *self;
  std::vector<OptimizeResult> results;
  for (const auto& [read_version, fragments, bytes, metrics] : given) {
    OptimizeResult& result = results.emplace_back();
    result.read_version = TableVersion(read_version);
    result.old_fragments = ToIds(fragments);
    result.new_fragments = Unwrap(DecodeFragments({bytes.c_str(), bytes.size()}));
    result.metrics = FromTuple(metrics);
  }
  return Done(self, WithoutGil([&] { return CommitOptimize(dataset, results); }));
}

nb::tuple Run(const Handle<Dataset>& self, const OptimizeOptions& options) {
  const Dataset& dataset = *self;
  return Done(self, WithoutGil([&] { return Optimize(dataset, options); }));
}

OptimizeOptions MakeOptions(std::optional<uint64_t> target_rows_per_fragment,
                            std::optional<uint64_t> max_bytes_per_file, std::optional<bool> materialize_deletions,
                            std::optional<double> materialize_deletions_threshold,
                            std::optional<bool> defer_index_remap, std::optional<uint64_t> batch_size,
                            const std::optional<std::string>& compaction_mode,
                            std::optional<uint64_t> max_source_fragments, std::optional<uint64_t> max_source_rows,
                            std::optional<uint64_t> max_source_bytes,
                            const std::vector<uint64_t>& excluded_fragment_ids,
                            const std::optional<std::string>& data_storage_version) {
  OptimizeOptions options;
  options.target_rows_per_fragment = target_rows_per_fragment;
  options.max_bytes_per_file = max_bytes_per_file;
  options.materialize_deletions = materialize_deletions;
  options.materialize_deletions_threshold = materialize_deletions_threshold;
  options.defer_index_remap = defer_index_remap;
  options.batch_rows = batch_size;
  options.mode = ParseMode(compaction_mode);
  options.max_source_fragments = max_source_fragments;
  options.max_source_rows = max_source_rows;
  options.max_source_bytes = max_source_bytes;
  options.excluded_fragments = ToIds(excluded_fragment_ids);
  if (data_storage_version) options.data_storage_version = Unwrap(file::ParseFileVersion(*data_storage_version));
  return options;
}

}  // namespace

void RegisterOptimize(nb::module_& module) {
  nb::class_<OptimizeOptions>(module, "OptimizeOptions",
                              "What an optimize rewrites, and how; None = the table says it.")
      .def(
          "__init__",
          [](OptimizeOptions* self, std::optional<uint64_t> target_rows, std::optional<uint64_t> max_bytes,
             std::optional<bool> materialize, std::optional<double> threshold, std::optional<bool> defer,
             std::optional<uint64_t> batch_size, const std::optional<std::string>& mode,
             std::optional<uint64_t> source_fragments, std::optional<uint64_t> source_rows,
             std::optional<uint64_t> source_bytes, const std::vector<uint64_t>& excluded,
             const std::optional<std::string>& version) {
            new (self)
                OptimizeOptions(MakeOptions(target_rows, max_bytes, materialize, threshold, defer, batch_size, mode,
                                            source_fragments, source_rows, source_bytes, excluded, version));
          },
          nb::kw_only(), nb::arg("target_rows_per_fragment") = nb::none(), nb::arg("max_bytes_per_file") = nb::none(),
          nb::arg("materialize_deletions") = nb::none(), nb::arg("materialize_deletions_threshold") = nb::none(),
          nb::arg("defer_index_remap") = nb::none(), nb::arg("batch_size") = nb::none(),
          nb::arg("compaction_mode") = nb::none(), nb::arg("max_source_fragments") = nb::none(),
          nb::arg("max_source_rows") = nb::none(), nb::arg("max_source_bytes") = nb::none(),
          nb::arg("excluded_fragment_ids") = std::vector<uint64_t>(), nb::arg("data_storage_version") = nb::none());
}

void DefineOptimize(nb::class_<Handle<Dataset>>& dataset) {
  dataset.def("plan_optimize", &Plan, nb::arg("options"), "The tasks, each as the ids of its fragments.")
      .def("run_optimize_task", &RunTask, nb::arg("read_version"), nb::arg("fragments"), nb::arg("options"),
           "Version read, old fragments, new fragments (bytes), metrics (removed and added fragments, then files).")
      .def("commit_optimize", &Commit, nb::arg("results"), "The new version, and metrics as above.")
      .def("optimize", &Run, nb::arg("options"), "The same for all steps at once.");
}

}  // namespace javelin::python
