// Goes back to an older version of a table that may have shards.
#pragma once

#include <memory>

#include <arrow/result.h>

#include "javelin/dataset/dataset.h"

namespace javelin::memwal {

// Commits what `dataset` holds as the newest version of its table and returns it, as RestoreVersion
// (dataset/restore.h) does. What the table holds of its shards comes with the older version, so its shards must still
// list every SSTable above that: InvalidInput, with the fields `shard`, `generation` and `recorded_generation`, names
// one whose rows would be nowhere. `force` restores all the same; then compaction, writers and views of that shard are
// Corruption until a version that holds the rows is restored, or MemWAL is turned on anew. A version from before MemWAL
// is refused in any case.
//
// Shards are asked right before the commit: an SSTable that a compactor retires in the moment between is not seen here,
// but by the next one who uses the shard. Besides the requests of RestoreVersion, on a table with MemWAL: one LIST, and
// those of finding the newest manifest of each shard. Context T.
arrow::Result<std::shared_ptr<Dataset>> Restore(const Dataset& dataset, bool force = false);

}  // namespace javelin::memwal
