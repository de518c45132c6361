// Follows the WAL of a shard without any claim: holds no epoch, writes nothing, ever (row M9).
#pragma once

#include <memory>
#include <optional>

#include <arrow/result.h>

#include "javelin/memwal/shard_manifest_store.h"
#include "javelin/memwal/wal_entry.h"

namespace javelin::memwal {

// What a log holds after some position.
struct WalBacklog {
  WalPosition tip;                 // of the last entry; that position itself if there is none
  uint64_t entries_with_rows = 0;  // fence sentinels hold none
};

// Copies share the highest position read.
class WalTailer {
 public:
  WalTailer(Resources resources, std::shared_ptr<ObjectStore> store, std::shared_ptr<ShardManifestStore> manifests,
            std::string table_root);
  // nullopt only if the object does not exist; every other failure is returned (WalCorrupt names shard and position).
  arrow::Result<std::optional<WalEntry>> ReadEntry(WalPosition position);
  // First position without an entry, found from the highest position read, else from the manifest.
  arrow::Result<WalPosition> NextPosition();
  // What lies in the log after `after`. An entry that is missing below the tip or does not decode counts as one with
  // rows: it may have held some, and only a replay may decide what that means. Asks for the sizes of all entries, and
  // reads those that are as small as a sentinel.
  arrow::Result<WalBacklog> BacklogAfter(WalPosition after);
  // Smallest position that exists; 1 if none.
  arrow::Result<WalPosition> FirstPosition();

 private:
  struct Shared;
  std::shared_ptr<Shared> shared_;
};

}  // namespace javelin::memwal
