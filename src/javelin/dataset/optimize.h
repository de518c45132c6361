// Rewrites small fragments, and those with many deleted rows, into fewer and larger ones.
//
// Three steps that may run in different processes: a plan names the fragments of each task, tasks run apart and write
// data files that nothing refers to, and the results of any of them are committed together. Rows keep their order,
// their row ids and their versions.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <arrow/result.h>

#include "javelin/base/ids.h"
#include "javelin/dataset/dataset.h"

namespace javelin {

// How values get from old files to new ones. Here they are always decoded and encoded again.
enum class OptimizeMode { kReencode, kTryBinaryCopy, kForceBinaryCopy };

// What is not given is what the table's config says under `lance.compaction.`, else the value named here.
struct OptimizeOptions {
  std::optional<uint64_t> target_rows_per_fragment;       // 1'048'576
  std::optional<uint64_t> max_bytes_per_file;             // that of WriteOptions
  std::optional<bool> materialize_deletions;              // true
  std::optional<double> materialize_deletions_threshold;  // 0.1: more deleted rows than this part of a fragment
  std::optional<bool> defer_index_remap;                  // false; true is NotSupported
  std::optional<uint64_t> batch_rows;                     // that of ScanOptions
  std::optional<OptimizeMode> mode;                       // kReencode; kForceBinaryCopy is NotSupported
  // Tasks, from the first on, up to these numbers of old fragments, live rows, and bytes of data files; no limit.
  std::optional<uint64_t> max_source_fragments;
  std::optional<uint64_t> max_source_rows;
  std::optional<uint64_t> max_source_bytes;
  std::optional<file::FileVersion> data_storage_version;  // of the new files; the table's own
  // Stay as they are, and fragments on either side are not put together. Unknown ones are ignored.
  std::vector<FragmentId> excluded_fragments{};
  int max_commit_retries = 20;
};

struct OptimizeMetrics {
  uint64_t fragments_removed = 0;
  uint64_t fragments_added = 0;
  uint64_t files_removed = 0;  // data and deletion files
  uint64_t files_added = 0;    // data files
  OptimizeMetrics& operator+=(const OptimizeMetrics& other);
  friend bool operator==(const OptimizeMetrics&, const OptimizeMetrics&) = default;
};

// Fragments of a version, in order, whose rows go into new ones.
struct OptimizeTask {
  TableVersion read_version;
  std::vector<FragmentId> fragments;
  friend bool operator==(const OptimizeTask&, const OptimizeTask&) = default;
};

struct OptimizePlan {
  TableVersion read_version;
  std::vector<OptimizeTask> tasks;
  OptimizeOptions options;  // with all that was not given filled in, but for limits
};

struct OptimizeResult {
  TableVersion read_version;
  std::vector<FragmentId> old_fragments;
  std::vector<table::Fragment> new_fragments;  // without ids
  OptimizeMetrics metrics;
};

// What to do with this version; no request but for fragments that do not say how many rows they have. A plan without
// tasks: there is nothing to do.
//
// InvalidInput: an option, or one of the table's config. NotSupported: an option; files of the version asked for cannot
// hold the columns; blobs inside structs or lists; rows would move that an index of the table covers.
arrow::Result<OptimizePlan> PlanOptimize(const Dataset& dataset, const OptimizeOptions& options = {});

// Writes the rows of one task; reads its version if `dataset` is another one. `options`: those of the plan. Nothing of
// the table changes; on failure the files are removed again. InvalidInput: no such fragments. Errors of PlanOptimize,
// Scan and Append. Blocks; thread-safe.
arrow::Result<OptimizeResult> RunOptimizeTask(const Dataset& dataset, const OptimizeTask& task,
                                              const OptimizeOptions& options);

struct Optimized {
  std::shared_ptr<Dataset> dataset;  // the new version; the given one if there was nothing to commit
  OptimizeMetrics metrics;
};

// Makes the results, of tasks of one plan, part of the table: two versions, of which the first takes the ids. Reads the
// version of the plan if `dataset` is another one.
//
// RetryableConflict: rows of a fragment changed since, or it was rewritten or indexed; IncompatibleConflict: the table
// was replaced. On failure the files stay, for another try or DiscardOptimized. InvalidInput: results of several
// versions, of one fragment twice, or with other rows than the fragments have; NotSupported as PlanOptimize. Blocks.
arrow::Result<Optimized> CommitOptimize(const Dataset& dataset, std::span<const OptimizeResult> results,
                                        int max_commit_retries = 20);

// Removes the files of results that will not be committed, as far as that works. Not after OutcomeUnknown.
void DiscardOptimized(const Dataset& dataset, std::span<const OptimizeResult> results);

// All of it, one task after the other. On failure, unless OutcomeUnknown, the files are removed again.
arrow::Result<Optimized> Optimize(const Dataset& dataset, const OptimizeOptions& options = {});

// The new fragments of a result as bytes, to hand it to another process; Corruption: they do not decode.
arrow::Result<std::string> EncodeFragments(const std::vector<table::Fragment>& fragments);
arrow::Result<std::vector<table::Fragment>> DecodeFragments(std::string_view bytes);

}  // namespace javelin
