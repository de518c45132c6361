// Versions of one shard manifest: finding the tip, claiming epochs, compare-and-swap commits (rows M1-M8, M10).
//
// One store object per (session, shard); destroy it in context T. It holds a *position*: the manifest that it last
// wrote or adopted, with the time that confirmed it. A successful put-if-absent of version N proves that N was the tip,
// which is what makes serving from memory sound - in the shard that it was. An object that has claimed an epoch is
// bound to that shard: if the shard was removed, and perhaps made anew under the same id, every call that finds it so
// and every later one is Fenced(PeerClaimedEpoch), and a new object is needed. Others take what they find.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include <arrow/result.h>

#include "javelin/base/resources.h"
#include "javelin/memwal/shard_manifest.h"
#include "javelin/store/object_store.h"

namespace javelin::memwal {

struct ManifestStoreOptions {
  uint32_t scan_batch_size = 1;  // versions probed per step behind the start of a scan; >= 1
};

class ShardManifestStore {
 public:
  ShardManifestStore(Resources resources, std::shared_ptr<ObjectStore> store, std::string table_root, Uuid shard,
                     ManifestStoreOptions options = {});
  ~ShardManifestStore();

  // Counts from the next scan on. Any context.
  void SetOptions(const ManifestStoreOptions& options);

  // The position if one is held (no request), else a scan whose result is NOT adopted, so that a polling reader keeps
  // seeing the writer's commits. nullopt = the shard does not exist. Contexts T, S.
  arrow::Result<std::optional<ShardManifest>> Latest();
  // For those who look again: what is in storage, found from a version that they saw earlier, and which may be gone.
  // Not adopted. One GET and one HEAD where that version is the newest. Contexts T, S.
  arrow::Result<std::optional<ShardManifest>> LatestFrom(ManifestVersion seen);
  // Always asks storage and adopts what it finds (never an older version). Contexts T, S.
  arrow::Result<std::optional<ShardManifest>> RefreshLatest();
  // Refreshes; Fenced(PeerClaimedEpoch) iff storage holds a higher epoch than `epoch`. Contexts T, S.
  // NotFound if the shard does not exist. Two HEADs where an epoch was claimed and the position is young.
  arrow::Status CheckFenced(Epoch epoch);
  // The same answered by the position, without a request, while storage confirmed that less than an hour ago: how long
  // a writer may go on without asking again. Contexts T, S.
  arrow::Status CheckFencedIfOld(Epoch epoch);
  // Any context.
  bool PositionIsYoung() const;
  // Whether the shard that this object claimed is still there: Fenced or a store error if not. One HEAD; none if it has
  // claimed nothing. Contexts T, S.
  arrow::Status CheckClaimed();
  // It is known to be gone. Any context.
  bool lost() const;

  // One compare-and-swap of the manifest, serialised with all others of this object on the shard's commit strand.
  // `change` gets the base manifest and returns its successor (NextVersion()) with the same epoch. Errors:
  // InvalidInput (not a successor, or another epoch; storage untouched), Fenced, NotFound, VersionConflict (after 10
  // lost races), store errors (outcome unknown; position dropped). One request makes sure that the position still is in
  // storage, one writes, one writes the hint. Any context; the cell resolves on the commit strand.
  using Change = std::function<arrow::Result<ShardManifest>(const ShardManifest& base)>;
  Cell<ShardManifest> CommitUpdate(Epoch epoch, Change change);

  // Raises the epoch by one; creates the shard if there is none. `seen`: what a refresh answered just now; the first
  // attempt builds on it instead of asking again. Sealed, ClaimLost (another claimer took an epoch >=
  // ours), InvalidInput (`spec_id` differs from the shard's), VersionConflict (16 lost races), store errors. Context T.
  arrow::Result<ShardManifest> ClaimEpoch(uint32_t spec_id, const std::optional<ShardManifest>* seen = nullptr);
  // Creates the shard at epoch 0 with its field values; an existing shard with the same spec and values is returned,
  // others are InvalidInput. Context T.
  arrow::Result<ShardManifest> InitializeShard(uint32_t spec_id,
                                               const std::map<std::string, std::string>& shard_fields);
  // Deletes versions below `keep_from` that are at least 24 h old, oldest first, stopping at the first younger one or
  // failure. InvalidInput if keep_from is above the tip. Returns how many. A writer that did nothing for a day, while
  // others committed to its shard and pruned it, cannot tell that from a shard that was removed: Fenced. Context T.
  arrow::Result<uint64_t> PruneVersionsBefore(ManifestVersion keep_from);

  const Uuid& shard() const { return shard_; }

 private:
  struct Position;
  struct Impl;
  Uuid shard_;
  std::unique_ptr<Impl> impl_;
};

}  // namespace javelin::memwal
