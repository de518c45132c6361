// The inside of a FreshView: the sources above the base table, and how their rows reach the base schema.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "javelin/file/schema_align.h"
#include "javelin/memwal/fresh_view.h"
#include "javelin/memwal/mem_table.h"
#include "javelin/memwal/shard_writer.h"
#include "javelin/memwal/writer_state.h"

namespace javelin::memwal {

// What one shard holds in memory, newest generation first; each MemTable bounded to what was visible when the view was
// made.
struct ShardMemory {
  Uuid shard;
  std::shared_ptr<WriterState> writer;
  std::vector<MemTableView> tables;

  // True if one of the first `newer` MemTables holds the key: what is older is out of date, deleted or not.
  bool Holds(const index::HashedKey& key, size_t newer) const;
};

struct FreshView::Impl {
  std::shared_ptr<Dataset> base;
  std::vector<ShardMemory> shards;
  std::optional<index::KeyEncoder> keys;  // of the base table's primary key; absent without one
  std::vector<std::string> key_names;     // in key order, by their names in the base schema

  // True if some MemTable holds a visible row.
  bool has_memory() const;
  // True if base rows must be checked against memory.
  bool blocks_base() const { return keys.has_value() && has_memory(); }
  // True if any shard's memory holds the key.
  bool Blocks(const index::HashedKey& key) const;

  // The base columns with these names, in this order; all if none are given. InvalidInput names an unknown one.
  arrow::Result<file::Schema> Project(const std::optional<std::vector<std::string>>& columns) const;
};

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

// The rows of the batch with `keep[i]`; the batch itself if that is all of them.
arrow::Result<std::shared_ptr<arrow::RecordBatch>> Filter(const std::shared_ptr<arrow::RecordBatch>& batch,
                                                          const std::vector<bool>& keep);

// The rows of a view, newest generation first, the base table last; see FreshView::Scan.
arrow::Result<std::shared_ptr<arrow::RecordBatchReader>> MakeFreshScan(std::shared_ptr<const FreshView::Impl> view,
                                                                       const ScanOptions& options);

// The rows of the given keys; see FreshView::Get.
arrow::Result<std::shared_ptr<arrow::RecordBatch>> GetFresh(const FreshView::Impl& view, const arrow::RecordBatch& keys,
                                                            const std::optional<std::vector<std::string>>& columns);

}  // namespace javelin::memwal
