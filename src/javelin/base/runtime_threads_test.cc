// What only the runtime of real threads has: growth, shutdown, forks, and the waiting rules that end the process.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <future>
#include <mutex>
#include <thread>

#include "javelin/base/error.h"
#include "javelin/base/resources.h"
#include "javelin/base/runtime.h"

namespace javelin {
namespace {

using std::chrono::milliseconds;

int ThreadsOfThisProcess() {
  int count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/proc/self/task")) ++count;
  return count;
}

TEST(ThreadRuntimeTest, IoPoolGrowsWhileNothingIsIdle) {
  const auto runtime = MakeThreadRuntime();
  std::atomic<int> running{0};
  std::vector<std::unique_ptr<Strand>> strands;
  for (int i = 0; i < 30; ++i) {
    strands.push_back(std::make_unique<Strand>(*runtime, "blocked"));
    // Ends only once all thirty run at the same time.
    strands.back()->Post([&] {
      for (++running; running < 30;) runtime->Sleep(milliseconds(1));
    });
  }
  for (auto& strand : strands) strand->Drain();
  EXPECT_EQ(running, 30);
}

TEST(ThreadRuntimeTest, IoPoolKeepsItsLimit) {
  const auto runtime = MakeThreadRuntime({.max_io_threads = 2});
  std::atomic<int> running{0};
  std::vector<std::unique_ptr<Strand>> strands;
  for (int i = 0; i < 20; ++i) {
    strands.push_back(std::make_unique<Strand>(*runtime, "strand"));
    strands.back()->Post([&] {
      EXPECT_LE(++running, 2);
      runtime->Sleep(std::chrono::microseconds(200));
      --running;
    });
  }
  for (auto& strand : strands) strand->Drain();
}

TEST(ThreadRuntimeTest, IdleThreadsEnd) {
  const int before = ThreadsOfThisProcess();
  const auto runtime = MakeThreadRuntime({.idle_life = milliseconds(5)});
  std::vector<TaskHandle> tasks;
  for (int i = 0; i < 10; ++i) tasks.push_back(runtime->Spawn("task", [&] { runtime->Sleep(milliseconds(5)); }));
  for (TaskHandle& task : tasks) task.Join();
  while (ThreadsOfThisProcess() > before) runtime->Sleep(milliseconds(5));
  runtime->Spawn("again", [] {}).Join();
}

TEST(ThreadRuntimeTest, ShutdownWaitsForDetachedTasks) {
  bool ended = false;
  auto runtime = MakeThreadRuntime();
  runtime->Spawn("detached", [&ended, plain = runtime.get()] {
    plain->Sleep(milliseconds(5));
    ended = true;
  });
  auto witness = std::make_shared<int>(0);
  runtime->At(runtime->Now() + std::chrono::hours(1), [witness] {});
  runtime.reset();
  EXPECT_TRUE(ended);
  EXPECT_EQ(witness.use_count(), 1);
}

TEST(ThreadRuntimeTest, LastReferenceMayGoInsideATask) {
  std::promise<void> ended;
  auto runtime = MakeThreadRuntime();
  Runtime& plain = *runtime;
  std::promise<void> outside_is_gone;
  plain.Spawn("owner", [owner = std::move(runtime), &ended, gone = outside_is_gone.get_future().share()]() mutable {
    gone.wait();
    owner.reset();
    ended.set_value();
  });
  outside_is_gone.set_value();
  ended.get_future().wait();
}

TEST(ThreadRuntimeTest, AForkedChildIsRefused) {
  const auto runtime = MakeThreadRuntime();
  runtime->Spawn("task", [] {}).Join();
  const pid_t child = fork();
  if (child == 0) _exit(HasKind(runtime->CheckProcess(), ErrorKind::kClosed) ? 0 : 1);
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(runtime->CheckProcess().ok());
}

class RuntimeRulesDeathTest : public testing::Test {
 protected:
  void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }

  // Runs `job` in a strand job and waits for its end.
  static void InStrandJob(const std::function<void(Runtime&)>& job) {
    const auto runtime = MakeThreadRuntime();
    Strand strand(*runtime, "strand");
    strand.Post([&] { job(*runtime); });
    strand.Drain();
  }
};

TEST_F(RuntimeRulesDeathTest, AStrandJobNeverWaitsForOtherWork) {
  const char* message = "in a strand job; end the job and continue with cell.Then";
  EXPECT_DEATH(InStrandJob([](Runtime& runtime) { Event(runtime).Wait(); }), message);
  EXPECT_DEATH(InStrandJob([](Runtime& runtime) { CellSetter<int>(runtime).cell().Get().status().Warn(); }), message);
  EXPECT_DEATH(InStrandJob([](Runtime& runtime) { Strand(runtime, "other").Drain(); }), message);
  EXPECT_DEATH(InStrandJob([](Runtime& runtime) { Strand(runtime, "other").Close(); }), message);
  EXPECT_DEATH(InStrandJob([](Runtime& runtime) { runtime.Spawn("task", [] {}).Join(); }), message);
}

TEST_F(RuntimeRulesDeathTest, CpuJobsAndCallbacksDoNotBlock) {
  const auto in_cpu_job = [] {
    const auto runtime = MakeThreadRuntime();
    runtime->Cpu({[&] { runtime->Sleep(milliseconds(1)); }});
  };
  EXPECT_DEATH(in_cpu_job(), "Sleep was called in a CPU job");
  const auto in_callback = [] {
    const auto runtime = MakeThreadRuntime();
    Event never(*runtime);
    runtime->At(runtime->Now(), [&] { never.Wait(); });
    never.Wait();
  };
  EXPECT_DEATH(in_callback(), "Event::Wait was called in a timer or wait-list callback");
}

TEST_F(RuntimeRulesDeathTest, NobodyWaitsWithALock) {
  const auto wait_with_lock = [] {
    const auto runtime = MakeThreadRuntime();
    Mutex mutex(*runtime);
    std::lock_guard lock(mutex);
    runtime->Sleep(milliseconds(1));
  };
  EXPECT_DEATH(wait_with_lock(), "Sleep was called while a Mutex is held");
}

TEST(ResourcesTest, BudgetRefusesTypedAndGivesBack) {
  const Resources resources = MakeResources(MakeThreadRuntime(), 100);
  MemoryBudget& budget = *resources.memory;
  {
    MemoryReservation most = MemoryReservation::Make(budget, 60, "first").ValueOrDie();
    const auto refused = MemoryReservation::Make(budget, 41, "second");
    EXPECT_TRUE(HasKind(refused.status(), ErrorKind::kOutOfMemory));
    MemoryReservation rest = MemoryReservation::Make(budget, 40, "third").ValueOrDie();
    EXPECT_EQ(budget.used(), 100);
    MemoryReservation moved = std::move(most);
    rest = MemoryReservation();
    EXPECT_EQ(budget.used(), 60);
  }
  EXPECT_EQ(budget.used(), 0);
  EXPECT_TRUE(HasKind(budget.Reserve(INT64_MAX, "all"), ErrorKind::kOutOfMemory));
  EXPECT_TRUE(HasKind(budget.Reserve(-1, "nothing"), ErrorKind::kInternal));
}

TEST(ResourcesTest, MetricsAddUp) {
  const Resources resources = MakeResources(MakeThreadRuntime());
  resources.metrics->Add("b", 2);
  resources.metrics->Add("a");
  resources.metrics->Add("b", 3);
  EXPECT_EQ(resources.metrics->Snapshot(), (std::map<std::string, int64_t>{{"a", 1}, {"b", 5}}));
  EXPECT_GT(resources.memory->limit(), 0);
}

}  // namespace
}  // namespace javelin
