#include "javelin/base/error.h"
#include "javelin/memwal/sources_internal.h"

namespace javelin::memwal {

namespace {
using BatchPtr = std::shared_ptr<arrow::RecordBatch>;

class MemTableSource final : public query::Source {
 public:
  explicit MemTableSource(MemTableView view) : view_(std::move(view)), keys_(view_.table->key_index()) {}

  uint64_t generation() const override { return view_.generation.value(); }

  arrow::Result<std::shared_ptr<arrow::RecordBatchReader>> Scan(const query::SourceScan& scan) const override {
    auto rows = std::make_shared<MemoryRows>(scan.columns);
    auto schema = scan.OutputSchema();
    const auto next = [this, rows, schema, newer = scan.newer,
                       batch = uint64_t{0}]() mutable -> arrow::Result<BatchPtr> {
      if (batch == view_.visible_batches) return BatchPtr();
      const StoredBatch& stored = view_.table->store()[batch++];
      ARROW_ASSIGN_OR_RAISE(const auto keep, LiveRows(stored, newer));
      ARROW_ASSIGN_OR_RAISE(const BatchPtr live, rows->Take(*view_.table, *stored.batch, keep));
      return query::WithNullColumns(*live, schema);
    };
    return query::MakeWindowReader(schema, next, scan.offset, scan.limit, scan.batch_rows);
  }

  arrow::Status Find(std::span<const index::HashedKey> keys,
                     std::vector<std::optional<query::FoundRow>>* found) const override {
    for (size_t i = 0; i < keys.size(); ++i) {
      if ((*found)[i].has_value()) continue;
      const auto row = keys_->FindNewest(keys[i], view_.visible_rows);
      if (!row.has_value()) continue;
      const StoredBatch& stored = BatchOf(*row);
      (*found)[i] = query::FoundRow{IsTombstone(stored, *row), *row};
    }
    return arrow::Status::OK();
  }

  arrow::Result<BatchPtr> Take(std::span<const uint64_t> positions, const file::Schema& columns) const override {
    MemoryRows rows(columns);
    arrow::RecordBatchVector pieces;
    for (const uint64_t row : positions) {
      const StoredBatch& stored = BatchOf(row);
      const auto offset = static_cast<int64_t>(row - stored.first_row);
      ARROW_ASSIGN_OR_RAISE(auto piece, rows.Take(*view_.table, *stored.batch->Slice(offset, 1), {true}));
      pieces.push_back(std::move(piece));
    }
    if (columns.fields().empty()) {
      return arrow::RecordBatch::Make(columns.ToArrow(), static_cast<int64_t>(positions.size()), arrow::ArrayVector{});
    }
    ARROW_ASSIGN_OR_RAISE(const auto taken, arrow::ConcatenateRecordBatches(pieces));
    return query::WithNullColumns(*taken, columns.ToArrow());
  }

  arrow::Result<std::optional<uint64_t>> KnownRows() const override {
    return keys_ == nullptr ? std::optional(view_.visible_rows) : std::nullopt;
  }

 private:
  const StoredBatch& BatchOf(uint64_t row) const {
    const BatchStore& store = view_.table->store();
    return store[store.BatchOfRow(row, LocalBatch(view_.visible_batches))];
  }
  bool IsTombstone(const StoredBatch& stored, uint64_t row) const {
    return view_.table->IsTombstone(*stored.batch, static_cast<int64_t>(row - stored.first_row));
  }

  arrow::Result<std::vector<bool>> LiveRows(const StoredBatch& stored, const query::BlockList* newer) const {
    std::vector<bool> live(stored.batch->num_rows(), true);
    if (keys_ == nullptr) return live;
    const bool once = !keys_->has_overrides();
    std::vector<index::HashedKey> keys;
    for (uint64_t row = stored.first_row; row < stored.end_row(); ++row) {
      keys.push_back(keys_->KeyOf(row));
      live[row - stored.first_row] =
          !IsTombstone(stored, row) && (once || keys_->FindNewest(keys.back(), view_.visible_rows) == row);
    }
    if (newer != nullptr) ARROW_RETURN_NOT_OK(newer->Apply(keys, &live));
    return live;
  }

  const MemTableView view_;
  const index::KeyIndex* const keys_;
};
}  // namespace

arrow::Status MemoryRows::Prepare(const ShardSchemas& schemas) {
  if (source_ == schemas.storage()) return arrow::Status::OK();
  columns_.clear();
  std::vector<std::shared_ptr<arrow::Field>> fields;
  for (int i = 0; i < schemas.storage()->num_fields(); ++i) {
    const file::Field& field = schemas.storage_fields().fields()[i];
    const auto wanted = [&](const file::Field& target) { return target.id == field.id; };
    if (field.id.value() < 0 || std::none_of(target_.fields().begin(), target_.fields().end(), wanted)) continue;
    columns_.push_back(i);
    fields.push_back(schemas.storage()->field(i));
  }
  ARROW_ASSIGN_OR_RAISE(alignment_, file::SchemaAlignment::Make(*arrow::schema(std::move(fields)), target_));
  source_ = schemas.storage();
  return arrow::Status::OK();
}

arrow::Result<BatchPtr> MemoryRows::Take(const MemTable& table, const arrow::RecordBatch& batch,
                                         const std::vector<bool>& keep) {
  ARROW_RETURN_NOT_OK(Prepare(table.schemas()));
  ARROW_ASSIGN_OR_RAISE(const auto selected, batch.SelectColumns(columns_));
  ARROW_ASSIGN_OR_RAISE(const auto rows, query::KeepRows(selected, keep));
  return alignment_->Apply(*rows);
}

std::shared_ptr<const query::Source> MakeMemTableSource(MemTableView view) {
  return std::make_shared<MemTableSource>(std::move(view));
}

}  // namespace javelin::memwal
