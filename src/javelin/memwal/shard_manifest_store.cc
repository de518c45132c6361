#include "javelin/memwal/shard_manifest_store.h"

#include "javelin/base/error.h"
#include "javelin/memwal/manifest_tip_internal.h"
#include "javelin/memwal/shard_identity_internal.h"

namespace javelin::memwal {

namespace {

// How long a position may be built upon. Together with the age below which versions are never pruned it keeps a stalled
// writer fenced: the version that it would create still exists. Never bring the two closer.
constexpr Duration kPositionLife = std::chrono::hours(1);
constexpr Duration kPruneAge = std::chrono::hours(24);
constexpr int kCommitAttempts = 10;
constexpr int kClaimAttempts = 16;

bool IsLostRace(const arrow::Status& status) {
  return HasKind(status, ErrorKind::kAlreadyExists) || HasKind(status, ErrorKind::kPrecondition);
}

}  // namespace

struct ShardManifestStore::Position {
  ShardManifest manifest;
  TimePoint confirmed_at;  // taken before the read or write that proved it
};

struct ShardManifestStore::Impl {
  Impl(Resources resources_in, std::shared_ptr<ObjectStore> store_in, const std::string& table_root, Uuid shard_in,
       ManifestStoreOptions options)
      : resources(std::move(resources_in)),
        store(std::move(store_in)),
        shard(std::move(shard_in)),
        paths(table_root, shard),
        tip_finder(resources, store, paths, shard, options.scan_batch_size),
        identity(resources, store, paths, shard),
        mutex(*resources.runtime),
        commits(*resources.runtime, "manifest-commit") {}

  Runtime& runtime() const { return *resources.runtime; }
  ErrorFields Fields(Epoch epoch) const { return {{"shard", shard.ToString()}, {"epoch", fmt::to_string(epoch)}}; }
  arrow::Status NoSuchShard() const {
    return WithField(NotFound("shard {} does not exist: it has no manifest", shard.ToString()), "shard",
                     shard.ToString());
  }

  // ---- position ----
  std::optional<Position> Held();
  std::optional<Position> HeldAndYoung();
  ShardManifest Adopt(const ShardManifest& found, TimePoint asked_at);
  void DropIfStill(const Position& held);
  bool DropIfOlderThan(TimePoint asked_at);
  void Drop();

  // ---- storage ----
  arrow::Result<std::optional<ShardManifest>> Refresh();
  arrow::Result<std::optional<ShardManifest>> FindClaimed(const std::optional<Position>& held);
  arrow::Status CheckHeld(const ShardManifest& held);
  arrow::Status Write(const ShardManifest& next);
  arrow::Result<ShardManifest> MakeClaim(const std::optional<ShardManifest>& tip, uint32_t spec_id,
                                         std::optional<Epoch> tried) const;
  arrow::Result<ShardManifest> Commit(Epoch epoch, const Change& change);
  arrow::Result<ShardManifest> CommitOnce(Epoch epoch, const Change& change);
  arrow::Status CheckEpoch(const ShardManifest& stored, Epoch epoch) const;

  const Resources resources;
  const std::shared_ptr<ObjectStore> store;
  const Uuid shard;
  const ShardPaths paths;
  ManifestTipFinder tip_finder;
  ShardIdentity identity;
  Mutex mutex;
  std::optional<Position> position;  // guarded by mutex
  Strand commits;                    // last: its jobs use everything above
};

std::optional<ShardManifestStore::Position> ShardManifestStore::Impl::Held() {
  std::lock_guard lock(mutex);
  return position;
}

std::optional<ShardManifestStore::Position> ShardManifestStore::Impl::HeldAndYoung() {
  TimePoint now = runtime().Now();
  std::optional<Position> held = Held();
  if (held.has_value() && now - held->confirmed_at >= kPositionLife) held.reset();
  return held;
}

// Never moves back; the same version is confirmed again. Returns what is held afterwards.
ShardManifest ShardManifestStore::Impl::Adopt(const ShardManifest& found, TimePoint asked_at) {
  std::lock_guard lock(mutex);
  if (!position.has_value() || found.version > position->manifest.version) {
    position = Position{found, asked_at};
  } else if (found.version == position->manifest.version) {
    position->confirmed_at = std::max(position->confirmed_at, asked_at);
  }
  return position->manifest;
}

// False if the position was confirmed since.
bool ShardManifestStore::Impl::DropIfOlderThan(TimePoint asked_at) {
  std::lock_guard lock(mutex);
  if (position.has_value() && position->confirmed_at >= asked_at) return false;
  position.reset();
  return true;
}

void ShardManifestStore::Impl::Drop() {
  std::lock_guard lock(mutex);
  position.reset();
}

// Unless something newer came since.
void ShardManifestStore::Impl::DropIfStill(const Position& held) {
  std::lock_guard lock(mutex);
  if (position.has_value() && position->manifest == held.manifest) position.reset();
}

arrow::Result<std::optional<ShardManifest>> ShardManifestStore::Impl::Refresh() {
  TimePoint asked_at = runtime().Now();
  std::optional<Position> held = HeldAndYoung();
  std::optional<ShardManifest> found;
  if (identity.bound()) {
    ARROW_ASSIGN_OR_RAISE(found, FindClaimed(held));
  } else if (held.has_value()) {
    ARROW_ASSIGN_OR_RAISE(found, tip_finder.FindFrom(held->manifest.version));
    if (found != held->manifest) DropIfStill(*held);  // what is there counts, older or not
  } else {
    ARROW_ASSIGN_OR_RAISE(found, tip_finder.Find());
  }
  if (found.has_value()) return Adopt(*found, asked_at);
  if (DropIfOlderThan(asked_at)) return std::nullopt;
  // A commit of this object created the shard while the search went on.
  std::optional<Position> created = Held();
  return created.has_value() ? std::optional(std::move(created->manifest)) : std::nullopt;
}

// Fenced if what is there now is not the shard that was claimed.
arrow::Result<std::optional<ShardManifest>> ShardManifestStore::Impl::FindClaimed(const std::optional<Position>& held) {
  ARROW_RETURN_NOT_OK(identity.lost());
  std::optional<ShardManifest> found;
  if (held.has_value()) {
    ARROW_ASSIGN_OR_RAISE(found, tip_finder.FindAbove(held->manifest.version));
    if (!found.has_value()) found = held->manifest;
  } else {
    ARROW_ASSIGN_OR_RAISE(found, tip_finder.Find());
  }
  ARROW_RETURN_NOT_OK(identity.Check(found.has_value() ? std::optional(found->version) : std::nullopt));
  return found;
}

// Before something is built upon what is held. A claimed shard has to be the same object; for others it is enough that
// the manifest reads the same, because what they commit follows from that alone. VersionConflict: it does not.
arrow::Status ShardManifestStore::Impl::CheckHeld(const ShardManifest& held) {
  if (identity.bound()) return identity.Check(held.version);
  const auto stored = tip_finder.Read(held.version);
  if (stored.ok() && *stored == held) return arrow::Status::OK();
  if (!stored.ok() && !HasKind(stored.status(), ErrorKind::kNotFound)) return stored.status();
  Drop();
  return VersionConflict("manifest version {} of shard {} is not what it was", held.version, shard.ToString());
}

// Creates one version. VersionConflict: it exists, or would not be new. The position is dropped on every failure, so
// that the next attempt reads storage again.
arrow::Status ShardManifestStore::Impl::Write(const ShardManifest& next) {
  TimePoint asked_at = runtime().Now();
  std::optional<Position> held = Held();
  arrow::Status written;
  if (held.has_value() && held->manifest.version >= next.version) {
    written = AlreadyExists("version {} was overtaken by {}", next.version, held->manifest.version);
  } else {
    written = store->PutIfAbsent(paths.Manifest(next.version), EncodeShardManifest(next));
    if (written.ok()) written = runtime().SyncPoint("manifest.commit.put_done");
  }
  if (!written.ok()) {
    Drop();
    std::string context = fmt::format("writing manifest version {} of shard {}", next.version, shard.ToString());
    written = AsKind(written, IsLostRace(written) ? ErrorKind::kVersionConflict : KindOf(written), context);
    return WithField(WithField(written, "shard", shard.ToString()), "version", fmt::to_string(next.version));
  }
  Adopt(next, asked_at);
  tip_finder.WriteHint(next.version);
  return runtime().SyncPoint("manifest.commit.hint_done");
}

arrow::Status ShardManifestStore::Impl::CheckEpoch(const ShardManifest& stored, Epoch epoch) const {
  if (stored.writer_epoch <= epoch) return arrow::Status::OK();
  return MakeError(
      ErrorKind::kFencedPeerClaimedEpoch,
      fmt::format("shard {}: another writer claimed epoch {}, this one holds epoch {}; drop this writer and open "
                  "the shard again only if it should be yours",
                  shard.ToString(), stored.writer_epoch, epoch),
      Fields(epoch));
}

// On the commit strand: one commit at a time, over the whole of it.
arrow::Result<ShardManifest> ShardManifestStore::Impl::Commit(Epoch epoch, const Change& change) {
  arrow::Result<ShardManifest> committed = NoSuchShard();
  for (int attempt = 0; attempt < kCommitAttempts; ++attempt) {
    committed = CommitOnce(epoch, change);
    if (committed.ok() || !HasKind(committed.status(), ErrorKind::kVersionConflict)) return committed;
    resources.metrics->Add("memwal.manifest_lost_races");
  }
  return WithContext(committed.status(), fmt::format("lost {} races in a row", kCommitAttempts));
}

arrow::Result<ShardManifest> ShardManifestStore::Impl::CommitOnce(Epoch epoch, const Change& change) {
  ARROW_RETURN_NOT_OK(identity.lost());
  std::optional<ShardManifest> base;
  const std::optional<Position> held = HeldAndYoung();
  if (held.has_value()) {
    base = held->manifest;
  } else {
    ARROW_ASSIGN_OR_RAISE(base, Refresh());
    if (!base.has_value()) return NoSuchShard();
  }
  ARROW_RETURN_NOT_OK(CheckEpoch(*base, epoch));
  ARROW_ASSIGN_OR_RAISE(ShardManifest next, change(*base));
  // Checked against the manifest that the change was given, which nobody else can alter (row M4).
  if (next.version != base->version.Next()) {
    return InvalidInput("shard {}: a manifest change returned version {}, the successor of {} is {}", shard.ToString(),
                        next.version, base->version, base->version.Next());
  }
  if (next.writer_epoch != epoch) {
    return InvalidInput("shard {}: a manifest change returned epoch {}, the committer holds {}", shard.ToString(),
                        next.writer_epoch, epoch);
  }
  if (next.shard_id != shard) {
    return InvalidInput("shard {}: a manifest change returned a manifest of shard {}", shard.ToString(),
                        next.shard_id.ToString());
  }
  // As late as it can be: what is written into a shard that was made anew hides that shard's own versions.
  if (held.has_value()) ARROW_RETURN_NOT_OK(CheckHeld(*base));
  ARROW_RETURN_NOT_OK(Write(next));
  return next;
}

arrow::Result<ShardManifest> ShardManifestStore::Impl::MakeClaim(const std::optional<ShardManifest>& tip,
                                                                 uint32_t spec_id, std::optional<Epoch> tried) const {
  if (!tip.has_value()) {
    return ShardManifest{
        .shard_id = shard, .version = ManifestVersion(1), .shard_spec_id = spec_id, .writer_epoch = Epoch(1)};
  }
  if (tip->status == ShardStatus::kSealed) {
    return MakeError(
        ErrorKind::kSealed,
        fmt::format("shard {} is sealed: it takes no writer until it is unsealed or dropped", shard.ToString()),
        Fields(tip->writer_epoch));
  }
  // No war over epochs: who comes second gives up, unless the version that it met was no claim.
  if (tried.has_value() && tip->writer_epoch >= *tried) {
    return MakeError(
        ErrorKind::kClaimLost,
        fmt::format(
            "shard {}: another writer claimed epoch {} while this one tried to claim {}; back off before opening "
            "it again",
            shard.ToString(), tip->writer_epoch, *tried),
        Fields(*tried));
  }
  if (tip->shard_spec_id != spec_id) {
    return InvalidInput("shard {} was created under sharding spec {}, not {}", shard.ToString(), tip->shard_spec_id,
                        spec_id);
  }
  ShardManifest claim = tip->NextVersion();
  claim.writer_epoch = tip->writer_epoch.Next();
  return claim;
}

ShardManifestStore::ShardManifestStore(Resources resources, std::shared_ptr<ObjectStore> store, std::string table_root,
                                       Uuid shard, ManifestStoreOptions options)
    : shard_(shard),
      impl_(std::make_unique<Impl>(std::move(resources), std::move(store), table_root, std::move(shard), options)) {}

ShardManifestStore::~ShardManifestStore() = default;

void ShardManifestStore::SetOptions(const ManifestStoreOptions& options) {
  impl_->tip_finder.SetBatchSize(options.scan_batch_size);
}

arrow::Result<std::optional<ShardManifest>> ShardManifestStore::Latest() {
  ARROW_RETURN_NOT_OK(impl_->identity.lost());
  if (std::optional<Position> held = impl_->Held()) return std::move(held->manifest);
  return impl_->tip_finder.Find();
}

arrow::Result<std::optional<ShardManifest>> ShardManifestStore::LatestFrom(ManifestVersion seen) {
  return impl_->tip_finder.FindFrom(seen);
}

arrow::Result<std::optional<ShardManifest>> ShardManifestStore::RefreshLatest() { return impl_->Refresh(); }

arrow::Status ShardManifestStore::CheckFenced(Epoch epoch) {
  ARROW_ASSIGN_OR_RAISE(std::optional<ShardManifest> tip, impl_->Refresh());
  if (!tip.has_value()) return impl_->NoSuchShard();
  return impl_->CheckEpoch(*tip, epoch);
}

arrow::Status ShardManifestStore::CheckFencedIfOld(Epoch epoch) {
  ARROW_RETURN_NOT_OK(impl_->identity.lost());
  const std::optional<Position> held = impl_->HeldAndYoung();
  return held.has_value() ? impl_->CheckEpoch(held->manifest, epoch) : CheckFenced(epoch);
}

bool ShardManifestStore::PositionIsYoung() const { return impl_->HeldAndYoung().has_value(); }

arrow::Status ShardManifestStore::CheckClaimed() { return impl_->identity.Check(std::nullopt); }

bool ShardManifestStore::lost() const { return !impl_->identity.lost().ok(); }

Cell<ShardManifest> ShardManifestStore::CommitUpdate(Epoch epoch, Change change) {
  CellSetter<ShardManifest> done(impl_->runtime());
  Cell<ShardManifest> cell = done.cell();
  impl_->commits.Post(
      [impl = impl_.get(), epoch, change = std::move(change), done] { done.Set(impl->Commit(epoch, change)); });
  return cell;
}

arrow::Result<ShardManifest> ShardManifestStore::ClaimEpoch(uint32_t spec_id,
                                                            const std::optional<ShardManifest>* seen) {
  ARROW_RETURN_NOT_OK(impl_->identity.lost());
  std::optional<Epoch> tried;  // the epoch of a claim that met another version
  for (int attempt = 0; attempt < kClaimAttempts; ++attempt) {
    std::optional<ShardManifest> tip;
    if (attempt == 0 && seen != nullptr) {
      tip = *seen;
    } else {
      ARROW_ASSIGN_OR_RAISE(tip, impl_->Refresh());
    }
    ARROW_ASSIGN_OR_RAISE(ShardManifest claim, impl_->MakeClaim(tip, spec_id, tried));
    arrow::Status written = impl_->Write(claim);
    if (written.ok()) written = impl_->runtime().SyncPoint("open.claimed");
    if (written.ok()) {
      ARROW_RETURN_NOT_OK(
          impl_->identity.Bind(claim.version, static_cast<uint64_t>(EncodeShardManifest(claim)->size())));
      return claim;
    }
    if (!HasKind(written, ErrorKind::kVersionConflict)) return written;
    tried = claim.writer_epoch;
  }
  return VersionConflict("shard {}: {} claims in a row met a new manifest version; try again later", shard_.ToString(),
                         kClaimAttempts);
}

arrow::Result<ShardManifest> ShardManifestStore::InitializeShard(
    uint32_t spec_id, const std::map<std::string, std::string>& shard_fields) {
  ARROW_ASSIGN_OR_RAISE(std::optional<ShardManifest> existing, impl_->Refresh());
  if (!existing.has_value()) {
    ShardManifest first{
        .shard_id = shard_, .version = ManifestVersion(1), .shard_spec_id = spec_id, .shard_fields = shard_fields};
    arrow::Status written = impl_->Write(first);
    if (written.ok()) return first;
    if (!HasKind(written, ErrorKind::kVersionConflict)) return written;
    ARROW_ASSIGN_OR_RAISE(existing, impl_->Refresh());
    if (!existing.has_value()) return written;
  }
  if (existing->shard_spec_id != spec_id || existing->shard_fields != shard_fields) {
    return InvalidInput("shard {} was already initialized with sharding spec {} and different field values",
                        shard_.ToString(), existing->shard_spec_id);
  }
  return *std::move(existing);
}

arrow::Result<uint64_t> ShardManifestStore::PruneVersionsBefore(ManifestVersion keep_from) {
  ARROW_ASSIGN_OR_RAISE(std::optional<ShardManifest> tip, impl_->Refresh());
  if (!tip.has_value()) return impl_->NoSuchShard();
  if (keep_from > tip->version) {
    return InvalidInput("shard {}: cannot keep manifest versions from {} on, the newest is {}", shard_.ToString(),
                        keep_from, tip->version);
  }
  const std::string folder = impl_->paths.ManifestFolder();
  ARROW_ASSIGN_OR_RAISE(ListPage page, ListAll(*impl_->store, {.prefix = folder, .recursive = false}));
  std::map<ManifestVersion, ObjectInfo> old_versions;
  for (const ObjectInfo& object : page.objects) {
    auto version = ParseReversedBits(std::string_view(object.key).substr(folder.size()), kManifestSuffix);
    if (version && ManifestVersion(*version) < keep_from) old_versions.emplace(ManifestVersion(*version), object);
  }
  // Nobody may start a search at a version that is about to go: it would take the first deleted one above it for the
  // end.
  if (!old_versions.empty() && !impl_->tip_finder.WriteHint(tip->version)) return 0;
  const Duration now = impl_->runtime().WallTime();
  uint64_t deleted = 0;
  for (const auto& [version, object] : old_versions) {
    // What is left stays without a gap, so the first that has to stay ends the pass.
    if (now - Duration(object.modified_ns) < kPruneAge || !impl_->store->Delete(object.key).ok()) break;
    ++deleted;
  }
  return deleted;
}

}  // namespace javelin::memwal
