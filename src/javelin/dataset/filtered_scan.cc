#include "javelin/dataset/filtered_scan_internal.h"

#include <algorithm>
#include <deque>
#include <map>
#include <set>

#include <arrow/array.h>
#include <arrow/util/byte_size.h>

#include "javelin/base/error.h"
#include "javelin/dataset/conditions_internal.h"
#include "javelin/dataset/scan_internal.h"
#include "javelin/dataset/scan_plan_internal.h"
#include "javelin/dataset/take_internal.h"
#include "javelin/file/array_bytes.h"
#include "javelin/file/pick_rows.h"

namespace javelin::internal {

namespace {

using BatchPtr = std::shared_ptr<arrow::RecordBatch>;

// A single row costs at least such a read, whatever it has.
constexpr uint64_t kLeastRead = 4096;

// Rows of the first run, from which it is learnt how many pass; later runs are longer.
constexpr uint64_t kFirstRun = 64 << 10;
constexpr uint64_t kLongestRun = 16 << 20;
constexpr uint64_t kRunGrowth = 4;

const std::string kAddress(kRowAddressName);

// Whether the other columns are read only of rows that pass.
class LateDecision {
 public:
  LateDecision(LateColumns wish, bool has_rest) : wish_(has_rest ? wish : LateColumns::kNever) {}

  bool is_fixed() const { return wish_ != LateColumns::kAdaptive; }
  void Learn(uint64_t rows, uint64_t passed) {
    rows_ += rows;
    passed_ += passed;
  }
  // For the next run; `row_bytes` = what a row of the other columns takes.
  bool Decide(uint64_t row_bytes) {
    if (is_fixed()) return wish_ == LateColumns::kAlways;
    // Twice, since single rows cost more requests than the bytes show.
    const bool late = 2.0 * static_cast<double>(passed_) * static_cast<double>(std::max(row_bytes, kLeastRead)) <=
                      static_cast<double>(rows_) * static_cast<double>(row_bytes);
    rows_ /= 2;  // what was long ago counts less
    passed_ /= 2;
    return late;
  }

 private:
  const LateColumns wish_;
  uint64_t rows_ = 0;
  uint64_t passed_ = 0;
};

// Rows that passed and were not handed out yet.
class Gathered {
 public:
  struct Part {
    BatchPtr rows;
    bool late = false;  // they lack the columns that only the result needs
    uint64_t bytes = 0;
  };

  bool empty() const { return parts_.empty(); }
  bool HasLate() const { return !empty() && parts_.front().late; }
  void Add(Part part) {
    rows_ += static_cast<uint64_t>(part.rows->num_rows());
    bytes_ += part.bytes;
    parts_.push_back(std::move(part));
  }
  bool IsFull(uint64_t rows, uint64_t bytes) const {
    return rows_ >= rows || bytes_ >= bytes || (!empty() && parts_.back().late != parts_.front().late);
  }
  // The first rows, of one kind: so many, or fewer where they take too many bytes.
  arrow::RecordBatchVector Take(uint64_t rows, uint64_t bytes) {
    arrow::RecordBatchVector taken;
    const bool late = parts_.front().late;
    uint64_t taken_bytes = 0;
    while (!empty() && rows > 0 && parts_.front().late == late) {
      Part& part = parts_.front();
      if (!taken.empty() &&
          (taken_bytes + part.bytes > bytes || !file::ShareNarrowDictionaries(*taken.back(), *part.rows)))
        break;
      const auto has = static_cast<uint64_t>(part.rows->num_rows());
      const uint64_t count = std::min(rows, has);
      const uint64_t part_bytes = count == has ? part.bytes : part.bytes / has * count;
      taken.push_back(part.rows->Slice(0, static_cast<int64_t>(count)));
      taken_bytes += part_bytes;
      rows -= count;
      rows_ -= count;
      bytes_ -= part_bytes;
      if (count == has) {
        parts_.pop_front();
      } else {
        part.rows = part.rows->Slice(static_cast<int64_t>(count));
        part.bytes -= part_bytes;
      }
    }
    return taken;
  }
  // Puts rows back in front.
  void PutBack(BatchPtr rows, bool late, uint64_t bytes) {
    rows_ += static_cast<uint64_t>(rows->num_rows());
    bytes_ += bytes;
    parts_.push_front({std::move(rows), late, bytes});
  }

 private:
  std::deque<Part> parts_;
  uint64_t rows_ = 0;
  uint64_t bytes_ = 0;
};

uint64_t BytesOf(const arrow::RecordBatch& batch) {
  return static_cast<uint64_t>(arrow::util::ReferencedBufferSize(batch).ValueOr(0));
}

// Stored bytes of a row, as far as the manifest says it.
uint64_t StoredBytesPerRow(const std::vector<const table::Fragment*>& fragments) {
  uint64_t bytes = 0, rows = 0;
  for (const table::Fragment* fragment : fragments) {
    rows += fragment->physical_rows;
    for (const table::DataFile& file : fragment->files) bytes += file.size_bytes;
  }
  return rows == 0 ? 0 : bytes / rows;
}

class FilteredScan final : public arrow::RecordBatchReader {
 public:
  FilteredScan(std::shared_ptr<const DatasetState> table, OutputColumns output, query::Filter filter,
               FilteredColumns columns, std::vector<const table::Fragment*> fragments, const ScannerOptions& options)
      : table_(std::move(table)),
        output_(std::move(output)),
        filter_(std::move(filter)),
        columns_(std::move(columns)),
        fragments_(std::move(fragments)),
        batch_rows_(options.batch_rows),
        batch_bytes_(options.batch_bytes),
        is_just_all_(output_.IsJust(columns_.all)),
        late_rows_(options.batch_bytes, columns_.rest),
        decision_(options.late_columns, !columns_.rest.columns().empty()),
        run_rows_(decision_.is_fixed() ? UINT64_MAX : kFirstRun),
        skip_(options.offset),
        left_(options.limit.value_or(UINT64_MAX)) {
    late_rows_.Expect(StoredBytesPerRow(fragments_));
    for (size_t i = 0; i < fragments_.size(); ++i) places_.emplace(fragments_[i]->id, i);
  }

  std::shared_ptr<arrow::Schema> schema() const override { return output_.arrow_schema(); }

  arrow::Status ReadNext(std::shared_ptr<arrow::RecordBatch>* out) override {
    *out = nullptr;
    ARROW_RETURN_NOT_OK(failed_);
    if (closed_) return arrow::Status::OK();
    auto batch = Next();
    if (!batch.ok()) return failed_ = batch.status();
    *out = *std::move(batch);
    return arrow::Status::OK();
  }

  arrow::Status Close() override {
    closed_ = true;
    rows_ = nullptr;
    gathered_ = {};
    return arrow::Status::OK();
  }

 private:
  // Null at the end.
  arrow::Result<BatchPtr> Next() {
    while (!ended_ && !gathered_.IsFull(WantedRows(), batch_bytes_)) ARROW_RETURN_NOT_OK(Gather());
    if (gathered_.empty()) return nullptr;
    return HandOut();
  }

  uint64_t WantedRows() const { return gathered_.HasLate() ? std::min(batch_rows_, late_rows_.rows()) : batch_rows_; }

  // Reads one batch and keeps what passes of it.
  arrow::Status Gather() {
    if (left_ == 0) return End();
    if (rows_ == nullptr) ARROW_RETURN_NOT_OK(BeginRun());
    BatchPtr batch;
    ARROW_RETURN_NOT_OK(rows_->ReadNext(&batch));
    if (batch == nullptr) return EndRun();
    run_read_ += static_cast<uint64_t>(batch->num_rows());
    const auto addresses = batch->GetColumnByName(kAddress);
    last_ = RowAddress(static_cast<const arrow::UInt64Array&>(*addresses).Value(batch->num_rows() - 1));
    ARROW_ASSIGN_OR_RAISE(const auto mask, filter_.Mask(*batch, pool()));
    const int64_t passed = mask->true_count();
    decision_.Learn(static_cast<uint64_t>(batch->num_rows()), static_cast<uint64_t>(passed));
    if (passed == 0) return arrow::Status::OK();
    if (passed < batch->num_rows()) {
      ARROW_ASSIGN_OR_RAISE(batch, file::FilterRows(batch, *mask, pool()));
    }
    return Keep(std::move(batch));
  }

  // Those of the rows that offset and limit leave.
  arrow::Status Keep(BatchPtr batch) {
    const auto passed = static_cast<uint64_t>(batch->num_rows());
    const uint64_t skipped = std::min(skip_, passed);
    const uint64_t kept = std::min(left_, passed - skipped);
    skip_ -= skipped;
    left_ -= kept;
    if (kept == 0) return arrow::Status::OK();
    if (kept < passed) batch = batch->Slice(static_cast<int64_t>(skipped), static_cast<int64_t>(kept));
    const uint64_t bytes = BytesOf(*batch);
    gathered_.Add({std::move(batch), late_, bytes});
    return arrow::Status::OK();
  }

  arrow::Status BeginRun() {
    late_ = decision_.Decide(late_rows_.bytes(1));
    RowScan scan{.fragments = fragments_, .begin = at_, .batch_rows = batch_rows_, .batch_bytes = batch_bytes_};
    scan.begin.left = run_rows_;
    run_read_ = 0;
    rows_ = ScanRows(table_, late_ ? columns_.conditions : columns_.all, std::move(scan));
    return arrow::Status::OK();
  }

  arrow::Status EndRun() {
    rows_ = nullptr;
    if (run_read_ < run_rows_) return End();
    at_ = {.fragment = places_.at(last_.fragment()), .position = uint64_t{last_.offset()} + 1};
    run_rows_ = std::min(kLongestRun, run_rows_ * kRunGrowth);
    return arrow::Status::OK();
  }

  arrow::Status End() {
    ended_ = true;
    rows_ = nullptr;  // nothing more is read ahead
    return arrow::Status::OK();
  }

  arrow::Result<BatchPtr> HandOut() {
    while (true) {
      const bool late = gathered_.HasLate();
      const auto parts = gathered_.Take(WantedRows(), batch_bytes_);
      ARROW_ASSIGN_OR_RAISE(BatchPtr batch, file::JoinRows(parts, pool()));
      if (!late) return is_just_all_ ? batch : output_.Of(batch, pool());
      const auto whole = WithRest(batch);
      if (whole.ok()) return output_.Of(*whole, pool());
      // Fewer rows may fit: into memory, into offsets, into the indices of dictionaries.
      const bool is_much =
          HasKind(whole.status(), ErrorKind::kOutOfMemory) || HasKind(whole.status(), ErrorKind::kInvalidInput);
      if (!is_much || batch->num_rows() == 1) return whole.status();
      late_rows_.DidNotFit(static_cast<uint64_t>(batch->num_rows()));
      const uint64_t bytes = BytesOf(*batch);
      gathered_.PutBack(std::move(batch), late, bytes);
    }
  }

  // The rows with the columns that were not read with the condition.
  arrow::Result<BatchPtr> WithRest(const BatchPtr& rows) {
    const auto column = rows->GetColumnByName(kAddress);
    const auto& values = static_cast<const arrow::UInt64Array&>(*column);
    std::vector<RowAddress> addresses;
    addresses.reserve(static_cast<size_t>(rows->num_rows()));
    for (int64_t i = 0; i < rows->num_rows(); ++i) addresses.emplace_back(values.Value(i));
    ARROW_ASSIGN_OR_RAISE(const BatchPtr rest, TakeRows(table_, addresses, columns_.rest));
    late_rows_.Learn(addresses.size(), static_cast<uint64_t>(arrow::util::TotalBufferSize(*rest)));
    arrow::FieldVector fields = rest->schema()->fields();
    arrow::ArrayVector arrays = rest->columns();
    for (int i = 0; i < rows->num_columns(); ++i) {
      if (rest->schema()->GetFieldIndex(rows->column_name(i)) >= 0) continue;  // there it has more of its fields
      fields.push_back(rows->schema()->field(i));
      arrays.push_back(rows->column(i));
    }
    return arrow::RecordBatch::Make(arrow::schema(std::move(fields)), rows->num_rows(), std::move(arrays));
  }

  arrow::MemoryPool* pool() const { return table_->session->resources().pool; }

  const std::shared_ptr<const DatasetState> table_;
  const OutputColumns output_;
  const query::Filter filter_;
  const FilteredColumns columns_;
  const std::vector<const table::Fragment*> fragments_;
  std::map<FragmentId, size_t> places_;  // of the fragments
  const uint64_t batch_rows_;
  const uint64_t batch_bytes_;
  const bool is_just_all_;
  BlockSize late_rows_;  // how many to read at once of the columns that were left out
  LateDecision decision_;
  std::shared_ptr<arrow::RecordBatchReader> rows_;  // of the run
  bool late_ = false;                               // the run
  ScanPlan::Cursor at_;                             // where the next run begins
  uint64_t run_rows_;                               // of the run, or of the next
  uint64_t run_read_ = 0;
  RowAddress last_;  // of the run
  uint64_t skip_;    // rows that pass, still to leave out
  uint64_t left_;    // rows that pass, still to find
  bool ended_ = false;
  Gathered gathered_;
  arrow::Status failed_;
  bool closed_ = false;
};

}  // namespace

arrow::Result<FilteredColumns> ColumnsOfFiltered(const file::Schema& schema, const query::Filter& filter,
                                                 const OutputColumns& output) {
  std::vector<ColumnPath> conditions = PathsOf(filter);
  const std::vector<ColumnPath> wanted = output.Paths();
  std::vector<ColumnPath> all = wanted;
  all.insert(all.end(), conditions.begin(), conditions.end());
  all.push_back({kAddress});
  for (const ColumnPath& path : wanted) {
    if (KindOfName(path[0]) != ColumnKind::kField) conditions.push_back(path);
  }
  conditions.push_back({kAddress});
  const auto leads_to = [](const ColumnPath& path, const ColumnPath& below) {
    return path.size() <= below.size() && std::equal(path.begin(), path.end(), below.begin());
  };
  std::set<std::string> incomplete;
  for (const ColumnPath& path : wanted) {
    const bool read = std::any_of(conditions.begin(), conditions.end(),
                                  [&](const ColumnPath& other) { return leads_to(other, path); });
    if (!read) incomplete.insert(path[0]);
  }
  std::vector<ColumnPath> rest;
  for (const ColumnPath& path : wanted) {
    if (incomplete.contains(path[0])) rest.push_back(path);
  }
  FilteredColumns columns;
  ARROW_ASSIGN_OR_RAISE(columns.conditions, Projection::OfPaths(schema, conditions));
  ARROW_ASSIGN_OR_RAISE(columns.rest, Projection::OfPaths(schema, rest));
  ARROW_ASSIGN_OR_RAISE(columns.all, Projection::OfPaths(schema, all));
  return columns;
}

arrow::Result<std::shared_ptr<arrow::RecordBatchReader>> MakeFilteredScan(std::shared_ptr<const DatasetState> table,
                                                                          OutputColumns output, query::Filter filter,
                                                                          std::vector<const table::Fragment*> fragments,
                                                                          const ScannerOptions& options) {
  ARROW_ASSIGN_OR_RAISE(FilteredColumns columns, ColumnsOfFiltered(table->manifest().schema, filter, output));
  return std::make_shared<FilteredScan>(std::move(table), std::move(output), std::move(filter), std::move(columns),
                                        std::move(fragments), options);
}

}  // namespace javelin::internal
