// Marks: through which generation a table says it holds the rows of a shard.
#pragma once

#include <arrow/status.h>

#include "javelin/memwal/shard_manifest.h"

namespace javelin::memwal {

// OK if the mark covers only what was flushed; `current` is the generation that the shard writes now, as its newest
// manifest has it. Readers skip what a mark covers, and the released peer sets any mark, so one beyond that hides rows
// that nobody has moved: Corruption, with the fields `shard` and `recorded_generation`.
arrow::Status CheckMark(const Uuid& shard, Generation mark, Generation current);

}  // namespace javelin::memwal
