#include "javelin/memwal/shard_writer.h"

#include "javelin/base/error.h"
#include "javelin/memwal/shard_writer_internal.h"

namespace javelin::memwal {

ShardWriter::Impl::Impl(Dataset dataset_in, OpenPlan plan_in, std::shared_ptr<WriterState> state_in, WalLog log)
    : dataset(std::move(dataset_in)),
      plan(std::move(plan_in)),
      shard_id(plan.shard.ToString()),
      state(std::move(state_in)),
      registry(WriterRegistry::Of(*dataset.session())),
      counters(state->runtime()),
      mutex(state->runtime()),
      close_result(state->runtime()),
      index(state, &counters),
      wal(state, &counters, std::move(log), plan.options),
      grace(state, plan.options.frozen_memtable_grace),
      flush(state, &counters, dataset.location(), index, wal, grace) {}

arrow::Result<std::vector<MemTableView>> ShardWriter::Snapshot() const {
  ARROW_RETURN_NOT_OK(impl_->state->runtime().CheckProcess());
  return impl_->state->Snapshot();
}

const std::string& ShardWriter::shard_id() const { return impl_->shard_id; }
std::shared_ptr<arrow::Schema> ShardWriter::arrow_schema() const {
  return impl_->state->resident()->active()->schemas().logical();
}
std::vector<std::string> ShardWriter::key_columns() const {
  const auto active = impl_->state->resident()->active();
  std::vector<std::string> names;
  for (const int column : active->schemas().key_columns()) {
    names.push_back(active->schemas().storage()->field(column)->name());
  }
  return names;
}
Epoch ShardWriter::epoch() const { return impl_->state->epoch(); }
const Dataset& ShardWriter::dataset() const { return impl_->dataset; }
const ResolvedWriterOptions& ShardWriter::options() const { return impl_->plan.options; }
const std::vector<std::string>& ShardWriter::warnings() const { return impl_->plan.warnings; }
const std::shared_ptr<ShardManifestStore>& ShardWriter::manifest_store() const { return impl_->state->manifests(); }

arrow::Result<ShardManifest> ShardWriter::Manifest() const {
  ARROW_RETURN_NOT_OK(impl_->state->runtime().CheckProcess());
  return impl_->state->last_commit();
}

arrow::Result<ShardManifest> ShardWriter::RefreshManifest() const {
  ARROW_RETURN_NOT_OK(impl_->state->runtime().CheckProcess());
  ARROW_ASSIGN_OR_RAISE(auto manifest, impl_->state->manifests()->RefreshLatest());
  if (!manifest.has_value()) return NotFound("shard {} has no manifest any more", impl_->shard_id);
  return *std::move(manifest);
}

const std::shared_ptr<WriterState>& ShardWriter::state() const { return impl_->state; }
WriterStats ShardWriter::stats() const { return impl_->counters.Get(); }

MemTableStats ShardWriter::memtable_stats() const {
  const auto resident = impl_->state->resident();
  const MemTable& active = *resident->active();
  const LocalBatch committed = active.store().committed();
  const LocalBatch durable = std::min(active.durable(), committed);
  MemTableStats stats;
  stats.row_count = active.store().RowsBefore(committed);
  stats.batch_count = committed.value();
  stats.estimated_size_bytes = active.store().row_bytes();
  stats.index_bytes = active.index_bytes();
  stats.generation = active.generation().value();
  if (committed.value() > 0) stats.max_buffered_batch_position = committed.value() - 1;
  stats.durable_batch_count = impl_->state->durable_end().value();
  stats.global_offset = active.store().global_offset().value();
  if (durable < committed) {
    stats.pending_wal_start_batch_position = durable.value();
    stats.pending_wal_end_batch_position = committed.value();
    stats.pending_wal_batch_count = committed.value() - durable.value();
    stats.pending_wal_row_count = stats.row_count - active.store().RowsBefore(durable);
    for (uint64_t i = durable.value(); i < committed.value(); ++i) {
      stats.pending_wal_estimated_bytes += RowBytes(*active.store()[i].batch);
    }
  }
  stats.frozen_count = resident->tables.size() - 1;
  stats.frozen_bytes = resident->frozen_bytes();
  stats.grace_bytes = resident->grace_bytes();
  stats.retained_bytes = resident->resident_bytes() + stats.grace_bytes;
  return stats;
}

}  // namespace javelin::memwal
