// The tiers of a shard as sources of a fold (query/source.h): MemTables, SSTables, the base table.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <arrow/result.h>

#include "javelin/dataset/dataset.h"
#include "javelin/file/schema_align.h"
#include "javelin/index/key_encoding.h"
#include "javelin/memwal/mem_table.h"
#include "javelin/memwal/shard_writer.h"
#include "javelin/memwal/sstable_cache.h"
#include "javelin/memwal/sstables_ahead_internal.h"
#include "javelin/query/source.h"

namespace javelin::memwal {

// Brings rows of MemTables to columns of the base table as it is now: matched by field id, so a column added since is
// null, a renamed one keeps its values, a dropped one is gone.
class MemoryRows {
 public:
  explicit MemoryRows(file::Schema target) : target_(std::move(target)) {}
  const file::Schema& target() const { return target_; }
  // The rows with `keep[i]`, none of which may be a tombstone.
  arrow::Result<std::shared_ptr<arrow::RecordBatch>> Take(const MemTable& table, const arrow::RecordBatch& batch,
                                                          const std::vector<bool>& keep);

 private:
  arrow::Status Prepare(const ShardSchemas& schemas);

  const file::Schema target_;
  std::shared_ptr<arrow::Schema> source_;  // of the last table
  std::vector<int> columns_;               // of it that the target has
  std::optional<file::SchemaAlignment> alignment_;
};

// What is visible of a MemTable.
std::shared_ptr<const query::Source> MakeMemTableSource(MemTableView view);

// An SSTable as its shard lists it.
struct SsTablePlace {
  std::string folder;
  Generation generation;
  bool ask_filter = false;  // a lookup reads the key filter first
};

// True if a lookup saves requests and memory where the key filter of this SSTable says no: reading its keys costs more
// than the filter, which is not too full to say no. From what the shard says of it; false where that is not enough.
bool KeyFilterPays(const SsTableEntry& entry);

// That SSTable, opened through the cache on first use. `base`: the version of the table that it is read with; `key`:
// its primary key, empty without one. `number`: its place in `ahead`, where it has been added.
std::shared_ptr<const query::Source> MakeSsTableSource(std::shared_ptr<SsTableCache> cache,
                                                       std::shared_ptr<const Dataset> base, SsTablePlace place,
                                                       std::vector<file::Field> key,
                                                       std::shared_ptr<const SsTablesAhead> ahead, size_t number);

// One version of the base table; `keys` absent: no primary key. Finds keys by streaming the key columns; where the
// table holds a key twice, the row that comes last counts. Positions are row addresses.
std::shared_ptr<const query::Source> MakeBaseSource(std::shared_ptr<const Dataset> base,
                                                    std::optional<index::KeyEncoder> keys,
                                                    std::vector<std::string> key_names);

}  // namespace javelin::memwal
