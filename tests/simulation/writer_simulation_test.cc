// Random runs of the write path (scenario.h), JAVELIN_SEEDS of them (default 5,000) from JAVELIN_SEED_START on;
// JAVELIN_SEED runs one.

#include <cstdlib>

#include <gtest/gtest.h>

#include "scenario.h"

namespace javelin::simulation {
namespace {

bool LogIsWanted() { return std::getenv("JAVELIN_SIMULATION_LOG") != nullptr; }

// What a number of runs must have met, or they prove less than they seem to.
void ExpectEverythingHappened(const Coverage& coverage) {
  EXPECT_GT(coverage.crashes, 0u);
  EXPECT_GT(coverage.opened, 0u);
  EXPECT_GT(coverage.open_failed, 0u);
  EXPECT_GT(coverage.fenced, 0u);
  EXPECT_GT(coverage.lost_persistence, 0u);
  EXPECT_GT(coverage.backpressure, 0u);
  EXPECT_GT(coverage.acknowledged, 0u);
  EXPECT_GT(coverage.unknown, 0u);
  EXPECT_GT(coverage.refused, 0u);
  EXPECT_GT(coverage.scans, 0u);
  EXPECT_GT(coverage.tails, 0u);
  EXPECT_GT(coverage.freezes, 0u);
  EXPECT_GT(coverage.damaged, 0u);
  EXPECT_GT(coverage.passes, 0u);
  EXPECT_GT(coverage.compactions_failed, 0u);
  EXPECT_GT(coverage.retired, 0u);
  EXPECT_GT(coverage.folders_deleted, 0u);
  EXPECT_GT(coverage.views_outlived, 0u);
  EXPECT_GT(coverage.seals, 0u);
  EXPECT_GT(coverage.unseals, 0u);
  EXPECT_GT(coverage.opens_refused, 0u);
}

std::string Describe(const Coverage& c) {
  std::string text = fmt::format(
      "{} crashes, {} opened, {} opens failed, {} fenced, {} lost persistence, {} backpressure, {} acknowledged, {} "
      "unknown, {} refused, {} scans, {} tails, {} freezes, {} damaged",
      c.crashes, c.opened, c.open_failed, c.fenced, c.lost_persistence, c.backpressure, c.acknowledged, c.unknown,
      c.refused, c.scans, c.tails, c.freezes, c.damaged);
  text += fmt::format(", {} passes, {} compactions failed, {} retired, {} folders deleted, {} views outlived", c.passes,
                      c.compactions_failed, c.retired, c.folders_deleted, c.views_outlived);
  return text + fmt::format(", {} seals, {} unseals, {} opens refused", c.seals, c.unseals, c.opens_refused);
}

TEST(WriterSimulation, RandomRuns) {
  Coverage coverage;
  int failures = 0;
  const auto seeds = Seeds(5000);
  for (uint64_t seed : seeds) {
    ScenarioResult result = RunScenario(seed, {.log = LogIsWanted()});
    coverage.Add(result.coverage);
    if (result.violations.empty()) continue;
    ADD_FAILURE() << DescribeFailure(seed, result);
    if (++failures == 5) break;  // the rest would say the same
  }
  RecordProperty("coverage", Describe(coverage));
  fmt::print("{} seeds: {}\n", seeds.size(), Describe(coverage));
  if (seeds.size() >= 3000) ExpectEverythingHappened(coverage);
}

TEST(WriterSimulation, ASeedRunsTheSameWayTwice) {
  const auto seeds = Seeds();
  for (size_t i = 0; i < seeds.size(); i += 10) {
    arrow::Status same = CheckSameHash(seeds[i], [](uint64_t seed) { return RunScenario(seed).hash; });
    ASSERT_TRUE(same.ok()) << same.ToString();
  }
}

}  // namespace
}  // namespace javelin::simulation
