#include "javelin/memwal/compaction_rows_internal.h"

#include "javelin/base/error.h"
#include "javelin/index/key_encoding.h"
#include "javelin/memwal/base_keys_internal.h"
#include "javelin/query/source.h"

namespace javelin::memwal {

namespace {
using BatchPtr = std::shared_ptr<arrow::RecordBatch>;

constexpr uint64_t kBatchRows = 8192;
constexpr uint64_t kBatchBytes = 16u << 20;

arrow::Result<index::KeyEncoder> EncoderOf(const std::vector<file::Field>& key) {
  std::vector<std::shared_ptr<arrow::DataType>> types;
  for (const file::Field& field : key) types.push_back(field.type);
  return index::KeyEncoder::Make(std::move(types));
}

// Ascending rows of one SSTable. Rows that lie close are read through, which costs less than finding each.
arrow::Result<BatchPtr> ReadRows(const SsTable& table, const file::Schema& columns, const std::vector<uint64_t>& rows) {
  const uint64_t span = rows.back() - rows.front() + 1;
  if (span > rows.size() * 2) return table.Take(columns, rows);
  ARROW_ASSIGN_OR_RAISE(const auto window, table.Read(columns, rows.front(), span));
  std::vector<bool> keep(span);
  for (const uint64_t row : rows) keep[row - rows.front()] = true;
  return query::KeepRows(window, keep);
}

class SsTableRowsReader final : public arrow::RecordBatchReader {
 public:
  struct Place {
    const SsTable* table;
    uint64_t row;
  };
  SsTableRowsReader(file::Schema columns, std::vector<Place> places)
      : columns_(std::move(columns)), schema_(columns_.ToArrow()), places_(std::move(places)) {}

  std::shared_ptr<arrow::Schema> schema() const override { return schema_; }

  arrow::Status ReadNext(BatchPtr* batch) override {
    batch->reset();
    if (next_ == places_.size()) return arrow::Status::OK();
    const SsTable& table = *places_[next_].table;
    const uint64_t limit =
        std::clamp<uint64_t>(kBatchBytes / std::max<uint64_t>(1, table.bytes_per_row()), 1, kBatchRows);
    std::vector<uint64_t> rows;
    for (; next_ < places_.size() && rows.size() < limit; ++next_) {
      const Place& place = places_[next_];
      // The order starts anew where the rows that replace others end.
      if (place.table != &table || (!rows.empty() && place.row < rows.back())) break;
      rows.push_back(place.row);
    }
    ARROW_ASSIGN_OR_RAISE(const auto read, ReadRows(table, columns_, rows));
    *batch = arrow::RecordBatch::Make(schema_, read->num_rows(), read->columns());
    return arrow::Status::OK();
  }

 private:
  const file::Schema columns_;
  const std::shared_ptr<arrow::Schema> schema_;
  const std::vector<Place> places_;
  size_t next_ = 0;
};

}  // namespace

arrow::Result<CompactionRows> CompactionRows::Collect(std::vector<std::shared_ptr<const SsTable>> tables,
                                                      std::vector<file::Field> key) {
  for (const auto& table : tables) ARROW_RETURN_NOT_OK(table->CheckKey(key));
  CompactionRows rows;
  rows.tables_ = std::move(tables);
  rows.key_ = std::move(key);
  if (rows.key_.empty()) {
    rows.CollectAll();
  } else {
    ARROW_RETURN_NOT_OK(rows.CollectByKey());
  }
  return rows;
}

// From the newest row to the oldest: the first one of a key counts. Which rows of an SSTable are superseded follows
// from that; its deletion file says the same, if it was made by comparing keys and not just their hashes.
arrow::Status CompactionRows::CollectByKey() {
  for (size_t table = tables_.size(); table-- > 0;) {
    ARROW_ASSIGN_OR_RAISE(const auto keys, tables_[table]->GetKeys(key_));
    for (uint64_t row = tables_[table]->num_rows(); row-- > 0;) {
      const index::HashedKey key = keys->index.KeyOf(row);
      if (newest_->Contains(key, rows_.size())) continue;
      ARROW_RETURN_NOT_OK(newest_->Add(key.bytes));
      rows_.push_back({table, row, keys->tombstones[row], std::nullopt});
      upserts_ += keys->tombstones[row] ? 0 : 1;
    }
  }
  std::reverse(rows_.begin(), rows_.end());
  return arrow::Status::OK();
}

void CompactionRows::CollectAll() {
  for (size_t table = 0; table < tables_.size(); ++table) {
    uint64_t next = 0;
    const auto add_until = [&](uint64_t end) {
      for (; next < end; ++next) rows_.push_back({table, next, false, std::nullopt});
    };
    for (const auto& run : tables_[table]->superseded().runs()) {
      add_until(run.first);
      next = uint64_t{run.last} + 1;
    }
    add_until(tables_[table]->num_rows());
  }
  upserts_ = rows_.size();
}

arrow::Status CompactionRows::FindInBase(const Dataset& base) {
  if (newest_->num_rows() == 0 || base.manifest().fragments.empty()) return arrow::Status::OK();
  ARROW_ASSIGN_OR_RAISE(const auto encoder, EncoderOf(key_));
  std::vector<std::string> names;
  for (const file::Field& field : key_) names.push_back(field.name);
  return ForEachBaseKey(base, names, encoder, [&](const std::string& key, RowAddress address) {
    const auto found = newest_->FindNewest(index::HashedKey(key), rows_.size());
    if (!found.has_value()) return;
    Row& row = rows_[rows_.size() - 1 - *found];
    if (row.deleted) {
      masked_.push_back(address);
    } else if (const auto earlier = std::exchange(row.in_base, address)) {
      masked_.push_back(*earlier);
    }
  });
}

uint64_t CompactionRows::num_read() const {
  uint64_t rows = 0;
  for (const auto& table : tables_) rows += table->num_rows();
  return rows;
}

std::vector<RowAddress> CompactionRows::Replaced() const {
  std::vector<RowAddress> replaced;
  for (const Row& row : rows_) {
    if (row.in_base.has_value()) replaced.push_back(*row.in_base);
  }
  return replaced;
}

std::shared_ptr<arrow::RecordBatchReader> CompactionRows::Read(const file::Schema& columns) const {
  std::vector<SsTableRowsReader::Place> places;
  for (const bool replacing : {true, false}) {
    for (const Row& row : rows_) {
      if (!row.deleted && row.in_base.has_value() == replacing) places.push_back({tables_[row.table].get(), row.row});
    }
  }
  return std::make_shared<SsTableRowsReader>(columns, std::move(places));
}

}  // namespace javelin::memwal
