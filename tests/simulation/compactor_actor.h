// An actor that compacts the table and collects what is retired, again and again.
#pragma once

#include <cstdint>
#include <string>

#include "javelin/base/seeded_random.h"
#include "world.h"

namespace javelin::simulation {

struct CompactorPlan {
  std::string name;
  uint64_t stream = 0;  // of its random choices
  Duration start{};
  int rounds = 4;  // per life
  uint64_t pause_ms = 500;
  bool retries = false;    // its store repeats failed requests
  bool two_tasks = false;  // a second one starts with each round, with passes of one SSTable
  memwal::CompactOptions options;
};

CompactorPlan DrawCompactorPlan(SeededRandom& random, std::string name, uint64_t stream);

// The body of the actor; `life` counts the crashes before it. Context T.
void RunCompactor(World& world, const CompactorPlan& plan, int life);

// One call of CompactShards, or seldom of CollectRetired alone. Context T.
void CompactOnce(World& world, const Dataset& dataset, const memwal::CompactOptions& options, SeededRandom& random);

// What such a call may end with.
void ExpectCompaction(World& world, const std::string& call, const arrow::Status& status);

}  // namespace javelin::simulation
