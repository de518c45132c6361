// The shards of a table as anyone can see them, without a claim.
#pragma once

#include <cstdint>
#include <vector>

#include <arrow/result.h>

#include "cli/json_values.h"
#include "javelin/dataset/dataset.h"
#include "javelin/memwal/shard_manifest.h"

namespace javelin::cli {

struct ShardState {
  memwal::ShardManifest manifest;
  WalPosition tip;  // last position of the log; 0 = empty

  // Log entries that no published SSTable covers. Some may hold no rows: every claim leaves one.
  uint64_t backlog() const { return tip > manifest.replay_after ? tip.value() - manifest.replay_after.value() : 0; }
};

// All shards, sorted by id. Empty if the table never had one.
arrow::Result<std::vector<ShardState>> ReadShardStates(const Dataset& dataset);

// What a version of a shard manifest says.
Json ManifestJson(const memwal::ShardManifest& manifest);

}  // namespace javelin::cli
