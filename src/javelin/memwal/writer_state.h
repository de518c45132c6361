// What a shard writer shares with those who wait for it and those who read it. Outlives the writer's tasks.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <arrow/result.h>

#include "javelin/base/resources.h"
#include "javelin/memwal/mem_table.h"
#include "javelin/memwal/poison_latch.h"
#include "javelin/memwal/shard_manifest_store.h"
#include "javelin/memwal/shard_writer.h"

namespace javelin::memwal {

// The MemTables of a writer, oldest first; the last one is active, the others are frozen. Immutable: a freeze makes a
// new set.
struct ResidentSet {
  std::vector<std::shared_ptr<MemTable>> tables;

  // What is an SSTable already and stays for readers only, oldest first; all older than `tables` (grace_period.h).
  struct Flushed {
    std::shared_ptr<MemTable> table;
    TimePoint since;
  };
  std::vector<Flushed> in_grace;

  const std::shared_ptr<MemTable>& active() const { return tables.back(); }
  uint64_t frozen_bytes() const;
  uint64_t grace_bytes() const;
  // Memory of all that is not flushed: what the ceiling limits.
  uint64_t resident_bytes() const { return frozen_bytes() + active()->resident_bytes(); }
};

class WriterState {
 public:
  // `claimed`: the manifest version that made the epoch ours. `opened_at`: the version of the base, read before that.
  WriterState(Resources resources, std::shared_ptr<ShardManifestStore> manifests, ShardManifest claimed,
              std::shared_ptr<MonotonicCount> durable, TableVersion opened_at);

  Runtime& runtime() const { return *resources_.runtime; }
  const Resources& resources() const { return resources_; }
  const std::shared_ptr<ShardManifestStore>& manifests() const { return manifests_; }
  Epoch epoch() const { return epoch_; }

  // The manifest version that this writer wrote last, whatever the store object has seen since (row M10).
  ShardManifest last_commit() const;
  void NoteCommit(const ShardManifest& committed);

  // The version of the base when a view last asked storage for the manifest; at first the one that the writer opened.
  // Any context.
  TableVersion asked_at() const { return asked_at_.load(std::memory_order_acquire); }
  void NoteAsked(TableVersion base) { asked_at_.store(base, std::memory_order_release); }

  // Batches in the log, by global number.
  const std::shared_ptr<MonotonicCount>& durable() const { return durable_; }
  GlobalBatch durable_end() const { return GlobalBatch(durable_->Get()); }

  std::shared_ptr<const ResidentSet> resident() const;
  void ReplaceResident(ResidentSet tables);
  // `change(ResidentSet&)` makes the next set out of the present one; memory work only.
  template <typename Change>
  void UpdateResident(const Change& change) {
    std::shared_ptr<const ResidentSet> outgoing;  // declared first: let go of outside the lock
    std::lock_guard lock(resident_mutex_);
    auto next = std::make_shared<ResidentSet>(*resident_);
    change(*next);
    outgoing = std::exchange(resident_, std::move(next));
  }
  // After the tasks have ended: lets go of the rows, whoever still holds this state.
  void ReleaseRows() { ReplaceResident({}); }

  // ---- failure and end ----
  // Keeps the first terminal failure, with shard and epoch in its fields, and wakes every waiter.
  void Poison(const arrow::Status& failure);
  arrow::Status poison() const { return poison_.Check(); }
  // The writer was closed or aborted; wakes every waiter.
  void End();
  bool ended() const { return ended_.load(std::memory_order_acquire); }
  // The terminal failure, else Closed once ended, else OK.
  arrow::Status Usable() const;

  // ---- waiting ----
  // Cursors moved, or the writer failed or ended.
  void Wake() { waiters_.Notify(); }
  WaitList& waiters() { return waiters_; }

  // Newest generation first, those in grace last, each with what is visible of it now; together a prefix of the puts.
  // Usable()'s error.
  arrow::Result<std::vector<MemTableView>> Snapshot() const;

 private:
  arrow::Status Ended() const;

  const Resources resources_;
  const std::shared_ptr<ShardManifestStore> manifests_;
  std::atomic<TableVersion> asked_at_;
  const Epoch epoch_;
  const std::shared_ptr<MonotonicCount> durable_;
  PoisonLatch poison_;
  std::atomic<bool> ended_{false};
  WaitList waiters_;
  mutable Mutex commit_mutex_;
  ShardManifest last_commit_;  // guarded by commit_mutex_
  mutable Mutex resident_mutex_;
  std::shared_ptr<const ResidentSet> resident_;  // guarded by resident_mutex_; never null after the open
};

}  // namespace javelin::memwal
