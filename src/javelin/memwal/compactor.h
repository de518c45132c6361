// Moves the rows of flushed SSTables into the base table, and lets go of what is moved (docs/architecture.md,
// "Writing").
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <arrow/result.h>

#include "javelin/base/runtime.h"
#include "javelin/dataset/dataset.h"
#include "javelin/table/uuid.h"

namespace javelin::memwal {

struct CompactOptions {
  // SSTables of one commit, by the memory that their rows took; one SSTable always fits. > 0.
  uint64_t max_bytes_per_pass = 256u << 20;
  // How long the folder of a retired SSTable stays for readers that still have it in an older view; 0 = not at all.
  // Counted from the clock of the store to the one of this process.
  Duration retired_grace = std::chrono::minutes(10);
  std::optional<table::Uuid> shard;  // none = all of the table
  bool dry_run = false;              // nothing is written; the report says what a run would start with
};

struct ShardCompaction {
  table::Uuid shard;
  uint64_t passes = 0;                  // commits on the base table
  std::vector<Generation> generations;  // moved, ascending
  uint64_t rows_read = 0;               // of those SSTables, as flushed
  uint64_t rows_upserted = 0;           // newest rows of their keys
  uint64_t rows_deleted = 0;            // keys whose newest row is a deletion, whether or not the base held them
  Generation compacted_through;         // what the base holds now; 0 = nothing
  std::vector<Generation> retired;      // not listed by the shard any more, ascending
  uint64_t awaiting_indexes = 0;        // moved, but listed until every index of the table has caught up
  uint64_t folders_deleted = 0;
  std::string skipped;  // why nothing was moved; empty if something was
};

struct CompactionReport {
  std::vector<ShardCompaction> shards;  // in order of shard
  std::shared_ptr<Dataset> dataset;     // the newest version seen
};

// Passes over every shard until the base holds every SSTable that it had when its turn came; then retires what no index
// needs, and collects folders retired `retired_grace` ago. A pass is one commit: newest row of each key of the oldest
// SSTables in, every row of the base with such a key out (also where the base holds it twice), and how far the shard
// got. Without a primary key all rows are appended. Writers of any process go on meanwhile, no shard is claimed;
// several compactors may run. Keys stay in memory for a pass, rows are read in batches.
//
// Keys that somebody writes to the base directly, with an append that keeps no watch over keys, while a pass commits
// are in the base twice afterwards, as after any such append.
//
// Errors (the first of any shard, after the other shards had their turn; what was committed stays): NotFound (no MemWAL
// on the table, no such shard), InvalidInput (an option), Corruption (a generation is neither in the base nor listed;
// the table claims generations that the shard never had; an SSTable does not decode), NotSupported (type of key),
// RetryableConflict and OutcomeUnknown (after several tries), store errors. Run it again: the work done counts. Blocks;
// context T.
arrow::Result<CompactionReport> CompactShards(const Dataset& dataset, const CompactOptions& options = {});

// Deletes the folders of SSTables that no shard manifest has listed for `retired_grace`, and of flushes that were given
// up a day ago (at once if the grace is 0); returns how many (dry_run: would be). Readers with an older view get
// NotFound and take a new one. Of `options` retired_grace, shard and dry_run count. Errors as above. Blocks; context T.
arrow::Result<uint64_t> CollectRetired(const Dataset& dataset, const CompactOptions& options = {});

// A folder below a shard whose SSTable the shard does not list any more, or that a flush was writing when it was given
// up.
struct RetiredFolder {
  std::string name;
  uint64_t bytes = 0;  // of the objects below it
};

// What CollectRetired would delete of this shard without any grace, by name. One listing of the shard and one of each
// such folder. Blocks; context T.
arrow::Result<std::vector<RetiredFolder>> ListRetired(const Dataset& dataset, const table::Uuid& shard);

}  // namespace javelin::memwal
