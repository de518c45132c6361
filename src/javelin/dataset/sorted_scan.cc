#include "javelin/dataset/sorted_scan_internal.h"

#include <algorithm>
#include <bit>

#include <arrow/array.h>
#include <arrow/compute/api.h>
#include <arrow/compute/initialize.h>

#include "javelin/base/error.h"
#include "javelin/file/array_bytes.h"
#include "javelin/file/pick_rows.h"

namespace javelin::internal {

namespace {

using BatchPtr = std::shared_ptr<arrow::RecordBatch>;
using ArrayPtr = std::shared_ptr<arrow::Array>;

// Whole numbers in the order of the floats.
template <typename Float, typename Bits>
arrow::Result<ArrayPtr> TotalOrder(const arrow::Array& array, arrow::MemoryPool* pool) {
  const auto& floats = static_cast<const arrow::NumericArray<Float>&>(array);
  arrow::Int64Builder numbers(pool);
  ARROW_RETURN_NOT_OK(numbers.Reserve(array.length()));
  for (int64_t i = 0; i < array.length(); ++i) {
    if (floats.IsNull(i)) {
      numbers.UnsafeAppendNull();
      continue;
    }
    const Bits bits = std::bit_cast<Bits>(floats.Value(i));
    // All bits but the sign turn where it is set.
    const auto turned = static_cast<std::make_unsigned_t<Bits>>(bits >> (8 * sizeof(Bits) - 1)) >> 1;
    numbers.UnsafeAppend(bits ^ static_cast<Bits>(turned));
  }
  return numbers.Finish();
}

// The key as Arrow sorts it.
arrow::Result<ArrayPtr> Comparable(ArrayPtr key, arrow::MemoryPool* pool) {
  arrow::compute::ExecContext exec(pool);
  exec.set_use_threads(false);
  if (key->type_id() == arrow::Type::DICTIONARY) {
    const auto& values = static_cast<const arrow::DictionaryType&>(*key->type()).value_type();
    ARROW_ASSIGN_OR_RAISE(const arrow::Datum plain,
                          arrow::compute::Cast(key, values, arrow::compute::CastOptions::Safe(), &exec));
    key = plain.make_array();
  }
  if (key->type_id() == arrow::Type::HALF_FLOAT) {
    ARROW_ASSIGN_OR_RAISE(const arrow::Datum wide,
                          arrow::compute::Cast(key, arrow::float32(), arrow::compute::CastOptions::Safe(), &exec));
    key = wide.make_array();
  }
  if (key->type_id() == arrow::Type::FLOAT) return TotalOrder<arrow::FloatType, int32_t>(*key, pool);
  if (key->type_id() == arrow::Type::DOUBLE) return TotalOrder<arrow::DoubleType, int64_t>(*key, pool);
  return key;
}

class SortedScan final : public arrow::RecordBatchReader {
 public:
  SortedScan(std::shared_ptr<const DatasetState> table, std::shared_ptr<arrow::RecordBatchReader> rows,
             SortedScanOptions options)
      : table_(std::move(table)), rows_(std::move(rows)), options_(std::move(options)) {
    const uint64_t room = UINT64_MAX - options_.offset;
    most_ = options_.offset + std::min(room, options_.limit);
    arrow::FieldVector fields = rows_->schema()->fields();
    fields.erase(fields.begin(), fields.begin() + static_cast<int64_t>(options_.keys.size()));
    schema_ = arrow::schema(std::move(fields), rows_->schema()->metadata());
  }

  std::shared_ptr<arrow::Schema> schema() const override { return schema_; }

  arrow::Status ReadNext(BatchPtr* out) override {
    *out = nullptr;
    ARROW_RETURN_NOT_OK(failed_);
    if (closed_) return arrow::Status::OK();
    auto batch = Next();
    if (!batch.ok()) {
      failed_ = batch.status();
      LetGo();
      return failed_;
    }
    *out = *std::move(batch);
    return arrow::Status::OK();
  }

  arrow::Status Close() override {
    closed_ = true;
    LetGo();
    return rows_->Close();
  }

 private:
  void LetGo() {
    parts_.clear();
    memory_.clear();
    sorted_ = nullptr;
  }

  arrow::Result<BatchPtr> Next() {
    if (!gathered_) ARROW_RETURN_NOT_OK(Gather());
    if (sorted_ == nullptr || at_ >= sorted_->num_rows()) return nullptr;
    const auto count =
        static_cast<int64_t>(std::min(options_.batch_rows, static_cast<uint64_t>(sorted_->num_rows() - at_)));
    arrow::ArrayVector arrays;
    for (int i = static_cast<int>(options_.keys.size()); i < sorted_->num_columns(); ++i)
      arrays.push_back(sorted_->column(i)->Slice(at_, count));
    at_ += count;
    return arrow::RecordBatch::Make(schema_, count, std::move(arrays));
  }

  arrow::Status Gather() {
    gathered_ = true;
    while (most_ > 0) {
      BatchPtr batch;
      ARROW_RETURN_NOT_OK(Explained(rows_->ReadNext(&batch)));
      if (batch == nullptr) break;
      ARROW_RETURN_NOT_OK(Add(std::move(batch)));
      // Twice as many as can be needed: half of them go.
      if (kept_ / 2 > std::max<uint64_t>(most_, options_.batch_rows)) ARROW_RETURN_NOT_OK(SortAll());
    }
    ARROW_RETURN_NOT_OK(rows_->Close());
    if (kept_ == 0) return arrow::Status::OK();
    ARROW_RETURN_NOT_OK(SortAll());
    sorted_ = parts_[0];
    at_ = static_cast<int64_t>(std::min(options_.offset, static_cast<uint64_t>(sorted_->num_rows())));
    return arrow::Status::OK();
  }

  arrow::Status Add(BatchPtr batch) {
    ARROW_ASSIGN_OR_RAISE(auto memory, Reserve(file::JoinedBytes({batch})));
    kept_ += static_cast<uint64_t>(batch->num_rows());
    parts_.push_back(std::move(batch));
    memory_.push_back(std::move(memory));
    return arrow::Status::OK();
  }

  // Makes the parts one, sorted, with at most `most_` rows.
  arrow::Status SortAll() {
    arrow::MemoryPool* pool = table_->session->resources().pool;
    ARROW_ASSIGN_OR_RAISE(const auto joined_memory, Reserve(file::JoinedBytes(parts_)));
    ARROW_ASSIGN_OR_RAISE(BatchPtr all, file::JoinRows(parts_, pool));
    parts_.clear();
    memory_.clear();
    ARROW_ASSIGN_OR_RAISE(ArrayPtr positions, SortedPositions(*all, options_.keys, pool));
    if (static_cast<uint64_t>(positions->length()) > most_)
      positions = positions->Slice(0, static_cast<int64_t>(most_));
    ARROW_ASSIGN_OR_RAISE(auto memory,
                          Reserve(file::TakenBytes(*all, static_cast<const arrow::UInt64Array&>(*positions))));
    ARROW_ASSIGN_OR_RAISE(BatchPtr sorted, file::TakeRows(all, *positions, pool));
    kept_ = static_cast<uint64_t>(sorted->num_rows());
    parts_.push_back(std::move(sorted));
    memory_.push_back(std::move(memory));
    return arrow::Status::OK();
  }

  arrow::Result<MemoryReservation> Reserve(const arrow::Result<uint64_t>& bytes) const {
    ARROW_RETURN_NOT_OK(bytes.status());
    auto memory = MemoryReservation::Make(*table_->session->resources().memory,
                                          static_cast<int64_t>(std::min<uint64_t>(*bytes, INT64_MAX)), "sorted rows");
    if (!memory.ok()) return Explained(memory.status());
    return memory;
  }

  static arrow::Status Explained(const arrow::Status& status) {
    if (!HasKind(status, ErrorKind::kOutOfMemory)) return status;
    return WithContext(status,
                       "rows are sorted in memory: ask for fewer columns or rows (a filter, a limit), or give the "
                       "session more");
  }

  const std::shared_ptr<const DatasetState> table_;
  const std::shared_ptr<arrow::RecordBatchReader> rows_;
  const SortedScanOptions options_;
  std::shared_ptr<arrow::Schema> schema_;
  uint64_t most_ = 0;  // rows that offset and limit leave
  arrow::RecordBatchVector parts_;
  std::vector<MemoryReservation> memory_;  // for them
  uint64_t kept_ = 0;                      // rows in them
  bool gathered_ = false;
  BatchPtr sorted_;
  int64_t at_ = 0;  // in it
  arrow::Status failed_;
  bool closed_ = false;
};

}  // namespace

arrow::Status CheckSortable(const arrow::Field& key) {
  std::shared_ptr<arrow::DataType> type = key.type();
  if (type->id() == arrow::Type::DICTIONARY) type = static_cast<const arrow::DictionaryType&>(*type).value_type();
  if (!arrow::is_nested(type->id()) && type->id() != arrow::Type::EXTENSION) return arrow::Status::OK();
  return NotSupported("rows are not sorted by column '{}', which is {}", key.name(), key.type()->ToString());
}

arrow::Result<ArrayPtr> SortedPositions(const arrow::RecordBatch& rows, const std::vector<Ordering>& keys,
                                        arrow::MemoryPool* pool) {
  ARROW_RETURN_NOT_OK(arrow::compute::Initialize());
  arrow::FieldVector fields;
  arrow::ArrayVector columns;
  std::vector<arrow::compute::SortKey> order;
  const auto add = [&](ArrayPtr column, bool ascending) {
    const std::string name = fmt::format("{}", columns.size());
    fields.push_back(arrow::field(name, column->type()));
    columns.push_back(std::move(column));
    order.emplace_back(name, ascending ? arrow::compute::SortOrder::Ascending : arrow::compute::SortOrder::Descending);
  };
  arrow::compute::ExecContext exec(pool);
  exec.set_use_threads(false);
  for (size_t i = 0; i < keys.size(); ++i) {
    const ArrayPtr key = rows.column(static_cast<int>(i));
    if (key->type_id() == arrow::Type::NA) continue;
    if (key->null_count() > 0) {
      ARROW_ASSIGN_OR_RAISE(const arrow::Datum nulls, arrow::compute::CallFunction("is_null", {key}, &exec));
      add(nulls.make_array(), !keys[i].nulls_first);
    }
    ARROW_ASSIGN_OR_RAISE(ArrayPtr comparable, Comparable(key, pool));
    add(std::move(comparable), keys[i].ascending);
  }
  if (order.empty()) {
    arrow::UInt64Builder positions(pool);
    for (int64_t i = 0; i < rows.num_rows(); ++i) ARROW_RETURN_NOT_OK(positions.Append(static_cast<uint64_t>(i)));
    return positions.Finish();
  }
  const auto batch = arrow::RecordBatch::Make(arrow::schema(std::move(fields)), rows.num_rows(), std::move(columns));
  return arrow::compute::SortIndices(arrow::Datum(batch), arrow::compute::SortOptions(std::move(order)), &exec);
}

std::shared_ptr<arrow::RecordBatchReader> SortRows(std::shared_ptr<const DatasetState> table,
                                                   std::shared_ptr<arrow::RecordBatchReader> rows,
                                                   SortedScanOptions options) {
  return std::make_shared<SortedScan>(std::move(table), std::move(rows), std::move(options));
}

}  // namespace javelin::internal
