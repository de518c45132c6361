// What must hold of a shard's objects and of what a run saw, whatever was scheduled, failed or crashed. The numbers are
// those of the list in README.md.
//
// Every check looks at the raw objects and at the history alone, and returns one text per violation.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base_versions.h"
#include "history.h"
#include "shard_objects.h"
#include "violations.h"

namespace javelin::simulation {

// 1-3: versions, epochs and cursors of the manifests.
Violations CheckManifests(const ShardObjects& shard);

// 16: while the shard is sealed nobody claims it, and its log takes no row.
Violations CheckSeals(const ShardObjects& shard, const History& history);

// 4, 5: positions, epochs and generations of the log. Also: no entry of an epoch that nobody claimed.
Violations CheckLog(const ShardObjects& shard);

// One operation as the log holds it.
struct LoggedOperation {
  int64_t operation = 0;
  WalPosition position;
  Epoch epoch;
  Generation generation;
};

// Half of 7: every entry is a sequence of whole operations, each once, none that was refused, under its writer's epoch.
// Returns the operations in log order.
std::vector<LoggedOperation> TraceLog(const ShardObjects& shard, const History& history, Violations* violations);

// The other half of 7, and 8: no durable operation is missing, and what each writer accepted is there as a prefix and
// in order.
Violations CheckOperations(const std::vector<LoggedOperation>& log, const History& history);

// 6: whoever opened the shard at epoch 2 or later fenced it before.
Violations CheckFences(const ShardObjects& shard, const History& history);

// The table that a reader must see when everything in the log is replayed.
TableState Replayed(const std::vector<LoggedOperation>& log, const History& history);

// The same after the rows of each generation, and of all below it; 0 = the base as it was at first.
using GenerationStates = std::map<Generation, TableState>;
GenerationStates StatesByGeneration(const std::vector<LoggedOperation>& log, const History& history);
const TableState& StateThrough(const GenerationStates& states, Generation generation);

// 9: what scans saw.
Violations CheckScans(const ShardObjects& shard, const std::vector<LoggedOperation>& log, const History& history);

// 11: every tail read the log as it is, up to at least the last entry that was durable when it started.
Violations CheckTails(const ShardObjects& shard, const std::vector<LoggedOperation>& log, const History& history);

// 13: every version of the base holds what came up to its mark.
Violations CheckBase(const ShardObjects& shard, const std::vector<LoggedOperation>& log, const History& history,
                     const std::vector<BaseVersion>& base);
// 14: what a manifest lists no more was in the base by then.
Violations CheckRetired(const ShardObjects& shard, const std::vector<BaseVersion>& base);
// 15: no SSTable that is listed, or that was going to be, has lost its folder.
Violations CheckFolders(const ShardObjects& shard, const History& history);

// All of the above and what the history itself found; 13 and 14 if there are versions of the base.
Violations CheckEverything(const ShardObjects& shard, const History& history,
                           const std::vector<BaseVersion>& base = {});

}  // namespace javelin::simulation
