// One body per property, run on both runtimes: real threads once, the simulation with many seeds.
#include "javelin/base/runtime.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <mutex>

#include "javelin/base/error.h"
#include "javelin/base/simulation.h"

namespace javelin {
namespace {

using std::chrono::milliseconds;
using testing::Each;
using testing::ElementsAre;

enum class World { kThreads, kSimulation };

class RuntimeContract : public testing::TestWithParam<World> {
 protected:
  void Run(const std::function<void(Runtime&)>& body) {
    if (GetParam() == World::kThreads) {
      const auto runtime = MakeThreadRuntime();
      body(*runtime);
      return;
    }
    for (const uint64_t seed : Seeds(50)) {
      SCOPED_TRACE(fmt::format("seed {}", seed));
      Simulation simulation(seed, options_);
      simulation.StartActor("test", Duration(0), [&] { body(*simulation.runtime()); });
      const arrow::Status status = simulation.RunAll();
      ASSERT_TRUE(status.ok()) << status;
    }
  }

  SimulationOptions options_;
};

INSTANTIATE_TEST_SUITE_P(Runtimes, RuntimeContract, testing::Values(World::kThreads, World::kSimulation),
                         [](const auto& info) { return info.param == World::kThreads ? "threads" : "simulation"; });

TEST_P(RuntimeContract, StrandRunsOneJobAtATimeInOrderOfEachPoster) {
  Run([](Runtime& runtime) {
    std::vector<int> last(3, -1);  // per poster; only the strand touches it
    int running = 0;
    int jobs = 0;
    Strand strand(runtime, "strand");
    std::vector<TaskHandle> posters;
    for (int p = 0; p < 3; ++p) {
      posters.push_back(runtime.Spawn("poster", [&, p] {
        for (int i = 0; i < 30; ++i) {
          strand.Post([&, p, i] {
            EXPECT_EQ(++running, 1);
            EXPECT_EQ(last[p], i - 1);
            last[p] = i;
            if (i % 10 == 0) runtime.Sleep(std::chrono::microseconds(100));
            ++jobs;
            --running;
          });
        }
      }));
    }
    for (TaskHandle& poster : posters) poster.Join();
    strand.Drain();
    EXPECT_EQ(jobs, 90);
  });
}

TEST_P(RuntimeContract, DrainWaitsForWhatJobsPost) {
  Run([](Runtime& runtime) {
    Strand strand(runtime, "strand");
    int left = 20;
    std::function<void()> step = [&] {
      if (--left > 0) strand.Post(step);
    };
    strand.Post(step);
    strand.Drain();
    EXPECT_EQ(left, 0);
    strand.Drain();  // idle: at once
  });
}

TEST_P(RuntimeContract, CloseDropsQueuedJobsAndWaitsForTheRunningOne) {
  options_.stalls = false;  // who closes must not sleep longer than the job does
  Run([](Runtime& runtime) {
    Strand strand(runtime, "strand");
    Event started(runtime);
    bool finished = false;
    bool later_ran = false;
    strand.Post([&] {
      started.Set();
      runtime.Sleep(milliseconds(2));
      finished = true;
    });
    CellSetter<int> setter(runtime);
    const Cell<int> dropped = setter.cell();
    strand.Post([&later_ran, setter = std::exchange(setter, CellSetter<int>(runtime))] {
      later_ran = true;
      setter.Set(1);
    });
    started.Wait();
    strand.Close();
    EXPECT_TRUE(finished);
    EXPECT_FALSE(later_ran);
    EXPECT_TRUE(HasKind(dropped.Get().status(), ErrorKind::kCancelled));
    EXPECT_FALSE(strand.Post([] {}));
    strand.Close();
  });
}

TEST_P(RuntimeContract, TickerDelaysLateTicksAndNeverBursts) {
  Run([](Runtime& runtime) {
    const Duration every = milliseconds(2);
    Strand strand(runtime, "strand");
    Event enough(runtime);
    std::vector<TimePoint> starts;
    Ticker ticker(runtime, every, strand, [&] {
      starts.push_back(runtime.Now());
      if (starts.size() == 2) runtime.Sleep(7 * every);  // several ticks pass meanwhile
      if (starts.size() == 5) enough.Set();
    });
    enough.Wait();
    ticker.Stop();
    strand.Drain();
    for (size_t i = 1; i < starts.size(); ++i) EXPECT_GE((starts[i] - starts[i - 1]).count(), every.count());
  });
}

TEST_P(RuntimeContract, StoppedTickerRunsNoMore) {
  Run([](Runtime& runtime) {
    Strand strand(runtime, "strand");
    int ticks = 0;
    bool stopped = false;
    Ticker ticker(runtime, std::chrono::microseconds(200), strand, [&] {
      EXPECT_FALSE(stopped);
      ++ticks;
    });
    runtime.Sleep(milliseconds(1));
    ticker.Stop();
    strand.Drain();  // a tick that ran while Stop was called
    strand.Post([&] { stopped = true; });
    runtime.Sleep(milliseconds(1));
    strand.Drain();
  });
}

TEST_P(RuntimeContract, TickerCanBeStoppedByItsOwnJob) {
  Run([](Runtime& runtime) {
    Strand strand(runtime, "strand");
    Event done(runtime);
    std::unique_ptr<Ticker> ticker;
    strand.Post([&] {
      ticker = std::make_unique<Ticker>(runtime, std::chrono::microseconds(100), strand, [&] {
        ticker->Stop();
        done.Set();
      });
    });
    EXPECT_TRUE(done.Wait());
    strand.Drain();
  });
}

TEST_P(RuntimeContract, TimersFireInOrderAndNotEarly) {
  Run([](Runtime& runtime) {
    Strand strand(runtime, "strand");
    std::vector<int> seen;
    Event last(runtime);
    const TimePoint start = runtime.Now();
    for (const int ms : {3, 1, 2}) {
      runtime.At(start + milliseconds(ms), [&, ms] {
        EXPECT_GE(runtime.Now(), start + milliseconds(ms));
        strand.Post([&, ms] {
          seen.push_back(ms);
          if (seen.size() == 3) last.Set();
        });
      });
    }
    last.Wait();
    std::sort(seen.begin(), seen.end());
    EXPECT_THAT(seen, ElementsAre(1, 2, 3));
  });
}

TEST_P(RuntimeContract, CancelPreventsOrWaits) {
  Run([](Runtime& runtime) {
    auto witness = std::make_shared<int>(0);
    const TimerId far = runtime.At(runtime.Now() + std::chrono::hours(1), [witness] {});
    EXPECT_TRUE(runtime.Cancel(far));
    EXPECT_EQ(witness.use_count(), 1);
    EXPECT_FALSE(runtime.Cancel(far));

    Mutex mutex(runtime);
    Event entered(runtime);
    bool left = false;
    const TimerId now = runtime.At(runtime.Now(), [&, witness] {
      entered.Set();
      for (int i = 0; i < 100; ++i) std::lock_guard lock(mutex);
      left = true;
    });
    entered.Wait();
    EXPECT_FALSE(runtime.Cancel(now));
    EXPECT_TRUE(left);
    EXPECT_EQ(witness.use_count(), 1);
  });
}

TEST_P(RuntimeContract, WaitListWakesWhoRegisteredBeforeChecking) {
  Run([](Runtime& runtime) {
    Mutex mutex(runtime);
    int value = 0;
    WaitList waiters(runtime);
    std::vector<TaskHandle> tasks;
    for (int t = 0; t < 3; ++t) {
      tasks.push_back(runtime.Spawn("waiter", [&] {
        while (true) {
          Event changed(runtime);
          const uint64_t id = waiters.Register([changed]() mutable { changed.Set(); });
          {
            std::lock_guard lock(mutex);
            if (value == 5) {
              waiters.Remove(id);
              return;
            }
          }
          changed.Wait();
        }
      }));
    }
    for (int i = 0; i < 5; ++i) {
      {
        std::lock_guard lock(mutex);
        ++value;
      }
      waiters.Notify();
    }
    for (TaskHandle& task : tasks) task.Join();
  });
}

TEST_P(RuntimeContract, RemovedCallbackIsNotCalled) {
  Run([](Runtime& runtime) {
    WaitList waiters(runtime);
    std::vector<int> called;
    const uint64_t first = waiters.Register([&] { called.push_back(1); });
    waiters.Register([&] { called.push_back(2); });
    waiters.Remove(first);
    waiters.Remove(first);
    waiters.Notify();
    waiters.Notify();
    EXPECT_THAT(called, ElementsAre(2));
  });
}

TEST_P(RuntimeContract, CellDeliversOneResult) {
  Run([](Runtime& runtime) {
    Strand strand(runtime, "strand");
    CellSetter<int> setter(runtime);
    const Cell<int> cell = setter.cell();
    EXPECT_FALSE(cell.IsSet());
    EXPECT_TRUE(HasKind(cell.Get(runtime.Now() + milliseconds(1)).status(), ErrorKind::kCancelled));
    std::vector<int> seen;
    cell.Then(strand, [&](const arrow::Result<int>& result) { seen.push_back(result.ValueOrDie()); });
    TaskHandle task = runtime.Spawn("setter", [setter] {
      setter.Set(7);
      setter.Set(8);
    });
    EXPECT_EQ(cell.Get().ValueOrDie(), 7);
    task.Join();
    cell.Then(strand, [&](const arrow::Result<int>& result) { seen.push_back(result.ValueOrDie() + 1); });
    strand.Drain();
    EXPECT_THAT(seen, ElementsAre(7, 8));
  });
}

TEST_P(RuntimeContract, ACallerRunsTheJobOfAnIdleStrandItself) {
  Run([](Runtime& runtime) {
    std::vector<std::string> order;
    Strand strand(runtime, "strand");
    Event started(runtime);
    std::atomic<bool> refused{false};
    EXPECT_TRUE(strand.TryRunHere([&] {
      // Posted while it runs: does not start before it has ended, and is not forgotten.
      EXPECT_TRUE(strand.Post([&] {
        started.Set();
        order.push_back("posted");
        while (!refused) runtime.Sleep(std::chrono::milliseconds(1));
      }));
      runtime.Sleep(std::chrono::milliseconds(1));
      order.push_back("here");
    }));
    started.Wait();
    EXPECT_FALSE(strand.TryRunHere([&] { order.push_back("never"); }));  // "posted" still runs
    refused = true;
    strand.Drain();
    while (!strand.TryRunHere([&] { order.push_back("last"); })) runtime.Sleep(std::chrono::milliseconds(1));
    EXPECT_THAT(order, ElementsAre("here", "posted", "last"));
    strand.Close();
    EXPECT_FALSE(strand.TryRunHere([&] { order.push_back("never"); }));
  });
}

TEST_P(RuntimeContract, CellMayOutliveTheStrandOfItsContinuation) {
  Run([](Runtime& runtime) {
    CellSetter<int> setter(runtime);
    bool ran = false;
    auto witness = std::make_shared<int>(0);
    {
      Strand strand(runtime, "strand");
      setter.cell().Then(strand, [&ran, witness](const arrow::Result<int>&) { ran = true; });
    }
    setter.Set(1);
    EXPECT_FALSE(ran);
    EXPECT_EQ(witness.use_count(), 1);
  });
}

TEST_P(RuntimeContract, CellOfADroppedSetterIsCancelled) {
  Run([](Runtime& runtime) {
    Cell<Unit> cell;
    bool called = false;
    {
      CellSetter<Unit> setter(runtime);
      const CellSetter<Unit> copy = setter;
      cell = setter.cell();
      cell.OnSet([&](const arrow::Result<Unit>& result) { called = HasKind(result.status(), ErrorKind::kCancelled); });
    }
    EXPECT_TRUE(called);
    EXPECT_TRUE(HasKind(cell.Get().status(), ErrorKind::kCancelled));
  });
}

TEST_P(RuntimeContract, AThousandStrands) {
  Run([](Runtime& runtime) {
    std::vector<std::unique_ptr<Strand>> strands;
    std::vector<int> counts(1000);
    const int rounds = GetParam() == World::kThreads ? 10 : 1;
    for (int i = 0; i < 1000; ++i) strands.push_back(std::make_unique<Strand>(runtime, "strand"));
    for (int round = 0; round < rounds; ++round) {
      for (int i = 0; i < 1000; ++i) strands[i]->Post([&counts, i] { ++counts[i]; });
    }
    for (auto& strand : strands) strand->Drain();
    EXPECT_THAT(counts, Each(rounds));
  });
}

TEST_P(RuntimeContract, CpuRunsAllJobsFromTasksAndStrands) {
  Run([](Runtime& runtime) {
    const auto sum_of = [&runtime](int n) {
      std::vector<int> parts(n);
      std::vector<Job> jobs;
      for (int i = 0; i < n; ++i) jobs.push_back([&parts, i] { parts[i] = i; });
      runtime.Cpu(std::move(jobs));
      int sum = 0;
      for (const int part : parts) sum += part;
      return sum;
    };
    EXPECT_EQ(sum_of(100), 4950);
    EXPECT_EQ(sum_of(0), 0);
    Strand strand(runtime, "strand");
    CellSetter<int> setter(runtime);
    strand.Post([&] { setter.Set(sum_of(20)); });
    EXPECT_EQ(setter.cell().Get().ValueOrDie(), 190);
  });
}

TEST_P(RuntimeContract, JoinReturnsAfterTheFunctionObjectIsGone) {
  Run([](Runtime& runtime) {
    auto witness = std::make_shared<int>(0);
    TaskHandle task = runtime.Spawn("task", [witness, &runtime] { runtime.Sleep(std::chrono::microseconds(50)); });
    TaskHandle copy = task;
    task.Join();
    EXPECT_EQ(witness.use_count(), 1);
    copy.Join();
  });
}

TEST_P(RuntimeContract, EventWakesAllAndRespectsDeadlines) {
  Run([](Runtime& runtime) {
    Event event(runtime);
    const TimePoint deadline = runtime.Now() + milliseconds(2);
    EXPECT_FALSE(event.Wait(deadline));
    EXPECT_GE(runtime.Now(), deadline);
    EXPECT_FALSE(event.Wait(runtime.Now() - milliseconds(1)));
    std::vector<TaskHandle> tasks;
    for (int i = 0; i < 5; ++i)
      tasks.push_back(runtime.Spawn("waiter", [event]() mutable { EXPECT_TRUE(event.Wait()); }));
    event.Set();
    for (TaskHandle& task : tasks) task.Join();
    EXPECT_TRUE(event.Wait(runtime.Now() - milliseconds(1)));
  });
}

TEST_P(RuntimeContract, MutexExcludes) {
  Run([](Runtime& runtime) {
    Mutex mutex(runtime);
    int count = 0;
    std::vector<TaskHandle> tasks;
    for (int t = 0; t < 4; ++t) {
      tasks.push_back(runtime.Spawn("adder", [&] {
        for (int i = 0; i < 50; ++i) {
          std::lock_guard lock(mutex);
          const int read = count;
          EXPECT_TRUE(runtime.SyncPoint("between").ok());
          count = read + 1;
        }
      }));
    }
    for (TaskHandle& task : tasks) task.Join();
    EXPECT_EQ(count, 200);
  });
}

TEST_P(RuntimeContract, ClocksAndChance) {
  Run([](Runtime& runtime) {
    const TimePoint start = runtime.Now();
    runtime.Sleep(milliseconds(1));
    EXPECT_GE(runtime.Now() - start, milliseconds(1));
    EXPECT_GT(runtime.WallTime(), std::chrono::hours(24 * 365 * 50));
    std::set<uint64_t> numbers;
    for (int i = 0; i < 100; ++i) numbers.insert(runtime.Random());
    EXPECT_EQ(numbers.size(), 100u);
    EXPECT_TRUE(runtime.CheckProcess().ok());
    EXPECT_FALSE(runtime.Unwinding());
    EXPECT_FALSE(runtime.PlantedBug("any"));
  });
}

}  // namespace
}  // namespace javelin
