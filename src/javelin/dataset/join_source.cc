#include <algorithm>
#include <numeric>

#include <arrow/array.h>
#include <arrow/record_batch.h>

#include "javelin/base/error.h"
#include "javelin/dataset/incoming_rows_internal.h"
#include "javelin/dataset/join_key_internal.h"
#include "javelin/dataset/join_source_internal.h"
#include "javelin/file/array_bytes.h"
#include "javelin/file/pick_rows.h"

namespace javelin::internal {

namespace {

using BatchPtr = std::shared_ptr<arrow::RecordBatch>;

// Batches below both are joined, so that rows are not kept, and picked, a few at a time.
constexpr int64_t kRowsAtOnce = 8192;
constexpr uint64_t kBytesAtOnce = 4u << 20;

std::shared_ptr<arrow::UInt64Array> Indices(std::vector<uint64_t> rows) {
  const auto length = static_cast<int64_t>(rows.size());
  return std::make_shared<arrow::UInt64Array>(length, arrow::Buffer::FromVector(std::move(rows)));
}

// Collects small batches until they are worth being one.
class Joined {
 public:
  explicit Joined(arrow::MemoryPool* pool) : pool_(pool) {}
  // The batch that is ready; null: none yet.
  arrow::Result<BatchPtr> Add(BatchPtr batch) {
    ARROW_ASSIGN_OR_RAISE(const uint64_t bytes, file::JoinedBytes({batch}));
    rows_ += batch->num_rows();
    bytes_ += bytes;
    parts_.push_back(std::move(batch));
    if (rows_ < kRowsAtOnce && bytes_ < kBytesAtOnce) return nullptr;
    return Finish();
  }
  arrow::Result<BatchPtr> Finish() {
    const arrow::RecordBatchVector parts = std::exchange(parts_, {});
    rows_ = 0;
    bytes_ = 0;
    if (parts.empty()) return nullptr;
    if (parts.size() == 1) return parts[0];
    return arrow::ConcatenateRecordBatches(parts, pool_);
  }

 private:
  arrow::MemoryPool* pool_;
  arrow::RecordBatchVector parts_;
  int64_t rows_ = 0;
  uint64_t bytes_ = 0;
};

}  // namespace

arrow::Result<JoinSource> JoinSource::Read(arrow::RecordBatchReader& rows, const file::Schema& columns,
                                           const std::vector<std::string>& on, const Resources& resources) {
  JoinSource source(resources);
  ARROW_ASSIGN_OR_RAISE(const IncomingRows incoming, IncomingRows::Make(*rows.schema(), columns));
  source.schema_ = incoming.schema();
  Joined joined(resources.pool);
  while (true) {
    BatchPtr batch;
    ARROW_RETURN_NOT_OK(rows.ReadNext(&batch));
    const bool at_end = batch == nullptr;
    if (!at_end) {
      if (batch->num_rows() == 0) continue;
      ARROW_ASSIGN_OR_RAISE(batch, incoming.Shape(*batch));
      ARROW_ASSIGN_OR_RAISE(batch, joined.Add(std::move(batch)));
    } else {
      ARROW_ASSIGN_OR_RAISE(batch, joined.Finish());
    }
    if (batch != nullptr) ARROW_RETURN_NOT_OK(source.Add(std::move(batch), on));
    if (at_end) return source;
  }
}

arrow::Status JoinSource::Reserve(uint64_t bytes) {
  auto memory = MemoryReservation::Make(*resources_.memory, static_cast<int64_t>(bytes), "the rows to merge");
  if (!memory.ok())
    return WithContext(
        memory.status(),
        fmt::format("the rows to merge are held in memory, {} of them so far; merge them in smaller parts, "
                    "or in a session with a larger memory limit",
                    num_rows()));
  memory_.push_back(*std::move(memory));
  return arrow::Status::OK();
}

arrow::Status JoinSource::Add(BatchPtr batch, const std::vector<std::string>& on) {
  ARROW_ASSIGN_OR_RAISE(const uint64_t bytes, file::JoinedBytes({batch}));
  ARROW_RETURN_NOT_OK(Reserve(bytes));
  bytes_ += bytes;
  arrow::ArrayVector columns;
  for (const std::string& name : on) columns.push_back(batch->GetColumnByName(name));
  std::string key;
  for (int64_t row = 0; row < batch->num_rows(); ++row) {
    key.clear();
    // No key that is looked up is empty.
    if (!AppendJoinKey(columns, row, key)) key.clear();
    ARROW_RETURN_NOT_OK(keys_->Add(key));
  }
  if (keys_->memory_bytes() > key_bytes_) {
    ARROW_RETURN_NOT_OK(Reserve(keys_->memory_bytes() - key_bytes_));
    key_bytes_ = keys_->memory_bytes();
  }
  first_rows_.push_back(num_rows() + static_cast<uint64_t>(batch->num_rows()));
  batches_.push_back(std::move(batch));
  return arrow::Status::OK();
}

std::vector<uint64_t> JoinSource::FindAll(const index::HashedKey& key) const {
  if (!keys_->has_overrides()) {
    const std::optional<uint64_t> row = FindOne(key);
    return row ? std::vector<uint64_t>{*row} : std::vector<uint64_t>{};
  }
  std::vector<uint64_t> rows = keys_->FindAll(key, num_rows());
  std::reverse(rows.begin(), rows.end());
  return rows;
}

arrow::Result<BatchPtr> JoinSource::Pick(std::span<const uint64_t> rows) const {
  std::vector<int> columns(static_cast<size_t>(schema_->num_fields()));
  std::iota(columns.begin(), columns.end(), 0);
  return PickColumns(rows, columns, schema_);
}

arrow::Result<BatchPtr> JoinSource::Pick(std::span<const uint64_t> rows, const std::vector<std::string>& names) const {
  std::vector<int> columns;
  arrow::FieldVector fields;
  for (const std::string& name : names) {
    columns.push_back(schema_->GetFieldIndex(name));
    fields.push_back(schema_->field(columns.back()));
  }
  return PickColumns(rows, columns, arrow::schema(std::move(fields)));
}

arrow::Result<BatchPtr> JoinSource::PickColumns(std::span<const uint64_t> rows, const std::vector<int>& columns,
                                                const std::shared_ptr<arrow::Schema>& schema) const {
  if (columns.empty()) return arrow::RecordBatch::Make(schema, static_cast<int64_t>(rows.size()), arrow::ArrayVector{});
  // Batch by batch in the order of the rows, and then into the order asked.
  std::vector<uint64_t> order(rows.size());
  std::iota(order.begin(), order.end(), uint64_t{0});
  const bool ascends = std::is_sorted(rows.begin(), rows.end());
  if (!ascends) std::stable_sort(order.begin(), order.end(), [&](uint64_t a, uint64_t b) { return rows[a] < rows[b]; });
  arrow::RecordBatchVector parts;
  for (size_t at = 0; at < order.size();) {
    const auto behind = std::upper_bound(first_rows_.begin(), first_rows_.end(), rows[order[at]]);
    const auto number = static_cast<size_t>(behind - first_rows_.begin()) - 1;
    std::vector<uint64_t> indices;
    for (; at < order.size() && rows[order[at]] < *behind; ++at)
      indices.push_back(rows[order[at]] - first_rows_[number]);
    ARROW_ASSIGN_OR_RAISE(const BatchPtr from, batches_[number]->SelectColumns(columns));
    ARROW_ASSIGN_OR_RAISE(BatchPtr part, file::TakeRows(from, *Indices(std::move(indices)), resources_.pool));
    parts.push_back(std::move(part));
  }
  if (parts.empty()) return arrow::RecordBatch::MakeEmpty(schema, resources_.pool);
  BatchPtr picked = parts[0];
  if (parts.size() > 1) {
    ARROW_ASSIGN_OR_RAISE(picked, arrow::ConcatenateRecordBatches(parts, resources_.pool));
  }
  if (ascends) return picked;
  std::vector<uint64_t> places(order.size());
  for (size_t i = 0; i < order.size(); ++i) places[order[i]] = i;
  return file::TakeRows(picked, *Indices(std::move(places)), resources_.pool);
}

}  // namespace javelin::internal
