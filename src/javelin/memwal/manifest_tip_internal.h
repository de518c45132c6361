// Finding the newest version of a shard manifest (docs/format.md, "MemWAL: finding the tip").
//
// Versions are created one after another without a gap, so the first absent one above an existing one ends the search.
// Nothing but NotFound counts as absent: any other answer fails the search, because it could hide newer versions (row
// M7).
#pragma once

#include <algorithm>
#include <atomic>
#include <memory>
#include <optional>

#include <arrow/result.h>

#include "javelin/base/resources.h"
#include "javelin/memwal/shard_manifest.h"
#include "javelin/store/object_store.h"

namespace javelin::memwal {

class ManifestTipFinder {
 public:
  ManifestTipFinder(Resources resources, std::shared_ptr<ObjectStore> store, ShardPaths paths, Uuid shard,
                    uint32_t batch_size)
      : resources_(std::move(resources)),
        store_(std::move(store)),
        paths_(std::move(paths)),
        shard_(shard),
        batch_size_(std::max(batch_size, 1u)) {}

  // Versions probed per step behind the start of a search, from the next step on; 0 counts as 1. Any context.
  void SetBatchSize(uint32_t batch_size) { batch_size_.store(std::max(batch_size, 1u)); }

  // From the hint, else from a listing. nullopt = no version exists.
  arrow::Result<std::optional<ShardManifest>> Find() const;
  // The same from a version that is likely to be there; 0 = from a listing.
  arrow::Result<std::optional<ShardManifest>> FindFrom(ManifestVersion start) const;
  // The tip, if it lies above `held`, which existed a short while ago; nullopt = `held` is the tip. One HEAD in that
  // case.
  arrow::Result<std::optional<ShardManifest>> FindAbove(ManifestVersion held) const;

  // One version. NotFound; Corruption.
  arrow::Result<ShardManifest> Read(ManifestVersion version) const;

  // Best effort: false (and a count) if it failed.
  bool WriteHint(ManifestVersion version) const;

 private:
  ManifestVersion ReadHint() const;
  arrow::Result<ManifestVersion> LargestListed() const;
  arrow::Result<ManifestVersion> ProbeForward(ManifestVersion start, uint32_t width) const;

  Resources resources_;
  std::shared_ptr<ObjectStore> store_;
  ShardPaths paths_;
  Uuid shard_;
  std::atomic<uint32_t> batch_size_;
};

}  // namespace javelin::memwal
