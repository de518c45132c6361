// The shards that a table has.
#pragma once

#include <vector>

#include <arrow/result.h>

#include "javelin/dataset/dataset.h"
#include "javelin/memwal/shard_manifest.h"

namespace javelin::memwal {

// Every folder below `_mem_wal/` whose name is a UUID, in ascending order; one of them may still be without a manifest.
// Lists the store; context T.
arrow::Result<std::vector<Uuid>> ListShards(const Dataset& dataset);

}  // namespace javelin::memwal
