// Writes one MemTable as an SSTable: a small Lance table below the shard's folder, with its key files
// (docs/format.md, "MemWAL: SSTables").
#pragma once

#include <memory>
#include <string>

#include <arrow/result.h>

#include "javelin/base/resources.h"
#include "javelin/memwal/mem_table.h"
#include "javelin/memwal/shard_manifest.h"
#include "javelin/store/object_store.h"

namespace javelin::memwal {

// Writes every row of `table`, in the order of insertion, into a new folder and returns the entry for the shard
// manifest. Until that lists it nobody reads the folder, so what a failure leaves behind harms nothing. Requests: data
// file, then deletion file (only if a key is in it twice), two key index files and key filter together, then the
// manifest. InvalidInput: no rows; else errors of the store and of the encoders. Blocks; contexts T, S.
arrow::Result<SsTableEntry> WriteSsTable(const Resources& resources, ObjectStore& store, const ShardPaths& paths,
                                         const MemTable& table);

// The columns of an SSTable's data file: those of the shard, `_tombstone` with the next free field id.
file::Schema SsTableSchema(const ShardSchemas& schemas);

}  // namespace javelin::memwal
