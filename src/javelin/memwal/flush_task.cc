#include "javelin/memwal/flush_task.h"

#include "javelin/base/error.h"
#include "javelin/memwal/sstable_writer.h"

namespace javelin::memwal {

namespace {
constexpr Duration kFirstPause = std::chrono::milliseconds(500);
constexpr Duration kLongestPause = std::chrono::minutes(10);

bool IsFenced(const arrow::Status& status) {
  return HasKind(status, ErrorKind::kFencedPeerClaimedEpoch) || HasKind(status, ErrorKind::kFencedPersistenceFailure);
}
}  // namespace

arrow::Result<std::optional<ShardManifestStore::Change>> Flush::Write(const MemTable& table) const {
  Runtime& runtime = state_->runtime();
  ARROW_RETURN_NOT_OK(runtime.SyncPoint("flush.begin"));
  // Who took the shard over since is met by the commit, which makes sure as well that it still is the same shard.
  ARROW_RETURN_NOT_OK(state_->manifests()->CheckFencedIfOld(state_->epoch()));
  ARROW_ASSIGN_OR_RAISE(const auto manifest, state_->manifests()->Latest());
  const Generation generation = table.generation();
  if (!manifest.has_value()) return NotFound("the shard has no manifest any more");
  if (manifest->current_generation > generation) return std::optional<ShardManifestStore::Change>();
  if (manifest->current_generation < generation) {
    return Internal("generation {} is to be published, but the shard expects generation {}", generation,
                    manifest->current_generation);
  }
  const ShardPaths paths(table_.root, manifest->shard_id);
  ARROW_ASSIGN_OR_RAISE(const SsTableEntry entry, WriteSsTable(state_->resources(), *table_.store, paths, table));
  const bool too_far = runtime.PlantedBug("flush.covers_what_is_not_flushed");
  const WalPosition covered = too_far ? table.last_entry().Next() : table.last_entry();
  ShardManifestStore::Change change = [entry, covered](const ShardManifest& base) -> arrow::Result<ShardManifest> {
    ShardManifest next = base.NextVersion();
    // An earlier attempt whose answer was lost landed since Write looked.
    if (base.current_generation > entry.generation)
      return RetryableConflict("generation {} was published meanwhile", entry.generation);
    next.sstables.push_back(entry);
    next.replay_after = std::max(base.replay_after, covered);
    next.wal_position_last_seen = std::max(base.wal_position_last_seen, covered);
    next.current_generation = entry.generation.Next();
    return next;
  };
  return std::optional(std::move(change));
}

FlushTask::FlushTask(std::shared_ptr<WriterState> state, WriterCounters* counters, StoreLocation table,
                     IndexTask& index, WalTask& wal, GracePeriod& grace)
    : state_(state),
      counters_(counters),
      flush_(std::move(state), std::move(table)),
      index_(index),
      wal_(wal),
      grace_(grace),
      timer_mutex_(state_->runtime()),
      strand_(state_->runtime(), "memwal.flush", PoolKind::kIo) {}

void FlushTask::Request() {
  strand_.Post([this] {
    if (!busy_) Step();
  });
}

Cell<Unit> FlushTask::FlushThrough(Generation last) {
  CellSetter<Unit> done(state_->runtime());
  strand_.Post([this, last, done] {
    waiters_.push_back({last, done});
    if (!busy_) Step();
  });
  return done.cell();
}

void FlushTask::GiveUp() {
  gave_up_.store(true);
  EndPause();  // its flush is tried a last time
}

void FlushTask::EndPause() {
  strand_.Post([this] {
    if (pausing_.exchange(false)) Step();
  });
}

void FlushTask::Stop() {
  stopped_.store(true);
  strand_.Close();
  // After the last job: it may just have set the timer.
  std::optional<TimerId> timer;
  {
    std::lock_guard lock(timer_mutex_);
    timer = std::exchange(timer_, std::nullopt);
  }
  if (timer.has_value()) state_->runtime().Cancel(*timer);
  waiters_.clear();
}

std::shared_ptr<MemTable> FlushTask::OldestFrozen() const {
  const auto set = state_->resident();
  return set->tables.size() > 1 ? set->tables.front() : nullptr;
}

// One look at what is to be done next. Every way out either ends the work (busy_ false) or leads here again.
void FlushTask::Step() {
  busy_ = true;
  hopeless_.store(false);
  if (const auto failure = state_->Usable(); !failure.ok()) return Answer(failure);
  const auto table = OldestFrozen();
  if (table == nullptr) return Answer(arrow::Status::OK());
  Answer(arrow::Status::OK());  // for those whose generations are done
  busy_ = true;
  const auto go_on = [this](const arrow::Result<Unit>& done) {
    if (done.ok()) return Step();
    Failed(done.status());
  };
  const LocalBatch end = table->store().committed();
  if (table->durable() < end) return wal_.AppendThrough(table->store().global_end()).Then(strand_, go_on);
  if (table->indexed() < end) return index_.ApplyThrough(table->store().global_end()).Then(strand_, go_on);
  WriteAndPublish(table);
}

void FlushTask::WriteAndPublish(const std::shared_ptr<MemTable>& table) {
  if (!watch_.has_value()) watch_.emplace(state_->runtime());
  auto change = flush_.Write(*table);
  if (!change.ok()) return Failed(change.status());
  if (!change->has_value()) return Drop(table);
  state_->manifests()
      ->CommitUpdate(state_->epoch(), **std::move(change))
      .Then(strand_, [this, table](const arrow::Result<ShardManifest>& committed) { Published(table, committed); });
}

void FlushTask::Published(const std::shared_ptr<MemTable>& table, const arrow::Result<ShardManifest>& committed) {
  if (HasKind(committed.status(), ErrorKind::kRetryableConflict)) return Step();  // finds it published
  if (!committed.ok()) return Failed(committed.status());
  state_->NoteCommit(*committed);
  if (const auto lost = state_->runtime().SyncPoint("flush.published"); !lost.ok()) return Failed(lost);
  counters_->Update([&](WriterStats& stats) {
    ++stats.memtable_flush_count;
    stats.memtable_flush_rows += table->store().num_rows();
    stats.memtable_flush_time_ns += watch_->Nanoseconds();
  });
  Drop(table);
}

// Readers that begin now find the rows in the SSTable: the manifest that lists it is the store object's position.
void FlushTask::Drop(const std::shared_ptr<MemTable>& table) {
  watch_.reset();
  failures_ = 0;
  grace_.Begin(table);
  state_->Wake();
  Step();
}

void FlushTask::Failed(const arrow::Status& failure) {
  watch_.reset();
  counters_->Update([](WriterStats& stats) { ++stats.memtable_flush_failures; });
  if (IsFenced(failure)) state_->Poison(failure);
  const arrow::Status terminal = state_->poison();  // perhaps an earlier one: the first counts
  const bool hopeless = HasKind(failure, ErrorKind::kInternal) || HasKind(failure, ErrorKind::kInvalidInput);
  if (!terminal.ok() || hopeless || gave_up_.load() || stopped_.load()) {
    hopeless_.store(true);
    state_->Wake();
    return Answer(terminal.ok() ? failure : terminal);
  }
  const Duration pause = std::min(kLongestPause, kFirstPause * (int64_t{1} << std::min(failures_++, 11)));
  pausing_.store(true);
  state_->Wake();
  std::lock_guard lock(timer_mutex_);
  timer_ = state_->runtime().At(state_->runtime().Now() + pause, [this] { EndPause(); });
}

// With a failure all who wait get it; else those whose generations are not frozen any more.
void FlushTask::Answer(const arrow::Status& failure) {
  busy_ = false;
  const auto oldest = OldestFrozen();
  std::vector<Waiter> waiters;
  std::swap(waiters, waiters_);
  for (Waiter& waiter : waiters) {
    if (!failure.ok()) {
      waiter.done.Set(failure);
    } else if (oldest == nullptr || oldest->generation() > waiter.last) {
      waiter.done.Set(Unit{});
    } else {
      waiters_.push_back(std::move(waiter));
    }
  }
}

}  // namespace javelin::memwal
