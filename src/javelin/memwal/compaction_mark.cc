#include "javelin/memwal/compaction_mark.h"

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

}  // namespace javelin::memwal
