// The objects of one shard, read one by one and decoded, without any of the code that looks for tips or replays.
#pragma once

#include <map>
#include <string>
#include <vector>

#include <arrow/result.h>

#include "javelin/memwal/shard_manifest.h"
#include "javelin/memwal/wal_entry.h"
#include "javelin/store/object_store.h"

namespace javelin::simulation {

struct LogEntry {
  WalPosition position;
  memwal::WalEntry entry;
  std::string digest;      // Describe(entry)
  int64_t written_ns = 0;  // when it arrived in the store
};

struct ShardObjects {
  std::vector<memwal::ShardManifest> manifests;  // ascending by file name
  std::vector<ManifestVersion> manifest_names;   // what the file names say, in the same order
  std::vector<int64_t> manifest_written_ns;      // when they arrived in the store, in the same order
  std::vector<LogEntry> log;                     // ascending by position
  std::vector<std::string> undecodable;          // "key: why", for objects with a proper name
  std::map<std::string, uint64_t> folders;       // of SSTables, listed or not: objects in each
  std::vector<std::string> foreign;              // keys below the shard's folder that are none of ours

  // 0 if there is none.
  Epoch TipEpoch() const;
};

// Reads everything below the shard's folder. Errors are those of the store; what does not decode is listed instead.
arrow::Result<ShardObjects> LoadShard(ObjectStore& store, const memwal::ShardPaths& paths);

// Everything an entry says, in one line; entries that differ have different lines.
std::string Describe(const memwal::WalEntry& entry);
// The log and the manifests, one line each.
std::string Describe(const ShardObjects& shard);

}  // namespace javelin::simulation
