#include "javelin/memwal/wal_task.h"

#include "javelin/base/error.h"

namespace javelin::memwal {

namespace {
// Between appends that fail, whatever delay the options ask for.
constexpr Duration kShortestPause = std::chrono::milliseconds(5);

// Terminal whatever its cause: the writer cannot say any more what its log holds.
arrow::Status LostLog(std::string_view what) {
  return MakeError(ErrorKind::kFencedPersistenceFailure,
                   fmt::format("{}; reopen the writer, replay decides what is in the log", what));
}
}  // namespace

WalTask::WalTask(std::shared_ptr<WriterState> state, WriterCounters* counters, WalLog log,
                 const ResolvedWriterOptions& options)
    : state_(std::move(state)),
      counters_(counters),
      log_(std::move(log)),
      eager_(options.commit_mode == CommitMode::kEager),
      interval_(options.max_wal_flush_interval),
      retry_delay_(options.wal_persist_retry_base_delay),
      strand_(state_->runtime(), "memwal.wal", PoolKind::kIo) {}

void WalTask::Start() {
  if (!eager_ && interval_ > Duration::zero())
    ticker_.emplace(state_->runtime(), interval_, strand_, [this] { Tick(); });
}

void WalTask::Stop() {
  stopped_.store(true);
  StopTicker();
  strand_.Close();
}

void WalTask::Request() {
  if (requested_.exchange(true)) return;
  strand_.Post([this] { RunRequest(); });
}

void WalTask::RowsAddedHere() {
  if (eager_ && !strand_.TryRunHere([this] { RunRequest(); })) Request();
}

Cell<Unit> WalTask::AppendThrough(GlobalBatch target) {
  CellSetter<Unit> done(state_->runtime());
  strand_.Post([this, target, done] {
    const auto status = RunThrough(target);
    done.Set(status.ok() ? arrow::Result<Unit>(Unit{}) : arrow::Result<Unit>(status));
  });
  return done.cell();
}

void WalTask::RunRequest() {
  // Cleared before looking: rows added from here on ask again.
  requested_.store(false);
  const auto appended = AppendOldest();
  if (!eager_ || !state_->Usable().ok()) return;
  if (!appended.ok()) state_->runtime().Sleep(std::max(retry_delay_, kShortestPause));
  if (OldestPending() != nullptr) Request();
}

void WalTask::Tick() {
  if (state_->runtime().PlantedBug("writer.tick_names_active")) {
    const auto active = state_->resident()->active();
    if (state_->Usable().ok() && active->durable() < active->store().committed()) (void)AppendPending(*active);
    return;
  }
  (void)AppendOldest();
}

arrow::Status WalTask::RunThrough(GlobalBatch target) {
  while (state_->durable_end() < target) {
    ARROW_ASSIGN_OR_RAISE(const bool appended, AppendOldest());
    if (appended) continue;
    return Fail(
        LostLog(fmt::format("batches [{}, {}) are to be appended, but only {} are committed", state_->durable_end(),
                            target, state_->resident()->active()->store().global_end())));
  }
  return state_->poison();
}

std::shared_ptr<MemTable> WalTask::OldestPending() const {
  const GlobalBatch durable = state_->durable_end();
  const auto set = state_->resident();
  for (const auto& table : set->tables) {
    if (table->store().global_end() > durable) return table;
  }
  return nullptr;
}

arrow::Result<bool> WalTask::AppendOldest() {
  ARROW_RETURN_NOT_OK(state_->Usable());
  const auto table = OldestPending();
  if (table == nullptr) return false;
  ARROW_RETURN_NOT_OK(AppendPending(*table));
  return true;
}

arrow::Status WalTask::AppendPending(MemTable& table) {
  const Stopwatch whole(state_->runtime());
  const LocalBatch begin = table.durable();
  const LocalBatch end = table.store().committed();
  const auto entry = CollectEntry(table, begin, end);
  if (!entry.ok()) return Fail(entry.status());
  const GlobalBatch target = table.store().GlobalEnd(end);
  ARROW_RETURN_NOT_OK(state_->runtime().SyncPoint("wal.before_append"));
  if (state_->runtime().PlantedBug("writer.acknowledge_before_put")) {
    state_->durable()->RaiseTo(target.value());
    state_->Wake();
  }
  const Stopwatch io(state_->runtime());
  const auto appended = log_.Append(*entry);
  if (!appended.ok()) return Fail(appended.status());
  const uint64_t io_ns = io.Nanoseconds();
  // From here on the rows are in the log: a failure may not lead to a second append of them.
  if (auto lost = state_->runtime().SyncPoint("wal.after_append"); !lost.ok()) return Fail(LostLog(lost.message()));
  table.NoteEntry(appended->position);
  counters_->Update([&](WriterStats& stats) {
    ++stats.wal_io_count;
    stats.wal_io_time_ns += io_ns;
    ++stats.wal_flush_count;
    stats.wal_flush_bytes += appended->bytes;
    stats.wal_flush_time_ns += whole.Nanoseconds();
  });
  state_->durable()->RaiseTo(target.value());
  if (auto lost = state_->runtime().SyncPoint("wal.durable_advanced"); !lost.ok()) return Fail(LostLog(lost.message()));
  state_->Wake();
  return arrow::Status::OK();
}

arrow::Result<WalEntry> WalTask::CollectEntry(const MemTable& table, LocalBatch begin, LocalBatch end) const {
  WalEntry entry;
  entry.writer_epoch = state_->epoch();
  entry.generation = table.generation();
  entry.schema = table.schemas().storage();
  entry.batches.reserve(end.value() - begin.value());
  for (uint64_t i = begin.value(); i < end.value(); ++i) {
    const auto& batch = table.store()[i].batch;
    if (batch == nullptr) {
      return LostLog(fmt::format("batch {} of [{}, {}) is missing in generation {}, which has committed {}", i, begin,
                                 end, table.generation(), table.store().committed()));
    }
    entry.batches.push_back(batch);
  }
  return entry;
}

arrow::Status WalTask::Fail(const arrow::Status& failure) {
  switch (KindOf(failure)) {
    case ErrorKind::kFencedPeerClaimedEpoch:
    case ErrorKind::kFencedPersistenceFailure: state_->Poison(failure); break;
    // The entry cannot be encoded, now or ever.
    case ErrorKind::kInvalidInput:
    case ErrorKind::kInternal: state_->Poison(LostLog(failure.message())); break;
    // Nothing was written: the next tick tries again.
    default: return failure;
  }
  return state_->poison();
}

}  // namespace javelin::memwal
