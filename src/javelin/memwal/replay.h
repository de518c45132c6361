// Rebuilds the MemTables of a shard from its log (docs/format.md, "MemWAL: replay"; rows V4, V10).
#pragma once

#include <memory>
#include <optional>

#include <arrow/result.h>

#include "javelin/file/schema_align.h"
#include "javelin/memwal/mem_table.h"
#include "javelin/memwal/wal_entry.h"
#include "javelin/memwal/writer_state.h"

namespace javelin::memwal {

// Takes the entries of a log in order, as WalLog::Replay hands them on: epochs and the order of generations are checked
// there. Boundaries between MemTables follow the generation that the entries carry, whatever this writer's limits are:
// any log opens under any configuration. Only entries without a generation (older writers) are cut by size.
class Replay {
 public:
  // Batches are numbered on from the durable cursor of the context.
  Replay(std::shared_ptr<const MemTableContext> context, const ShardManifest& manifest, FreezeLimits limits);

  // WalCorrupt: rows that do not fit the table. NotSupported: an entry whose blobs lie in a data file.
  arrow::Status Apply(WalPosition position, WalEntry entry);
  // The same checks; the rows are let go of again.
  arrow::Status Check(WalPosition position, const WalEntry& entry);

  // Bytes of the MemTables that take no rows any more.
  uint64_t frozen_bytes() const { return tables_.frozen_bytes(); }
  // The oldest MemTable that takes no rows any more, indexed; null if there is none. It leaves with DropOldest.
  arrow::Result<std::shared_ptr<MemTable>> OldestFrozen();
  void DropOldest() { tables_.tables.erase(tables_.tables.begin()); }
  // Builds the indexes and returns the MemTables, oldest first; the last one goes on as the active one.
  arrow::Result<ResidentSet> Finish();

 private:
  // The MemTable that the entry goes into, after freezing the ones before it.
  MemTable& TableFor(const WalEntry& entry, uint64_t rows);
  void Rotate(Generation generation);
  // In an SSTable already, or without rows.
  arrow::Result<bool> Skips(WalPosition position, const WalEntry& entry) const;
  arrow::Result<std::vector<std::shared_ptr<arrow::RecordBatch>>> Conform(WalPosition position, const WalEntry& entry);

  const std::shared_ptr<const MemTableContext> context_;
  const Generation first_generation_;
  const std::string shard_;
  const FreezeLimits limits_;
  ResidentSet tables_;
  std::shared_ptr<arrow::Schema> aligned_schema_;  // of the last entry
  std::optional<file::SchemaAlignment> alignment_;
};

}  // namespace javelin::memwal
