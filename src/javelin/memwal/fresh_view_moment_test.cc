// Views whose SSTables are compacted, retired and collected before they are read: one moment each, whatever happens.
#include "javelin/memwal/schema_change_test_support.h"

namespace javelin::memwal {
namespace {

using namespace test;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

constexpr char kAdvice[] = "take a new view";
constexpr char kTaken[] = "1:base 2:first 3:second";
constexpr char kLater[] = "1:base 2:first 3:second 9:later";

// Two SSTables over a base of one row, flushed by somebody else.
void Publish(World& world) {
  world.CreateTable(R"([[1, "base"]])");
  world.Run([&](Process& process) { FlushGenerations(process, {R"([[2, "first"]])", R"([[3, "second"]])"}); });
}

// All that was flushed goes into the base, and its folders go.
void CompactAway(World& world) {
  const Process other(world.sim.runtime(), world.store);
  Compact(other, AtOnce());
  EXPECT_EQ(SsTableObjects(world), 0u);
}
void MoveOn(World& world) {
  CompactAway(world);
  FlushGenerations(Process(world.sim.runtime(), world.store), {R"([[9, "later"]])"});
}

void ExpectGone(const arrow::Status& status) {
  ExpectError(status, ErrorKind::kNotFound, kAdvice);
  EXPECT_THAT(FieldsOf(status).at("path"), HasSubstr("_gen_"));
}

// What it holds, by each way of reading it.
using Read = std::function<std::string(const FreshView&)>;
const std::vector<Read>& WaysToRead() {
  static const std::vector<Read> ways{
      [](const FreshView& view) { return Sorted(Scan(view)); },
      [](const FreshView& view) {
        ScanOptions options;
        options.limit = 100;
        return Sorted(Scan(view, options));
      },
      [](const FreshView& view) { return Sorted(Text(*Must(view.Get(*Keys("[[1], [2], [3], [9]]"))))); },
      [](const FreshView& view) {
        return std::vector<std::string>{"", "", "", kTaken, kLater}.at(Must(view.CountRows()));
      },
  };
  return ways;
}

TEST(FreshViewMoment, ItMovesAsLongAsItHasAnsweredNothing) {
  for (const Read& read : WaysToRead()) {
    World world;
    Publish(world);
    world.Run([&](Process& process) {
      const auto view = Must(FreshView::Open(*process.Table()));
      EXPECT_EQ(view->arrow_schema()->num_fields(), 2) << "the same whenever it was taken";
      EXPECT_EQ(view->key_columns(), std::vector<std::string>{"id"});
      MoveOn(world);
      EXPECT_EQ(read(*view), kLater);
      // Now it is that moment, for good.
      const Process other(world.sim.runtime(), world.store);
      FlushGenerations(other, {R"([[2, "newer"], [10, "newer"]])"});
      for (const Read& again : WaysToRead()) EXPECT_EQ(again(*view), kLater);
      EXPECT_EQ(process.Fresh(), "10:newer 1:base 2:newer 3:second 9:later");
    });
  }
}

TEST(FreshViewMoment, AScanThatWasPreparedBeforeMovesWithIt) {
  World world;
  Publish(world);
  world.Run([&](Process& process) {
    const auto view = Must(FreshView::Open(*process.Table()));
    const auto prepared = Must(view->Scan());
    const auto other = Must(view->Scan());
    MoveOn(world);
    EXPECT_EQ(Sorted(Text(*Collect(prepared))), kLater);
    EXPECT_EQ(Sorted(Text(*Collect(other))), kLater);
  });
}

// The rest of its SSTables may be gone, but what it said must stay true.
TEST(FreshViewMoment, TheFirstAnswerFixesIt) {
  const std::vector<std::function<void(const FreshView&)>> answers{
      [](const FreshView& view) { EXPECT_THAT(view.tiers(), SizeIs(3)); },
      [](const FreshView& view) { EXPECT_EQ(view.base().version(), TableVersion(2)); },
      [](const FreshView& view) { EXPECT_TRUE(view.UnseenLogs().ok()); },
      [](const FreshView& view) { EXPECT_EQ(Text(*Must(view.Get(*Keys("[[3]]")))), "3:second"); },
  };
  for (size_t i = 0; i < answers.size(); ++i) {
    SCOPED_TRACE(i);
    World world;
    Publish(world);
    world.Run([&](Process& process) {
      const auto view = Must(FreshView::Open(*process.Table()));
      answers[i](*view);
      MoveOn(world);
      ExpectGone(view->CountRows().status());
      ExpectGone(view->Get(*Keys("[[2]]")).status());
      ExpectGone(Must(view->Scan())->ToTable().status());
      answers[i](*view);
      EXPECT_EQ(process.Fresh(), kLater);
    });
  }
}

TEST(FreshViewMoment, AScanUnderWayFails) {
  World world;
  Publish(world);
  world.Run([&](Process& process) {
    const auto view = Must(FreshView::Open(*process.Table()));
    ScanOptions lazy;
    lazy.limit = 100;
    const auto reader = Must(view->Scan(lazy));
    EXPECT_EQ(Text(*Must(reader->Next())), "3:second");
    MoveOn(world);
    ExpectGone(reader->Next().status());
  });
}

// The first rows are in memory, but what is gone is seen before they are answered.
TEST(FreshViewMoment, AScanLooksBelowMemoryFirst) {
  World world;
  Publish(world);
  world.Run([&](Process& process) {
    const auto writer = process.Open(Eager());
    ASSERT_OK(writer->Put({Row(5, "memory")}));
    const auto view = Must(FreshView::Open(*process.Table()));
    const auto limited = Must(FreshView::Open(*process.Table()));
    CompactAway(world);
    EXPECT_EQ(Sorted(Scan(*view)), "1:base 2:first 3:second 5:memory");
    // One that may need no more than what memory holds asks for no more.
    ScanOptions lazy;
    lazy.limit = 2;
    const auto reader = Must(limited->Scan(lazy));
    EXPECT_EQ(Text(*Must(reader->Next())), "5:memory");
    ExpectGone(reader->Next().status());
  });
}

// A folder that is still listed was not retired: nothing becomes right by looking again.
TEST(FreshViewMoment, AnSsTableThatIsLostIsAnError) {
  World world;
  Publish(world);
  world.Run([&](Process& process) {
    const auto view = Must(FreshView::Open(*process.Table()));
    for (const auto& [key, bytes] : world.Objects()) {
      if (key.find("_gen_1/") != std::string::npos) ASSERT_OK(world.store->raw().Delete(key));
    }
    world.Take();
    const arrow::Status lost = view->CountRows().status();
    ExpectError(lost, ErrorKind::kNotFound, "SSTable");
    EXPECT_THAT(lost.message(), Not(HasSubstr(kAdvice)));
    EXPECT_THAT(world.Take("list table/_mem_wal/"), SizeIs(1)) << "it looked once";
  });
}

TEST(FreshViewMoment, WhoListsSsTablesIsToldToListThemAgain) {
  World world;
  Publish(world);
  world.Run([&](Process& process) {
    const auto view = Must(FreshView::OfSnapshots(process.Table(), {{ShardId(), TipOf(process).sstables}}));
    MoveOn(world);
    world.Take();
    ExpectError(view->CountRows().status(), ErrorKind::kNotFound, "SSTable");
    EXPECT_THAT(world.Take("list table/_mem_wal/"), SizeIs(0));
  });
}

// The columns of a scan were answered when it was prepared.
TEST(FreshViewMoment, OtherColumnsAreAnotherView) {
  World world;
  Publish(world);
  world.Run([&](Process& process) {
    const auto view = Must(FreshView::Open(*process.Table()));
    MoveOn(world);
    AddColumn(world, process, Column("extra", 7, arrow::int32()));
    ExpectGone(view->CountRows().status());
    EXPECT_EQ(process.Fresh(), "1:base:null 2:first:null 3:second:null 9:later:null");
  });
}

TEST(FreshViewMoment, ItMayMoveToTheBaseAlone) {
  World world;
  Publish(world);
  world.Run([&](Process& process) {
    ScanOptions options;
    options.with_row_id = true;
    options.with_row_address = true;
    const auto view = Must(FreshView::Open(*process.Table()));
    const auto reader = Must(view->Scan(options));
    CompactAway(world);
    const auto rows = Collect(reader);
    EXPECT_EQ(rows->schema()->field_names(), (std::vector<std::string>{"id", "text", "_rowid", "_rowaddr"}));
    EXPECT_EQ(Text(*rows), Text(*Collect(process.Table()->Scan(options))));
    EXPECT_THAT(view->tiers(), SizeIs(1));
  });
}

TEST(FreshViewMoment, AnOldOneThatWillDoIsNoExcuse) {
  World world;
  Publish(world);
  world.Run([&](Process& process) {
    const auto table = process.Table();
    Must(FreshView::Open(*table));
    MoveOn(world);
    world.Take();
    const auto view = Must(FreshView::Open(*table, {.max_staleness = std::chrono::hours(1)}));
    EXPECT_THAT(world.Take(), SizeIs(0));
    EXPECT_EQ(Sorted(Scan(*view)), kLater);
  });
}

TEST(FreshViewMoment, AViewForAWriterMovesToo) {
  World world;
  Publish(world);
  world.Run([&](Process& process) {
    auto writer = process.Open(Eager());
    ASSERT_OK(writer->Put({Row(5, "memory")}));
    const auto view = Must(FreshView::OpenForWriter(*writer));
    const auto late = Must(FreshView::OpenForWriter(*writer));
    CompactAway(world);  // of which the writer knows nothing
    ASSERT_OK(writer->Put({Row(6, "memory")}));
    EXPECT_EQ(Sorted(Scan(*view)), "1:base 2:first 3:second 5:memory 6:memory");
    // Without its writer there is nothing to take it from.
    ASSERT_OK(writer->Close());
    writer.reset();
    ExpectError(late->CountRows().status(), ErrorKind::kNotFound, "writer");
  });
}

// Somebody compacts as fast as it is read; that has an end.
TEST(FreshViewMoment, ItMovesThreeTimesAtMost) {
  World world;
  Publish(world);
  world.Run([&](Process& process) {
    const auto view = Must(FreshView::Open(*process.Table()));
    bool wanted = false, moving = false, done = false;
    int taken = 0;
    world.fault = [&](const RequestHit& hit) -> std::optional<RequestFault> {
      if (moving) return RequestFault::kNone;
      if (hit.key == "table/_mem_wal/") ++taken;
      if (hit.key.find("_gen_") == std::string::npos) return RequestFault::kNone;
      wanted = true;
      return RequestFault::kSlow;
    };
    auto mover = process.runtime().Spawn("mover", [&] {
      while (!done) {
        process.runtime().Sleep(std::chrono::milliseconds(1));
        if (!std::exchange(wanted, false)) continue;
        moving = true;
        MoveOn(world);
        moving = false;
      }
    });
    ExpectGone(view->CountRows().status());
    EXPECT_EQ(taken, 3);
    ExpectGone(view->CountRows().status());
    EXPECT_EQ(taken, 3);
    done = true;
    mover.Join();
  });
}

// Two readers at once: both see the same moment, the one that it was first read at.
TEST(FreshViewMoment, AllReadersSeeOneMoment) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(seed);
    World world(seed);
    Publish(world);
    world.Run([&](Process& process) {
      const auto view = Must(FreshView::Open(*process.Table()));
      auto mover = process.runtime().Spawn("mover", [&] { MoveOn(world); });
      std::vector<std::string> seen(4);
      std::vector<TaskHandle> readers;
      for (size_t i = 0; i < seen.size(); ++i) {
        readers.push_back(process.runtime().Spawn("reader", [&, i] {
          process.runtime().Sleep(std::chrono::milliseconds(100 * i));
          const auto reader = Must(view->Scan());
          const auto rows = reader->ToTable();
          if (!rows.ok()) {
            ExpectGone(rows.status());
            return;
          }
          seen[i] = Sorted(Text(*Must((*rows)->CombineChunksToBatch())));
        }));
      }
      for (auto& reader : readers) reader.Join();
      mover.Join();
      std::set<std::string> moments(seen.begin(), seen.end());
      moments.erase("");
      EXPECT_THAT(moments, SizeIs(testing::Le(1u)));
    });
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace javelin::memwal
