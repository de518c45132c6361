// Bugs planted in the product (base/planted_bug.h): the random runs must find each of them, which proves that they see.

#include <gtest/gtest.h>

#include "scenario.h"

namespace javelin::simulation {
namespace {

constexpr uint64_t kSeeds = 2000;

class PlantedBug : public ::testing::TestWithParam<const char*> {};

TEST_P(PlantedBug, IsFound) {
  bool asked = false;
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    ScenarioResult result = RunScenario(seed, {.planted_bug = GetParam()});
    asked |= result.bug_was_asked;
    if (result.violations.empty()) continue;
    EXPECT_EQ(RunScenario(seed).violations, Violations()) << "seed " << seed << " needs no planted bug";
    RecordProperty("seeds", static_cast<int>(seed));
    fmt::print("{}: found by seed {}: {}\n", GetParam(), seed, result.violations.front());
    return;
  }
  FAIL() << GetParam() << " was not found by " << kSeeds << " seeds; the product "
         << (asked ? "passed" : "never passed") << " its place";
}

std::string NameOf(const ::testing::TestParamInfo<const char*>& info) {
  std::string name = info.param;
  std::replace_if(name.begin(), name.end(), [](char c) { return c == '.' || c == '_'; }, 'X');
  return name;
}

INSTANTIATE_TEST_SUITE_P(WritePath, PlantedBug,
                         ::testing::Values("wal.no_fence_check_after_collision",
                                           "wal.next_position_after_unknown_outcome", "wal.replay_accepts_higher_epoch",
                                           "wal.gap_read_as_end", "writer.acknowledge_before_put",
                                           "writer.replay_before_sentinel", "writer.tick_names_active",
                                           "flush.covers_what_is_not_flushed", "flush.keeps_superseded_rows",
                                           "writer.frozen_left_out_of_view", "writer.replay_does_not_stamp_durable",
                                           "compaction.oldest_row_wins", "compaction.appends_only",
                                           "compaction.retires_before_commit", "compaction.collects_flush_under_way",
                                           "view.base_before_manifests", "seal.without_sentinel"),
                         NameOf);

}  // namespace
}  // namespace javelin::simulation
