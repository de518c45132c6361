// Marks: through which generation a table says it holds the rows of a shard.
#pragma once

#include <arrow/status.h>

#include "javelin/memwal/shard_manifest.h"

namespace javelin::memwal {

// OK if the mark covers only what was flushed; `current` is the generation that the shard writes now, as its newest
// manifest has it. Readers skip what a mark covers, and the released peer sets any mark, so one beyond that hides rows
// that nobody has moved: Corruption, with the fields `shard` and `recorded_generation`.
arrow::Status CheckMark(const Uuid& shard, Generation mark, Generation current);

// OK if every generation that was flushed is covered by the mark or listed, in a manifest that was read before the
// table was. An SSTable is retired once the table holds its rows; a table that was restored to a version from before
// that, or that another program gave a record of shards of its own, does not say so any more, and the rows would be
// missing without a word: Corruption, with the fields `shard`, `generation` and `recorded_generation`.
arrow::Status CheckNoGap(const ShardManifest& manifest, Generation mark);

}  // namespace javelin::memwal
