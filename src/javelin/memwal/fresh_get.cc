#include "javelin/base/error.h"
#include "javelin/memwal/fresh_view_internal.h"

namespace javelin::memwal {

namespace {

// The distinct keys of a request in the order asked, and where each was found.
class Lookup {
 public:
  Lookup(const FreshView::Impl& view, file::Schema target) : view_(view), rows_(std::move(target)) {}

  arrow::Status AddKeys(const arrow::RecordBatch& keys) {
    std::vector<std::shared_ptr<arrow::Array>> columns;
    for (const std::string& name : view_.key_names) {
      auto column = keys.GetColumnByName(name);
      if (column == nullptr) return InvalidInput("the keys must hold the column '{}' exactly once", name);
      const auto& type = view_.base->schema().FindByName(name)->type;
      if (!column->type()->Equals(type)) {
        return InvalidInput("key column '{}' is {}, the table's is {}", name, column->type()->ToString(),
                            type->ToString());
      }
      if (column->null_count() > 0) return InvalidInput("key column '{}' holds a null", name);
      columns.push_back(std::move(column));
    }
    ARROW_RETURN_NOT_OK(view_.keys->Encode(columns, &encoded_));
    for (size_t i = 0; i < encoded_.size(); ++i) number_of_.emplace(encoded_[i], i);
    found_.resize(encoded_.size());
    return arrow::Status::OK();
  }

  // Newest generation first; the first hit decides, a tombstone as well as a row. What is left over is asked of the
  // base table.
  arrow::Status SearchMemory() {
    for (size_t i = 0; i < encoded_.size(); ++i) {
      if (number_of_.at(encoded_[i]) != i) continue;
      ARROW_ASSIGN_OR_RAISE(const bool decided, SearchMemory(index::HashedKey(encoded_[i]), &found_[i]));
      if (!decided) open_.emplace(encoded_[i], i);
    }
    return arrow::Status::OK();
  }

  // Streams the key columns only. Where the table holds a key twice, the row that comes last in it counts.
  arrow::Status SearchBase() {
    if (open_.empty()) return arrow::Status::OK();
    ScanOptions options;
    options.columns = view_.key_names;
    options.with_row_address = true;
    ARROW_ASSIGN_OR_RAISE(const auto reader, view_.base->Scan(options));
    std::map<size_t, RowAddress> address_of;
    while (true) {
      std::shared_ptr<arrow::RecordBatch> batch;
      ARROW_RETURN_NOT_OK(reader->ReadNext(&batch));
      if (batch == nullptr) break;
      ARROW_RETURN_NOT_OK(MatchBase(*batch, &address_of));
    }
    return TakeBase(address_of);
  }

  arrow::Result<std::shared_ptr<arrow::RecordBatch>> Collect() const {
    const auto schema = rows_.target().ToArrow();
    arrow::RecordBatchVector pieces;
    for (const auto& row : found_) {
      if (row != nullptr) pieces.push_back(arrow::RecordBatch::Make(schema, 1, row->columns()));
    }
    if (pieces.empty()) return arrow::RecordBatch::MakeEmpty(schema);
    if (schema->num_fields() == 0)
      return arrow::RecordBatch::Make(schema, static_cast<int64_t>(pieces.size()), arrow::ArrayVector{});
    return arrow::ConcatenateRecordBatches(pieces);
  }

 private:
  arrow::Result<bool> SearchMemory(const index::HashedKey& key, std::shared_ptr<arrow::RecordBatch>* found) {
    for (const ShardMemory& memory : view_.shards) {
      for (const MemTableView& view : memory.tables) {
        const auto row = view.table->key_index()->FindNewest(key, view.visible_rows);
        if (!row.has_value()) continue;
        const BatchStore& store = view.table->store();
        const StoredBatch& stored = store[store.BatchOfRow(*row, LocalBatch(view.visible_batches))];
        const auto offset = static_cast<int64_t>(*row - stored.first_row);
        if (view.table->IsTombstone(*stored.batch, offset)) return true;
        ARROW_ASSIGN_OR_RAISE(*found, rows_.Take(*view.table, *stored.batch->Slice(offset, 1), {true}));
        return true;
      }
    }
    return false;
  }

  arrow::Status MatchBase(const arrow::RecordBatch& batch, std::map<size_t, RowAddress>* address_of) const {
    const int num_keys = batch.num_columns() - 1;
    const auto columns = batch.columns();
    std::vector<std::string> keys;
    ARROW_RETURN_NOT_OK(view_.keys->Encode({columns.begin(), columns.begin() + num_keys}, &keys));
    const auto& addresses = static_cast<const arrow::UInt64Array&>(*batch.column(num_keys));
    for (size_t i = 0; i < keys.size(); ++i) {
      const auto asked = open_.find(keys[i]);
      if (asked != open_.end()) (*address_of)[asked->second] = RowAddress(addresses.Value(static_cast<int64_t>(i)));
    }
    return arrow::Status::OK();
  }

  arrow::Status TakeBase(const std::map<size_t, RowAddress>& address_of) {
    if (address_of.empty()) return arrow::Status::OK();
    std::vector<RowAddress> addresses;
    for (const auto& [number, address] : address_of) addresses.push_back(address);
    std::vector<std::string> names;
    for (const file::Field& field : rows_.target().fields()) names.push_back(field.name);
    ARROW_ASSIGN_OR_RAISE(const auto taken, view_.base->TakeAddresses(addresses, names));
    int64_t row = 0;
    for (const auto& [number, address] : address_of) found_[number] = taken->Slice(row++, 1);
    return arrow::Status::OK();
  }

  const FreshView::Impl& view_;
  MemoryRows rows_;
  std::vector<std::string> encoded_;
  std::unordered_map<std::string_view, size_t> number_of_;  // first place of each key in the request
  std::unordered_map<std::string_view, size_t> open_;       // not decided by memory
  std::vector<std::shared_ptr<arrow::RecordBatch>> found_;  // one row each; null = absent
};

}  // namespace

arrow::Result<std::shared_ptr<arrow::RecordBatch>> GetFresh(const FreshView::Impl& view, const arrow::RecordBatch& keys,
                                                            const std::optional<std::vector<std::string>>& columns) {
  if (view.key_names.empty())
    return InvalidInput("{} has no primary key; rows cannot be looked up by key", view.base->uri());
  if (!view.keys.has_value())
    return NotSupported("the primary key of {} has a type that cannot be looked up", view.base->uri());
  ARROW_ASSIGN_OR_RAISE(auto target, view.Project(columns));
  Lookup lookup(view, std::move(target));
  ARROW_RETURN_NOT_OK(lookup.AddKeys(keys));
  ARROW_RETURN_NOT_OK(lookup.SearchMemory());
  ARROW_RETURN_NOT_OK(lookup.SearchBase());
  return lookup.Collect();
}

}  // namespace javelin::memwal
