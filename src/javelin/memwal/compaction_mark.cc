#include "javelin/memwal/compaction_mark.h"

#include <set>

#include "javelin/base/error.h"

namespace javelin::memwal {

arrow::Status CheckMark(const Uuid& shard, Generation mark, Generation current) {
  if (mark < current) return arrow::Status::OK();
  return MakeError(
      ErrorKind::kCorruption,
      fmt::format("the table says it holds shard {} through generation {}, but generation {} was never "
                  "flushed; a mark was set wrong, or the shard's folder was removed: go back to a version of "
                  "the table from before that, or stream into a shard with a new id",
                  shard.ToString(), mark, current),
      {{"shard", shard.ToString()}, {"recorded_generation", fmt::to_string(mark)}});
}

arrow::Status CheckNoGap(const ShardManifest& manifest, Generation mark) {
  std::set<Generation> listed;
  for (const SsTableEntry& entry : manifest.sstables) listed.insert(entry.generation);
  // Ends at the first one that is neither: no more steps than are listed, whatever the numbers are.
  Generation expected = mark.Next();
  while (expected < manifest.current_generation && listed.contains(expected)) expected = expected.Next();
  if (expected >= manifest.current_generation) return arrow::Status::OK();
  return MakeError(
      ErrorKind::kCorruption,
      fmt::format(
          "generation {} of shard {} was flushed, but the shard does not list it any more and the table says it "
          "holds only what came up to {}: it was restored to a version from before a compaction, or MemWAL was "
          "turned on again by another program; restore a version that holds it, or, to go on with the table as "
          "it is, drop the index __lance_mem_wal and initialize MemWAL again with adopt_sstables",
          expected, manifest.shard_id.ToString(), mark),
      {{"shard", manifest.shard_id.ToString()},
       {"generation", fmt::to_string(expected)},
       {"recorded_generation", fmt::to_string(mark)}});
}

}  // namespace javelin::memwal
