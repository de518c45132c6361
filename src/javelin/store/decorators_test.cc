// Counting, planned faults and retries.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "javelin/store/coalesce.h"
#include "javelin/store/counting_store.h"
#include "javelin/store/fault_store.h"
#include "javelin/store/stores.h"
#include "javelin/store/test_support_internal.h"

namespace javelin {
namespace {

using namespace store_test;
using testing::ElementsAre;
using testing::IsEmpty;
using Action = FaultRule::Action;

TEST(CoalesceTest, NeighboursBecomeOneRequest) {
  const auto merged = [](std::vector<ByteRange> ranges) { return CoalesceRanges(ranges, 10); };
  EXPECT_THAT(merged({}), IsEmpty());
  EXPECT_THAT(merged({{5, 0}}), IsEmpty());
  EXPECT_THAT(merged({{0, 5}, {15, 5}}), ElementsAre(ByteRange{0, 20}));
  EXPECT_THAT(merged({{0, 5}, {16, 5}}), ElementsAre(ByteRange{0, 5}, ByteRange{16, 5}));
  EXPECT_THAT(merged({{30, 5}, {0, 5}, {2, 20}}), ElementsAre(ByteRange{0, 35}));
  EXPECT_THAT(merged({{0, 100}, {10, 5}, {105, 1}}), ElementsAre(ByteRange{0, 106}));
}

class DecoratorTest : public testing::Test {
 protected:
  const Resources resources_ = MakeResources(MakeThreadRuntime());
  const std::shared_ptr<ObjectStore> memory_ = MakeMemoryStore(resources_);
};

TEST_F(DecoratorTest, CountsRequestsAndBytesExactly) {
  CountingStore store(*resources_.runtime, memory_);
  ASSERT_TRUE(store.Put("a", Bytes("12345")).ok());
  ASSERT_TRUE(store.PutIfAbsent("b", Bytes("123")).ok());
  EXPECT_FALSE(store.PutIfAbsent("b", Bytes("1234")).ok());
  ASSERT_TRUE(store.PutIfMatch("b", Bytes("12"), store.Head("b")->etag).ok());
  ASSERT_TRUE(store.Get("a").ok());
  EXPECT_FALSE(store.Get("none").ok());
  ASSERT_TRUE(store.GetTail("a", 2).ok());
  ASSERT_TRUE(store.GetRanges("a", std::vector<ByteRange>{{0, 1}, {2, 1}}).ok());
  store.GetMany(std::vector<std::string>{"a", "none"});
  ASSERT_TRUE(store.Copy("a", "c").ok());
  ASSERT_TRUE(store.Delete("c").ok());
  ASSERT_TRUE(store.List({.prefix = "x/"}).ok());
  auto writer = store.OpenWriter("w").ValueOrDie();
  ASSERT_TRUE(writer->Write(Bytes("1234567")).ok());
  ASSERT_TRUE(writer->Write(Bytes("8")).ok());
  ASSERT_TRUE(writer->Finish().ok());
  EXPECT_THAT(store.LogText(),
              ElementsAre("put a", "put_if_absent b", "put_if_absent b", "head b", "put_if_match b", "get a",
                          "get none", "get a", "get a", "get a", "get none", "copy c", "delete c", "list x/", "put w"));
  const RequestCounts counts = store.counts();
  EXPECT_EQ(counts.get, 6u);
  EXPECT_EQ(counts.head, 1u);
  EXPECT_EQ(counts.put, 2u);
  EXPECT_EQ(counts.put_if_absent, 2u);
  EXPECT_EQ(counts.put_if_match, 1u);
  EXPECT_EQ(counts.list, 1u);
  EXPECT_EQ(counts.remove, 1u);
  EXPECT_EQ(counts.copy, 1u);
  EXPECT_EQ(counts.total(), store.log().size());
  EXPECT_EQ(counts.bytes_read, 5u + 2 + 3 + 5);
  EXPECT_EQ(counts.bytes_written, 5u + 3 + 4 + 2 + 8);
  store.Reset();
  EXPECT_EQ(store.counts().total(), 0u);
  EXPECT_THAT(store.log(), IsEmpty());
}

TEST_F(DecoratorTest, PagesOfAListingCountEach) {
  CountingStore store(*resources_.runtime, memory_);
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(store.Put(fmt::format("t/{}", i), Bytes("x")).ok());
  ASSERT_TRUE(ListAll(store, {.prefix = "t/", .max_keys = 2}).ok());
  EXPECT_EQ(store.counts().list, 3u);
}

TEST_F(DecoratorTest, FaultsActOnTheNthMatch) {
  FaultStore store(*resources_.runtime, memory_);
  store.AddRule({.method = "put", .key = "t/*/x*", .first = 2, .times = 2, .kind = ErrorKind::kIO});
  std::vector<std::string> kinds;
  for (const char* key : {"t/1/x1", "t/1/y", "t/2/x2", "u/2/x", "t/3/x", "t/4/x"})
    kinds.push_back(KindText(store.Put(key, Bytes("b"))));
  EXPECT_THAT(kinds, ElementsAre("OK", "OK", "IO", "OK", "IO", "OK"));
  EXPECT_EQ(KindText(store.Get("t/2/x2")), "NotFound");
  EXPECT_EQ(store.requests(), 7u);
  EXPECT_EQ(store.faults(), 2u);
  store.ClearRules();
  EXPECT_TRUE(store.Put("t/2/x2", Bytes("b")).ok());
}

TEST_F(DecoratorTest, FaultsLoseAnswersDelayAndCut) {
  FaultStore store(*resources_.runtime, memory_);
  ASSERT_TRUE(store.Put("a", Bytes("0123456789")).ok());
  store.AddRule({.method = "put_if_absent", .action = Action::kLoseAnswer});
  EXPECT_EQ(KindText(store.PutIfAbsent("b", Bytes("b"))), "Transient");
  EXPECT_EQ(TextOf(memory_->Get("b")), "b");
  store.AddRule({.method = "put", .action = Action::kCutBody, .kind = ErrorKind::kIO, .keep_bytes = 3});
  EXPECT_EQ(KindText(store.Put("c", Bytes("0123456789"))), "IO");
  EXPECT_EQ(TextOf(memory_->Get("c")), "012");
  store.AddRule({.method = "get", .times = 3, .action = Action::kCutBody, .keep_bytes = 4});
  EXPECT_EQ(TextOf(store.Get("a")), "0123");
  EXPECT_EQ(store.GetTail("a", 6)->bytes->ToString(), "4567");
  EXPECT_EQ(KindText(store.GetRanges("a", std::vector<ByteRange>{{0, 10}})), "IO");
  const TimePoint start = resources_.runtime->Now();
  store.AddRule({.method = "head", .action = Action::kDelay, .delay = std::chrono::milliseconds(3)});
  EXPECT_TRUE(store.Head("a").ok());
  EXPECT_GE(resources_.runtime->Now() - start, std::chrono::milliseconds(3));
}

TEST_F(DecoratorTest, FaultsReachBatchesAndStreams) {
  FaultStore store(*resources_.runtime, memory_);
  ASSERT_TRUE(store.Put("a", Bytes("a")).ok());
  store.AddRule({.method = "get", .first = 2});
  std::vector<std::string> kinds;
  for (const auto& answer : store.GetMany(std::vector<std::string>{"a", "a", "a"})) kinds.push_back(KindText(answer));
  EXPECT_THAT(kinds, ElementsAre("OK", "Transient", "OK"));
  store.AddRule({.method = "put_part", .first = 2});
  store.AddRule({.method = "put", .key = "v"});
  auto writer = store.OpenWriter("w").ValueOrDie();
  ASSERT_TRUE(writer->Write(Bytes("1")).ok());
  EXPECT_EQ(KindText(writer->Write(Bytes("2"))), "Transient");
  EXPECT_EQ(KindText(writer->Finish()), "Transient");
  EXPECT_EQ(KindText(store.OpenWriter("v").ValueOrDie()->Finish()), "Transient");
  EXPECT_EQ(KeysOf(ListAll(*memory_, {}).ValueOrDie()), std::vector<std::string>{"a"});
}

class RetryStoreTest : public DecoratorTest {
 protected:
  const std::shared_ptr<FaultStore> faulty_ = std::make_shared<FaultStore>(*resources_.runtime, memory_);
  const std::shared_ptr<ObjectStore> store_ =
      MakeRetryStore(resources_, faulty_, {.max_attempts = 3, .base_delay = std::chrono::microseconds(10)});
};

TEST_F(RetryStoreTest, RepeatsWhatIsSafeToRepeat) {
  faulty_->AddRule({.times = 2});
  EXPECT_TRUE(store_->Put("a", Bytes("1")).ok());
  EXPECT_EQ(faulty_->requests(), 3u);
  for (const char* method : {"get", "head", "list", "delete", "copy"}) faulty_->AddRule({.method = method, .times = 2});
  EXPECT_EQ(TextOf(store_->Get("a")), "1");
  EXPECT_TRUE(store_->Head("a").ok());
  EXPECT_TRUE(store_->List({}).ok());
  EXPECT_TRUE(store_->Copy("a", "b").ok());
  EXPECT_TRUE(store_->Delete("a").ok());
  EXPECT_EQ(faulty_->faults(), 12u);
}

TEST_F(RetryStoreTest, GivesUpAndKeepsOtherErrors) {
  faulty_->AddRule({.times = 3});
  EXPECT_EQ(KindText(store_->Get("a")), "Transient");
  EXPECT_EQ(faulty_->requests(), 3u);
  EXPECT_EQ(KindText(store_->Get("a")), "NotFound");
  faulty_->AddRule({.kind = ErrorKind::kDenied});
  EXPECT_EQ(KindText(store_->Put("a", Bytes("x"))), "Denied");
  EXPECT_EQ(faulty_->requests(), 5u);
}

TEST_F(RetryStoreTest, RepeatsTheFailedPartOfABatch) {
  ASSERT_TRUE(memory_->Put("a", Bytes("1")).ok());
  faulty_->AddRule({.first = 2, .times = 2});
  std::vector<std::string> texts;
  for (const auto& answer : store_->GetMany(std::vector<std::string>{"a", "a", "none", "a"}))
    texts.push_back(TextOf(answer));
  EXPECT_THAT(texts, ElementsAre("1", "1", "error NotFound", "1"));
  EXPECT_EQ(faulty_->requests(), 6u);
}

TEST_F(RetryStoreTest, CreateWithALostAnswerThatFindsTheSameBytesIsUnknown) {
  // Whoever wrote them: two claimers of a shard write the same bytes, and only one of them may believe that it won.
  faulty_->AddRule({.method = "put_if_absent", .action = Action::kLoseAnswer, .kind = ErrorKind::kIO});
  EXPECT_EQ(KindText(store_->PutIfAbsent("a", Bytes("same"))), "OutcomeUnknown");
  EXPECT_EQ(faulty_->requests(), 2u);
  faulty_->ClearRules();
  faulty_->AddRule({.method = "put_if_absent", .kind = ErrorKind::kIO});
  EXPECT_EQ(KindText(store_->PutIfAbsent("a", Bytes("same"))), "OutcomeUnknown");
}

TEST_F(RetryStoreTest, CreateWithALostAnswerFindsTheBytesOfAnother) {
  ASSERT_TRUE(memory_->Put("a", Bytes("theirs")).ok());
  faulty_->AddRule({.method = "put_if_absent"});
  EXPECT_EQ(KindText(store_->PutIfAbsent("a", Bytes("mine"))), "AlreadyExists");
  EXPECT_EQ(TextOf(memory_->Get("a")), "theirs");
}

TEST_F(RetryStoreTest, CreateThatDidNotHappenIsTriedAgain) {
  faulty_->AddRule({.method = "put_if_absent", .times = 2});
  EXPECT_TRUE(store_->PutIfAbsent("a", Bytes("mine")).ok());
  EXPECT_EQ(TextOf(memory_->Get("a")), "mine");
}

TEST_F(RetryStoreTest, CreateMeetingALateFirstTryIsUnknown) {
  // The first try is refused as far as reading tells, lands meanwhile, and the second one meets it.
  faulty_->AddRule({.method = "put_if_absent", .action = Action::kLoseAnswer});
  faulty_->AddRule({.method = "get", .kind = ErrorKind::kNotFound});
  EXPECT_EQ(KindText(store_->PutIfAbsent("a", Bytes("mine"))), "OutcomeUnknown");
  EXPECT_EQ(faulty_->requests(), 4u);
}

TEST_F(RetryStoreTest, CreateThatCannotBeResolvedIsUnknown) {
  faulty_->AddRule({.method = "put_if_absent"});
  faulty_->AddRule({.method = "get", .kind = ErrorKind::kDenied});
  EXPECT_EQ(KindText(store_->PutIfAbsent("a", Bytes("mine"))), "OutcomeUnknown");
  faulty_->ClearRules();
  faulty_->AddRule({.method = "put_if_absent", .times = 3});
  EXPECT_EQ(KindText(store_->PutIfAbsent("b", Bytes("mine"))), "OutcomeUnknown");
}

TEST_F(RetryStoreTest, CreateWithADefiniteAnswerIsNotReadBack) {
  ASSERT_TRUE(memory_->Put("a", Bytes("mine")).ok());
  EXPECT_EQ(KindText(store_->PutIfAbsent("a", Bytes("mine"))), "AlreadyExists");
  EXPECT_EQ(KindText(store_->PutIfAbsent("../a", Bytes("mine"))), "InvalidInput");
  EXPECT_EQ(faulty_->requests(), 2u);
}

TEST_F(RetryStoreTest, ReplaceResolvesByReadingToo) {
  ASSERT_TRUE(memory_->Put("a", Bytes("0")).ok());
  const auto etag = [&] { return memory_->Head("a")->etag; };
  faulty_->AddRule({.method = "put_if_match", .action = Action::kLoseAnswer});
  EXPECT_EQ(KindText(store_->PutIfMatch("a", Bytes("1"), etag())), "OutcomeUnknown");
  EXPECT_EQ(TextOf(memory_->Get("a")), "1");
  faulty_->ClearRules();
  faulty_->AddRule({.method = "put_if_match"});
  const std::string second = store_->PutIfMatch("a", Bytes("2"), etag()).ValueOrDie();
  EXPECT_EQ(second, etag());
  EXPECT_EQ(TextOf(memory_->Get("a")), "2");
  faulty_->ClearRules();
  faulty_->AddRule({.method = "put_if_match"});
  EXPECT_EQ(KindText(store_->PutIfMatch("a", Bytes("3"), "stale")), "Precondition");
  faulty_->ClearRules();
  faulty_->AddRule({.method = "put_if_match", .times = 3});
  EXPECT_EQ(KindText(store_->PutIfMatch("a", Bytes("4"), etag())), "OutcomeUnknown");
  EXPECT_EQ(TextOf(memory_->Get("a")), "2");
}

}  // namespace
}  // namespace javelin
