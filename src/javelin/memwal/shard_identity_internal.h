// Whether a shard still is the one that this process claimed (docs/format.md, "MemWAL: finding the tip").
//
// A table can be removed and made anew under a writer, with the same shard in it. Numbers do not tell: the new shard
// counts versions, epochs and positions from 1 as well, and its first manifest has the same bytes. What tells is the
// object: one manifest version, that of the claim at first, is asked for again before something is built upon what is
// held.
#pragma once

#include <memory>
#include <optional>

#include <arrow/result.h>

#include "javelin/base/resources.h"
#include "javelin/memwal/shard_manifest.h"
#include "javelin/store/object_store.h"

namespace javelin::memwal {

// Thread-safe; contexts T and S.
class ShardIdentity {
 public:
  ShardIdentity(const Resources& resources, std::shared_ptr<ObjectStore> store, ShardPaths paths, Uuid shard)
      : runtime_(*resources.runtime),
        store_(std::move(store)),
        paths_(std::move(paths)),
        shard_(shard),
        mutex_(runtime_) {}

  // Right after the claim that wrote this version, `size` bytes. One HEAD. Store errors.
  arrow::Status Bind(ManifestVersion claimed, uint64_t size);
  bool bound() const;
  // Fenced, from now on for ever, if the shard is not the one that was claimed. `held`: a version that was written or
  // read since then; it takes the place of the one that is asked for once that is an hour old, because old versions may
  // be pruned. One HEAD, two when that happens; none if nothing was claimed. Store errors.
  arrow::Status Check(std::optional<ManifestVersion> held);
  // Check's verdict, if it was that the shard is lost. No request.
  arrow::Status lost() const;

 private:
  struct Witness {
    ManifestVersion version;
    ObjectInfo object;
  };

  arrow::Result<ObjectInfo> Ask(ManifestVersion version) const;
  std::optional<Witness> witness() const;
  void Advance(Witness witness);
  arrow::Status Lose(ManifestVersion version, std::string_view what);

  Runtime& runtime_;
  const std::shared_ptr<ObjectStore> store_;
  const ShardPaths paths_;
  const Uuid shard_;
  mutable Mutex mutex_;
  std::optional<Witness> witness_;  // guarded by mutex_
  arrow::Status lost_;              // guarded by mutex_
};

}  // namespace javelin::memwal
