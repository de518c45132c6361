// The one consumer that appends MemTables to the log (rows V5, V7, T1-T3).
#pragma once

#include <atomic>
#include <memory>
#include <optional>

#include "javelin/base/runtime.h"
#include "javelin/memwal/wal_log.h"
#include "javelin/memwal/writer_counters.h"
#include "javelin/memwal/writer_options.h"
#include "javelin/memwal/writer_state.h"

namespace javelin::memwal {

// Order of append = order of replay = which version of a key wins; so no request names a MemTable. Whatever asks (tick,
// size signal, eager put, freeze, close), the oldest MemTable that still owes an append goes first, all its pending
// batches as one entry.
class WalTask {
 public:
  WalTask(std::shared_ptr<WriterState> state, WriterCounters* counters, WalLog log,
          const ResolvedWriterOptions& options);

  // Starts the ticker, in interval mode with an interval.
  void Start();
  // Something is pending: append one entry soon. Requests that have not started yet are one. Any context.
  void Request();
  // A put has added rows: the eager mode asks for an append, the interval mode leaves it to the tick.
  void RowsAdded() {
    if (eager_) Request();
  }
  // The same for a caller that will wait for the rows, in the eager mode: appends on its thread if no append is under
  // way, which saves two changes of thread. Context T.
  void RowsAddedHere();
  // Appends until every batch below `target` is in the log, as many entries as there are MemTables in it. The error of
  // the append that failed; not every one is terminal. Any context.
  Cell<Unit> AppendThrough(GlobalBatch target);
  // False once stopped; then AppendThrough answers Cancelled.
  bool running() const { return !stopped_.load(); }
  void StopTicker() { ticker_.reset(); }
  // Stops ticks, drops what is queued, lets a running append end. Context T.
  void Stop();

 private:
  void RunRequest();
  void Tick();
  arrow::Status RunThrough(GlobalBatch target);
  // The oldest table with batches that are not in the log; null if there is none.
  std::shared_ptr<MemTable> OldestPending() const;
  // False if nothing is pending.
  arrow::Result<bool> AppendOldest();
  arrow::Status AppendPending(MemTable& table);
  arrow::Result<WalEntry> CollectEntry(const MemTable& table, LocalBatch begin, LocalBatch end) const;
  // Latches failures that no later append can cure and returns what the writer's callers get.
  arrow::Status Fail(const arrow::Status& failure);

  const std::shared_ptr<WriterState> state_;
  WriterCounters* const counters_;
  WalLog log_;
  const bool eager_;
  const Duration interval_;
  const Duration retry_delay_;
  std::atomic<bool> requested_{false};
  std::atomic<bool> stopped_{false};
  Strand strand_;
  std::optional<Ticker> ticker_;
};

}  // namespace javelin::memwal
