// The shard manifest as plain values, and the names of MemWAL objects (docs/format.md, "MemWAL: layout").
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <arrow/result.h>

#include "javelin/base/ids.h"
#include "javelin/store/object_store.h"
#include "javelin/table/mem_wal_details.h"

namespace javelin::memwal {

using table::Uuid;

struct SsTableEntry {
  Generation generation;
  std::string path;  // folder name below the shard's folder
  std::optional<uint64_t> in_memory_bytes;
  std::optional<uint64_t> physical_rows;
  std::optional<uint64_t> primary_key_bytes;
  std::string unknown_fields;  // written by a newer version; carried over
  friend bool operator==(const SsTableEntry&, const SsTableEntry&) = default;
};

enum class ShardStatus { kActive, kSealed };

struct ShardManifest {
  Uuid shard_id;
  ManifestVersion version;
  uint32_t shard_spec_id = 0;
  std::map<std::string, std::string> shard_fields;  // field id -> raw little-endian scalar bytes
  Epoch writer_epoch;
  WalPosition replay_after;            // replay starts at the next one; 0 = nothing flushed
  WalPosition wal_position_last_seen;  // hint for finding the tip; never authoritative
  Generation current_generation{1};    // of the next SSTable
  std::vector<SsTableEntry> sstables;  // published, oldest first
  ShardStatus status = ShardStatus::kActive;
  std::string unknown_fields;  // written by a newer version; carried over into successors

  // A copy with the next version: the only way to build a successor.
  ShardManifest NextVersion() const;
  friend bool operator==(const ShardManifest&, const ShardManifest&) = default;
};

BufferPtr EncodeShardManifest(const ShardManifest& manifest);
// Corruption: undecodable, no shard id, version or generation 0, a counter that cannot be raised any more, an
// SSTable path that is no plain folder name. Unknown status numbers read as active.
arrow::Result<ShardManifest> DecodeShardManifest(const arrow::Buffer& bytes);

// The 64 bits of n, least significant first, as '0' / '1'.
std::string ReversedBits(uint64_t n);
// Only the exact form `^[01]{64}<suffix>$`; anything else is nullopt (leftovers of other writers are not ours to read).
std::optional<uint64_t> ParseReversedBits(std::string_view name, std::string_view suffix);

inline constexpr std::string_view kManifestSuffix = ".binpb";
inline constexpr std::string_view kWalEntrySuffix = ".arrow";

// Keys below a table root.
struct ShardPaths {
  std::string shard_folder;  // {root}/_mem_wal/{shard}

  ShardPaths(std::string_view table_root, const Uuid& shard);
  std::string ManifestFolder() const;  // .../manifest/
  std::string Manifest(ManifestVersion version) const;
  std::string ManifestHint() const;  // best effort: names a version near the tip
  std::string WalFolder() const;     // .../wal/
  std::string WalEntry(WalPosition position) const;
};

}  // namespace javelin::memwal
