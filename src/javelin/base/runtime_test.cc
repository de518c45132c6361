// One body per property, run on every runtime.
#include <gtest/gtest.h>

#include "javelin/base/runtime.h"

namespace javelin {
namespace {

class RuntimeTest : public testing::Test {
 protected:
  std::shared_ptr<Runtime> runtime_ = MakeThreadRuntime();
};

TEST_F(RuntimeTest, StrandRunsJobsInOrder) {
  Strand strand(*runtime_, "s");
  std::vector<int> seen;
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(strand.Post([&seen, i] { seen.push_back(i); }));
  strand.Drain();
  ASSERT_EQ(seen.size(), 100u);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(seen[i], i);
  strand.Close();
  EXPECT_FALSE(strand.Post([] {}));
}

TEST_F(RuntimeTest, TickerAndTimers) {
  Strand strand(*runtime_, "s");
  Event third(*runtime_);
  int ticks = 0;
  Ticker ticker(*runtime_, std::chrono::milliseconds(1), strand, [&] {
    if (++ticks == 3) third.Set();
  });
  EXPECT_TRUE(third.Wait());
  ticker.Stop();
}

TEST_F(RuntimeTest, CpuAndCells) {
  std::atomic<int> sum{0};
  std::vector<Job> jobs;
  for (int i = 0; i < 100; ++i) jobs.push_back([&sum, i] { sum += i; });
  runtime_->Cpu(std::move(jobs));
  EXPECT_EQ(sum, 4950);
  Strand strand(*runtime_, "s");
  CellSetter<int> setter(*runtime_);
  const Cell<int> cell = setter.cell();
  strand.Post([setter] { setter.Set(7); });
  EXPECT_EQ(cell.Get().ValueOrDie(), 7);
}

}  // namespace
}  // namespace javelin
