// A writer follows its table to another schema (docs/architecture.md, "Writing").
#include "javelin/base/error.h"
#include "javelin/memwal/shard_writer_internal.h"
#include "javelin/table/mem_wal_details.h"

namespace javelin::memwal {

// A writer that was overtaken may not freeze: the shard is somebody else's.
arrow::Status ShardWriter::Impl::CheckFence() {
  ARROW_RETURN_NOT_OK(state->Usable());
  const auto checked = state->manifests()->CheckFenced(state->epoch());
  if (!HasKind(checked, ErrorKind::kFencedPeerClaimedEpoch)) return checked;
  state->Poison(checked);
  return state->poison();
}

arrow::Result<bool> ShardWriter::Impl::Evolve() {
  ARROW_RETURN_NOT_OK(state->runtime().CheckProcess());
  ARROW_RETURN_NOT_OK(CheckFence());
  ARROW_ASSIGN_OR_RAISE(const auto table, dataset.CheckoutLatest());
  ARROW_ASSIGN_OR_RAISE(const auto details, table::ReadMemWalDetails(table->manifest()));
  if (!details.has_value()) return NotFound("{} has no MemWAL any more; close the writer", table->uri());
  ARROW_ASSIGN_OR_RAISE(const auto next,
                        MemTableContext::Make(table->manifest(), plan.options.durable_write, state->durable()));
  // Else the log could hold, after a loss of power, columns whose field ids the table gives to others.
  ARROW_RETURN_NOT_OK(table->MakeVersionDurable());
  ARROW_RETURN_NOT_OK(state->runtime().SyncPoint("evolve.read"));
  std::shared_ptr<MemTable> frozen;
  ARROW_ASSIGN_OR_RAISE(const bool changed, Adopt(next, &frozen));
  if (frozen != nullptr) ARROW_RETURN_NOT_OK(DispatchFrozen(*frozen));
  return changed;
}

arrow::Result<bool> ShardWriter::Impl::Adopt(const std::shared_ptr<const MemTableContext>& next,
                                             std::shared_ptr<MemTable>* frozen) {
  std::lock_guard lock(mutex);
  ARROW_RETURN_NOT_OK(state->Usable());
  if (!accepting) return Closed("the writer of shard {} is being closed", shard_id);
  const auto active = state->resident()->active();
  const MemTableContext& present = *active->context();
  // Another caller may have read a newer version of the table and come first.
  if (next->table_version <= present.table_version || *next->schemas == *present.schemas) return false;
  const auto fits = present.schemas->CheckSuccessor(*next->schemas);
  if (!fits.ok()) {
    return WithField(
        WithContext(fits, fmt::format("shard {} cannot go on with version {} of the table; close the writer", shard_id,
                                      next->table_version)),
        "shard", shard_id);
  }
  if (active->store().committed().value() > 0) {
    *frozen = FreezeLocked(next);
    return true;
  }
  state->UpdateResident([&](ResidentSet& set) {
    set.tables.back() = std::make_shared<MemTable>(next, active->generation(), active->store().global_offset());
  });
  return true;
}

arrow::Result<bool> ShardWriter::Evolve() { return impl_->Evolve(); }

}  // namespace javelin::memwal
