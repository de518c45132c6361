// Streams rows into one shard of a Lance table: log, MemTables, reads of its own writes (docs/architecture.md,
// "Writing").
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <arrow/result.h>
#include <arrow/type_fwd.h>

#include "javelin/base/resources.h"
#include "javelin/dataset/dataset.h"
#include "javelin/memwal/shard_manifest_store.h"
#include "javelin/memwal/writer_options.h"

namespace javelin::memwal {

class MemTable;
class WriterState;

// The answer of a put that did not wait. Copyable.
class Ticket {
 public:
  struct State;

  // Returns when the rows are visible (with durable_write: in the log as well). The writer's terminal error if it
  // failed meanwhile: the outcome of the put is then unknown. Cancelled if the deadline passes. Context T.
  arrow::Status Wait(TimePoint deadline = kNoDeadline) const;
  bool Done() const;
  // Runs once in context B when Wait would return.
  void OnDone(std::function<void(const arrow::Status&)> callback) const;
  // Opaque position for reads that must see this put.
  const std::string& token() const;

 private:
  friend class ShardWriter;
  explicit Ticket(std::shared_ptr<const State> state) : state_(std::move(state)) {}
  std::shared_ptr<const State> state_;
};

struct WriterStats {
  uint64_t put_count = 0, put_time_ns = 0;
  uint64_t wal_flush_count = 0, wal_flush_bytes = 0, wal_flush_time_ns = 0;
  uint64_t wal_io_count = 0, wal_io_time_ns = 0;
  uint64_t index_update_count = 0, index_update_rows = 0, index_update_time_ns = 0;  // real applies only (V11)
  uint64_t memtable_flush_count = 0, memtable_flush_rows = 0, memtable_flush_failures = 0, memtable_flush_time_ns = 0;
  uint64_t backpressure_refusals = 0;  // also those that a waiting put met
  uint64_t backpressure_waits = 0, backpressure_wait_ns = 0;
  uint64_t backpressure_warnings = 0;  // each time that a put has waited for another backpressure_log_interval
};

// Of the active MemTable, unless the name says otherwise. Positions are numbers of batches inside it; bytes of indexes
// include what the key filter of its SSTable will take.
struct MemTableStats {
  uint64_t row_count = 0, batch_count = 0, estimated_size_bytes = 0, index_bytes = 0, generation = 0;
  std::optional<uint64_t> max_buffered_batch_position;  // of the last batch; absent if empty
  uint64_t durable_batch_count = 0, global_offset = 0;  // over the writer's life
  std::optional<uint64_t> pending_wal_start_batch_position,
      pending_wal_end_batch_position;  // not yet in the log: [start, end)
  uint64_t pending_wal_batch_count = 0, pending_wal_row_count = 0, pending_wal_estimated_bytes = 0;
  uint64_t frozen_count = 0, frozen_bytes = 0, grace_bytes = 0;
  // Of active and frozen MemTables, which max_unflushed_memtable_bytes limits, and of flushed ones in grace.
  uint64_t retained_bytes = 0;
};

// One MemTable as a reader sees it: its batches below the visible count, fixed at the moment of the snapshot.
struct MemTableView {
  std::shared_ptr<const MemTable> table;
  Generation generation;
  uint64_t visible_batches = 0;
  uint64_t visible_rows = 0;
};

class ShardWriter {
 public:
  // Validates everything first (a doomed open never harms the incumbent), then claims the shard, fences it, replays its
  // log. Errors: InvalidInput, NotFound (no MemWAL on the table), Sealed, ClaimLost, Fenced, WalGap, WalCorrupt, store
  // errors. Blocks; T.
  static arrow::Result<std::shared_ptr<ShardWriter>> Open(const Dataset& dataset, const std::string& shard_id,
                                                          const WriterOptions& options = {});
  ~ShardWriter();  // Abort()

  // Rows of arrow_schema(), all or none. Returns when they are visible (and durable with durable_write). Errors:
  // InvalidInput (nothing inserted, writer healthy), Backpressure (not accepted, and no flush makes room; retry later),
  // Fenced, Closed. Any number of callers at once. T.
  arrow::Status Put(const std::vector<std::shared_ptr<arrow::RecordBatch>>& batches);
  arrow::Status Delete(const std::vector<std::shared_ptr<arrow::RecordBatch>>& keys);
  // The same without waiting for the rows. kRefuse: not for room either, Backpressure at once. kWait: for callers that
  // will wait for the ticket next.
  enum class Room { kRefuse, kWait };
  arrow::Result<Ticket> PutAsync(const std::vector<std::shared_ptr<arrow::RecordBatch>>& batches,
                                 Room room = Room::kRefuse);
  arrow::Result<Ticket> DeleteAsync(const std::vector<std::shared_ptr<arrow::RecordBatch>>& keys,
                                    Room room = Room::kRefuse);

  // Takes over the schema of the newest version of the table. Puts from then on give its columns; rows put before keep
  // answering, by field id: a column added since is null in them, a renamed one keeps its values, a dropped one is
  // gone. The active MemTable is frozen for that if it has rows. False: the writer has that schema already. Any number
  // of callers at once. Errors, with nothing changed: InvalidInput (another primary key, a column with another type, a
  // column that must not be null but may be null in rows of this shard), NotFound (MemWAL was taken off the table),
  // NotSupported (a type that cannot be written), store errors; Fenced, Closed. Blocks; T.
  arrow::Result<bool> Evolve();
  // What rows of a put must look like now, and which of their columns are the primary key, in key order.
  std::shared_ptr<arrow::Schema> arrow_schema() const;
  std::vector<std::string> key_columns() const;

  // Makes everything put so far an SSTable: freezes the active MemTable and waits until no MemTable up to it is left in
  // memory. A store that is down is waited for. Fenced, Closed.
  arrow::Status Flush();
  // Ends the writer: drains indexes, appends what is pending, flushes, stops. Where a flush fails its rows are safe in
  // the log. First error wins; later calls return the same. A writer that wrote nothing makes no request.
  arrow::Status Close();
  // Stops without I/O; rows that are not in the log are lost. Idempotent.
  void Abort();
  // Appends everything put so far and waits until it is durable.
  arrow::Status FlushWal();

  // Snapshot for readers, newest generation first: active and all frozen MemTables with what is visible of each, and
  // flushed ones in grace. The terminal error on a poisoned writer (V2).
  arrow::Result<std::vector<MemTableView>> Snapshot() const;

  const std::string& shard_id() const;
  Epoch epoch() const;
  const Dataset& dataset() const;  // as it was opened with
  const ResolvedWriterOptions& options() const;
  // What the open did not do although it was asked to, one sentence each: indexes that no MemTable mirrors, a replay
  // cursor that could not be recorded.
  const std::vector<std::string>& warnings() const;
  const std::shared_ptr<ShardManifestStore>& manifest_store() const;
  // The manifest that this writer itself wrote last, without a request / the durable tip: only the second sees what
  // others committed, such as a seal or a compaction (M10).
  arrow::Result<ShardManifest> Manifest() const;
  arrow::Result<ShardManifest> RefreshManifest() const;
  WriterStats stats() const;  // answers on a poisoned writer
  MemTableStats memtable_stats() const;
  // What readers share with the writer; outlives it. For this module.
  const std::shared_ptr<WriterState>& state() const;

 private:
  struct Impl;
  explicit ShardWriter(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}
  std::shared_ptr<Impl> impl_;
};

}  // namespace javelin::memwal
