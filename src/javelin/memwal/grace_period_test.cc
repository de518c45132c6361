// Flushed MemTables that stay for readers: how long, at what cost, and that no row comes twice.
#include "javelin/memwal/grace_period.h"
#include "javelin/dataset/row_change.h"
#include "javelin/memwal/compactor_test_world.h"

namespace javelin::memwal {
namespace {

using namespace test;
using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::Gt;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

WriterOptions Grace(Duration grace) {
  WriterOptions options = Eager();
  options.frozen_memtable_grace = grace;
  return options;
}

uint64_t InGrace(const ShardWriter& writer) { return writer.memtable_stats().grace_bytes; }

// Virtual time until nothing is in grace, in steps of a millisecond.
Duration UntilGone(const Process& process, const ShardWriter& writer) {
  const TimePoint start = process.runtime().Now();
  while (InGrace(writer) > 0 && process.runtime().Now() - start < 1h) process.runtime().Sleep(1ms);
  return process.runtime().Now() - start;
}

TEST(GracePeriod, AFlushedMemTableAnswersForTheGrace) {
  for (const bool keyed : {true, false}) {
    World world;
    world.CreateTable(R"([[0, "base"]])", {}, keyed ? KeyedSchema() : KeylessSchema());
    world.Run([&](Process& process) {
      const auto writer = process.Open(Grace(300ms));
      ASSERT_OK(writer->Put({Rows(R"([[1, "a"], [2, "b"]])")}));
      const auto before = Must(FreshView::Open(*process.Table()));
      const uint64_t memory = writer->memtable_stats().retained_bytes;
      ASSERT_OK(writer->Flush());
      const TimePoint flushed = process.runtime().Now();
      const auto stats = writer->memtable_stats();
      EXPECT_EQ(stats.frozen_count, 0u);
      EXPECT_EQ(stats.frozen_bytes, 0u);
      EXPECT_EQ(stats.grace_bytes, memory);
      EXPECT_EQ(stats.retained_bytes, stats.grace_bytes + stats.index_bytes) << "in grace and the empty active one";
      EXPECT_EQ(Listed(process), Generations(1, 1));

      ASSERT_OK(writer->Put({Row(3, "c")}));
      const auto view = Must(FreshView::Open(*process.Table()));
      world.Take();
      EXPECT_EQ(Sorted(Scan(*view)), "0:base 1:a 2:b 3:c");
      EXPECT_EQ(Must(view->CountRows()), 4u);
      EXPECT_EQ(Sorted(Text(*Collect(view->Scan({}, /*with_generation=*/true)))), "0:base:0 1:a:1 2:b:1 3:c:2");
      if (keyed) {
        EXPECT_EQ(Get(*writer, 2), "2:b");
      }
      EXPECT_EQ(Sorted(Scan(*before)), "0:base 1:a 2:b");
      EXPECT_THAT(world.Take("_gen_"), IsEmpty()) << "no SSTable is asked";

      process.runtime().Sleep(flushed + 299ms - process.runtime().Now());
      EXPECT_EQ(InGrace(*writer), memory);
      process.runtime().Sleep(2ms);
      EXPECT_EQ(InGrace(*writer), 0u);
      EXPECT_EQ(process.Fresh(), "0:base 1:a 2:b 3:c");
      EXPECT_THAT(world.Take("_gen_"), Not(IsEmpty()));
      EXPECT_EQ(Sorted(Scan(*before)), "0:base 1:a 2:b") << "a view that began before reads on";
      EXPECT_EQ(Sorted(Scan(*view)), "0:base 1:a 2:b 3:c");
      EXPECT_THAT(world.Take("_gen_"), IsEmpty());
      ASSERT_OK(writer->Close());
    });
  }
}

TEST(GracePeriod, SweepsAreAThirdOfTheGraceApartButAtLeastATenthOfASecond) {
  const std::vector<std::pair<Duration, Duration>> cases = {{10ms, 100ms},  {100ms, 100ms}, {150ms, 200ms},
                                                            {299ms, 300ms}, {300ms, 300ms}, {30s, 30s}};
  for (const auto& [grace, stays] : cases) {
    World world;
    world.CreateTable();
    world.Run([&](Process& process) {
      const auto writer = process.Open(Grace(grace));
      FlushRows(*writer, R"([[1, "a"]])");
      EXPECT_EQ(UntilGone(process, *writer), stays);
      // The next one begins a row of sweeps of its own.
      process.runtime().Sleep(77ms);
      FlushRows(*writer, R"([[2, "b"]])");
      EXPECT_EQ(UntilGone(process, *writer), stays);
    });
  }
}

TEST(GracePeriod, OneThatComesBetweenTwoSweepsWaitsForTheFirstAfterItsTime) {
  World world;
  world.CreateTable();
  world.Run([&](Process& process) {
    const auto writer = process.Open(Grace(300ms));
    FlushRows(*writer, R"([[1, "a"]])");
    const TimePoint first = process.runtime().Now();
    process.runtime().Sleep(50ms);
    FlushRows(*writer, R"([[2, "b"]])");
    const uint64_t both = InGrace(*writer);
    process.runtime().Sleep(first + 299ms - process.runtime().Now());
    EXPECT_EQ(InGrace(*writer), both);
    process.runtime().Sleep(2ms);
    EXPECT_THAT(InGrace(*writer), ::testing::AllOf(Gt(0u), ::testing::Lt(both)));
    EXPECT_EQ(process.Fresh(), "1:a 2:b") << "one in an SSTable, one in memory";
    UntilGone(process, *writer);
    EXPECT_EQ((process.runtime().Now() - first) / 1ms, 400) << "looked at each millisecond";
  });
}

TEST(GracePeriod, WithoutOneNothingStays) {
  World world;
  world.CreateTable();
  world.Run([&](Process& process) {
    const auto writer = process.Open(Eager());
    FlushRows(*writer, R"([[1, "a"]])");
    EXPECT_EQ(InGrace(*writer), 0u);
    EXPECT_EQ(writer->memtable_stats().retained_bytes, writer->memtable_stats().index_bytes);
  });
}

TEST(GracePeriod, NewerRowsAndDeletionsWin) {
  World world;
  world.CreateTable();
  world.Run([&](Process& process) {
    const auto writer = process.Open(Grace(1h));
    FlushRows(*writer, R"([[1, "a"], [2, "b"], [3, "c"]])");
    FlushRows(*writer, R"([[1, "aa"]])");
    ASSERT_OK(writer->Delete({Keys("[[3]]")}));
    ASSERT_OK(writer->Flush());
    ASSERT_OK(writer->Put({Row(2, "bb")}));
    world.Take();
    EXPECT_EQ(process.Fresh(), "1:aa 2:bb");
    EXPECT_EQ(Get(*writer, 3), "");
    EXPECT_THAT(world.Take("_gen_"), IsEmpty());
  });
}

// What is in grace and in the base already: the base knows better, and without a key both would count.
TEST(GracePeriod, WhatTheBaseHoldsIsNotReadFromMemory) {
  for (const bool keyed : {true, false}) {
    World world;
    world.CreateTable("[]", {}, keyed ? KeyedSchema() : KeylessSchema());
    world.Run([&](Process& process) {
      const auto writer = process.Open(Grace(1h));
      FlushRows(*writer, R"([[1, "a"], [2, "b"]])");
      const auto before = Must(FreshView::Open(*process.Table()));
      Compact(process);
      FlushRows(*writer, R"([[3, "c"]])");
      const auto base = process.Table();
      ASSERT_OK(CommitRowChange(*base, {.masked = {RowAddress(base->manifest().fragments[0].id, 0)}}).status());
      world.Take();
      EXPECT_EQ(process.Fresh(), "2:b 3:c");
      EXPECT_THAT(world.Take("_gen_"), IsEmpty());
      EXPECT_EQ(Sorted(Scan(*before)), "1:a 2:b");
      EXPECT_GT(InGrace(*writer), 0u);
    });
  }
}

TEST(GracePeriod, ItsMemoryDoesNotHoldUpPuts) {
  World world;
  world.CreateTable();
  world.Run([&](Process& process) {
    WriterOptions options = Grace(1h);
    options.max_memtable_size = 20'000;
    options.max_unflushed_memtable_bytes = 100'000;
    const auto writer = process.Open(options);
    const std::string text(10'000, 'x');
    for (int i = 0; i < 30; ++i) ASSERT_OK(writer->Put({Row(i, text)}));
    ASSERT_OK(writer->Flush());
    EXPECT_GT(InGrace(*writer), 3 * *options.max_unflushed_memtable_bytes);
    ASSERT_OK(writer->PutAsync({Row(99, text)}).status());
    EXPECT_EQ(Must(Must(FreshView::Open(*process.Table()))->CountRows()), 31u);
  });
}

TEST(GracePeriod, ItEndsWithTheWriter) {
  for (const bool abort : {false, true}) {
    World world;
    world.CreateTable();
    world.Run([&](Process& process) {
      const auto writer = process.Open(Grace(1h));
      FlushRows(*writer, R"([[1, "a"]])");
      const auto view = Must(FreshView::Open(*process.Table()));
      if (abort) {
        writer->Abort();
      } else {
        ASSERT_OK(writer->Put({Row(2, "b")}));
        ASSERT_OK(writer->Close());
      }
      EXPECT_EQ(InGrace(*writer), 0u);
      EXPECT_EQ(Scan(*view), "1:a");
      EXPECT_EQ(process.Fresh(), abort ? "1:a" : "1:a 2:b");
    });
  }
}

// Flushes, sweeps, compactions and reads side by side, without a key: every row once, at every moment.
TEST(GracePeriod, NoRowComesTwiceOrGoes) {
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    World world(seed);
    world.CreateTable("[]", {}, KeylessSchema());
    world.Run([&](Process& process) {
      WriterOptions options = Grace(200ms);
      options.max_memtable_batches = 2;
      const auto writer = process.Open(options);
      int acknowledged = 0;
      bool done = false;
      auto putter = process.runtime().Spawn("putter", [&] {
        for (int i = 0; i < 40; ++i) {
          ASSERT_OK(writer->Put({Row(i, "x")}));
          acknowledged = i + 1;
          process.runtime().Sleep(std::chrono::milliseconds(7));
        }
        done = true;
      });
      auto compactor = process.runtime().Spawn("compactor", [&] {
        while (!done) {
          process.runtime().Sleep(45ms);
          Compact(process);
        }
      });
      while (!done) {
        const int at_least = acknowledged;
        const auto rows = Must(Must(FreshView::Open(*process.Table()))->CountRows());
        EXPECT_GE(rows, static_cast<uint64_t>(at_least)) << seed;
        const auto ids = Collect(Must(FreshView::Open(*process.Table()))->Scan({.columns = {{"id"}}}));
        std::set<int64_t> distinct;
        for (int64_t row = 0; row < ids->num_rows(); ++row)
          distinct.insert(static_cast<const arrow::Int64Array&>(*ids->column(0)).Value(row));
        EXPECT_EQ(static_cast<int64_t>(distinct.size()), ids->num_rows()) << seed;
        process.runtime().Sleep(11ms);
      }
      putter.Join();
      compactor.Join();
      EXPECT_EQ(Must(Must(FreshView::Open(*process.Table()))->CountRows()), 40u);
      ASSERT_OK(writer->Close());
    });
  }
}

TEST(GracePeriod, IsAnOptionThatATableMayStore) {
  const auto stored = ToStoredDefaults(Must(ResolveWriterOptions(Grace(1500ms), {})));
  EXPECT_EQ(stored.at("frozen_memtable_grace_ms"), "1500");
  EXPECT_EQ(Must(ResolveWriterOptions({}, stored)).frozen_memtable_grace, 1500ms);
  EXPECT_EQ(Must(ResolveWriterOptions(Grace(0ms), stored)).frozen_memtable_grace, 0ms);
  EXPECT_FALSE(ToStoredDefaults(Must(ResolveWriterOptions({}, {}))).contains("frozen_memtable_grace_ms"));
  ExpectError(ResolveWriterOptions(Grace(-1ms), {}).status(), ErrorKind::kInvalidInput, "frozen_memtable_grace");
}

}  // namespace
}  // namespace javelin::memwal
