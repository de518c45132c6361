// The shards of a table as anyone can see them, without a claim.
#pragma once

#include <cstdint>
#include <vector>

#include <arrow/result.h>

#include "cli/json_values.h"
#include "javelin/dataset/dataset.h"
#include "javelin/memwal/compactor.h"
#include "javelin/memwal/shard_manifest.h"
#include "javelin/memwal/wal_tailer.h"

namespace javelin::cli {

struct ShardState {
  memwal::ShardManifest manifest;
  memwal::WalBacklog backlog;  // the log after what published SSTables cover
  std::vector<memwal::RetiredFolder> retired;
};

// All shards, sorted by id. Empty if the table never had one.
arrow::Result<std::vector<ShardState>> ReadShardStates(const Dataset& dataset);

// What a version of a shard manifest says.
Json ManifestJson(const memwal::ShardManifest& manifest);

}  // namespace javelin::cli
