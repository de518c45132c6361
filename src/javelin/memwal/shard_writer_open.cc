#include "javelin/base/error.h"
#include "javelin/memwal/column_history.h"
#include "javelin/memwal/compaction_mark.h"
#include "javelin/memwal/flush_task.h"
#include "javelin/memwal/initialize.h"
#include "javelin/memwal/replay.h"
#include "javelin/memwal/shard_writer_internal.h"
#include "javelin/table/manifest.h"
#include "javelin/table/mem_wal_details.h"

namespace javelin::memwal {

namespace {

arrow::Result<uint32_t> ResolveSpec(uint32_t asked, const table::MemWalDetails& details) {
  if (details.sharding_specs.size() > 1) {
    return NotSupported("the table has {} sharding specs; only one is handled", details.sharding_specs.size());
  }
  const uint32_t only = details.sharding_specs.empty() ? 0 : details.sharding_specs.front().spec_id;
  if (asked == 0 || asked == only) return only;
  return InvalidInput("shard_spec_id is {}, the table's only sharding spec is {}; leave the option out", asked, only);
}

// In-memory mirrors of user indexes do not exist yet: queries search the MemTables flat, so leaving them out costs time
// only.
std::vector<std::string> IndexesLeftOut(const Dataset& dataset, const table::MemWalDetails& details) {
  std::vector<std::string> warnings;
  const auto left_out = [&](const std::string& name) {
    warnings.push_back(fmt::format(
        "index '{}' is not maintained in memory: new rows are searched without it until they are compacted", name));
  };
  if (details.maintain_all_indexes.value_or(false)) {
    std::set<std::string> names;
    for (const auto& index : dataset.manifest().indices) {
      if (!index.fields.empty()) names.insert(index.name);
    }
    for (const auto& name : names) left_out(name);
  }
  for (const auto& name : details.maintained_indexes) {
    if (dataset.manifest().FindIndex(name) != nullptr) {
      left_out(name);
    } else {
      warnings.push_back(fmt::format("the table maintains index '{}', which does not exist", name));
    }
  }
  return warnings;
}

// Reads the log, takes the shard, makes the log final and reads what came in between: steps O2 to O5. Each method is
// one step. The log is read before the claim, so that a log which cannot be replayed fails the open while the writer
// that holds the shard still goes on.
class Opening {
 public:
  Opening(const Dataset& dataset, OpenPlan& plan, std::shared_ptr<ShardManifestStore> manifests)
      : dataset_(dataset),
        plan_(plan),
        manifests_(std::move(manifests)),
        resources_(dataset.session()->resources()),
        log_(resources_, dataset.location().store, manifests_, dataset.location().root, std::nullopt,
             WalLogOptions{.max_persist_retries = plan.options.max_wal_persist_retries,
                           .persist_retry_base_delay = plan.options.wal_persist_retry_base_delay}) {}

  // Nothing is written, so a log of many MemTables cannot be made SSTables yet: what is beyond memory is checked only,
  // and read again after the claim. A shard that nobody held has no log.
  arrow::Status Read() {
    ARROW_ASSIGN_OR_RAISE(seen_, manifests_->RefreshLatest());
    const Generation next = seen_.has_value() ? seen_->current_generation : Generation(1);
    ARROW_RETURN_NOT_OK(CheckMark(plan_.shard, plan_.compacted_through, next));
    ARROW_RETURN_NOT_OK(CheckNoGapToBase());
    if (!seen_.has_value() || seen_->writer_epoch == Epoch(0) || seen_->status == ShardStatus::kSealed)
      return arrow::Status::OK();
    ARROW_ASSIGN_OR_RAISE(tip_, log_.DiscoverTip(*seen_));
    replay_.emplace(plan_.context, *seen_, plan_.limits);
    return ReplayLog(WalLog::Range::Of(*seen_, tip_->next, std::exchange(tip_->prefetched, {})), *seen_);
  }

  arrow::Status Claim() {
    ARROW_ASSIGN_OR_RAISE(manifest_, manifests_->ClaimEpoch(plan_.spec_id, &seen_));
    state_ =
        std::make_shared<WriterState>(resources_, manifests_, manifest_, plan_.context->durable, dataset_.version());
    return log_.Hold(manifest_.writer_epoch);
  }

  // Nothing can land below the sentinel any more, so what lies between it and what was read is all that is missing. A
  // shard that nobody held before needs no sentinel.
  arrow::Status FenceAndCatchUp() {
    // The predecessor published an SSTable meanwhile: what was read counts from another cursor.
    const bool moved = !seen_.has_value() || seen_->current_generation != manifest_.current_generation ||
                       seen_->replay_after != manifest_.replay_after;
    if (moved || !replay_.has_value()) {
      replay_.emplace(plan_.context, manifest_, plan_.limits);
      tip_.reset();
      next_ = manifest_.replay_after.Next();
    } else if (checked_only_from_.has_value()) {
      next_ = *checked_only_from_;
    }
    flush_.emplace(state_, dataset_.location());
    if (manifest_.writer_epoch == Epoch(1)) return ReplayLog(WalLog::Range::Of(manifest_), manifest_);
    ARROW_ASSIGN_OR_RAISE(auto sentinel, log_.WriteSentinel(manifest_, std::move(tip_)));
    if (!resources_.runtime->PlantedBug("writer.replay_before_sentinel")) {
      ARROW_RETURN_NOT_OK(ReplayLog({.first = next_,
                                     .last_seen = manifest_.wal_position_last_seen,
                                     .end = sentinel.position,
                                     .prefetched = std::move(sentinel.prefetched)},
                                    manifest_));
    }
    next_ = sentinel.position.Next();
    return arrow::Status::OK();
  }

  // The rows came from the log and are indexed: both cursors say so, else they would be appended and indexed again (row
  // V4).
  arrow::Status Publish() {
    ARROW_ASSIGN_OR_RAISE(auto tables, replay_->Finish());
    if (!resources_.runtime->PlantedBug("writer.replay_does_not_stamp_durable")) {
      state_->durable()->RaiseTo(tables.active()->store().global_end().value());
    }
    state_->ReplaceResident(std::move(tables));
    log_.SetNextPosition(next_);
    return arrow::Status::OK();
  }

  // One manifest write per open, so that the next one finds the tip sooner. Only a hint: a failure costs nothing but
  // requests.
  void RecordCursor() {
    const WalPosition last(next_.value() - 1);
    if (last <= manifest_.wal_position_last_seen) return;
    const auto recorded = manifests_->CommitUpdate(manifest_.writer_epoch, [last](const ShardManifest& base) {
      ShardManifest next = base.NextVersion();
      next.wal_position_last_seen = std::max(base.wal_position_last_seen, last);
      return arrow::Result<ShardManifest>(std::move(next));
    });
    const auto outcome = recorded.Get();
    if (outcome.ok()) {
      state_->NoteCommit(*outcome);
    } else {
      plan_.warnings.push_back(
          fmt::format("the replay cursor could not be recorded ({}): the next open looks longer for the end of the log",
                      outcome.status().message()));
    }
  }

  const std::shared_ptr<WriterState>& state() const { return state_; }
  WalLog TakeLog() { return std::move(log_); }

 private:
  // `manifest`: what the replay began with. Begins anew if the log turns out to hold columns that the table got since
  // it was opened, or their values would be dropped and then flushed away.
  arrow::Status ReplayLog(WalLog::Range range, const ShardManifest& manifest) {
    const std::optional<WalPosition> end = range.end;
    auto replayed = ReplayOnce(std::move(range));
    while (newer_ != nullptr) {
      plan_.context = std::exchange(newer_, nullptr);
      // Once claimed, some of it may have been flushed.
      const ShardManifest from = state_ == nullptr ? manifest : state_->last_commit();
      replay_.emplace(plan_.context, from, plan_.limits);
      checked_only_from_.reset();
      replayed = ReplayOnce(WalLog::Range::Of(from, end));
    }
    return replayed;
  }

  // Rows put into a shard with a gap could be neither read nor compacted. The table may be older than the manifest.
  arrow::Status CheckNoGapToBase() const {
    if (!seen_.has_value() || CheckNoGap(*seen_, plan_.compacted_through).ok()) return arrow::Status::OK();
    ARROW_ASSIGN_OR_RAISE(const auto newest, dataset_.CheckoutLatest());
    ARROW_ASSIGN_OR_RAISE(const auto details, DetailsOf(*newest));
    return CheckNoGap(*seen_, details.CompactedThrough(plan_.shard));
  }

  arrow::Status ReplayOnce(WalLog::Range range) {
    const auto apply = [this](WalPosition position, WalEntry entry) -> arrow::Status {
      ARROW_RETURN_NOT_OK(CheckColumnsKnown(*entry.schema));
      if (IsFull()) {
        if (flush_.has_value()) {
          ARROW_RETURN_NOT_OK(MakeRoom());
        } else {
          if (!checked_only_from_.has_value()) checked_only_from_ = position;
          return replay_->Check(position, entry);
        }
      }
      return replay_->Apply(position, std::move(entry));
    };
    ARROW_ASSIGN_OR_RAISE(next_, log_.Replay(std::move(range), apply));
    return arrow::Status::OK();
  }

  // A column of an entry that the table does not have was dropped, or the table was opened before it was added: the
  // newest version tells. Leaves the context to begin anew with in `newer_`.
  arrow::Status CheckColumnsKnown(const arrow::Schema& entry) {
    std::optional<std::pair<FieldId, std::string>> gone;
    bool all_gone = true;
    for (const auto& field : entry.fields()) {
      const auto id = file::FieldIdOf(*field);
      if (!id.has_value() || field->name() == kTombstoneColumn) continue;
      if (!gone.has_value()) gone.emplace(*id, field->name());
      if (dropped_.contains(*id)) continue;
      if (const auto* known = plan_.context->schemas->storage_fields().FindById(*id); known != nullptr) {
        all_gone = false;
        if (known->name != field->name()) ARROW_RETURN_NOT_OK(CheckColumnStays(*id, field->name()));
        continue;
      }
      ARROW_ASSIGN_OR_RAISE(const auto newest, dataset_.CheckoutLatest());
      if (newest->schema().FindById(*id) == nullptr) {
        dropped_.insert(*id);
        continue;
      }
      ARROW_ASSIGN_OR_RAISE(
          newer_, MemTableContext::Make(newest->manifest(), plan_.options.durable_write, plan_.context->durable));
      newest_ = newest;
      return arrow::Status::Cancelled("the replay begins anew with version ", newest->version().value());
    }
    return gone.has_value() && all_gone ? CheckColumnStays(gone->first, gone->second) : arrow::Status::OK();
  }

  // Of one that has another name now, or of one of an entry that has no column left.
  arrow::Status CheckColumnStays(FieldId id, const std::string& name) {
    if (checked_.contains({id, name})) return arrow::Status::OK();
    // Who wrote an entry, and whether the table kept its ids by then, nobody can tell.
    ARROW_RETURN_NOT_OK(CheckColumnsStay(newest_ == nullptr ? dataset_ : *newest_, {{id, name}}, /*ids_kept=*/false));
    checked_.emplace(id, name);
    return arrow::Status::OK();
  }

  // At most about two MemTables are in memory while a log is replayed (row V10).
  bool IsFull() const { return replay_->frozen_bytes() >= plan_.options.max_memtable_size; }

  arrow::Status MakeRoom() {
    while (IsFull()) {
      ARROW_ASSIGN_OR_RAISE(const auto table, replay_->OldestFrozen());
      state_->durable()->RaiseTo(table->store().global_end().value());
      ARROW_ASSIGN_OR_RAISE(const auto change, flush_->Write(*table));
      if (change.has_value()) {
        const auto committed = manifests_->CommitUpdate(state_->epoch(), *change).Get();
        if (HasKind(committed.status(), ErrorKind::kRetryableConflict)) continue;
        ARROW_RETURN_NOT_OK(committed);
        state_->NoteCommit(*committed);
      }
      ARROW_RETURN_NOT_OK(resources_.runtime->SyncPoint("open.flushed"));
      replay_->DropOldest();
    }
    return arrow::Status::OK();
  }

  const Dataset& dataset_;
  OpenPlan& plan_;
  const std::shared_ptr<ShardManifestStore> manifests_;
  const Resources resources_;
  std::optional<ShardManifest> seen_;  // before the claim
  std::optional<WalLog::Tip> tip_;     // before the claim
  ShardManifest manifest_;             // as claimed
  WalLog log_;
  std::shared_ptr<WriterState> state_;
  std::optional<Replay> replay_;
  std::optional<WalPosition> checked_only_from_;       // before the claim: what is not in memory starts here
  std::optional<Flush> flush_;                         // once claimed
  std::set<FieldId> dropped_;                          // columns of entries that the newest version does not have
  std::set<std::pair<FieldId, std::string>> checked_;  // columns of entries that stay as CheckColumnStays asks
  std::shared_ptr<const Dataset> newest_;              // which the context was made of, if not of dataset_
  std::shared_ptr<const MemTableContext> newer_;       // set: the replay ended to begin anew with this
  WalPosition next_;
};

}  // namespace

arrow::Result<OpenPlan> OpenPlan::Make(const Dataset& dataset, const std::string& shard_id,
                                       const WriterOptions& options) {
  ARROW_ASSIGN_OR_RAISE(const auto details, DetailsOf(dataset));
  OpenPlan plan;
  auto shard = Uuid::Parse(shard_id);
  if (!shard.ok()) return WithContext(shard.status(), "shard_id");
  plan.shard = *shard;
  ARROW_ASSIGN_OR_RAISE(plan.options, ResolveWriterOptions(options, details.writer_config_defaults));
  if (!plan.options.enable_memtable)
    return NotSupported("enable_memtable = false (a log without MemTables) is not handled yet");
  ARROW_ASSIGN_OR_RAISE(plan.spec_id, ResolveSpec(plan.options.shard_spec_id, details));
  plan.options.shard_spec_id = plan.spec_id;
  plan.limits = {plan.options.max_memtable_size, plan.options.max_unflushed_memtable_bytes,
                 plan.options.max_memtable_rows, plan.options.max_memtable_batches};
  ARROW_ASSIGN_OR_RAISE(plan.context, MemTableContext::Make(dataset.manifest(), plan.options.durable_write,
                                                            std::make_shared<MonotonicCount>()));
  ARROW_RETURN_NOT_OK(CheckRowsCanMove(dataset));
  plan.compacted_through = details.CompactedThrough(plan.shard);
  plan.warnings = IndexesLeftOut(dataset, details);
  return plan;
}

arrow::Result<std::shared_ptr<ShardWriter>> ShardWriter::Open(const Dataset& dataset, const std::string& shard_id,
                                                              const WriterOptions& options) {
  Runtime& runtime = dataset.session()->runtime();
  ARROW_RETURN_NOT_OK(runtime.CheckProcess());
  ARROW_ASSIGN_OR_RAISE(auto plan, OpenPlan::Make(dataset, shard_id, options));
  ARROW_RETURN_NOT_OK(runtime.SyncPoint("open.validated"));
  // The rows that the writer acknowledges are found through this version; or a later one, where it was cleaned away.
  const arrow::Status durable = dataset.MakeVersionDurable();
  if (!HasKind(durable, ErrorKind::kNotFound)) ARROW_RETURN_NOT_OK(durable);
  const auto registry = WriterRegistry::Of(*dataset.session());
  ARROW_ASSIGN_OR_RAISE(
      auto manifests,
      registry->ManifestStoreOfNow(dataset.location(), plan.shard,
                                   ManifestStoreOptions{.scan_batch_size = plan.options.manifest_scan_batch_size}));
  Opening opening(dataset, plan, std::move(manifests));
  ARROW_RETURN_NOT_OK(opening.Read());
  ARROW_RETURN_NOT_OK(KeepFieldIds(dataset));
  ARROW_RETURN_NOT_OK(runtime.SyncPoint("open.read"));
  ARROW_RETURN_NOT_OK(opening.Claim());
  ARROW_RETURN_NOT_OK(opening.FenceAndCatchUp());
  ARROW_RETURN_NOT_OK(opening.Publish());
  ARROW_RETURN_NOT_OK(runtime.SyncPoint("open.replayed"));
  opening.RecordCursor();
  ARROW_RETURN_NOT_OK(runtime.SyncPoint("open.cursor_recorded"));
  auto impl = std::make_shared<Impl>(dataset, std::move(plan), opening.state(), opening.TakeLog());
  std::shared_ptr<ShardWriter> writer(new ShardWriter(std::move(impl)));
  registry->Add(dataset.location(), writer->impl_->state);
  writer->impl_->wal.Start();
  writer->impl_->flush.Request();  // the replay may have left frozen MemTables
  return writer;
}

}  // namespace javelin::memwal
