#include "javelin/base/error.h"
#include "javelin/memwal/sources_internal.h"

namespace javelin::memwal {

namespace {
using BatchPtr = std::shared_ptr<arrow::RecordBatch>;
using TablePtr = std::shared_ptr<const SsTable>;

class SsTableSource final : public query::Source {
 public:
  SsTableSource(std::shared_ptr<SsTableCache> cache, std::shared_ptr<const Dataset> base, std::string folder,
                Generation generation, std::vector<file::Field> key)
      : cache_(std::move(cache)),
        base_(std::move(base)),
        folder_(std::move(folder)),
        generation_(generation),
        key_(std::move(key)) {}

  uint64_t generation() const override { return generation_.value(); }

  // Nothing is read before the first batch is asked for.
  arrow::Result<std::shared_ptr<arrow::RecordBatchReader>> Scan(const query::SourceScan& scan) const override {
    auto schema = scan.OutputSchema();
    struct State {
      query::SourceScan scan;
      TablePtr table;
      uint64_t row = 0;
    };
    auto state = std::make_shared<State>(State{scan, nullptr, 0});
    const auto next = [this, state, schema]() -> arrow::Result<BatchPtr> {
      if (state->table == nullptr) {
        ARROW_ASSIGN_OR_RAISE(state->table, Open());
      }
      const SsTable& table = *state->table;
      if (state->row >= table.num_rows()) return BatchPtr();
      const uint64_t by_bytes = state->scan.batch_bytes / std::max<uint64_t>(1, table.bytes_per_row());
      const uint64_t count = std::min(table.num_rows() - state->row, std::max(state->scan.batch_rows, by_bytes));
      const uint64_t first = std::exchange(state->row, state->row + count);
      BatchPtr rows;
      if (!key_.empty() && count == table.num_rows()) {
        ARROW_ASSIGN_OR_RAISE(rows, table.ReadWithKeys(state->scan.columns, key_));
      }
      ARROW_ASSIGN_OR_RAISE(const auto keep, LiveRows(table, first, count, state->scan.newer));
      if (std::find(keep.begin(), keep.end(), true) == keep.end()) return arrow::RecordBatch::MakeEmpty(schema);
      if (rows == nullptr) {
        ARROW_ASSIGN_OR_RAISE(rows, table.Read(state->scan.columns, first, count));
      }
      ARROW_ASSIGN_OR_RAISE(const auto live, query::KeepRows(rows, keep));
      return query::WithNullColumns(*live, schema);
    };
    return query::MakeWindowReader(schema, next, scan.offset, scan.limit, scan.batch_rows);
  }

  arrow::Status Find(std::span<const index::HashedKey> keys,
                     std::vector<std::optional<query::FoundRow>>* found) const override {
    if (std::none_of(found->begin(), found->end(), [](const auto& row) { return !row.has_value(); }))
      return arrow::Status::OK();
    ARROW_ASSIGN_OR_RAISE(const TablePtr table, Open());
    ARROW_ASSIGN_OR_RAISE(const auto held, table->GetKeys(key_));
    for (size_t i = 0; i < keys.size(); ++i) {
      if ((*found)[i].has_value()) continue;
      const auto row = held->index.FindNewest(keys[i], table->num_rows());
      if (row.has_value()) (*found)[i] = query::FoundRow{held->tombstones[*row], *row};
    }
    return arrow::Status::OK();
  }

  arrow::Result<BatchPtr> Take(std::span<const uint64_t> positions, const file::Schema& columns) const override {
    ARROW_ASSIGN_OR_RAISE(const TablePtr table, Open());
    ARROW_ASSIGN_OR_RAISE(const auto rows, table->Take(columns, positions));
    return query::WithNullColumns(*rows, columns.ToArrow());
  }

 private:
  arrow::Result<TablePtr> Open() const {
    ARROW_ASSIGN_OR_RAISE(TablePtr table, cache_->Get(base_->location().store, folder_));
    ARROW_RETURN_NOT_OK(table->CheckKey(key_));
    ARROW_RETURN_NOT_OK(table->CheckColumns(*base_));
    return table;
  }

  // The keys are read only where they decide something: deletions and what newer sources hide. Without a key there is
  // neither.
  arrow::Result<std::vector<bool>> LiveRows(const SsTable& table, uint64_t first, uint64_t count,
                                            const query::BlockList* newer) const {
    std::vector<bool> live(count, true);
    for (const auto& run : table.superseded().runs()) {
      for (uint64_t row = std::max<uint64_t>(run.first, first); row <= run.last && row < first + count; ++row)
        live[row - first] = false;
    }
    if (key_.empty()) return live;
    ARROW_ASSIGN_OR_RAISE(const auto held, table.GetKeys(key_));
    std::vector<index::HashedKey> keys;
    for (uint64_t i = 0; i < count; ++i) {
      live[i] = live[i] && !held->tombstones[first + i];
      keys.push_back(held->index.KeyOf(first + i));
    }
    if (newer != nullptr) ARROW_RETURN_NOT_OK(newer->Apply(keys, &live));
    return live;
  }

  const std::shared_ptr<SsTableCache> cache_;
  const std::shared_ptr<const Dataset> base_;
  const std::string folder_;
  const Generation generation_;
  const std::vector<file::Field> key_;
};
}  // namespace

std::shared_ptr<const query::Source> MakeSsTableSource(std::shared_ptr<SsTableCache> cache,
                                                       std::shared_ptr<const Dataset> base, std::string folder,
                                                       Generation generation, std::vector<file::Field> key) {
  return std::make_shared<SsTableSource>(std::move(cache), std::move(base), std::move(folder), generation,
                                         std::move(key));
}

}  // namespace javelin::memwal
