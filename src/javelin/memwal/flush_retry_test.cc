// What a flush does about failures: which are tried again and when, what counts as published, and who waits meanwhile.
#include "javelin/memwal/writer_test_world.h"

namespace javelin::memwal {
namespace {

using namespace test;
using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

TEST(FlushRetry, PausesDoubleFromHalfASecondToTenMinutes) {
  World world;
  world.CreateTable();
  world.Run([&](Process& process) {
    Runtime& runtime = process.runtime();
    auto writer = process.Open(BatchesPerTable(1));
    int failures = 13;
    std::optional<TimePoint> last;
    std::vector<Duration> pauses;
    world.sim.OnSyncPoint("flush.begin", [&](const SyncHit&) {
      const TimePoint now = runtime.Now();
      if (last.has_value()) pauses.push_back(now - *last);
      last = now;
      return failures-- > 0 ? SyncAction::Fail(Transient("planted")) : SyncAction::Continue();
    });
    ASSERT_OK(writer->Put({Row(1, "a")}));
    while (writer->memtable_stats().frozen_count > 0) runtime.Sleep(minutes(1));
    std::vector<Duration> expected;
    for (Duration pause = milliseconds(500); pause < minutes(10); pause *= 2) expected.push_back(pause);
    expected.insert(expected.end(), 2, minutes(10));
    EXPECT_EQ(pauses, expected);
    EXPECT_EQ(writer->stats().memtable_flush_failures, 13u);
    // What went well ends the row of failures.
    failures = 2;
    last.reset();
    pauses.clear();
    ASSERT_OK(writer->Put({Row(2, "b")}));
    runtime.Sleep(minutes(1));
    EXPECT_THAT(pauses, ElementsAre(milliseconds(500), seconds(1)));
    EXPECT_EQ(process.Fresh(), "1:a 2:b");
  });
}

TEST(FlushRetry, WhatNoRetryCuresIsNotTriedAgain) {
  for (const ErrorKind kind : {ErrorKind::kInternal, ErrorKind::kInvalidInput, ErrorKind::kFencedPeerClaimedEpoch,
                               ErrorKind::kFencedPersistenceFailure}) {
    SCOPED_TRACE(ToString(kind));
    World world;
    world.CreateTable();
    world.Run([&](Process& process) {
      auto writer = process.Open(BatchesPerTable(1));
      int begun = 0;
      bool fails = true;
      world.sim.OnSyncPoint("flush.begin", [&](const SyncHit&) {
        ++begun;
        return fails ? SyncAction::Fail(MakeError(kind, "planted")) : SyncAction::Continue();
      });
      (void)writer->Put({Row(1, "a")});  // fills the MemTable; a writer that is fenced may tell so
      process.runtime().Sleep(hours(1));
      EXPECT_EQ(begun, 1);
      EXPECT_EQ(writer->stats().memtable_flush_failures, 1u);
      ExpectError(writer->Flush(), kind, "planted");
      const bool fenced = kind == ErrorKind::kFencedPeerClaimedEpoch || kind == ErrorKind::kFencedPersistenceFailure;
      if (fenced) {
        EXPECT_EQ(begun, 1);
        ExpectError(writer->Put({Row(2, "b")}), kind, "planted");
        ExpectError(writer->Snapshot().status(), kind, "planted");
      } else {
        EXPECT_EQ(begun, 2) << "who asks for it has it tried again";
        EXPECT_EQ(ReadBack(*writer), "1:a") << "it stays readable";
        fails = false;
        ASSERT_OK(writer->Flush());
        EXPECT_EQ(begun, 3);
        EXPECT_THAT(Must(writer->Manifest()).sstables, SizeIs(1));
      }
    });
  }
}

TEST(FlushRetry, EverythingElseIsTriedAgain) {
  for (const ErrorKind kind : {ErrorKind::kTransient, ErrorKind::kIO, ErrorKind::kDenied, ErrorKind::kNotFound,
                               ErrorKind::kOutcomeUnknown, ErrorKind::kVersionConflict, ErrorKind::kOutOfMemory}) {
    SCOPED_TRACE(ToString(kind));
    World world;
    world.CreateTable();
    world.Run([&](Process& process) {
      auto writer = process.Open(Eager());
      world.sim.OnSyncPoint("flush.begin", AtHit(1, SyncAction::Fail(MakeError(kind, "planted"))));
      ASSERT_OK(writer->Put({Row(1, "a")}));
      const TimePoint start = process.runtime().Now();
      ASSERT_OK(writer->Flush());
      EXPECT_GE(process.runtime().Now() - start, milliseconds(500));
      EXPECT_EQ(writer->stats().memtable_flush_failures, 1u);
      EXPECT_EQ(process.Fresh(), "1:a");
    });
  }
}

// Moves the number of the next generation under a writer that has something to flush.
void SetCurrentGeneration(const ShardWriter& writer, Generation generation) {
  const auto change = [generation](const ShardManifest& base) -> arrow::Result<ShardManifest> {
    ShardManifest next = base.NextVersion();
    next.current_generation = generation;
    return next;
  };
  ASSERT_OK(writer.manifest_store()->CommitUpdate(writer.epoch(), change).Get().status());
}

// Step F4: an earlier attempt whose answer was lost has published it.
TEST(FlushRetry, AGenerationBelowTheCurrentOneIsPublishedAlready) {
  World world;
  world.CreateTable();
  world.Run([&](Process& process) {
    auto writer = process.Open(Eager());
    ASSERT_OK(writer->Put({Row(1, "a")}));
    SetCurrentGeneration(*writer, Generation(2));
    world.Take();
    ASSERT_OK(writer->Flush());
    EXPECT_THAT(world.Take(), IsEmpty()) << "nothing is written, nothing is committed";
    EXPECT_EQ(writer->memtable_stats().frozen_count, 0u);
    EXPECT_EQ(writer->stats().memtable_flush_count, 0u);
    EXPECT_EQ(writer->stats().memtable_flush_failures, 0u);
  });
}

TEST(FlushRetry, AGenerationAboveTheCurrentOneIsABug) {
  World world;
  world.CreateTable();
  world.Run([&](Process& process) {
    auto writer = process.Open(Eager());
    ASSERT_OK(writer->Put({Row(1, "a")}));
    SetCurrentGeneration(*writer, Generation(2));
    ASSERT_OK(writer->Flush());
    ASSERT_OK(writer->Put({Row(2, "b")}));  // generation 2
    SetCurrentGeneration(*writer, Generation(1));
    world.Take();
    ExpectError(writer->Flush(), ErrorKind::kInternal, "the shard expects generation 1");
    process.runtime().Sleep(hours(1));
    EXPECT_THAT(world.Take(), IsEmpty()) << "nor is it tried again";
    EXPECT_EQ(writer->memtable_stats().frozen_count, 1u);
    EXPECT_EQ(ReadBack(*writer), "2:b");
  });
}

// Memory ends a wait only when a flush is through; meanwhile each interval counts.
TEST(Backpressure, APutThatWaitsWarnsInEveryInterval) {
  for (const Duration interval : {Duration(seconds(30)), Duration(seconds(7)), Duration::zero()}) {
    World world;
    world.CreateTable();
    world.Run([&](Process& process) {
      WriterOptions options = BatchesPerTable(1);
      options.max_memtable_size = 1'000;
      options.max_unflushed_memtable_bytes = 100'000;
      options.backpressure_log_interval = interval;
      auto writer = process.Open(options);
      world.sim.OnSyncPoint("flush.begin", AtHit(1, SyncAction::Delay(seconds(100))));
      while (true) {
        const auto put = writer->PutAsync({Row(1, "x")});
        if (HasKind(put.status(), ErrorKind::kBackpressure)) break;
        ASSERT_OK(put.status());
      }
      EXPECT_EQ(writer->stats().backpressure_warnings, 0u) << "who does not wait is told by the error";
      ASSERT_OK(writer->Put({Row(2, "y")}));
      EXPECT_EQ(writer->stats().backpressure_waits, 1u);
      const uint64_t expected = interval == Duration::zero() ? 0 : seconds(99) / interval;
      EXPECT_EQ(writer->stats().backpressure_warnings, expected);
    });
  }
}

}  // namespace
}  // namespace javelin::memwal
