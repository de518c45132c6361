// Which fragments an optimize puts together.
#include <set>

#include "javelin/base/error.h"
#include "javelin/dataset/fragment_rows_internal.h"
#include "javelin/dataset/optimize.h"
#include "javelin/dataset/optimize_internal.h"
#include "javelin/dataset/write_internal.h"
#include "javelin/file/blob_field.h"
#include "javelin/table/index_entry.h"

namespace javelin {

namespace internal {

namespace {

using table::OffsetSet;

// ---- indexes ----

// Also indexes of stable row ids: of rows whose fragments are gone the released reader answers nothing.
arrow::Status CheckIndexLetsMove(const table::IndexEntry& index, const OffsetSet& fragments) {
  const char* advice =
      "drop the index first, leave its fragments out (excluded_fragment_ids), or optimize with the released package";
  if (index.name == table::kFragmentReuseIndexName)
    return NotSupported("the table keeps a map of rows that moved ('{}'), which optimizing does not continue; {}",
                        index.name, advice);
  const std::optional<OffsetSet> coverage = table::CoverageOf(index);
  if (!coverage)
    return NotSupported("index '{}' does not say which fragments it covers, so their rows cannot move; {}", index.name,
                        advice);
  if (!coverage->Intersects(fragments)) return arrow::Status::OK();
  return NotSupported("index '{}' covers these fragments, and would not find their rows where they go; {}", index.name,
                      advice);
}

// ---- fragments ----

struct Candidate {
  const table::Fragment* fragment = nullptr;
  uint64_t live_rows = 0;
  uint64_t bytes = 0;  // of data files, as far as the manifest says
  bool alone = false;  // worth a rewrite by itself; else only together with a neighbour
};

// Neighbours that may go into one task.
using Bin = std::vector<Candidate>;

class Planner {
 public:
  Planner(const DatasetState& table, const OptimizeOptions& options) : table_(table), options_(options) {
    for (const table::IndexEntry& index : manifest().indices) {
      const auto coverage = table::IsSystemIndex(index) ? std::nullopt : table::CoverageOf(index);
      if (coverage) coverages_.push_back(*coverage);
    }
    excluded_.insert(options.excluded_fragments.begin(), options.excluded_fragments.end());
  }

  arrow::Result<std::vector<OptimizeTask>> Run() {
    for (const table::Fragment& fragment : manifest().fragments) ARROW_RETURN_NOT_OK(Add(fragment));
    EndBin();
    return std::move(tasks_);
  }

 private:
  const table::Manifest& manifest() const { return table_.manifest(); }

  arrow::Status Add(const table::Fragment& fragment) {
    ARROW_ASSIGN_OR_RAISE(const std::optional<Candidate> candidate, Judge(fragment));
    std::vector<bool> covered;
    for (const OffsetSet& coverage : coverages_)
      covered.push_back(coverage.Contains(static_cast<uint32_t>(fragment.id.value())));
    // A group of old fragments must be known to each index as a whole, or not at all.
    if (!candidate || covered != covered_) EndBin();
    covered_ = std::move(covered);
    if (candidate) bin_.push_back(*candidate);
    return arrow::Status::OK();
  }

  arrow::Result<std::optional<Candidate>> Judge(const table::Fragment& fragment) const {
    if (excluded_.contains(fragment.id)) return std::nullopt;
    Candidate candidate{.fragment = &fragment};
    ARROW_ASSIGN_OR_RAISE(candidate.live_rows, CountLiveRows(table_, fragment));
    uint64_t physical = fragment.physical_rows;
    if (physical == 0) {
      ARROW_ASSIGN_OR_RAISE(const FragmentRows rows, FragmentRows::Load(table_, fragment));
      physical = rows.physical();
    }
    for (const table::DataFile& file : fragment.files) candidate.bytes += file.size_bytes;
    const uint64_t deleted = physical - candidate.live_rows;
    candidate.alone =
        *options_.materialize_deletions && deleted > 0 &&
        static_cast<double>(deleted) / static_cast<double>(physical) > *options_.materialize_deletions_threshold;
    if (!candidate.alone && physical >= *options_.target_rows_per_fragment) return std::nullopt;
    return candidate;
  }

  void EndBin() {
    // Whatever is in front of `first` has become a task. Each takes what fills a fragment; the last one also what
    // would not fill another.
    Bin bin = std::exchange(bin_, {});
    uint64_t rows_left = 0, bytes_left = 0;
    for (const Candidate& candidate : bin) {
      rows_left += candidate.live_rows;
      bytes_left += candidate.bytes;
    }
    for (size_t first = 0; first < bin.size();) {
      uint64_t rows = 0, bytes = 0;
      size_t end = first;
      for (; end < bin.size() && !IsFull(rows, bytes); ++end) {
        rows += bin[end].live_rows;
        bytes += bin[end].bytes;
      }
      if (!IsFull(rows_left - rows, bytes_left - bytes)) end = bin.size();
      AddTask({bin.begin() + static_cast<ptrdiff_t>(first), bin.begin() + static_cast<ptrdiff_t>(end)});
      rows_left -= rows;
      bytes_left -= bytes;
      first = end;
    }
  }

  bool IsFull(uint64_t rows, uint64_t bytes) const {
    return rows >= *options_.target_rows_per_fragment || bytes >= *options_.max_bytes_per_file;
  }

  // Fewer files come of it, or files without deleted rows.
  bool IsWorthIt(const Bin& bin) const {
    if (std::any_of(bin.begin(), bin.end(), [](const Candidate& candidate) { return candidate.alone; })) return true;
    uint64_t bytes = 0;
    for (const Candidate& candidate : bin) bytes += candidate.bytes;
    const uint64_t most = *options_.max_bytes_per_file;
    return bin.size() > 1 && bytes / most + (bytes % most != 0) < bin.size();
  }

  // Unless it goes beyond what one run may take; then those behind it do not come either.
  void AddTask(const Bin& bin) {
    if (!IsWorthIt(bin)) return;
    fragments_ += bin.size();
    for (const Candidate& candidate : bin) {
      rows_ += candidate.live_rows;
      bytes_ += candidate.bytes;
    }
    if (fragments_ > options_.max_source_fragments.value_or(UINT64_MAX) ||
        rows_ > options_.max_source_rows.value_or(UINT64_MAX) ||
        bytes_ > options_.max_source_bytes.value_or(UINT64_MAX))
      return;
    OptimizeTask& task = tasks_.emplace_back();
    task.read_version = manifest().version;
    for (const Candidate& candidate : bin) task.fragments.push_back(candidate.fragment->id);
  }

  const DatasetState& table_;
  const OptimizeOptions& options_;
  std::vector<OffsetSet> coverages_;  // of the indexes that say it
  std::set<FragmentId> excluded_;
  Bin bin_;                    // that goes on
  std::vector<bool> covered_;  // by which of the indexes its fragments are
  std::vector<OptimizeTask> tasks_;
  uint64_t fragments_ = 0, rows_ = 0, bytes_ = 0;  // of the tasks
};

arrow::Status CheckColumnsCanMove(const DatasetState& table, const OptimizeOptions& options) {
  const file::Schema& schema = table.manifest().schema;
  for (const file::Field& field : schema.fields()) {
    if (file::HoldsBlobs(field) && file::BlobKindOf(field) == file::BlobKind::kNone)
      return NotSupported("column '{}' has blobs inside, whose bytes cannot be moved; drop it first", field.name);
  }
  return CheckAppendable(table, schema, {.data_storage_version = options.data_storage_version}).status();
}

}  // namespace

arrow::Status CheckIndexesLetMove(const DatasetState& table, const std::vector<FragmentId>& fragments) {
  if (fragments.empty()) return arrow::Status::OK();
  std::vector<uint32_t> ids;
  for (FragmentId fragment : fragments) ids.push_back(static_cast<uint32_t>(fragment.value()));
  const OffsetSet moved = OffsetSet::FromUnsorted(std::move(ids));
  for (const table::IndexEntry& index : table.manifest().indices) {
    if (index.name == table::kMemWalIndexName) continue;
    ARROW_RETURN_NOT_OK(CheckIndexLetsMove(index, moved));
  }
  return arrow::Status::OK();
}

}  // namespace internal

arrow::Result<OptimizePlan> PlanOptimize(const Dataset& dataset, const OptimizeOptions& options) {
  const internal::DatasetState& table = *internal::DatasetState::Of(dataset);
  ARROW_RETURN_NOT_OK(table.session->runtime().CheckProcess());
  ARROW_RETURN_NOT_OK(internal::CheckCanFollow(table));
  OptimizePlan plan;
  plan.read_version = dataset.version();
  ARROW_ASSIGN_OR_RAISE(plan.options, internal::ResolveOptimizeOptions(options, table.manifest().config));
  ARROW_RETURN_NOT_OK(internal::CheckColumnsCanMove(table, plan.options));
  ARROW_ASSIGN_OR_RAISE(plan.tasks, internal::Planner(table, plan.options).Run());
  std::vector<FragmentId> moved;
  for (const OptimizeTask& task : plan.tasks) moved.insert(moved.end(), task.fragments.begin(), task.fragments.end());
  ARROW_RETURN_NOT_OK(internal::CheckIndexesLetMove(table, moved));
  return plan;
}

}  // namespace javelin
