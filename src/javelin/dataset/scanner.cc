#include "javelin/dataset/scanner.h"

#include <algorithm>
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

// The rows of another reader with the columns of the result.
class MakesOutput final : public arrow::RecordBatchReader {
 public:
  MakesOutput(std::shared_ptr<arrow::RecordBatchReader> rows, OutputColumns output, arrow::MemoryPool* pool)
      : rows_(std::move(rows)), output_(std::move(output)), pool_(pool) {}

  std::shared_ptr<arrow::Schema> schema() const override { return output_.arrow_schema(); }
  arrow::Status ReadNext(std::shared_ptr<arrow::RecordBatch>* out) override {
    *out = nullptr;
    ARROW_RETURN_NOT_OK(failed_);
    std::shared_ptr<arrow::RecordBatch> rows;
    ARROW_RETURN_NOT_OK(rows_->ReadNext(&rows));
    if (rows == nullptr) return arrow::Status::OK();
    return failed_ = output_.Of(rows, pool_).Value(out);
  }
  arrow::Status Close() override { return rows_->Close(); }

 private:
  const std::shared_ptr<arrow::RecordBatchReader> rows_;
  const OutputColumns output_;
  arrow::MemoryPool* const pool_;
  arrow::Status failed_;
};

// The rows at the addresses that another reader gives.
class TakesRows final : public arrow::RecordBatchReader {
 public:
  TakesRows(std::shared_ptr<const DatasetState> table, std::shared_ptr<arrow::RecordBatchReader> addresses,
            Projection projection, OutputColumns output)
      : table_(std::move(table)),
        addresses_(std::move(addresses)),
        projection_(std::move(projection)),
        output_(std::move(output)) {}

  std::shared_ptr<arrow::Schema> schema() const override { return output_.arrow_schema(); }
  arrow::Status ReadNext(std::shared_ptr<arrow::RecordBatch>* out) override {
    *out = nullptr;
    ARROW_RETURN_NOT_OK(failed_);
    std::shared_ptr<arrow::RecordBatch> found;
    ARROW_RETURN_NOT_OK(addresses_->ReadNext(&found));
    if (found == nullptr) return arrow::Status::OK();
    return failed_ = Take(static_cast<const arrow::UInt64Array&>(*found->column(0))).Value(out);
  }
  arrow::Status Close() override { return addresses_->Close(); }

 private:
  arrow::Result<std::shared_ptr<arrow::RecordBatch>> Take(const arrow::UInt64Array& values) const {
    std::vector<RowAddress> addresses;
    for (int64_t i = 0; i < values.length(); ++i) addresses.emplace_back(values.Value(i));
    ARROW_ASSIGN_OR_RAISE(const auto rows, TakeRows(table_, addresses, projection_));
    return output_.Of(rows, table_->session->resources().pool);
  }

  const std::shared_ptr<const DatasetState> table_;
  const std::shared_ptr<arrow::RecordBatchReader> addresses_;
  const Projection projection_;
  const OutputColumns output_;
  arrow::Status failed_;
};

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
  return std::make_shared<internal::MakesOutput>(std::move(rows), output, table->session->resources().pool);
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
  return std::make_shared<internal::TakesRows>(plan_->table, std::move(sorted), std::move(projection), plan_->output);
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
