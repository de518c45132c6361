// An actor that seals the shard and takes the seal back, again and again.
#pragma once

#include <cstdint>
#include <string>

#include "javelin/base/seeded_random.h"
#include "world.h"

namespace javelin::simulation {

struct SealerPlan {
  std::string name;
  uint64_t stream = 0;  // of its random choices
  Duration start{};
  int rounds = 2;  // per life
  uint64_t pause_ms = 1000;
  bool retries = false;  // its store repeats failed requests
};

SealerPlan DrawSealerPlan(SeededRandom& random, std::string name, uint64_t stream);

// The body of the actor; `life` counts the crashes before it. Context T.
void RunSealer(World& world, const SealerPlan& plan, int life);

// Tries to unseal the shard a few times. Context T.
void Unseal(World& world, const Dataset& dataset);

// What sealing by a writer may end with, apart from the failures of its close.
void ExpectSeal(World& world, const arrow::Status& status);

}  // namespace javelin::simulation
