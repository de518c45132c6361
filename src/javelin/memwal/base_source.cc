#include "javelin/base/error.h"
#include "javelin/file/blob_field.h"
#include "javelin/memwal/base_keys_internal.h"
#include "javelin/memwal/sources_internal.h"

namespace javelin::memwal {

namespace {
using BatchPtr = std::shared_ptr<arrow::RecordBatch>;

// What newer sources hold of a blob column would be bytes, what the base answers is where they lie.
arrow::Status CheckNoBlobs(const file::Schema& columns) {
  for (const file::Field& field : columns.fields()) {
    if (file::HoldsBlobs(field))
      return NotSupported("a fresh view does not read blob column '{}'; name the other columns", field.name);
  }
  return arrow::Status::OK();
}

std::vector<std::string> NamesOf(const file::Schema& columns) {
  std::vector<std::string> names;
  for (const file::Field& field : columns.fields()) names.push_back(field.name);
  return names;
}

class BaseSource final : public query::Source {
 public:
  BaseSource(std::shared_ptr<const Dataset> base, std::optional<index::KeyEncoder> keys,
             std::vector<std::string> key_names)
      : base_(std::move(base)), keys_(std::move(keys)), key_names_(std::move(key_names)) {}

  // Without newer sources the table itself skips and stops.
  arrow::Result<std::shared_ptr<arrow::RecordBatchReader>> Scan(const query::SourceScan& scan) const override {
    ARROW_RETURN_NOT_OK(CheckNoBlobs(scan.columns));
    ScanOptions options;
    options.columns = NamesOf(scan.columns);
    options.with_row_id = scan.with_row_id;
    options.with_row_address = scan.with_row_address;
    options.batch_rows = scan.batch_rows;
    options.batch_bytes = scan.batch_bytes;
    if (scan.newer == nullptr) {
      options.offset = scan.offset;
      options.limit = scan.limit;
      return base_->Scan(options);
    }
    // Key columns that nobody asked for are read behind the others, to be checked.
    const size_t shown = options.columns->size();
    std::vector<int> key_columns;
    for (const std::string& name : key_names_) {
      const auto found = std::find(options.columns->begin(), options.columns->end(), name);
      key_columns.push_back(static_cast<int>(found - options.columns->begin()));
      if (found == options.columns->end()) options.columns->push_back(name);
    }
    const size_t read = options.columns->size();
    auto schema = scan.OutputSchema();
    struct State {
      ScanOptions options;
      std::shared_ptr<arrow::RecordBatchReader> reader;
    };
    auto state = std::make_shared<State>(State{std::move(options), nullptr});
    const auto next = [this, state, shown, read, schema, key_columns = std::move(key_columns),
                       newer = scan.newer]() -> arrow::Result<BatchPtr> {
      if (state->reader == nullptr) {
        ARROW_ASSIGN_OR_RAISE(state->reader, base_->Scan(state->options));
      }
      BatchPtr batch;
      ARROW_RETURN_NOT_OK(state->reader->ReadNext(&batch));
      if (batch == nullptr) return batch;
      ARROW_ASSIGN_OR_RAISE(const auto keep, Unhidden(*batch, key_columns, *newer));
      std::vector<int> columns;
      for (int i = 0; i < batch->num_columns(); ++i) {
        if (static_cast<size_t>(i) < shown || static_cast<size_t>(i) >= read) columns.push_back(i);
      }
      ARROW_ASSIGN_OR_RAISE(batch, batch->SelectColumns(columns));
      ARROW_ASSIGN_OR_RAISE(batch, query::KeepRows(batch, keep));
      return arrow::RecordBatch::Make(schema, batch->num_rows(), batch->columns());
    };
    return query::MakeWindowReader(schema, next, scan.offset, scan.limit, scan.batch_rows);
  }

  arrow::Status Find(std::span<const index::HashedKey> keys,
                     std::vector<std::optional<query::FoundRow>>* found) const override {
    std::unordered_map<std::string_view, size_t> open;
    for (size_t i = 0; i < keys.size(); ++i) {
      if (!(*found)[i].has_value()) open.emplace(keys[i].bytes, i);
    }
    if (open.empty()) return arrow::Status::OK();
    return ForEachBaseKey(*base_, key_names_, *keys_, [&](const std::string& key, RowAddress address) {
      const auto asked = open.find(key);
      if (asked != open.end()) (*found)[asked->second] = query::FoundRow{false, address.packed()};
    });
  }

  arrow::Result<BatchPtr> Take(std::span<const uint64_t> positions, const file::Schema& columns) const override {
    ARROW_RETURN_NOT_OK(CheckNoBlobs(columns));
    std::vector<RowAddress> addresses;
    for (const uint64_t position : positions) addresses.push_back(RowAddress(position));
    return base_->TakeAddresses(addresses, NamesOf(columns));
  }

  arrow::Result<std::optional<uint64_t>> KnownRows() const override {
    ARROW_ASSIGN_OR_RAISE(const uint64_t rows, base_->CountRows());
    return rows;
  }

 private:
  arrow::Result<std::vector<bool>> Unhidden(const arrow::RecordBatch& batch, const std::vector<int>& key_columns,
                                            const query::BlockList& newer) const {
    arrow::ArrayVector columns;
    for (const int column : key_columns) columns.push_back(batch.column(column));
    std::vector<std::string> encoded;
    ARROW_RETURN_NOT_OK(keys_->Encode(columns, &encoded));
    const std::vector<index::HashedKey> keys(encoded.begin(), encoded.end());
    std::vector<bool> keep(keys.size(), true);
    ARROW_RETURN_NOT_OK(newer.Apply(keys, &keep));
    return keep;
  }

  const std::shared_ptr<const Dataset> base_;
  const std::optional<index::KeyEncoder> keys_;
  const std::vector<std::string> key_names_;
};
}  // namespace

std::shared_ptr<const query::Source> MakeBaseSource(std::shared_ptr<const Dataset> base,
                                                    std::optional<index::KeyEncoder> keys,
                                                    std::vector<std::string> key_names) {
  return std::make_shared<BaseSource>(std::move(base), std::move(keys), std::move(key_names));
}

}  // namespace javelin::memwal
