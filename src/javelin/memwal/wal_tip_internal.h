// Finding the first free position of a shard's WAL, and telling a hole from the end (docs/format.md, "MemWAL: log").
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include <arrow/result.h>

#include "javelin/base/resources.h"
#include "javelin/memwal/shard_manifest.h"
#include "javelin/memwal/wal_log.h"
#include "javelin/store/object_store.h"

namespace javelin::memwal {

// What the parts of the log share: where entries are, and how their faults are named.
struct WalFolder {
  Resources resources;
  std::shared_ptr<ObjectStore> store;
  Uuid shard;
  ShardPaths paths;

  std::vector<std::string> Keys(WalPosition first, uint64_t count) const;
  // The same error, naming shard and position.
  arrow::Status At(const arrow::Status& status, WalPosition position) const;
  // WalGap: `position` is missing although entries above it exist or are known to have existed.
  arrow::Status Gap(WalPosition position) const;
  // Asks for `position` once more, after an entry above it was seen: OK if it is there now, else Gap. Entries appear
  // one after another, but neither a listing nor a window of requests is one moment: while somebody appends they can
  // show a later entry without the earlier one.
  arrow::Status ConfirmGap(WalPosition position) const;
  // Positions above `after` that exist, ascending.
  arrow::Result<std::vector<WalPosition>> List(WalPosition after) const;
};

class WalTipFinder {
 public:
  WalTipFinder(const WalFolder& folder, uint64_t prefetch_limit_bytes)
      : folder_(folder), prefetch_limit_(prefetch_limit_bytes) {}

  // Goes on from `known`, an earlier answer for the same manifest.
  arrow::Result<WalLog::Tip> Find(const ShardManifest& manifest, std::optional<WalLog::Tip> known = {}) const;

 private:
  arrow::Result<WalLog::Tip> FromListing(const ShardManifest& manifest) const;
  arrow::Result<WalLog::Tip> ReadAhead(const ShardManifest& manifest, WalLog::Tip tip) const;
  // Reads or probes one window; moves `tip` up to the first absent position. True once there is one and everything
  // probed above it is absent too.
  arrow::Result<bool> Step(WalPosition first, WalLog::Tip* tip) const;
  arrow::Result<bool> AnyExists(WalPosition first, WalPosition last) const;

  const WalFolder& folder_;
  uint64_t prefetch_limit_;
};

}  // namespace javelin::memwal
