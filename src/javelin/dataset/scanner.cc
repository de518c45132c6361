#include "javelin/dataset/scanner.h"

#include <algorithm>
#include <functional>
#include <set>

#include <arrow/array.h>
#include <arrow/compute/initialize.h>

#include "javelin/base/error.h"
#include "javelin/dataset/conditions_internal.h"
#include "javelin/dataset/filtered_scan_internal.h"
#include "javelin/dataset/fragment_rows_internal.h"
#include "javelin/dataset/scan_internal.h"
#include "javelin/dataset/scanner_internal.h"
#include "javelin/dataset/sorted_scan_internal.h"
#include "javelin/dataset/take_internal.h"

namespace javelin {

namespace internal {
namespace {

// The batches of another reader, each made into one of the result.
class MadeBatches final : public arrow::RecordBatchReader {
 public:
  using Batch = std::shared_ptr<arrow::RecordBatch>;
  using Make = std::function<arrow::Result<Batch>(const Batch&)>;
  MadeBatches(std::shared_ptr<arrow::RecordBatchReader> rows, std::shared_ptr<arrow::Schema> schema, Make make)
      : rows_(std::move(rows)), schema_(std::move(schema)), make_(std::move(make)) {}

  std::shared_ptr<arrow::Schema> schema() const override { return schema_; }
  arrow::Status ReadNext(Batch* out) override {
    *out = nullptr;
    ARROW_RETURN_NOT_OK(failed_);
    Batch rows;
    ARROW_RETURN_NOT_OK(rows_->ReadNext(&rows));
    if (rows == nullptr) return arrow::Status::OK();
    return failed_ = make_(rows).Value(out);
  }
  arrow::Status Close() override { return rows_->Close(); }

 private:
  const std::shared_ptr<arrow::RecordBatchReader> rows_;
  const std::shared_ptr<arrow::Schema> schema_;
  const Make make_;
  arrow::Status failed_;
};

// Of the rows at the addresses in the first column.
MadeBatches::Make TakingRows(std::shared_ptr<const DatasetState> table, Projection projection, OutputColumns output) {
  return [table = std::move(table), projection = std::move(projection),
          output = std::move(output)](const MadeBatches::Batch& found) -> arrow::Result<MadeBatches::Batch> {
    const auto& values = static_cast<const arrow::UInt64Array&>(*found->column(0));
    std::vector<RowAddress> addresses;
    for (int64_t i = 0; i < values.length(); ++i) addresses.emplace_back(values.Value(i));
    ARROW_ASSIGN_OR_RAISE(const auto rows, TakeRows(table, addresses, projection));
    return output.Of(rows, table->session->resources().pool);
  };
}

arrow::Status CheckKeys(const arrow::Schema& keys, const std::vector<Ordering>& order) {
  for (size_t i = 0; i < order.size(); ++i)
    ARROW_RETURN_NOT_OK(CheckSortable(*keys.field(static_cast<int>(i))->WithName(order[i].column)));
  return arrow::Status::OK();
}

arrow::Result<std::vector<const table::Fragment*>> FragmentsOf(const DatasetState& table,
                                                               const ScannerOptions& options) {
  if (!options.fragments) return AllFragments(table);
  std::vector<const table::Fragment*> fragments;
  std::set<FragmentId> seen;
  for (const FragmentId id : *options.fragments) {
    if (!seen.insert(id).second) return InvalidInput("fragment {} is asked for twice", id);
    ARROW_ASSIGN_OR_RAISE(const table::Fragment* fragment, table.GetFragment(id));
    fragments.push_back(fragment);
  }
  return fragments;
}

}  // namespace
}  // namespace internal

arrow::Result<Scanner> Scanner::Make(const Dataset& dataset, const ScannerOptions& options) {
  ARROW_RETURN_NOT_OK(arrow::compute::Initialize());
  if (options.batch_rows == 0 || options.batch_bytes == 0)
    return InvalidInput("batch_rows and batch_bytes must not be 0");
  const auto table = internal::DatasetState::Of(dataset);
  ARROW_ASSIGN_OR_RAISE(auto fragments, internal::FragmentsOf(*table, options));
  ARROW_ASSIGN_OR_RAISE(auto output, internal::OutputColumns::Make(*table, options));
  ARROW_ASSIGN_OR_RAISE(auto keys, internal::OutputColumns::MakeKeys(*table, options.order_by));
  ARROW_RETURN_NOT_OK(internal::CheckKeys(*keys.arrow_schema(), options.order_by));
  auto plan = std::make_shared<Plan>(
      Plan{table, options, std::move(fragments), std::move(output), std::nullopt, std::move(keys)});
  if (options.filter) {
    ARROW_ASSIGN_OR_RAISE(plan->filter, internal::ParseCondition(*table, *options.filter));
    if (const auto constant = plan->filter->Constant()) {
      if (!*constant) plan->fragments.clear();
      plan->filter.reset();
    }
  }
  return Scanner(std::move(plan));
}

std::shared_ptr<arrow::Schema> Scanner::schema() const { return plan_->output.arrow_schema(); }

arrow::Result<std::shared_ptr<arrow::RecordBatchReader>> Scanner::ToReader() const {
  const auto& [table, options, fragments, output, filter, keys] = *plan_;
  if (!options.order_by.empty()) return Sorted();
  if (filter) return internal::MakeFilteredScan(table, output, *filter, fragments, options);
  ARROW_ASSIGN_OR_RAISE(auto projection, internal::Projection::OfPaths(table->manifest().schema, output.Paths()));
  const bool is_just = output.IsJust(projection);
  auto rows = internal::ScanRows(table, std::move(projection),
                                 {.fragments = fragments,
                                  .begin = {.skip = options.offset, .left = options.limit.value_or(UINT64_MAX)},
                                  .batch_rows = options.batch_rows,
                                  .batch_bytes = options.batch_bytes});
  if (is_just) return rows;
  arrow::MemoryPool* const pool = table->session->resources().pool;
  return std::make_shared<internal::MadeBatches>(
      std::move(rows), output.arrow_schema(),
      [output = output, pool](const auto& batch) { return output.Of(batch, pool); });
}

// Where few rows are wanted, all others are only looked at by their keys.
arrow::Result<std::shared_ptr<arrow::RecordBatchReader>> Scanner::Sorted() const {
  constexpr uint64_t kFewRows = 8192;
  const ScannerOptions& asked = plan_->options;
  const uint64_t limit = asked.limit.value_or(UINT64_MAX);
  const bool late = limit <= kFewRows && asked.offset <= kFewRows;
  auto unsorted = std::make_shared<Plan>(*plan_);
  unsorted->options.order_by.clear();
  unsorted->options.limit.reset();
  unsorted->options.offset = 0;
  unsorted->output = plan_->keys.FollowedBy(late ? internal::OutputColumns::OfAddress() : plan_->output);
  ARROW_ASSIGN_OR_RAISE(auto rows, Scanner(std::move(unsorted)).ToReader());
  internal::SortedScanOptions options{
      .keys = asked.order_by, .offset = asked.offset, .limit = limit, .batch_rows = asked.batch_rows};
  auto sorted = internal::SortRows(plan_->table, std::move(rows), std::move(options));
  if (!late) return sorted;
  ARROW_ASSIGN_OR_RAISE(auto projection,
                        internal::Projection::OfPaths(plan_->table->manifest().schema, plan_->output.Paths()));
  return std::make_shared<internal::MadeBatches>(
      std::move(sorted), plan_->output.arrow_schema(),
      internal::TakingRows(plan_->table, std::move(projection), plan_->output));
}

arrow::Result<uint64_t> Scanner::CountRows() const {
  uint64_t rows = 0;
  if (plan_->filter) {
    ARROW_ASSIGN_OR_RAISE(rows, internal::CountRows(plan_->table, plan_->fragments, *plan_->filter));
  } else {
    for (const table::Fragment* fragment : plan_->fragments) {
      ARROW_ASSIGN_OR_RAISE(const uint64_t live, internal::CountLiveRows(*plan_->table, *fragment));
      rows += live;
    }
  }
  const uint64_t left = rows - std::min(rows, plan_->options.offset);
  return std::min(left, plan_->options.limit.value_or(UINT64_MAX));
}

}  // namespace javelin
