// The inside of a ShardWriter: who holds what, and in which order it ends.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "javelin/memwal/flush_task.h"
#include "javelin/memwal/grace_period.h"
#include "javelin/memwal/index_task.h"
#include "javelin/memwal/shard_writer.h"
#include "javelin/memwal/ticket_internal.h"
#include "javelin/memwal/wal_task.h"
#include "javelin/memwal/writer_counters.h"
#include "javelin/memwal/writer_registry.h"
#include "javelin/memwal/writer_state.h"

namespace javelin::memwal {

// Everything that an open decides before it touches the shard (step O1).
struct OpenPlan {
  Uuid shard;
  uint32_t spec_id = 0;
  Generation compacted_through;  // as the table says
  ResolvedWriterOptions options;
  FreezeLimits limits;
  std::shared_ptr<const MemTableContext> context;  // of the first MemTable
  std::vector<std::string> warnings;

  // InvalidInput, NotFound (no MemWAL on the table), NotSupported. No request.
  static arrow::Result<OpenPlan> Make(const Dataset& dataset, const std::string& shard_id,
                                      const WriterOptions& options);
};

// `mutex` is the writer's state lock: it orders inserts and freezes, and is held for memory work only. The tasks take
// no lock over I/O; they read the resident set and the cursors.
struct ShardWriter::Impl {
  Impl(Dataset dataset, OpenPlan plan, std::shared_ptr<WriterState> state, WalLog log);

  // ---- shard_writer_put.cc ----
  // What the caller does once its rows are in: wait for the ticket at once, or go on.
  enum class Then { kWait, kGoOn };
  arrow::Result<Ticket> Put(const std::vector<std::shared_ptr<arrow::RecordBatch>>& batches, bool deletes, Then then);
  // Has the tasks index and append rows that are in the active MemTable.
  void HandOn(GlobalBatch target, uint64_t rows, Then then);
  // What a put was given, and the same in the storage schema of the MemTables with that context.
  struct Incoming {
    const std::vector<std::shared_ptr<arrow::RecordBatch>>& given;
    const bool deletes;
    uint64_t rows = 0;
    std::shared_ptr<const MemTableContext> context{};
    std::vector<std::shared_ptr<arrow::RecordBatch>> shaped{};
  };
  // Checks what was given and brings it into the schema. Nothing is done where that was done for this context.
  arrow::Status Shape(std::shared_ptr<const MemTableContext> context, Incoming* incoming) const;
  // Puts the rows into the active MemTable; what had to be frozen for that is appended to `frozen`. Takes `mutex`.
  arrow::Result<std::shared_ptr<const Ticket::State>> Insert(Incoming* incoming,
                                                             std::vector<std::shared_ptr<MemTable>>* frozen);
  arrow::Result<std::shared_ptr<const Ticket::State>> InsertWhenThereIsRoom(
      Incoming* incoming, Then then, std::vector<std::shared_ptr<MemTable>>* frozen);
  // Blocks while flushes can make room. False: none came, and no flush is under way that could make any.
  bool WaitForRoom();
  bool HasRoom(const ResidentSet& resident) const;
  arrow::Status CheckRoom(const ResidentSet& resident);
  // Swaps in the next generation and returns the MemTable that is frozen now. With `mutex` held. `next`: the context of
  // the next generation, if it changes.
  std::shared_ptr<MemTable> FreezeLocked(std::shared_ptr<const MemTableContext> next = nullptr);
  // Asks for the index apply and the append that a frozen MemTable still owes; a request that cannot be made is
  // terminal.
  arrow::Status DispatchFrozen(const MemTable& frozen);
  void SignalSize(const MemTable& active);

  // Freezes the active MemTable if it has rows and returns the last generation that is frozen then; nullopt: none is.
  arrow::Result<std::optional<Generation>> FreezeActive();

  // ---- shard_writer_evolve.cc ----
  arrow::Result<bool> Evolve();
  arrow::Status CheckFence();
  // Makes `next` the context of the rows to come, unless they have that schema or a newer one; false: they have. A
  // MemTable that had to be frozen for that goes to `frozen`. Takes `mutex`.
  arrow::Result<bool> Adopt(const std::shared_ptr<const MemTableContext>& next, std::shared_ptr<MemTable>* frozen);

  // ---- shard_writer_close.cc ----
  arrow::Status Close();
  arrow::Status Drain();
  void StopTasks();
  void Abort();

  const Dataset dataset;
  const OpenPlan plan;
  const std::string shard_id;
  const std::shared_ptr<WriterState> state;
  const std::shared_ptr<WriterRegistry> registry;
  WriterCounters counters;
  Mutex mutex;
  bool accepting = true;      // guarded by mutex; false from the first Close or Abort on
  uint64_t size_signals = 0;  // guarded by mutex; multiples of max_wal_buffer_size that the active MemTable has crossed
  CellSetter<Unit> close_result;
  IndexTask index;
  WalTask wal;
  GracePeriod grace;
  FlushTask flush;  // last: asks the others
};

}  // namespace javelin::memwal
