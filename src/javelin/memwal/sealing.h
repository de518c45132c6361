// Sealing: the first half of dropping a shard in two steps. A sealed shard takes no writer; its rows stay readable
// (docs/format.md, "MemWAL: log").
#pragma once

#include <string>

#include <arrow/result.h>

#include "javelin/dataset/dataset.h"
#include "javelin/memwal/shard_manifest.h"
#include "javelin/memwal/shard_writer.h"

namespace javelin::memwal {

// Takes the shard from its writer and marks it sealed: the claim and a fence sentinel come first, so the log of a
// sealed shard takes no row any more. A crash in between leaves the shard as any claim does: active, without its old
// writer. Returns the manifest; a shard that is sealed already is left as it is. Errors: InvalidInput (no UUID),
// NotFound (no such shard), ClaimLost, Fenced (somebody claimed it meanwhile), WalGap, store errors (the outcome is
// then open; seal again). Blocks; T.
arrow::Result<ShardManifest> SealShard(const Dataset& dataset, const std::string& shard_id);

// Closes the writer (all its rows become SSTables) and marks its shard sealed under its own epoch. Errors: those of
// Close, Fenced, store errors: call it again or seal the shard by the table. T.
arrow::Result<ShardManifest> SealShard(ShardWriter& writer);

// Takes the mark back: writers can claim the shard again. A shard that is not sealed is left as it is. Errors:
// InvalidInput, NotFound, store errors (unseal again). Blocks; T.
arrow::Result<ShardManifest> UnsealShard(const Dataset& dataset, const std::string& shard_id);

}  // namespace javelin::memwal
