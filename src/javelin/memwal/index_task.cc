#include "javelin/memwal/index_task.h"

#include "javelin/base/error.h"

namespace javelin::memwal {

IndexTask::IndexTask(std::shared_ptr<WriterState> state, WriterCounters* counters)
    : state_(std::move(state)), counters_(counters), strand_(state_->runtime(), "memwal.index", PoolKind::kCpu) {}

bool IndexTask::Request(GlobalBatch target) {
  return strand_.Post([this, target] { (void)Run(target); });
}

void IndexTask::RequestHere(GlobalBatch target) {
  if (!strand_.TryRunHere([this, target] { (void)Run(target); })) Request(target);
}

Cell<Unit> IndexTask::ApplyThrough(GlobalBatch target) {
  CellSetter<Unit> done(state_->runtime());
  strand_.Post([this, target, done] {
    const auto status = Run(target);
    done.Set(status.ok() ? arrow::Result<Unit>(Unit{}) : arrow::Result<Unit>(status));
  });
  return done.cell();
}

arrow::Status IndexTask::Run(GlobalBatch target) {
  ARROW_RETURN_NOT_OK(state_->Usable());
  const auto set = state_->resident();
  for (const auto& table : set->tables) {
    if (table->store().global_offset() >= target) break;
    const auto status = Apply(*table);
    if (status.ok()) continue;
    // The rows are in some indexes and not in others: no retry is right, only a rebuild from the log.
    state_->Poison(
        AsKind(status, ErrorKind::kFencedPersistenceFailure,
               "an index could not take the rows; reopen the writer, which rebuilds the indexes from the log"));
    return state_->poison();
  }
  const BatchStore& newest = set->active()->store();
  if (newest.global_end() < target) {
    state_->Poison(MakeError(ErrorKind::kFencedPersistenceFailure,
                             fmt::format("batches [{}, {}) are to be indexed, but only {} are committed: a bug; reopen "
                                         "the writer, which rebuilds the indexes from the log",
                                         newest.GlobalEnd(set->active()->indexed()), target, newest.global_end())));
  }
  return state_->poison();
}

// All that the table holds, so that one job serves every put that came meanwhile; the later ones find nothing left to
// do.
arrow::Status IndexTask::Apply(MemTable& table) {
  const LocalBatch end = table.store().committed();
  if (end <= table.indexed()) return arrow::Status::OK();
  const Stopwatch watch(state_->runtime());
  ARROW_RETURN_NOT_OK(state_->runtime().SyncPoint("index.before_apply"));
  ARROW_ASSIGN_OR_RAISE(const uint64_t rows, table.ApplyIndexes(end));
  ARROW_RETURN_NOT_OK(state_->runtime().SyncPoint("index.applied"));
  counters_->Update([&](WriterStats& stats) {
    ++stats.index_update_count;
    stats.index_update_rows += rows;
    stats.index_update_time_ns += watch.Nanoseconds();
  });
  table.AdvanceIndexed(end);
  ARROW_RETURN_NOT_OK(state_->runtime().SyncPoint("index.advanced"));
  state_->Wake();
  return arrow::Status::OK();
}

}  // namespace javelin::memwal
