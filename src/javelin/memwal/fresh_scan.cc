#include <deque>

#include "javelin/base/error.h"
#include "javelin/memwal/fresh_view_internal.h"

namespace javelin::memwal {

namespace {

using BatchPtr = std::shared_ptr<arrow::RecordBatch>;

// The visible batches of all MemTables, newest generation first, reduced to the rows that count.
class MemoryScan {
 public:
  MemoryScan(const FreshView::Impl& view, file::Schema target) : view_(view), rows_(std::move(target)) {}

  // Null at the end. A batch may have no rows.
  arrow::Result<BatchPtr> Next() {
    while (shard_ < view_.shards.size()) {
      const ShardMemory& memory = view_.shards[shard_];
      if (table_ == memory.tables.size()) {
        ++shard_;
        table_ = batch_ = 0;
        continue;
      }
      const MemTableView& view = memory.tables[table_];
      if (batch_ == view.visible_batches) {
        ++table_;
        batch_ = 0;
        continue;
      }
      const StoredBatch& stored = view.table->store()[batch_++];
      return rows_.Take(*view.table, *stored.batch, LiveRows(memory, table_, stored));
    }
    return BatchPtr();
  }

 private:
  // Newest version of its key, in this MemTable and over the newer ones of the shard, and not deleted. Without a key
  // every row.
  static std::vector<bool> LiveRows(const ShardMemory& memory, size_t index, const StoredBatch& stored) {
    const MemTableView& view = memory.tables[index];
    const index::KeyIndex* keys = view.table->key_index();
    std::vector<bool> live(stored.batch->num_rows(), true);
    if (keys == nullptr) return live;
    const bool once = !keys->has_overrides();
    for (int64_t i = 0; i < stored.batch->num_rows(); ++i) {
      const uint64_t row = stored.first_row + static_cast<uint64_t>(i);
      const index::HashedKey key = keys->KeyOf(row);
      live[i] = !view.table->IsTombstone(*stored.batch, i) &&
                (once || keys->FindNewest(key, view.visible_rows) == row) && !memory.Holds(key, index);
    }
    return live;
  }

  const FreshView::Impl& view_;
  MemoryRows rows_;
  size_t shard_ = 0, table_ = 0;
  uint64_t batch_ = 0;
};

// The base table without the rows that memory has newer versions of. Nothing is read before the first batch is asked
// for.
class BaseScan {
 public:
  BaseScan(const FreshView::Impl& view, std::vector<std::string> columns, const ScanOptions& options)
      : view_(view), options_(options), num_columns_(columns.size()) {
    if (view_.blocks_base()) {
      for (const std::string& name : view_.key_names) {
        const auto found = std::find(columns.begin(), columns.end(), name);
        key_columns_.push_back(static_cast<int>(found - columns.begin()));
        if (found == columns.end()) columns.push_back(name);
      }
    }
    num_read_ = columns.size();
    options_.columns = std::move(columns);
    options_.offset = 0;
    options_.limit.reset();
  }

  // Without a block list the table itself can skip and stop. Before the first Next only.
  bool CanSkip() const { return !view_.blocks_base(); }
  void SkipAndLimit(uint64_t offset, std::optional<uint64_t> limit) {
    options_.offset = offset;
    options_.limit = limit;
  }

  // Null at the end. Columns as asked, then the system columns.
  arrow::Result<BatchPtr> Next() {
    if (reader_ == nullptr) {
      ARROW_ASSIGN_OR_RAISE(reader_, view_.base->Scan(options_));
    }
    BatchPtr batch;
    ARROW_RETURN_NOT_OK(reader_->ReadNext(&batch));
    if (batch == nullptr || !view_.blocks_base()) return batch;
    ARROW_ASSIGN_OR_RAISE(const auto keep, Unblocked(*batch));
    std::vector<int> shown;
    for (int i = 0; i < batch->num_columns(); ++i) {
      if (static_cast<size_t>(i) < num_columns_ || static_cast<size_t>(i) >= num_read_) shown.push_back(i);
    }
    ARROW_ASSIGN_OR_RAISE(batch, batch->SelectColumns(shown));
    return Filter(batch, keep);
  }

 private:
  arrow::Result<std::vector<bool>> Unblocked(const arrow::RecordBatch& batch) const {
    std::vector<std::shared_ptr<arrow::Array>> columns;
    for (const int column : key_columns_) columns.push_back(batch.column(column));
    std::vector<std::string> keys;
    ARROW_RETURN_NOT_OK(view_.keys->Encode(columns, &keys));
    std::vector<bool> keep(keys.size());
    for (size_t i = 0; i < keys.size(); ++i) keep[i] = !view_.Blocks(index::HashedKey(keys[i]));
    return keep;
  }

  const FreshView::Impl& view_;
  ScanOptions options_;
  const size_t num_columns_;  // asked for
  size_t num_read_ = 0;       // with the key columns that are read only to be checked
  std::vector<int> key_columns_;
  std::shared_ptr<arrow::RecordBatchReader> reader_;
};

// One source after the other; offset and limit count over all of them.
class FreshScan final : public arrow::RecordBatchReader {
 public:
  FreshScan(std::shared_ptr<const FreshView::Impl> view, file::Schema target, const ScanOptions& options)
      : view_(std::move(view)),
        schema_(OutputSchema(target, options)),
        memory_(*view_, target),
        base_(*view_, Names(target), options),
        batch_rows_(static_cast<int64_t>(std::clamp<uint64_t>(options.batch_rows, 1, INT32_MAX))),
        skip_(options.offset),
        left_(options.limit) {}

  std::shared_ptr<arrow::Schema> schema() const override { return schema_; }

  arrow::Status ReadNext(BatchPtr* out) override {
    out->reset();
    while (left_ != uint64_t{0}) {
      if (queue_ == nullptr || queue_->num_rows() == 0) {
        ARROW_ASSIGN_OR_RAISE(queue_, NextSource());
        if (queue_ == nullptr) break;
        continue;
      }
      const int64_t skipped = static_cast<int64_t>(std::min<uint64_t>(skip_, queue_->num_rows()));
      skip_ -= skipped;
      queue_ = queue_->Slice(skipped);
      if (queue_->num_rows() == 0) continue;
      int64_t taken = std::min(queue_->num_rows(), batch_rows_);
      if (left_.has_value()) taken = static_cast<int64_t>(std::min<uint64_t>(*left_, taken));
      if (left_.has_value()) *left_ -= taken;
      *out = queue_->Slice(0, taken);
      queue_ = queue_->Slice(taken);
      break;
    }
    return arrow::Status::OK();
  }

 private:
  static std::vector<std::string> Names(const file::Schema& target) {
    std::vector<std::string> names;
    for (const file::Field& field : target.fields()) names.push_back(field.name);
    return names;
  }
  // Rows in memory have neither id nor address yet.
  static std::shared_ptr<arrow::Schema> OutputSchema(const file::Schema& target, const ScanOptions& options) {
    auto schema = target.ToArrow();
    auto fields = schema->fields();
    if (options.with_row_id) fields.push_back(arrow::field("_rowid", arrow::uint64()));
    if (options.with_row_address) fields.push_back(arrow::field("_rowaddr", arrow::uint64()));
    return arrow::schema(std::move(fields), schema->metadata());
  }

  arrow::Result<BatchPtr> NextSource() {
    if (!memory_done_) {
      ARROW_ASSIGN_OR_RAISE(const BatchPtr batch, memory_.Next());
      if (batch != nullptr) return WithSystemColumns(*batch);
      memory_done_ = true;
      if (base_.CanSkip()) {
        base_.SkipAndLimit(skip_, left_);
        skip_ = 0;
      }
    }
    ARROW_ASSIGN_OR_RAISE(const BatchPtr batch, base_.Next());
    if (batch == nullptr) return BatchPtr();
    return arrow::RecordBatch::Make(schema_, batch->num_rows(), batch->columns());
  }

  arrow::Result<BatchPtr> WithSystemColumns(const arrow::RecordBatch& batch) const {
    auto columns = batch.columns();
    while (static_cast<int>(columns.size()) < schema_->num_fields()) {
      ARROW_ASSIGN_OR_RAISE(auto nulls, arrow::MakeArrayOfNull(arrow::uint64(), batch.num_rows()));
      columns.push_back(std::move(nulls));
    }
    return arrow::RecordBatch::Make(schema_, batch.num_rows(), std::move(columns));
  }

  const std::shared_ptr<const FreshView::Impl> view_;
  const std::shared_ptr<arrow::Schema> schema_;
  MemoryScan memory_;
  BaseScan base_;
  const int64_t batch_rows_;
  bool memory_done_ = false;
  BatchPtr queue_;
  uint64_t skip_;
  std::optional<uint64_t> left_;
};

}  // namespace

arrow::Result<std::shared_ptr<arrow::RecordBatchReader>> MakeFreshScan(std::shared_ptr<const FreshView::Impl> view,
                                                                       const ScanOptions& options) {
  ARROW_ASSIGN_OR_RAISE(auto target, view->Project(options.columns));
  return std::make_shared<FreshScan>(std::move(view), std::move(target), options);
}

}  // namespace javelin::memwal
