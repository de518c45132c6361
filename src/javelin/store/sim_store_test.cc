// Faults and crashes of the simulated store, and the retry store over it.
#include "javelin/store/sim_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "javelin/store/coalesce.h"
#include "javelin/store/counting_store.h"
#include "javelin/store/stores.h"
#include "javelin/store/test_support_internal.h"

namespace javelin {
namespace {

using namespace store_test;
using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::ElementsAre;

RequestHook Fault(std::string method, RequestFault fault) {
  return [method, fault](const RequestHit& hit) { return hit.method == method ? fault : RequestFault::kNone; };
}

// Runs one body as an actor on a store without drawn faults.
class SimStoreTest : public testing::Test {
 protected:
  void Run(const std::function<void()>& body) {
    simulation_.StartActor("test", Duration(0), body);
    const arrow::Status status = simulation_.RunAll();
    ASSERT_TRUE(status.ok()) << status;
  }
  Simulation simulation_{4};
  Runtime& runtime_ = *simulation_.runtime();
  SimStore store_{simulation_, {.faults = false, .torn_writes = true}};
};

TEST_F(SimStoreTest, RefusedHasNoEffect) {
  store_.OnRequest(Fault("put", RequestFault::kRefused));
  Run([&] {
    EXPECT_EQ(KindText(store_.Put("a", Bytes("x"))), "Transient");
    EXPECT_EQ(TextOf(store_.Get("a")), "error NotFound");
  });
  simulation_.LandRequests();
  EXPECT_EQ(TextOf(store_.raw().Get("a")), "error NotFound");
}

TEST_F(SimStoreTest, ReadsAreRefusedToo) {
  store_.OnRequest(Fault("get", RequestFault::kRefused));
  Run([&] {
    ASSERT_TRUE(store_.Put("a", Bytes("x")).ok());
    EXPECT_EQ(KindText(store_.Get("a")), "Transient");
  });
}

TEST_F(SimStoreTest, LostAnswerIsAnErrorWithEffect) {
  store_.OnRequest(Fault("put_if_absent", RequestFault::kLostAnswer));
  Run([&] {
    EXPECT_THAT(KindText(store_.PutIfAbsent("a", Bytes("x"))), testing::AnyOf("Transient", "IO"));
    EXPECT_EQ(TextOf(store_.Get("a")), "x");
  });
}

TEST_F(SimStoreTest, LateWriteLandsAfterItsError) {
  store_.OnRequest(Fault("put", RequestFault::kLandsLate));
  Run([&] {
    EXPECT_THAT(KindText(store_.Put("a", Bytes("late"))), testing::AnyOf("Transient", "IO"));
    EXPECT_EQ(TextOf(store_.raw().Get("a")), "error NotFound");
    runtime_.Sleep(seconds(31));
    EXPECT_EQ(TextOf(store_.Get("a")), "late");
    EXPECT_THAT(KindText(store_.Put("b", Bytes("at the end"))), testing::AnyOf("Transient", "IO"));
  });
  EXPECT_EQ(TextOf(store_.raw().Get("b")), "error NotFound");
  simulation_.LandRequests();
  EXPECT_EQ(TextOf(store_.raw().Get("b")), "at the end");
}

TEST_F(SimStoreTest, SlowRequestsSucceedLater) {
  store_.OnRequest(Fault("put", RequestFault::kSlow));
  Run([&] {
    const TimePoint start = runtime_.Now();
    for (int i = 0; i < 5; ++i) EXPECT_TRUE(store_.Put("a", Bytes("x")).ok());
    EXPECT_GE(runtime_.Now() - start, seconds(1));
  });
}

TEST_F(SimStoreTest, TornWriteLeavesAPart) {
  store_.OnRequest(Fault("put", RequestFault::kTorn));
  Run([&] {
    EXPECT_THAT(KindText(store_.Put("a", Bytes(std::string(100, 'x')))), testing::AnyOf("Transient", "IO"));
    EXPECT_LT(store_.Head("a")->size, 100u);
  });
}

TEST_F(SimStoreTest, RequestsOutliveTheirActor) {
  ActorId actor = 0;
  actor = simulation_.StartActor("writer", Duration(0), [&] { (void)store_.Put("a", Bytes("x")); });
  store_.OnRequest([&](const RequestHit& hit) {
    EXPECT_EQ(hit.actor, actor);
    simulation_.Crash(actor);
    return RequestFault::kNone;
  });
  ASSERT_TRUE(simulation_.RunAll().ok());
  EXPECT_EQ(store_.requests_sent(), 1u);
  EXPECT_EQ(TextOf(store_.raw().Get("a")), "error NotFound");
  simulation_.LandRequests();
  EXPECT_EQ(TextOf(store_.raw().Get("a")), "x");
}

TEST_F(SimStoreTest, TheDeadSendNothing) {
  struct Deletes {
    SimStore& store;
    ~Deletes() { EXPECT_EQ(KindText(store.Delete("a")), "Cancelled"); }
  };
  ASSERT_TRUE(store_.raw().Put("a", Bytes("x")).ok());
  simulation_.OnSyncPoint("crash", AtHit(1, SyncAction::Crash()));
  Run([&] {
    Deletes deletes{store_};
    (void)runtime_.SyncPoint("crash");
    ADD_FAILURE() << "a dead task went on";
  });
  simulation_.LandRequests();
  EXPECT_EQ(store_.requests_sent(), 0u);
  EXPECT_EQ(TextOf(store_.raw().Get("a")), "x");
}

TEST_F(SimStoreTest, BatchesRunInParallel) {
  Run([&] {
    std::vector<std::string> keys;
    for (int i = 0; i < 100; ++i) keys.push_back(fmt::format("{}", i));
    const TimePoint before = runtime_.Now();
    ASSERT_FALSE(store_.Get("0").ok());
    const Duration one = runtime_.Now() - before;
    for (const auto& answer : store_.GetMany(keys)) EXPECT_EQ(KindText(answer), "NotFound");
    EXPECT_LT(runtime_.Now() - before, 50 * one);
  });
}

// Actors that write, list, create and crash on a store with all faults.
uint64_t BusyRun(uint64_t seed) {
  Simulation simulation(seed);
  const auto runtime = simulation.runtime();
  SimStore store(simulation, {.torn_writes = true});
  simulation.OnSyncPoint("", [&](const SyncHit&) {
    return simulation.crash_random().OneIn(40) ? SyncAction::Crash() : SyncAction::Continue();
  });
  for (int a = 0; a < 3; ++a) {
    simulation.StartActor("actor", milliseconds(a), [&, a] {
      Strand strand(*runtime, "strand");
      for (int i = 0; i < 6; ++i) {
        strand.Post([&, a, i] { (void)store.Put(fmt::format("{}/{}", a, i), Bytes("x")); });
        (void)runtime->SyncPoint("step");
        (void)store.PutIfAbsent(fmt::format("shared/{}", runtime->Random() % 4), Bytes(fmt::format("{}", a)));
        (void)ListAll(store, {.recursive = false});
        (void)store.GetMany(std::vector<std::string>{"shared/0", "shared/1"});
      }
      strand.Drain();
    });
  }
  const arrow::Status status = simulation.RunAll();
  EXPECT_TRUE(status.ok()) << status;
  simulation.LandRequests();
  return simulation.trace_hash();
}

// As CountingStore counts them.
TEST_F(SimStoreTest, RangesThatLieApartAreRequestsOfTheirOwn) {
  uint64_t sent = 0;
  std::optional<uint64_t> refused;  // the n-th of a call
  store_.OnRequest([&](const RequestHit& hit) {
    if (hit.method != "get") return RequestFault::kNone;
    return ++sent == refused ? RequestFault::kRefused : RequestFault::kNone;
  });
  const auto counting = std::make_shared<CountingStore>(runtime_, std::shared_ptr<ObjectStore>(&store_, [](auto*) {}));
  Run([&] {
    const uint64_t apart = kCoalesceGap + 10;
    const std::string text = "ab" + std::string(apart, '-') + "cdefg";
    ASSERT_TRUE(store_.Put("a", Bytes(text)).ok());
    const std::vector<ByteRange> ranges = {{apart + 3, 2}, {0, 1}, {apart + 6, 1}, {1, 1}, {1, 0}, {0, 2}};
    const auto read = counting->GetRanges("a", ranges).ValueOrDie();
    std::vector<std::string> texts;
    for (const BufferPtr& bytes : read) texts.push_back(bytes->ToString());
    EXPECT_THAT(texts, ElementsAre("de", "a", "g", "b", "", "ab"));
    EXPECT_EQ(sent, 2u);
    EXPECT_EQ(counting->counts().get, 2u);
    for (const uint64_t n : {1, 2}) {
      sent = 0;
      refused = n;
      EXPECT_EQ(KindText(store_.GetRanges("a", ranges)), "Transient") << n;
      EXPECT_EQ(sent, 2u);
    }
    refused.reset();
    sent = 0;
    EXPECT_EQ(KindText(store_.GetRanges("a", std::vector<ByteRange>{{0, 1}, {text.size(), 1}})), "IO");
    ASSERT_TRUE(store_.GetRanges("a", std::vector<ByteRange>{{0, 1}, {5, 1}}).ok());
    EXPECT_EQ(sent, 3u) << "near ones are one";
  });
}

TEST(SimStoreSeeds, SameSeedSameRun) {
  std::set<uint64_t> hashes;
  for (const uint64_t seed : Seeds()) {
    const arrow::Status same = CheckSameHash(seed, [&](uint64_t s) { return *hashes.insert(BusyRun(s)).first; });
    ASSERT_TRUE(same.ok()) << same;
  }
  EXPECT_EQ(hashes.size(), Seeds().size());
}

// Racing creates through the retry store: an OK is the truth, AlreadyExists is the truth, and nobody wins twice.
TEST(SimStoreSeeds, RetriedCreatesTellTheTruth) {
  std::map<std::string, int> outcomes;
  for (const uint64_t seed : Seeds()) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    Simulation simulation(seed);
    SimStore store(simulation);
    const Resources resources = MakeResources(simulation.runtime());
    const auto retrying = MakeRetryStore(resources, std::shared_ptr<ObjectStore>(std::shared_ptr<void>(), &store));
    std::map<std::string, std::map<int, std::string>> answers;  // by key and actor
    for (int a = 0; a < 3; ++a) {
      simulation.StartActor("actor", milliseconds(a), [&, a] {
        for (int i = 0; i < 5; ++i) {
          const std::string key = fmt::format("{}", i);
          answers[key][a] = KindText(retrying->PutIfAbsent(key, Bytes(fmt::format("{}", a))));
        }
      });
    }
    const arrow::Status status = simulation.RunAll();
    ASSERT_TRUE(status.ok()) << status;
    simulation.LandRequests();
    for (const auto& [key, by_actor] : answers) {
      const std::string text = TextOf(store.raw().Get(key));
      int winners = 0;
      for (const auto& [actor, answer] : by_actor) {
        ++outcomes[answer];
        winners += answer == "OK";
        const std::string own = fmt::format("{}", actor);
        if (answer == "OK") {
          EXPECT_EQ(text, own);
        } else if (answer == "AlreadyExists") {
          EXPECT_THAT(text, testing::AllOf(testing::Not(own), testing::SizeIs(1)));
        }
      }
      EXPECT_LE(winners, 1);
    }
  }
  EXPECT_GT(outcomes["OK"], 0);
  EXPECT_GT(outcomes["AlreadyExists"], 0);
  for (const auto& [answer, count] : outcomes)
    EXPECT_THAT(answer, testing::AnyOf("OK", "AlreadyExists", "OutcomeUnknown"));
}

}  // namespace
}  // namespace javelin
