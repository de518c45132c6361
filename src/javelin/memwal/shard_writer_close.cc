#include "javelin/base/error.h"
#include "javelin/memwal/shard_writer_internal.h"

namespace javelin::memwal {

arrow::Status ShardWriter::Impl::Close() {
  ARROW_RETURN_NOT_OK(state->runtime().CheckProcess());
  bool first;
  {
    std::lock_guard lock(mutex);
    first = accepting;
    accepting = false;
  }
  if (first) {
    const auto outcome = Drain();
    StopTasks();
    close_result.Set(outcome.ok() ? arrow::Result<Unit>(Unit{}) : arrow::Result<Unit>(outcome));
  }
  return close_result.cell().Get().status();
}

// Index before log, so that a writer whose indexes fail has nothing half done; what is in memory already costs no
// request.
arrow::Status ShardWriter::Impl::Drain() {
  wal.StopTicker();
  flush.GiveUp();
  ARROW_RETURN_NOT_OK(state->Usable());
  const auto active = state->resident()->active();
  const GlobalBatch end = active->store().global_end();
  ARROW_RETURN_NOT_OK(index.ApplyThrough(end).Get().status());
  ARROW_RETURN_NOT_OK(state->runtime().SyncPoint("close.drained"));
  ARROW_RETURN_NOT_OK(wal.AppendThrough(end).Get().status());
  ARROW_RETURN_NOT_OK(state->runtime().SyncPoint("close.appended"));
  ARROW_ASSIGN_OR_RAISE(const auto last, FreezeActive());
  if (!last.has_value()) return arrow::Status::OK();
  ARROW_RETURN_NOT_OK(flush.FlushThrough(*last).Get().status());
  return state->runtime().SyncPoint("close.flushed");
}

void ShardWriter::Impl::StopTasks() {
  registry->Remove(dataset.location(), state);
  state->End();
  flush.Stop();
  grace.Stop();
  index.Stop();
  wal.Stop();
}

void ShardWriter::Impl::Abort() {
  {
    std::lock_guard lock(mutex);
    accepting = false;
  }
  StopTasks();
  close_result.Set(Closed("the writer of shard {} was aborted", shard_id));
}

arrow::Status ShardWriter::Close() { return impl_->Close(); }

void ShardWriter::Abort() {
  if (impl_->state->runtime().CheckProcess().ok()) impl_->Abort();
}

ShardWriter::~ShardWriter() {
  if (impl_->state->runtime().CheckProcess().ok()) {
    impl_->Abort();
    impl_->state->ReleaseRows();
  } else {
    // In a forked child the tasks' threads and whatever they held are the parent's: nothing here can be ended.
    new std::shared_ptr<Impl>(std::move(impl_));
  }
}

arrow::Status ShardWriter::Flush() {
  ARROW_RETURN_NOT_OK(impl_->state->runtime().CheckProcess());
  ARROW_ASSIGN_OR_RAISE(const auto last, impl_->FreezeActive());
  return last.has_value() ? impl_->flush.FlushThrough(*last).Get().status() : arrow::Status::OK();
}

arrow::Status ShardWriter::FlushWal() {
  ARROW_RETURN_NOT_OK(impl_->state->runtime().CheckProcess());
  ARROW_RETURN_NOT_OK(impl_->state->Usable());
  const GlobalBatch end = impl_->state->resident()->active()->store().global_end();
  if (impl_->state->durable_end() >= end) return arrow::Status::OK();
  return impl_->wal.AppendThrough(end).Get().status();
}

}  // namespace javelin::memwal
