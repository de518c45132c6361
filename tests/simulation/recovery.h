// What every run ends with: the shard is recovered without faults, flushed, compacted, and read at each stage.
#pragma once

#include <vector>

#include "base_versions.h"
#include "world.h"

namespace javelin::simulation {

// Opens the shard as a writer that must see exactly what the log holds, closes it, reads the SSTables in a session that
// never saw the log, moves everything into the base, and reads the base alone. Whatever differs is a violation of the
// world's history. `base` gets all versions of the base table. The body of an actor, in a world that is Quiet.
void Recover(World& world, std::vector<BaseVersion>* base);

}  // namespace javelin::simulation
