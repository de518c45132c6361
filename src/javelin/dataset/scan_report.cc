// What a scan will do, and what it did, as text for people.
#include <algorithm>

#include "javelin/base/error.h"
#include "javelin/dataset/filtered_scan_internal.h"
#include "javelin/dataset/fragment_rows_internal.h"
#include "javelin/dataset/scanner_internal.h"
#include "javelin/store/counting_store.h"

namespace javelin {

namespace internal {
namespace {

std::string Joined(const std::vector<std::string>& parts) {
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "" : ", ") + part;
  return "[" + text + "]";
}

std::string NamesOf(const Projection& projection) { return Joined(projection.arrow_schema()->field_names()); }

class Report {
 public:
  explicit Report(const Scanner::Plan& plan) : plan_(plan) {}

  arrow::Result<std::string> Write(bool verbose) {
    AddLine(fmt::format("Project: {}", Joined(plan_.output.Describe())));
    const ScannerOptions& options = plan_.options;
    if (options.limit || options.offset != 0) {
      AddLine(fmt::format("Limit: offset={}, limit={}", options.offset,
                          options.limit ? fmt::format("{}", *options.limit) : "none"));
    }
    std::vector<std::string> order;
    for (const Ordering& key : options.order_by) {
      order.push_back(fmt::format("{} {} nulls {}", key.column, key.ascending ? "asc" : "desc",
                                  key.nulls_first ? "first" : "last"));
    }
    if (!order.empty()) AddLine(fmt::format("Sort: {}", Joined(order)));
    if (plan_.filter) ARROW_RETURN_NOT_OK(AddLate());
    if (plan_.filter) AddLine(fmt::format("Filter: {}", plan_.filter->text()));
    ARROW_RETURN_NOT_OK(AddScan());
    if (verbose) {
      for (const table::Fragment* fragment : plan_.fragments) AddFragment(*fragment);
    }
    return std::move(text_);
  }

 private:
  void AddLine(const std::string& line) {
    text_ += std::string(2 * depth_, ' ') + line + "\n";
    ++depth_;
  }

  arrow::Result<FilteredColumns> Columns() const {
    return ColumnsOfFiltered(plan_.table->manifest().schema, *plan_.filter, plan_.output);
  }

  arrow::Status AddLate() {
    ARROW_ASSIGN_OR_RAISE(const FilteredColumns columns, Columns());
    if (columns.rest.columns().empty() || plan_.options.late_columns == LateColumns::kNever) return arrow::Status::OK();
    const bool always = plan_.options.late_columns == LateColumns::kAlways;
    AddLine(fmt::format("ReadLate: columns={}, when={}", NamesOf(columns.rest), always ? "always" : "few rows pass"));
    return arrow::Status::OK();
  }

  arrow::Status AddScan() {
    const DatasetState& table = *plan_.table;
    std::string columns;
    if (plan_.filter) {
      ARROW_ASSIGN_OR_RAISE(const FilteredColumns filtered, Columns());
      columns = NamesOf(plan_.options.late_columns == LateColumns::kNever ? filtered.all : filtered.conditions);
    } else {
      ARROW_ASSIGN_OR_RAISE(const auto all, Projection::OfPaths(table.manifest().schema, plan_.output.Paths()));
      columns = NamesOf(all);
    }
    std::optional<uint64_t> rows = 0;
    for (const table::Fragment* fragment : plan_.fragments) {
      const auto live = KnownLiveRows(*fragment);
      rows = rows && live ? std::optional(*rows + *live) : std::nullopt;
    }
    AddLine(fmt::format("Scan: uri={}, version={}, fragments={}, rows={}, columns={}", table.location.uri,
                        table.manifest().version, plan_.fragments.size(), rows ? fmt::format("{}", *rows) : "unknown",
                        columns));
    return arrow::Status::OK();
  }

  void AddFragment(const table::Fragment& fragment) {
    std::vector<std::string> files;
    for (const table::DataFile& file : fragment.files) files.push_back(file.path);
    text_ += std::string(2 * depth_, ' ') +
             fmt::format("Fragment {}: rows={}, deleted={}, files={}\n", fragment.id, fragment.physical_rows,
                         fragment.deletion_file ? fragment.deletion_file->num_deleted_rows : 0, Joined(files));
  }

  const Scanner::Plan& plan_;
  std::string text_;
  size_t depth_ = 0;
};

}  // namespace
}  // namespace internal

arrow::Result<std::string> Scanner::Explain(bool verbose) const { return internal::Report(*plan_).Write(verbose); }

arrow::Result<std::string> Scanner::Analyze() const {
  Runtime& runtime = plan_->table->session->runtime();
  const auto counting = std::make_shared<CountingStore>(runtime, plan_->table->location.store);
  auto table = std::make_shared<internal::DatasetState>(*plan_->table);
  table->location.store = counting;
  auto plan = std::make_shared<Plan>(*plan_);
  plan->table = std::move(table);
  const TimePoint begin = runtime.Now();
  uint64_t rows = 0, batches = 0;
  ARROW_ASSIGN_OR_RAISE(const auto reader, Scanner(plan).ToReader());
  while (true) {
    std::shared_ptr<arrow::RecordBatch> batch;
    ARROW_RETURN_NOT_OK(reader->ReadNext(&batch));
    if (batch == nullptr) break;
    rows += static_cast<uint64_t>(batch->num_rows());
    ++batches;
  }
  ARROW_RETURN_NOT_OK(reader->Close());
  const auto elapsed = std::chrono::duration_cast<std::chrono::microseconds>(runtime.Now() - begin);
  const RequestCounts counts = counting->counts();
  ARROW_ASSIGN_OR_RAISE(const std::string plan_text, Explain(false));
  return fmt::format("Analyze: elapsed={} us, output_rows={}, output_batches={}, requests={}, bytes_read={}\n{}",
                     elapsed.count(), rows, batches, counts.total(), counts.bytes_read, plan_text);
}

}  // namespace javelin
