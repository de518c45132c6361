// What must hold of a shard's objects and of what a run saw, whatever was scheduled, failed or crashed. The numbers are
// those of the list in README.md.
//
// Every check looks at the raw objects and at the history alone, and returns one text per violation.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "history.h"
#include "shard_objects.h"

namespace javelin::simulation {

using Violations = std::vector<std::string>;

// 1-3: versions contiguous and named right; epochs never fall, a claim raises by one and keeps the rest; generation, replay
// position and last-seen position never fall; last seen is never ahead of the log.
Violations CheckManifests(const ShardObjects& shard);

// 5, 6, 16, 17: positions contiguous from 1, every object decodes, epochs and generations of entries with rows never fall, no
// row of a lower epoch above a sentinel, no epoch that nobody claimed.
Violations CheckLog(const ShardObjects& shard);

// One operation as the log holds it.
struct LoggedOperation {
  int64_t operation = 0;
  WalPosition position;
  Epoch epoch;
};

// 9: every entry is a sequence of whole operations, each at most once in the log, none that was refused, all under the epoch of
// the writer that ran them. Returns the operations in log order.
std::vector<LoggedOperation> TraceLog(const ShardObjects& shard, const History& history, Violations* violations);

// 7, 8: every acknowledged durable operation is in the log; the log holds a prefix of what each writer accepted, in that order.
Violations CheckOperations(const std::vector<LoggedOperation>& log, const History& history);

// 16: whoever opened the shard at epoch 2 or later fenced it before: there is a sentinel of that epoch.
Violations CheckFences(const ShardObjects& shard, const History& history);

// The table that a reader must see when everything in the log is replayed.
TableState Replayed(const std::vector<LoggedOperation>& log, const History& history);

// 10, 13, 14: every scan equals the base table plus what the log held below its writer's sentinel plus a prefix of that writer's
// own operations, with everything that was acknowledged before the scan started and nothing that started after it ended.
Violations CheckScans(const ShardObjects& shard, const std::vector<LoggedOperation>& log, const History& history);

// Every tail read the log as it is, up to at least the last entry that was acknowledged when it started.
Violations CheckTails(const ShardObjects& shard, const std::vector<LoggedOperation>& log, const History& history);

// All of the above and what the history itself found.
Violations CheckEverything(const ShardObjects& shard, const History& history);

}  // namespace javelin::simulation
