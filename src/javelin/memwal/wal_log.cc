#include "javelin/memwal/wal_log.h"

#include "javelin/base/error.h"
#include "javelin/memwal/wal_tip_internal.h"

namespace javelin::memwal {

namespace {

constexpr int kSentinelAttempts = 1'024;
constexpr int kMaxConflicts = 1'024;
constexpr int kConflictsBeforeDiscovery = 16;
constexpr Duration kMaxRetryDelay = std::chrono::seconds(5);

bool IsLostRace(const arrow::Status& status) {
  return HasKind(status, ErrorKind::kAlreadyExists) || HasKind(status, ErrorKind::kPrecondition);
}

bool IsFenced(const arrow::Status& status) {
  return HasKind(status, ErrorKind::kFencedPeerClaimedEpoch) || HasKind(status, ErrorKind::kFencedPersistenceFailure);
}

}  // namespace

struct WalLog::Impl {
  Runtime& runtime() const { return *folder.resources.runtime; }

  arrow::Status Fenced(Epoch other, WalPosition position) const;
  arrow::Result<WalEntry> ReadEntry(const BufferPtr& bytes, WalPosition position);
  arrow::Status AfterCollision(WalPosition position, uint32_t failures);
  arrow::Status AfterFailure(const arrow::Status& failure, WalPosition position, uint32_t* failures);
  arrow::Status Poison(WalPosition position, const arrow::Status& cause) const;
  Duration RetryDelay(uint32_t failures) const;

  WalFolder folder;
  std::shared_ptr<ShardManifestStore> manifests;
  std::optional<Epoch> epoch;
  WalLogOptions options;
  WalPosition next_read;                                       // where the last replay ended
  Generation last_generation;                                  // of the entries before that
  std::optional<std::pair<Epoch, WalPosition>> highest_epoch;  // of the entries read so far
  arrow::Status terminal;                                      // the first Fenced error; every later append returns it
};

WalLog::WalLog(Resources resources, std::shared_ptr<ObjectStore> store, std::shared_ptr<ShardManifestStore> manifests,
               std::string table_root, std::optional<Epoch> epoch, WalLogOptions options) {
  const Uuid shard = manifests->shard();
  impl_ = std::make_shared<Impl>(
      Impl{.folder = {std::move(resources), std::move(store), shard, ShardPaths(table_root, shard)},
           .manifests = std::move(manifests),
           .epoch = epoch,
           .options = options});
  impl_->options.read_ahead = std::max(options.read_ahead, 1u);
}

arrow::Status WalLog::Hold(Epoch epoch) {
  impl_->epoch = epoch;
  if (!impl_->highest_epoch.has_value() || impl_->highest_epoch->first <= epoch) return arrow::Status::OK();
  return impl_->Fenced(impl_->highest_epoch->first, impl_->highest_epoch->second);
}

arrow::Result<WalLog::Tip> WalLog::DiscoverTip(const ShardManifest& manifest) {
  return WalTipFinder(impl_->folder, impl_->options.prefetch_limit_bytes).Find(manifest);
}

arrow::Result<WalLog::Sentinel> WalLog::WriteSentinel(const ShardManifest& manifest, std::optional<Tip> known) {
  const WalTipFinder finder(impl_->folder, impl_->options.prefetch_limit_bytes);
  ARROW_ASSIGN_OR_RAISE(BufferPtr bytes, EncodeWalEntry({.writer_epoch = *impl_->epoch, .fence_sentinel = true}));
  std::optional<Tip> tip = std::move(known);
  for (int attempt = 0; attempt < kSentinelAttempts; ++attempt) {
    if (attempt > 0 || !tip.has_value()) {
      ARROW_ASSIGN_OR_RAISE(tip, finder.Find(manifest, std::move(tip)));
    }
    const WalPosition position = tip->next;
    arrow::Status written = impl_->folder.store->PutIfAbsent(impl_->folder.paths.WalEntry(position), bytes);
    if (IsLostRace(written)) continue;  // the predecessor is still appending
    if (written.ok()) written = impl_->runtime().SyncPoint("open.sentinel_written");
    if (!written.ok()) return impl_->folder.At(WithContext(written, "writing the fence sentinel"), position);
    next_ = position.Next();
    return Sentinel{.position = position, .prefetched = std::move(tip->prefetched)};
  }
  return impl_->folder.At(
      MakeError(ErrorKind::kIO,
                fmt::format("no free position for the fence sentinel in {} attempts", kSentinelAttempts)),
      tip->next);
}

arrow::Result<WalPosition> WalLog::Replay(Range range, const Apply& apply) {
  WalPosition position = range.first;
  if (position != impl_->next_read) impl_->last_generation = Generation(0);
  const std::optional<WalPosition> end = range.end;
  auto apply_next = [&](const BufferPtr& bytes) -> arrow::Status {
    ARROW_ASSIGN_OR_RAISE(WalEntry entry, impl_->ReadEntry(bytes, position));
    ARROW_RETURN_NOT_OK(apply(position, std::move(entry)));
    position = impl_->next_read = position.Next();
    return arrow::Status::OK();
  };
  for (BufferPtr& bytes : range.prefetched) {
    if (end.has_value() && position >= *end) return position;
    ARROW_RETURN_NOT_OK(apply_next(std::exchange(bytes, nullptr)));
  }
  // Without a known end most logs are empty, so the window opens only once an entry was there.
  for (uint64_t width = end.has_value() ? impl_->options.read_ahead : 1; !end.has_value() || position < *end;
       width = impl_->options.read_ahead) {
    if (end.has_value()) width = std::min(width, end->value() - position.value());
    auto answers = impl_->folder.store->GetMany(impl_->folder.Keys(position, width));
    bool hole = false, later_exists = false;
    for (auto& answer : answers) {
      if (!answer.ok() && !HasKind(answer.status(), ErrorKind::kNotFound))
        return impl_->folder.At(answer.status(), position);
      if (hole) {
        later_exists |= answer.ok();
      } else if (answer.ok()) {
        ARROW_RETURN_NOT_OK(apply_next(*std::move(answer)));
      } else {
        hole = true;
      }
    }
    if (!hole) continue;
    if (impl_->runtime().PlantedBug("wal.gap_read_as_end")) return position;
    if (end.has_value() || position <= range.last_seen) return impl_->folder.Gap(position);
    if (!later_exists) return position;
    ARROW_RETURN_NOT_OK(impl_->folder.ConfirmGap(position));
  }
  return position;
}

arrow::Result<WalEntry> WalLog::Impl::ReadEntry(const BufferPtr& bytes, WalPosition position) {
  ARROW_RETURN_NOT_OK(runtime().SyncPoint("wal.replay.entry"));
  arrow::Result<WalEntry> entry = DecodeWalEntry(bytes);
  if (!entry.ok()) return folder.At(entry.status(), position);
  if (epoch.has_value() && entry->writer_epoch > *epoch && !runtime().PlantedBug("wal.replay_accepts_higher_epoch"))
    return Fenced(entry->writer_epoch, position);
  if (!highest_epoch.has_value() || entry->writer_epoch > highest_epoch->first)
    highest_epoch = {entry->writer_epoch, position};
  if (entry->generation.has_value()) {
    if (*entry->generation < last_generation) {
      return folder.At(WalCorrupt("generation {} follows generation {}; restore the entry, or let an operator decide "
                                  "what to do with it",
                                  *entry->generation, last_generation),
                       position);
    }
    last_generation = *entry->generation;
  }
  return entry;
}

arrow::Status WalLog::Impl::Fenced(Epoch other, WalPosition position) const {
  arrow::Status status =
      MakeError(ErrorKind::kFencedPeerClaimedEpoch,
                fmt::format("the entry was written in epoch {}, this writer holds epoch {}: another writer took the "
                            "shard over; drop this writer",
                            other, *epoch),
                {{"epoch", fmt::to_string(*epoch)}});
  return folder.At(status, position);
}

// One entry at one position, exactly once. What may go wrong with the conditional PUT:
//   collision, nothing failed before   somebody else's entry: a successor's (then we are fenced) or the late sentinel
//   of an opener that
//                                      a claim overtook (harmless: stepped over)
//   collision after a failed PUT       perhaps our own entry, perhaps not: only a replay can tell
//   failure                            the entry may exist: only the same bytes at the same position may be tried again
arrow::Result<AppendResult> WalLog::Append(const WalEntry& entry) {
  ARROW_RETURN_NOT_OK(impl_->terminal);
  WalEntry stamped = entry;
  stamped.writer_epoch = *impl_->epoch;
  ARROW_ASSIGN_OR_RAISE(BufferPtr bytes, EncodeWalEntry(stamped));
  auto keep_terminal = [&](const arrow::Status& status) {
    if (IsFenced(status)) impl_->terminal = status;
    return status;
  };
  // Fencing relies on collisions; a writer that slept could find an old slot emptied by a collection of the log.
  ARROW_RETURN_NOT_OK(keep_terminal(impl_->manifests->CheckFencedIfOld(*impl_->epoch)));
  if (next_ == WalPosition(0)) ARROW_RETURN_NOT_OK(DiscoverNext());
  uint32_t failures = 0;
  int conflicts = 0;
  while (true) {
    arrow::Status written = impl_->folder.store->PutIfAbsent(impl_->folder.paths.WalEntry(next_), bytes);
    if (arrow::Status lost = impl_->runtime().SyncPoint("wal.append.put_sent"); !lost.ok()) written = lost;
    if (written.ok()) break;
    if (!IsLostRace(written)) {
      ARROW_RETURN_NOT_OK(keep_terminal(impl_->AfterFailure(written, next_, &failures)));
      continue;
    }
    if (impl_->runtime().PlantedBug("wal.next_position_after_unknown_outcome")) failures = 0;
    ARROW_RETURN_NOT_OK(keep_terminal(impl_->AfterCollision(next_, failures)));
    if (++conflicts >= kMaxConflicts) {
      return impl_->folder.At(MakeError(ErrorKind::kIO, fmt::format("{} positions in a row were taken", kMaxConflicts)),
                              next_);
    }
    if (conflicts % kConflictsBeforeDiscovery == 0) {
      ARROW_RETURN_NOT_OK(DiscoverNext());
    } else {
      next_ = next_.Next();
    }
  }
  AppendResult result{.position = next_, .bytes = static_cast<uint64_t>(bytes->size())};
  next_ = next_.Next();
  arrow::Status done = impl_->runtime().SyncPoint("wal.append.done");
  if (!done.ok()) return keep_terminal(impl_->Poison(result.position, done));
  return result;
}

arrow::Status WalLog::DiscoverNext() {
  ARROW_ASSIGN_OR_RAISE(std::optional<ShardManifest> manifest, impl_->manifests->Latest());
  if (!manifest.has_value())
    return NotFound("shard {} does not exist: it has no manifest", impl_->folder.shard.ToString());
  ARROW_ASSIGN_OR_RAISE(Tip tip, DiscoverTip(*manifest));
  next_ = tip.next;
  return arrow::Status::OK();
}

arrow::Status WalLog::Impl::AfterCollision(WalPosition position, uint32_t failures) {
  arrow::Status fence;
  if (!runtime().PlantedBug("wal.no_fence_check_after_collision")) fence = manifests->CheckFenced(*epoch);
  if (IsFenced(fence)) return fence;
  if (failures > 0) return Poison(position, AlreadyExists("the position is taken after a write of unknown outcome"));
  // Nothing of ours was written. Who cannot ask whether it is fenced must not step over the entry.
  return folder.At(fence, position);
}

arrow::Status WalLog::Impl::AfterFailure(const arrow::Status& failure, WalPosition position, uint32_t* failures) {
  arrow::Status fence = manifests->CheckFenced(*epoch);
  if (IsFenced(fence)) return fence;
  // A fence check that failed itself decides nothing: the entry may exist, so the only ways out are success and poison.
  if (*failures >= options.max_persist_retries) return Poison(position, failure);
  ++*failures;
  runtime().Sleep(RetryDelay(*failures));
  return arrow::Status::OK();
}

Duration WalLog::Impl::RetryDelay(uint32_t failures) const {
  Duration delay = std::min(options.persist_retry_base_delay, kMaxRetryDelay);
  for (uint32_t i = 1; i < failures && delay < kMaxRetryDelay; ++i) delay *= 2;
  return std::min(delay, kMaxRetryDelay);
}

arrow::Status WalLog::Impl::Poison(WalPosition position, const arrow::Status& cause) const {
  arrow::Status status = MakeError(
      ErrorKind::kFencedPersistenceFailure,
      fmt::format("epoch {}: the entry may or may not be in the log ({}); open the shard again, replay decides", *epoch,
                  cause.message()),
      {{"epoch", fmt::to_string(*epoch)}});
  return folder.At(status, position);
}

}  // namespace javelin::memwal
