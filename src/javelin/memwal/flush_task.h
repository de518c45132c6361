// The one consumer that makes frozen MemTables SSTables (rows V10, V12, V14; docs/format.md, "MemWAL: SSTables").
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <vector>

#include "javelin/base/runtime.h"
#include "javelin/memwal/grace_period.h"
#include "javelin/memwal/index_task.h"
#include "javelin/memwal/shard_manifest_store.h"
#include "javelin/memwal/wal_task.h"
#include "javelin/memwal/writer_counters.h"
#include "javelin/memwal/writer_state.h"
#include "javelin/store/stores.h"

namespace javelin::memwal {

// What publishing a generation needs. The steps before and after the commit, so that a task and an open can use them.
class Flush {
 public:
  Flush(std::shared_ptr<WriterState> state, StoreLocation table) : state_(std::move(state)), table_(std::move(table)) {}

  // Checks the fence and where the shard stands, and writes the SSTable of a MemTable that is wholly durable and
  // indexed. nullopt: the generation is published already (an earlier answer was lost). The commit of the change ends
  // with RetryableConflict if that turns out only then: call Write again. Fenced; Internal: an earlier generation is
  // missing; store errors. Blocks; contexts T, S.
  arrow::Result<std::optional<ShardManifestStore::Change>> Write(const MemTable& table) const;

 private:
  const std::shared_ptr<WriterState> state_;
  const StoreLocation table_;
};

// Flushes the oldest frozen MemTable of the writer, again and again, until none is left: generation order is the order
// of the MemTables. A flush that fails is tried again, after a growing pause, while later generations wait. The task
// never waits for another one: it asks for the append or the index apply that is missing and goes on when it is done.
class FlushTask {
 public:
  FlushTask(std::shared_ptr<WriterState> state, WriterCounters* counters, StoreLocation table, IndexTask& index,
            WalTask& wal, GracePeriod& grace);

  // A MemTable was frozen. Any context.
  void Request();
  // OK once no MemTable up to `last` is frozen any more; the writer's terminal failure; Cancelled once stopped. After
  // GiveUp: the failure of the first flush that fails. Any context.
  Cell<Unit> FlushThrough(Generation last);
  // Failures are final from here on: close does not wait for a store that is down. Any context.
  void GiveUp();
  // False while the flushes pause after a failure, and after one that no retry can cure.
  bool MayMakeRoom() const { return !pausing_.load() && !hopeless_.load(); }
  // Drops what is queued, lets a running step end. Context T.
  void Stop();

 private:
  struct Waiter {
    Generation last;
    CellSetter<Unit> done;
  };

  void Step();
  void EndPause();
  std::shared_ptr<MemTable> OldestFrozen() const;
  void WriteAndPublish(const std::shared_ptr<MemTable>& table);
  void Published(const std::shared_ptr<MemTable>& table, const arrow::Result<ShardManifest>& committed);
  void Drop(const std::shared_ptr<MemTable>& table);
  void Failed(const arrow::Status& failure);
  void Answer(const arrow::Status& failure);

  const std::shared_ptr<WriterState> state_;
  WriterCounters* const counters_;
  const Flush flush_;
  IndexTask& index_;
  WalTask& wal_;
  GracePeriod& grace_;
  std::atomic<bool> stopped_{false};
  std::atomic<bool> gave_up_{false};
  std::atomic<bool> pausing_{false};
  std::atomic<bool> hopeless_{false};  // until the next freeze tries again
  // Below: of jobs of the strand only.
  bool busy_ = false;  // a step is under way: its end starts the next one
  int failures_ = 0;   // in a row
  std::vector<Waiter> waiters_;
  std::optional<Stopwatch> watch_;  // since the flush under way began
  Mutex timer_mutex_;
  std::optional<TimerId> timer_;  // of the pause after a failure; guarded by timer_mutex_
  Strand strand_;                 // last: its jobs use everything above
};

}  // namespace javelin::memwal
