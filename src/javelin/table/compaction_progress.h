// Which SSTables a table already holds, and how a commit moves that on (docs/format.md, "MemWAL: table metadata").
#pragma once

#include <vector>

#include <arrow/status.h>

#include "javelin/table/manifest.h"
#include "javelin/table/mem_wal_details.h"

namespace javelin::table {

// May a commit on top of `manifest` record these? InvalidInput: MemWAL is not initialized, a shard is named twice, or a
// generation is not above the recorded one (fields "shard", "generation" and "recorded_generation": the work has been
// done already).
arrow::Status CheckProgress(const std::vector<CompactedSsTable>& compacted, const Manifest& manifest);

// Checks, then records them in the MemWAL entry of `next` under the new UUID. Without any, nothing is touched.
arrow::Status RecordProgress(const std::vector<CompactedSsTable>& compacted, const Uuid& new_uuid, Manifest& next);

}  // namespace javelin::table
