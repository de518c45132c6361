// How long views wait for the store: in round trips, under virtual time.
#include <atomic>

#include "javelin/memwal/parallel_internal.h"
#include "javelin/memwal/writer_test_world.h"
#include "javelin/store/forwarding_store.h"

namespace javelin::memwal {
namespace {

using namespace test;

constexpr Duration kRoundTrip = std::chrono::milliseconds(10);
// A simulated process has one to four threads for the store, in this seed four, and the caller waits too.
constexpr uint64_t kSeed = 1;
constexpr uint64_t kAtOnce = 5;

// Every read takes one round trip; what is asked at once waits at once.
class SlowStore final : public ForwardingStore {
 public:
  SlowStore(Runtime& runtime, std::shared_ptr<ObjectStore> inner)
      : ForwardingStore(std::move(inner)), runtime_(runtime) {}

  arrow::Result<BufferPtr> Get(const std::string& key) override {
    Wait(1);
    return inner_->Get(key);
  }
  std::vector<arrow::Result<BufferPtr>> GetMany(std::span<const std::string> keys) override {
    Wait(keys.size());
    return inner_->GetMany(keys);
  }
  arrow::Result<std::vector<BufferPtr>> GetRanges(const std::string& key, std::span<const ByteRange> ranges) override {
    Wait(1);
    return inner_->GetRanges(key, ranges);
  }
  arrow::Result<ObjectTail> GetTail(const std::string& key, uint64_t max_bytes) override {
    Wait(1);
    return inner_->GetTail(key, max_bytes);
  }
  arrow::Result<ObjectInfo> Head(const std::string& key) override {
    Wait(1);
    return inner_->Head(key);
  }
  std::vector<arrow::Result<ObjectInfo>> HeadMany(std::span<const std::string> keys) override {
    Wait(keys.size());
    return inner_->HeadMany(keys);
  }
  arrow::Result<ListPage> List(const ListRequest& request) override {
    Wait(1);
    return inner_->List(request);
  }

  struct Seen {
    uint64_t requests = 0;
    uint64_t at_once = 0;  // at most
  };
  Seen Take() { return std::exchange(seen_, {}); }

 private:
  void Wait(uint64_t requests) {
    seen_.requests += requests;
    under_way_ += requests;
    seen_.at_once = std::max(seen_.at_once, under_way_);
    runtime_.Sleep(kRoundTrip);
    under_way_ -= requests;
  }

  Runtime& runtime_;
  Seen seen_;
  uint64_t under_way_ = 0;
};

class RoundTrips : public testing::Test {
 protected:
  // Shards of so many SSTables each, of one row, over a base of one row, and nobody who writes to them.
  void Publish(int shards, int sstables) {
    world_.CreateTable(R"([[1000, "base"]])");
    world_.Run([&](Process& process) {
      for (int i = 0; i < shards; ++i) {
        auto writer = Must(process.TryOpen(Eager(), fmt::format("11111111-2222-4333-8444-{:012}", i)));
        for (int j = 0; j < sstables; ++j) {
          ASSERT_OK(writer->Put({Row(i * sstables + j, "row")}));
          ASSERT_OK(writer->Flush());
        }
        ASSERT_OK(writer->Close());
      }
    });
  }

  // In a process whose reads take a round trip each.
  void Run(const std::function<void(Process&)>& body) {
    world_.Run([&](Process& process) {
      const std::shared_ptr<ObjectStore> inner(world_.store, &world_.store->raw());
      store_ = std::make_shared<SlowStore>(process.runtime(), inner);
      Process slow(world_.sim.runtime(), store_);
      body(slow);
    });
  }

  void Expect(Process& process, const std::function<void()>& read, int round_trips, uint64_t requests,
              uint64_t at_once) {
    store_->Take();
    const TimePoint begin = process.runtime().Now();
    read();
    const Duration took = process.runtime().Now() - begin;
    const auto seen = store_->Take();
    EXPECT_EQ(took / kRoundTrip, round_trips) << took.count() << " ns";
    EXPECT_EQ(seen.requests, requests);
    EXPECT_EQ(seen.at_once, at_once);
  }

  World world_{kSeed};
  std::shared_ptr<SlowStore> store_;
};

TEST_F(RoundTrips, ManyShardsAreLookedUpSideBySide) {
  Publish(20, 1);
  Run([&](Process& process) {
    const auto table = process.Table();
    // Two listings; the shards five by five: hint, manifest and the next one each; later without the hint.
    Expect(process, [&] { Must(FreshView::Open(*table)); }, 2 + 4 * 3, 2 + 3 * 20, kAtOnce);
    Expect(process, [&] { Must(FreshView::Open(*table)); }, 2 + 4 * 2, 2 + 2 * 20, kAtOnce);
    EXPECT_EQ(Must(Must(FreshView::Open(*table))->CountRows()), 21u);
  });
}

TEST_F(RoundTrips, OneShardCostsNoOtherTask) {
  Publish(1, 1);
  Run([&](Process& process) {
    const auto table = process.Table();
    Expect(process, [&] { Must(FreshView::Open(*table)); }, 2 + 3, 2 + 3, 1);
  });
}

TEST_F(RoundTrips, AScanOpensManySsTablesSideBySide) {
  Publish(2, 10);
  Run([&](Process& process) {
    const auto view = Must(FreshView::Open(*process.Table()));
    // Manifest and data file each: sixteen five by five, then four; the base.
    Expect(process, [&] { EXPECT_EQ(Must(view->CountRows()), 21u); }, 4 * 2 + 2 + 1, 2 * 20 + 1, kAtOnce);
    Expect(process, [&] { EXPECT_EQ(Collect(view->Scan())->num_rows(), 21); }, 0, 0, 0);
  });
  Run([&](Process& process) {
    const auto view = Must(FreshView::Open(*process.Table()));
    Expect(process, [&] { EXPECT_EQ(Collect(view->Scan())->num_rows(), 21); }, 4 * 2 + 2 + 1, 2 * 20 + 1, kAtOnce);
  });
}

TEST_F(RoundTrips, ALimitedScanOpensWhatItNeeds) {
  Publish(1, 10);
  Run([&](Process& process) {
    const auto view = Must(FreshView::Open(*process.Table()));
    ScanOptions options;
    options.limit = 3;
    Expect(process, [&] { EXPECT_EQ(Scan(*view, options), "9:row 8:row 7:row"); }, 3 * 2, 3 * 2, 1);
    Expect(process, [&] { EXPECT_EQ(Text(*Must(view->Get(*Keys("[[6]]")))), "6:row"); }, 2, 2, 1);
  });
}

// ---- InParallel ----

class InParallelTest : public testing::TestWithParam<size_t> {};

TEST_P(InParallelTest, EveryNumberOnceInOrder) {
  for (const uint64_t seed : Seeds(20)) {
    Simulation sim(seed, {.stalls = false});
    sim.StartActor("process", {}, [&] {
      Runtime& runtime = *sim.runtime();
      std::vector<size_t> begun;
      size_t under_way = 0, at_once = 0;
      ASSERT_OK(InParallel(runtime, GetParam(), [&](size_t number) {
        begun.push_back(number);
        at_once = std::max(at_once, ++under_way);
        runtime.Sleep(std::chrono::milliseconds(1));
        --under_way;
        return arrow::Status::OK();
      }));
      EXPECT_EQ(under_way, 0u);
      EXPECT_GE(at_once, std::min(GetParam(), size_t{2}));
      EXPECT_LE(at_once, std::min(GetParam(), kRequestsAtOnce));
      std::sort(begun.begin(), begun.end());
      ASSERT_EQ(begun.size(), GetParam());
      for (size_t i = 0; i < begun.size(); ++i) EXPECT_EQ(begun[i], i);
    });
    ASSERT_OK(sim.RunAll());
  }
}

TEST_P(InParallelTest, TheFirstFailureInOrderCounts) {
  for (const uint64_t seed : Seeds(20)) {
    Simulation sim(seed, {.stalls = false});
    sim.StartActor("process", {}, [&] {
      Runtime& runtime = *sim.runtime();
      size_t begun = 0;
      const auto failed = InParallel(runtime, GetParam(), [&](size_t number) -> arrow::Status {
        ++begun;
        runtime.Sleep(std::chrono::milliseconds(runtime.Random() % 10));
        return number % 5 == 3 ? InvalidInput("number {}", number) : arrow::Status::OK();
      });
      if (GetParam() < 4) {
        EXPECT_TRUE(failed.ok());
      } else {
        ExpectError(failed, ErrorKind::kInvalidInput, "number 3");
        EXPECT_LT(begun, 60u) << "no more is begun";
      }
    });
    ASSERT_OK(sim.RunAll());
  }
}

// Real threads: each waits until sixteen are there.
TEST(InParallelThreads, SixteenAtOnce) {
  const auto runtime = MakeThreadRuntime();
  std::atomic<size_t> under_way = 0, at_once = 0, begun = 0;
  ASSERT_OK(InParallel(*runtime, 40, [&](size_t) {
    const size_t now = ++under_way;
    for (size_t most = at_once; most < now && !at_once.compare_exchange_weak(most, now);) {}
    ++begun;
    while (begun < kRequestsAtOnce) runtime->Sleep(std::chrono::milliseconds(1));
    --under_way;
    return arrow::Status::OK();
  }));
  EXPECT_EQ(at_once, kRequestsAtOnce);
  EXPECT_EQ(begun, 40u);
  EXPECT_EQ(under_way, 0u);
}

INSTANTIATE_TEST_SUITE_P(Counts, InParallelTest, testing::Values(0, 1, 2, 16, 17, 100));

}  // namespace
}  // namespace javelin::memwal
