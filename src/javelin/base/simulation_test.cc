// That the simulation is exact (same seed, same run), sees what it should see (races, deadlocks), and crashes cleanly.
#include "javelin/base/simulation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <mutex>
#include <numeric>
#include <thread>

#include "javelin/base/error.h"

namespace javelin {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// For statements about chance: they are about this set, whatever seeds the other tests are run with.
std::vector<uint64_t> FixedSeeds() {
  std::vector<uint64_t> seeds(200);
  std::iota(seeds.begin(), seeds.end(), 1);
  return seeds;
}

// Tasks that race for a counter with a switch between reading and writing. Returns what the counter ends at.
int RacyCount(Simulation& simulation) {
  int count = 0;
  simulation.StartActor("racers", Duration(0), [&] {
    const auto runtime = simulation.runtime();
    std::vector<TaskHandle> tasks;
    for (int t = 0; t < 3; ++t) {
      tasks.push_back(runtime->Spawn("racer", [&count, runtime] {
        for (int i = 0; i < 5; ++i) {
          const int read = count;
          EXPECT_TRUE(runtime->SyncPoint("race.read").ok());
          count = read + 1;
          runtime->Sleep(milliseconds(runtime->Random() % 3));
        }
      }));
    }
    for (TaskHandle& task : tasks) task.Join();
  });
  EXPECT_TRUE(simulation.RunAll().ok());
  return count;
}

TEST(SimulationTest, SameSeedSameRunAndOtherSeedsOtherRuns) {
  std::set<uint64_t> hashes;
  for (const uint64_t seed : Seeds()) {
    const arrow::Status same = CheckSameHash(seed, [&](uint64_t s) {
      Simulation simulation(s);
      RacyCount(simulation);
      hashes.insert(simulation.trace_hash());
      return simulation.trace_hash();
    });
    ASSERT_TRUE(same.ok()) << same;
  }
  EXPECT_GT(hashes.size(), Seeds().size() * 9 / 10);
}

TEST(SimulationTest, OrdersThatLoseUpdatesAreSeen) {
  std::set<int> counts;
  for (const uint64_t seed : FixedSeeds()) {
    Simulation simulation(seed);
    counts.insert(RacyCount(simulation));
  }
  EXPECT_GT(counts.size(), 3u);
}

TEST(SimulationTest, LoggingDoesNotChangeTheRun) {
  Simulation plain(12345);
  RacyCount(plain);
  Simulation logged(12345, {.log = true});
  RacyCount(logged);
  EXPECT_EQ(plain.trace_hash(), logged.trace_hash());
  EXPECT_THAT(plain.log(), IsEmpty());
  EXPECT_THAT(logged.log(), testing::Contains(HasSubstr("sync race.read")));
}

TEST(SimulationTest, TimeIsVirtualAndOrdersTheRun) {
  for (const uint64_t seed : Seeds(20)) {
    Simulation simulation(seed);
    std::vector<int> order;
    const auto runtime = simulation.runtime();
    const TimePoint start = simulation.Now();
    for (const int h : {300, 100, 200}) {
      simulation.StartActor("sleeper", milliseconds(h), [&, h] {
        runtime->Sleep(hours(h));
        order.push_back(h);
      });
    }
    ASSERT_TRUE(simulation.RunAll().ok());
    EXPECT_THAT(order, ElementsAre(100, 200, 300));
    EXPECT_GE(simulation.Now() - start, hours(300));
    EXPECT_LT(simulation.Now() - start, hours(301));
  }
}

// ---- deadlocks ----

// A waiter that checks its predicate before it registers: a wake-up between the two is lost.
arrow::Status LostWakeUp(uint64_t seed, bool with_ticker) {
  Simulation simulation(seed);
  simulation.StartActor("process", Duration(0), [&] {
    const auto runtime = simulation.runtime();
    WaitList waiters(*runtime);
    bool ready = false;
    Strand strand(*runtime, "strand");
    std::unique_ptr<Ticker> ticker;
    if (with_ticker) ticker = std::make_unique<Ticker>(*runtime, seconds(1), strand, [] {});
    TaskHandle waiter = runtime->Spawn("careless waiter", [&] {
      Event event(*runtime);
      if (ready) return;
      (void)runtime->SyncPoint("waiter.checked");
      waiters.Register([event]() mutable { event.Set(); });
      event.Wait();
    });
    (void)runtime->SyncPoint("waker");
    ready = true;
    waiters.Notify();
    waiter.Join();
  });
  return simulation.RunAll();
}

TEST(SimulationTest, LostWakeUpIsReportedWithTaskAndActor) {
  for (const bool with_ticker : {false, true}) {
    int found = 0;
    for (const uint64_t seed : FixedSeeds()) {
      const arrow::Status status = LostWakeUp(seed, with_ticker);
      if (status.ok()) continue;
      ++found;
      EXPECT_TRUE(HasKind(status, ErrorKind::kInternal));
      EXPECT_THAT(status.message(),
                  HasSubstr(with_ticker ? "waits longer than 600 s" : "nothing can run and no timer is set"));
      EXPECT_THAT(status.message(), HasSubstr("'careless waiter' of actor 1 'process': waits for an event"));
      EXPECT_THAT(status.message(), HasSubstr(fmt::format("seed {}", seed)));
    }
    EXPECT_GT(found, 0);
    EXPECT_LT(found, static_cast<int>(FixedSeeds().size()));
  }
}

TEST(SimulationTest, FrozenActorsAndLongSleepsAreNoDeadlocks) {
  int frozen = 0;
  for (const uint64_t seed : FixedSeeds()) {
    Simulation simulation(seed, {.longest_freeze_exponent = 43, .log = true});
    simulation.StartActor("process", Duration(0), [&] {
      const auto runtime = simulation.runtime();
      Event event(*runtime);
      TaskHandle waiter = runtime->Spawn("waiter", [event]() mutable { event.Wait(); });
      for (int i = 0; i < 100; ++i) (void)runtime->SyncPoint("step");
      event.Set();
      waiter.Join();
      runtime->Spawn("sleeper", [&] { runtime->Sleep(hours(5)); }).Join();
    });
    const arrow::Status status = simulation.RunAll();
    ASSERT_TRUE(status.ok()) << status;
    for (const std::string& line : simulation.log()) frozen += line.find(" freeze ") != std::string::npos;
  }
  EXPECT_GT(frozen, 0);
}

TEST(SimulationTest, ARunThatDoesNotEndIsReported) {
  Simulation simulation(1, {.max_switches = 10'000});
  simulation.StartActor("process", Duration(0), [&] {
    while (true) simulation.runtime()->Sleep(milliseconds(1));
  });
  EXPECT_THAT(simulation.RunAll().message(), HasSubstr("does not come to an end"));
}

// ---- hooks and planted bugs ----

TEST(SimulationTest, HooksObserveFailDelayAndCrash) {
  Simulation simulation(7);
  const auto runtime = simulation.runtime();
  std::vector<std::string> seen;
  std::vector<bool> answers;
  simulation.OnSyncPoint("", [&](const SyncHit& hit) {
    seen.push_back(fmt::format("{}#{}", hit.name, hit.count));
    return SyncAction::Continue();
  });
  simulation.OnSyncPoint("b", AtHit(2, SyncAction::Fail(Transient("planned"))));
  simulation.OnSyncPoint("c", AtHit(1, SyncAction::Delay(hours(2))));
  simulation.OnSyncPoint("d", AtHit(1, SyncAction::Crash()));
  const ActorId actor = simulation.StartActor("process", Duration(0), [&] {
    for (const char* name : {"a", "b", "b", "c", "d", "e"}) answers.push_back(runtime->SyncPoint(name).ok());
  });
  const TimePoint start = simulation.Now();
  ASSERT_TRUE(simulation.RunAll().ok());
  EXPECT_THAT(seen, ElementsAre("a#1", "b#1", "b#2", "c#1", "d#1"));
  EXPECT_THAT(answers, ElementsAre(true, true, false, true));
  EXPECT_GE(simulation.Now() - start, hours(2));
  EXPECT_FALSE(simulation.IsAlive(actor));
  EXPECT_EQ(simulation.sync_points_passed(), 5u);
}

TEST(SimulationTest, PlantedBugsAreSeenByTheCodeThatAsks) {
  Simulation simulation(1);
  simulation.PlantBug("reached");
  simulation.PlantBug("never reached");
  EXPECT_TRUE(simulation.runtime()->PlantedBug("reached"));
  EXPECT_FALSE(simulation.runtime()->PlantedBug("not planted"));
  EXPECT_TRUE(simulation.PlantedBugWasAsked("reached"));
  EXPECT_FALSE(simulation.PlantedBugWasAsked("never reached"));
}

// ---- crashes ----

// A process with a lock held at a crash point, a task that waits for the lock, a busy strand, a ticker, and an owner
// whose destructor stops and joins all of it.
class Process {
 public:
  Process(Runtime& runtime, std::vector<std::string>& effects)
      : runtime_(runtime),
        effects_(effects),
        mutex_(runtime),
        strand_(runtime, "strand"),
        ticker_(runtime, milliseconds(3), strand_, [this] { Step("tick"); }) {
    for (int t = 0; t < 2; ++t) {
      tasks_.push_back(runtime.Spawn("worker", [this] {
        for (int i = 0; i < 4; ++i) {
          {
            std::lock_guard lock(mutex_);
            half_changed_ = true;
            Step("locked");
            half_changed_ = false;
          }
          strand_.Post([this] {
            runtime_.Sleep(milliseconds(1));
            Step("job");
          });
          runtime_.Sleep(milliseconds(2));
        }
      }));
    }
  }
  ~Process() {
    ticker_.Stop();
    for (TaskHandle& task : tasks_) task.Join();
    strand_.Close();
    std::lock_guard lock(mutex_);
    if (!runtime_.Unwinding()) effects_.push_back("clean end");
  }
  void Run() {
    for (TaskHandle& task : tasks_) task.Join();
    strand_.Drain();
  }

 private:
  void Step(const char* name) {
    (void)runtime_.SyncPoint(name);
    effects_.push_back(name);
  }

  Runtime& runtime_;
  std::vector<std::string>& effects_;
  Mutex mutex_;
  bool half_changed_ = false;
  Strand strand_;
  Ticker ticker_;
  std::vector<TaskHandle> tasks_;
};

TEST(SimulationTest, ACrashAnywhereUnwindsEverythingWithoutEffects) {
  for (const uint64_t seed : Seeds(40)) {
    bool survived = false;
    for (uint64_t crash_at = 1; !survived; ++crash_at) {
      SCOPED_TRACE(fmt::format("seed {}, crash at {}", seed, crash_at));
      Simulation simulation(seed);
      std::vector<std::string> effects;
      size_t effects_at_crash = 0;
      simulation.OnSyncPoint("", [&](const SyncHit& hit) {
        if (hit.index != crash_at) return SyncAction::Continue();
        effects_at_crash = effects.size();
        return SyncAction::Crash();
      });
      const ActorId actor =
          simulation.StartActor("process", Duration(0), [&] { Process(*simulation.runtime(), effects).Run(); });
      const arrow::Status status = simulation.RunAll();
      ASSERT_TRUE(status.ok()) << status;
      survived = simulation.IsAlive(actor);
      if (survived) {
        EXPECT_GT(crash_at, 8u);  // each worker passes four points, the strand as many
        EXPECT_EQ(effects.back(), "clean end");
      } else {
        EXPECT_EQ(effects.size(), effects_at_crash);
      }
    }
  }
}

TEST(SimulationTest, ACrashWhileATaskStartsToWaitEndsTheWait) {
  for (const uint64_t seed : Seeds()) {
    Simulation simulation(seed);
    simulation.OnSyncPoint("die", AtHit(1, SyncAction::Crash()));
    simulation.StartActor("waiter", Duration(0), [&] {
      const auto runtime = simulation.runtime();
      Event never(*runtime);
      runtime->Spawn("killer", [runtime] { (void)runtime->SyncPoint("die"); });
      never.Wait();
    });
    const arrow::Status ended = simulation.RunAll();
    ASSERT_TRUE(ended.ok()) << ended;
  }
}

TEST(SimulationTest, ASwallowedCrashIsThrownAgain) {
  Simulation simulation(3);
  const auto runtime = simulation.runtime();
  std::vector<std::string> reached;
  simulation.OnSyncPoint("crash", AtHit(1, SyncAction::Crash()));
  simulation.StartActor("process", Duration(0), [&] {
    try {
      (void)runtime->SyncPoint("crash");
      reached.push_back("behind the crash");
    } catch (...) {}
    reached.push_back("swallowed");
    runtime->Sleep(milliseconds(1));
    reached.push_back("behind the next crash point");
  });
  ASSERT_TRUE(simulation.RunAll().ok());
  EXPECT_THAT(reached, ElementsAre("swallowed"));
}

TEST(SimulationTest, ForeignCodeIsNotUnwound) {
  Simulation simulation(3);
  const auto runtime = simulation.runtime();
  std::vector<std::string> reached;
  simulation.OnSyncPoint("crash", AtHit(1, SyncAction::Crash()));
  simulation.StartActor("process", Duration(0), [&] {
    {
      ForeignScope scope(*runtime);
      EXPECT_TRUE(HasKind(runtime->SyncPoint("crash"), ErrorKind::kCancelled));
      EXPECT_FALSE(Event(*runtime).Wait());
      runtime->Sleep(hours(1));
      reached.push_back("inside");
    }
    reached.push_back("outside");
  });
  ASSERT_TRUE(simulation.RunAll().ok());
  EXPECT_THAT(reached, ElementsAre("inside"));
}

TEST(SimulationTest, DroppedWorkCompletesItsCells) {
  for (const uint64_t seed : Seeds(50)) {
    Simulation simulation(seed);
    const auto runtime = simulation.runtime();
    std::vector<Cell<int>> cells;
    const auto cell_of = [&](CellSetter<int> setter) {
      cells.push_back(setter.cell());
      return setter;
    };
    bool ran = false;
    const ActorId actor = simulation.StartActor("process", Duration(0), [&] {
      Strand own(*runtime, "strand");
      own.Post([&] { runtime->Sleep(hours(1)); });
      for (int i = 0; i < 5; ++i) own.Post([&ran, setter = cell_of(CellSetter<int>(*runtime))] { ran = true; });
      runtime->At(runtime->Now() + hours(2), [&ran, setter = cell_of(CellSetter<int>(*runtime))] { ran = true; });
      runtime->Sleep(hours(3));
    });
    simulation.StartActor("killer", seconds(200), [&] { simulation.Crash(actor); });
    const arrow::Status status = simulation.RunAll();
    ASSERT_TRUE(status.ok()) << status;
    EXPECT_FALSE(ran);
    ASSERT_EQ(cells.size(), 6u);
    for (const Cell<int>& cell : cells) EXPECT_TRUE(cell.IsSet());
  }
}

TEST(SimulationTest, TheSuccessorMayStartWhileTheDeadUnwind) {
  Simulation simulation(5);
  const auto runtime = simulation.runtime();
  std::vector<std::string> lives;
  std::function<void(int)> start = [&](int life) {
    simulation.StartActor(fmt::format("life {}", life), seconds(1), [&, life] {
      lives.push_back(fmt::format("life {}", life));
      (void)runtime->SyncPoint("step");
      lives.push_back(fmt::format("end {}", life));
    });
  };
  simulation.OnSyncPoint("step", [&](const SyncHit& hit) {
    if (hit.count == 3) return SyncAction::Continue();
    start(static_cast<int>(hit.count) + 1);
    return SyncAction::Crash();
  });
  start(1);
  ASSERT_TRUE(simulation.RunAll().ok());
  EXPECT_THAT(lives, ElementsAre("life 1", "life 2", "life 3", "end 3"));
}

TEST(SimulationTest, AnActorCrashedBeforeItsStartNeverRuns) {
  Simulation simulation(5);
  auto witness = std::make_shared<bool>(false);
  const ActorId actor = simulation.StartActor("process", hours(1), [witness] { *witness = true; });
  simulation.Crash(actor);
  ASSERT_TRUE(simulation.RunAll().ok());
  EXPECT_FALSE(*witness);
  EXPECT_EQ(witness.use_count(), 1);
}

// ---- rules ----

TEST(SimulationDeathTest, RulesEndTheProcess) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto outside_thread = [] {
    Simulation simulation(1);
    simulation.StartActor("process", Duration(0),
                          [&] { std::thread([&] { Mutex(*simulation.runtime()).lock(); }).join(); });
    (void)simulation.RunAll();
  };
  EXPECT_DEATH(outside_thread(), "a thread from outside entered a simulated runtime");
  const auto waits_outside = [] {
    Simulation simulation(1);
    Event(*simulation.runtime()).Wait();
  };
  EXPECT_DEATH(waits_outside(), "outside of an actor");
  const auto locks_in_both_orders = [] {
    for (uint64_t seed = 1; seed < 200; ++seed) {
      Simulation simulation(seed);
      Mutex first(*simulation.runtime()), second(*simulation.runtime());
      simulation.StartActor("process", Duration(0), [&] {
        TaskHandle other = simulation.runtime()->Spawn("other", [&] {
          std::scoped_lock one(first);
          std::scoped_lock two(second);
        });
        std::scoped_lock two(second);
        std::scoped_lock one(first);
      });
      (void)simulation.RunAll();
    }
  };
  EXPECT_DEATH(locks_in_both_orders(), "waits for a mutex");
  const auto destructor_loops = [] {
    Simulation simulation(1);
    simulation.OnSyncPoint("crash", AtHit(1, SyncAction::Crash()));
    struct Loops {
      Runtime& runtime;
      ~Loops() {
        while (true) runtime.Sleep(milliseconds(1));
      }
    };
    simulation.StartActor("process", Duration(0), [&] {
      Loops loops{*simulation.runtime()};
      (void)simulation.runtime()->SyncPoint("crash");
    });
    (void)simulation.RunAll();
  };
  EXPECT_DEATH(destructor_loops(), "task 'process' of crashed actor 'process' does not end");
}

}  // namespace
}  // namespace javelin
