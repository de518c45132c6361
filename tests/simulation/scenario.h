// A random run of the write path: two writers and a reader of one shard, compactors and a sealer, over a store that
// fails and loses answers, with crashes, stalls and planted bugs. Everything follows from the seed.
#pragma once

#include <cstdint>
#include <string>

#include "world.h"

namespace javelin::simulation {

struct ScenarioOptions {
  std::string planted_bug;  // empty = none
  bool log = false;
};

struct ScenarioResult {
  uint64_t hash = 0;
  Violations violations;
  Coverage coverage;
  bool bug_was_asked = false;  // the product passed the place of the planted bug
  std::string objects;         // what the shard holds at the end
  std::vector<std::string> log;
};

ScenarioResult RunScenario(uint64_t seed, const ScenarioOptions& options = {});

// Seed, violations, the command that repeats it, and the trace where JAVELIN_SIMULATION_LOG=1 asks for it.
std::string DescribeFailure(uint64_t seed, const ScenarioResult& result);

}  // namespace javelin::simulation
