// One generation of a shard in memory: batches, the key index over them, and what of them may be read.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include <arrow/result.h>
#include <arrow/type_fwd.h>

#include "javelin/base/ids.h"
#include "javelin/index/key_encoding.h"
#include "javelin/index/key_index.h"
#include "javelin/memwal/batch_store.h"
#include "javelin/memwal/cursors.h"
#include "javelin/memwal/shard_schemas.h"
#include "javelin/table/manifest.h"

namespace javelin::memwal {

// What the flush of a MemTable will keep in memory for the key filter of its SSTable; counted from the start so that
// the memory ceiling holds while flushing.
inline constexpr uint64_t kKeyFilterBytes = 32'768;

// Encodes the key of every row of a batch of the storage schema.
class RowKeyEncoder {
 public:
  // InvalidInput: a key column of a type that is no key type. Without a key: nothing to encode.
  static arrow::Result<RowKeyEncoder> Make(const ShardSchemas& schemas);
  arrow::Result<std::vector<std::string>> Encode(const arrow::RecordBatch& batch) const;

 private:
  RowKeyEncoder(index::KeyEncoder encoder, std::vector<int> columns)
      : encoder_(std::move(encoder)), columns_(std::move(columns)) {}
  index::KeyEncoder encoder_;
  std::vector<int> columns_;
};

// What the MemTables of a writer share: schemas, key encoding, and the writer's durable cursor. After a change of the
// schema the next ones have a context of their own; the cursor stays one.
struct MemTableContext {
  // For rows of the table as that version has it. InvalidInput: as ShardSchemas::Make. NotSupported: a type that cannot
  // be written in the table's version of data files, so that rows could never leave memory.
  static arrow::Result<std::shared_ptr<const MemTableContext>> Make(const table::Manifest& table, bool durable_write,
                                                                    std::shared_ptr<MonotonicCount> durable);

  TableVersion table_version;      // which the schemas are of
  file::FileVersion file_version;  // of the table's data files, and so of SSTables
  std::shared_ptr<const ShardSchemas> schemas;
  std::optional<RowKeyEncoder> keys;  // absent without a primary key
  // A row may be read once it is durable; false: once it is indexed.
  bool durable_write = true;
  std::shared_ptr<MonotonicCount> durable;
};

class MemTable {
 public:
  MemTable(std::shared_ptr<const MemTableContext> context, Generation generation, GlobalBatch global_offset);

  Generation generation() const { return generation_; }
  const ShardSchemas& schemas() const { return *context_->schemas; }
  const std::shared_ptr<const MemTableContext>& context() const { return context_; }
  const BatchStore& store() const { return store_; }
  const index::KeyIndex* key_index() const { return key_index_.get(); }  // nullptr without a primary key

  // Producer only (BatchStore). Batches of schemas().storage().
  void Insert(const std::vector<std::shared_ptr<arrow::RecordBatch>>& batches) { store_.Append(batches); }

  // Brings every index from indexed() to `end`; the cursor does not move. Returns how many rows that were; 0 if the
  // indexes are there already. One task at a time. After an error the indexes may hold a part of the rows: the writer
  // is lost. Internal: a batch below `end` is not in the store.
  arrow::Result<uint64_t> ApplyIndexes(LocalBatch end);
  // The second half: the rows below `end` are in every index.
  void AdvanceIndexed(LocalBatch end) { indexed_->RaiseTo(end.value()); }
  LocalBatch indexed() const { return LocalBatch(indexed_->Get()); }
  // The cursor itself, for those who wait for it without keeping the rows.
  std::shared_ptr<const MonotonicCount> indexed_cursor() const { return indexed_; }

  // Batches of this table that are in the log.
  LocalBatch durable() const {
    return LocalEnd(GlobalBatch(context_->durable->Get()), store_.global_offset(), store_.committed());
  }
  // Batches that may be read; derived on every call.
  LocalBatch Visible() const { return context_->durable_write ? std::min(indexed(), durable()) : indexed(); }

  // The newest log entry that holds rows of this table: what a flush of it covers. Log task or replay only.
  void NoteEntry(WalPosition position) { last_entry_.RaiseTo(position.value()); }
  WalPosition last_entry() const { return WalPosition(last_entry_.Get()); }

  bool IsTombstone(const arrow::RecordBatch& batch, int64_t row) const;

  uint64_t index_bytes() const { return (key_index_ == nullptr ? 0 : key_index_->memory_bytes()) + kKeyFilterBytes; }
  uint64_t resident_bytes() const { return store_.retained_bytes() + index_bytes(); }

 private:
  const std::shared_ptr<const MemTableContext> context_;
  const Generation generation_;
  BatchStore store_;
  std::unique_ptr<index::KeyIndex> key_index_;
  const std::shared_ptr<MonotonicCount> indexed_ = std::make_shared<MonotonicCount>();
  MonotonicCount last_entry_;
};

// When a MemTable stops taking rows. Rows and batches are capacities, bytes are triggers.
struct FreezeLimits {
  uint64_t max_row_bytes;
  uint64_t max_resident_bytes;
  uint64_t max_rows;
  uint64_t max_batches;
};

// The one freeze rule, for puts and replay: the table is not empty, and it is over a byte limit or has no room for what
// comes.
bool MustFreeze(const MemTable& table, const FreezeLimits& limits, uint64_t incoming_batches, uint64_t incoming_rows);

}  // namespace javelin::memwal
