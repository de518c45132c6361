#include "javelin/memwal/writer_state.h"

#include "javelin/base/error.h"

namespace javelin::memwal {

uint64_t ResidentSet::frozen_bytes() const {
  uint64_t bytes = 0;
  for (size_t i = 0; i + 1 < tables.size(); ++i) bytes += tables[i]->resident_bytes();
  return bytes;
}

uint64_t ResidentSet::grace_bytes() const {
  uint64_t bytes = 0;
  for (const Flushed& flushed : in_grace) bytes += flushed.table->resident_bytes();
  return bytes;
}

WriterState::WriterState(Resources resources, std::shared_ptr<ShardManifestStore> manifests, ShardManifest claimed,
                         std::shared_ptr<MonotonicCount> durable, TableVersion opened_at)
    : resources_(std::move(resources)),
      manifests_(std::move(manifests)),
      asked_at_(opened_at),
      epoch_(claimed.writer_epoch),
      durable_(std::move(durable)),
      waiters_(*resources_.runtime),
      commit_mutex_(*resources_.runtime),
      last_commit_(std::move(claimed)),
      resident_mutex_(*resources_.runtime) {}

ShardManifest WriterState::last_commit() const {
  std::lock_guard lock(commit_mutex_);
  return last_commit_;
}

void WriterState::NoteCommit(const ShardManifest& committed) {
  std::lock_guard lock(commit_mutex_);
  if (committed.version > last_commit_.version) last_commit_ = committed;
}

std::shared_ptr<const ResidentSet> WriterState::resident() const {
  std::lock_guard lock(resident_mutex_);
  return resident_;
}

void WriterState::ReplaceResident(ResidentSet tables) {
  auto replacement = std::make_shared<const ResidentSet>(std::move(tables));
  std::lock_guard lock(resident_mutex_);
  resident_.swap(replacement);
}

void WriterState::Poison(const arrow::Status& failure) {
  auto named =
      WithField(WithField(failure, "shard", manifests_->shard().ToString()), "epoch", fmt::format("{}", epoch_));
  if (poison_.Set(named)) resources_.metrics->Add("memwal.writers_failed");
  waiters_.Notify();
}

void WriterState::End() {
  ended_.store(true, std::memory_order_release);
  waiters_.Notify();
}

arrow::Status WriterState::Usable() const {
  ARROW_RETURN_NOT_OK(poison_.Check());
  return ended() ? Ended() : arrow::Status::OK();
}

arrow::Status WriterState::Ended() const {
  return Closed("the writer of shard {} (epoch {}) was closed: open a new one", manifests_->shard().ToString(), epoch_);
}

arrow::Result<std::vector<MemTableView>> WriterState::Snapshot() const {
  ARROW_RETURN_NOT_OK(Usable());
  const auto set = resident();
  if (set->tables.empty()) return Ended();
  std::vector<MemTableView> views;
  const auto show = [&](const std::shared_ptr<MemTable>& table) {
    const LocalBatch visible = table->Visible();
    views.push_back({table, table->generation(), visible.value(), table->store().RowsBefore(visible)});
  };
  // Newest first: the cursors move from older to newer rows, so what is read later of an older table reaches at least
  // as far.
  for (auto table = set->tables.rbegin(); table != set->tables.rend(); ++table) {
    const bool frozen = table != set->tables.rbegin();
    if (frozen && runtime().PlantedBug("writer.frozen_left_out_of_view")) break;
    show(*table);
  }
  for (auto flushed = set->in_grace.rbegin(); flushed != set->in_grace.rend(); ++flushed) show(flushed->table);
  return views;
}

}  // namespace javelin::memwal
