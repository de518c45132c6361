#include "javelin/memwal/mem_table.h"

#include "javelin/base/error.h"
#include "javelin/file/data_file_writer.h"
#include "javelin/table/data_format.h"

namespace javelin::memwal {

arrow::Result<RowKeyEncoder> RowKeyEncoder::Make(const ShardSchemas& schemas) {
  std::vector<std::shared_ptr<arrow::DataType>> types;
  for (const int column : schemas.key_columns()) types.push_back(schemas.storage()->field(column)->type());
  ARROW_ASSIGN_OR_RAISE(auto encoder, index::KeyEncoder::Make(std::move(types)));
  return RowKeyEncoder(std::move(encoder), schemas.key_columns());
}

arrow::Result<std::vector<std::string>> RowKeyEncoder::Encode(const arrow::RecordBatch& batch) const {
  std::vector<std::shared_ptr<arrow::Array>> key_columns;
  for (const int column : columns_) key_columns.push_back(batch.column(column));
  std::vector<std::string> keys;
  keys.reserve(batch.num_rows());
  ARROW_RETURN_NOT_OK(encoder_.Encode(key_columns, &keys));
  return keys;
}

arrow::Result<std::shared_ptr<const MemTableContext>> MemTableContext::Make(const table::Manifest& table,
                                                                            bool durable_write,
                                                                            std::shared_ptr<MonotonicCount> durable) {
  ARROW_ASSIGN_OR_RAISE(auto schemas, ShardSchemas::Make(table.schema));
  auto context = std::make_shared<MemTableContext>();
  context->table_version = table.version;
  ARROW_ASSIGN_OR_RAISE(context->file_version, table::DataFormatOf(table));
  ARROW_RETURN_NOT_OK(CheckStorable(table.schema, context->file_version));
  if (schemas.has_key()) {
    ARROW_ASSIGN_OR_RAISE(context->keys, RowKeyEncoder::Make(schemas));
  }
  context->schemas = std::make_shared<const ShardSchemas>(std::move(schemas));
  context->durable_write = durable_write;
  context->durable = std::move(durable);
  return context;
}

MemTable::MemTable(std::shared_ptr<const MemTableContext> context, Generation generation, GlobalBatch global_offset)
    : context_(std::move(context)), generation_(generation), store_(global_offset) {
  if (context_->keys.has_value()) key_index_ = std::make_unique<index::KeyIndex>();
}

arrow::Result<uint64_t> MemTable::ApplyIndexes(LocalBatch end) {
  const LocalBatch start = indexed();
  if (end <= start) return 0;
  if (end > store_.committed()) {
    return Internal("batches [{}, {}) of generation {} are to be indexed, but only {} are committed", start, end,
                    generation_, store_.committed());
  }
  for (uint64_t i = start.value(); key_index_ != nullptr && i < end.value(); ++i) {
    const auto& batch = store_[i].batch;
    if (batch == nullptr) {
      return Internal("batch {} of [{}, {}) is missing in generation {}, which has committed {}", i, start, end,
                      generation_, store_.committed());
    }
    ARROW_ASSIGN_OR_RAISE(const auto keys, context_->keys->Encode(*batch));
    for (const std::string& key : keys) ARROW_RETURN_NOT_OK(key_index_->Add(key));
  }
  return store_.RowsBefore(end) - store_.RowsBefore(start);
}

bool MemTable::IsTombstone(const arrow::RecordBatch& batch, int64_t row) const {
  const auto& marker = static_cast<const arrow::BooleanArray&>(*batch.column(batch.num_columns() - 1));
  return marker.Value(row);
}

bool MustFreeze(const MemTable& table, const FreezeLimits& limits, uint64_t incoming_batches, uint64_t incoming_rows) {
  const uint64_t batches = table.store().committed().value();
  if (batches == 0) return false;
  if (table.store().row_bytes() >= limits.max_row_bytes) return true;
  if (table.resident_bytes() >= limits.max_resident_bytes) return true;
  if (batches + incoming_batches > limits.max_batches) return true;
  return table.store().num_rows() + incoming_rows > limits.max_rows;
}

}  // namespace javelin::memwal
