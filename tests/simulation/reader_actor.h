// An actor that follows the shard without a claim: it polls the manifest, tails the log and reads the base table, and
// must never write.
#pragma once

#include <cstdint>

#include "javelin/memwal/wal_tailer.h"
#include "world.h"

namespace javelin::simulation {

class ReaderActor {
 public:
  ReaderActor(World& world, uint64_t stream, int rounds) : world_(world), stream_(stream), rounds_(rounds) {}

  // The body of the actor. Context T.
  void Run();

 private:
  void PollManifest(memwal::ShardManifestStore& manifests);
  void TailLog(memwal::WalTailer& tailer);

  World& world_;
  const uint64_t stream_;
  const int rounds_;
  uint64_t last_version_ = 0;
};

}  // namespace javelin::simulation
