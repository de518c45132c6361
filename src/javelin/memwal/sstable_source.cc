#include "javelin/base/error.h"
#include "javelin/index/key_hash.h"
#include "javelin/memwal/sources_internal.h"

namespace javelin::memwal {

namespace {
using BatchPtr = std::shared_ptr<arrow::RecordBatch>;
using TablePtr = std::shared_ptr<const SsTable>;

// An SSTable of less is read whole in two requests, its keys with it.
constexpr uint64_t kLargeBytes = 64 * 1024;
// With so many rows the filter, whose size is fixed, says yes to one in thirty keys that are not there; with twice as
// many to one in three. The same of so many keys asked at once: then one of them most likely gets a yes.
constexpr uint64_t kMostFilteredRows = 32'768;
constexpr size_t kMostFilteredKeys = 16;

class SsTableSource final : public query::Source {
 public:
  SsTableSource(std::shared_ptr<SsTableCache> cache, std::shared_ptr<const Dataset> base, SsTablePlace place,
                std::vector<file::Field> key, std::shared_ptr<const SsTablesAhead> ahead, size_t number)
      : cache_(std::move(cache)),
        base_(std::move(base)),
        place_(std::move(place)),
        key_(std::move(key)),
        ahead_(std::move(ahead)),
        number_(number) {}

  uint64_t generation() const override { return place_.generation.value(); }

  // Nothing is read before the first batch is asked for. With a limit, what follows may never be needed.
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
        if (!state->scan.limit.has_value()) ARROW_RETURN_NOT_OK(ahead_->OpenFrom(number_));
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
    std::vector<index::HashedKey> open;
    for (size_t i = 0; i < keys.size(); ++i) {
      if (!(*found)[i].has_value()) open.push_back(keys[i]);
    }
    if (open.empty()) return arrow::Status::OK();
    ARROW_ASSIGN_OR_RAISE(const bool none, FilterSaysNone(open));
    if (none) return arrow::Status::OK();
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
  const std::shared_ptr<ObjectStore>& store() const { return base_->location().store; }

  arrow::Result<TablePtr> Open() const {
    ARROW_ASSIGN_OR_RAISE(TablePtr table, cache_->Get(store(), place_.folder));
    ARROW_RETURN_NOT_OK(table->CheckKey(key_));
    ARROW_RETURN_NOT_OK(table->CheckColumns(*base_));
    return table;
  }

  // True: the SSTable has none of these keys, as its filter says. Only of keys that the released peer hashes too: of
  // others a filter that it wrote says nothing. Nor does a filter say of which columns it is, and the table's key may
  // be another one by now, or again what it was before: what the SSTable's manifest says of it counts.
  arrow::Result<bool> FilterSaysNone(std::span<const index::HashedKey> keys) const {
    if (!place_.ask_filter || key_.empty() || keys.size() > kMostFilteredKeys) return false;
    const TablePtr known = cache_->Find(store(), place_.folder);
    if (known != nullptr && known->KnownKeys() != nullptr) return false;  // which say it exactly
    std::vector<std::shared_ptr<arrow::DataType>> types;
    for (const file::Field& field : key_) types.push_back(field.type);
    ARROW_ASSIGN_OR_RAISE(const auto hasher, index::KeyHasher::Make(std::move(types)));
    if (!hasher.SharedWithPeer()) return false;
    ARROW_ASSIGN_OR_RAISE(const auto filter, cache_->GetFilter(store(), place_.folder));
    if (filter == nullptr) return false;
    for (const index::HashedKey& key : keys) {
      ARROW_ASSIGN_OR_RAISE(const uint64_t hash, hasher.HashEncoded(key.bytes));
      if (filter->MayContain(hash)) return false;
    }
    return FilterIsOfThisKey();
  }

  // What keeps the manifest from being read keeps the SSTable from being opened, which says it better.
  arrow::Result<bool> FilterIsOfThisKey() const {
    const auto written = cache_->GetKey(store(), place_.folder);
    if (!written.ok()) return false;
    return std::equal(key_.begin(), key_.end(), (*written)->fields.begin(), (*written)->fields.end(),
                      [](const file::Field& now, const file::Field& then) {
                        return now.id == then.id && now.name == then.name && now.type->Equals(then.type);
                      });
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
  const SsTablePlace place_;
  const std::vector<file::Field> key_;
  const std::shared_ptr<const SsTablesAhead> ahead_;
  const size_t number_;
};
}  // namespace

bool KeyFilterPays(const SsTableEntry& entry) {
  return entry.in_memory_bytes.has_value() && *entry.in_memory_bytes > kLargeBytes && entry.physical_rows.has_value() &&
         *entry.physical_rows <= kMostFilteredRows;
}

std::shared_ptr<const query::Source> MakeSsTableSource(std::shared_ptr<SsTableCache> cache,
                                                       std::shared_ptr<const Dataset> base, SsTablePlace place,
                                                       std::vector<file::Field> key,
                                                       std::shared_ptr<const SsTablesAhead> ahead, size_t number) {
  return std::make_shared<SsTableSource>(std::move(cache), std::move(base), std::move(place), std::move(key),
                                         std::move(ahead), number);
}

}  // namespace javelin::memwal
