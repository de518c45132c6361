// Follows the WAL of a shard without any claim: holds no epoch, writes nothing, ever (row M9).
#pragma once

#include <memory>
#include <optional>

#include <arrow/result.h>

#include "javelin/memwal/shard_manifest_store.h"
#include "javelin/memwal/wal_entry.h"

namespace javelin::memwal {

// Copies share the highest position read.
class WalTailer {
 public:
  WalTailer(Resources resources, std::shared_ptr<ObjectStore> store, std::shared_ptr<ShardManifestStore> manifests,
            std::string table_root);
  // nullopt only if the object does not exist; every other failure is returned (WalCorrupt names shard and position).
  arrow::Result<std::optional<WalEntry>> ReadEntry(WalPosition position);
  // First position without an entry, found from the highest position read, else from the manifest.
  arrow::Result<WalPosition> NextPosition();
  // Smallest position that exists; 1 if none.
  arrow::Result<WalPosition> FirstPosition();

 private:
  struct Shared;
  std::shared_ptr<Shared> shared_;
};

}  // namespace javelin::memwal
