// Views that are made while rows move from memory over SSTables into the base.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "javelin/memwal/compactor_test_world.h"

namespace javelin::memwal {
namespace {

using namespace test;

// What its successor put is in the base, while it still holds what it had: neither alone nor together is that a state
// of the table.
TEST(FreshViewRace, AnOvertakenWriterDoesNotReadWhatItsSuccessorCompacted) {
  World world;
  world.CreateTable("[]");
  world.Run([&](Process& process) {
    const auto writer = process.Open(Eager());
    ASSERT_OK(writer->Put({Rows(R"([[1, "old"], [2, "old"]])")}));
    Process other(world.sim.runtime(), world.store);
    {
      const auto successor = other.Open(Eager());
      ASSERT_OK(successor->Put({Rows(R"([[1, "new"], [3, "new"]])")}));
      EXPECT_EQ(ReadBack(*writer), "1:old 2:old");  // nothing of it is in the base
      ASSERT_OK(successor->Close());
    }
    Compact(other, AtOnce());
    const arrow::Status fenced = FreshView::OpenForWriter(*writer).status();
    EXPECT_EQ(KindOf(fenced), ErrorKind::kFencedPeerClaimedEpoch) << fenced.ToString();
    EXPECT_EQ(KindOf(writer->Put({Row(4, "late")})), ErrorKind::kFencedPeerClaimedEpoch);
    EXPECT_EQ(other.Fresh(), "1:new 2:old 3:new");
  });
}

// ---- what the table says it holds of a shard, and what was flushed ----

void SetMark(Process& process, const Uuid& shard, uint64_t through) {
  ReplaceDetails(process, [&](table::MemWalDetails& details) {
    std::erase_if(details.compacted_sstables, [&](const auto& entry) { return entry.shard_id == shard; });
    details.compacted_sstables.push_back({shard, Generation(through)});
  });
}

// As after the table was restored to a version from before it held anything of any shard.
void TakeMarksBack(Process& process) {
  ReplaceDetails(process, [](table::MemWalDetails& details) { details.compacted_sstables.clear(); });
}

void ExpectGapIsSeen(const arrow::Status& status, uint64_t missing) {
  ExpectError(status, ErrorKind::kCorruption, "adopt_sstables");
  EXPECT_EQ(FieldsOf(status).at("shard"), kShard);
  EXPECT_EQ(FieldsOf(status).at("generation"), fmt::to_string(missing));
}

void ExpectMarkIsSeen(const arrow::Status& status, uint64_t mark, uint64_t missing) {
  ExpectError(status, ErrorKind::kCorruption, fmt::format("generation {} was never flushed", missing));
  EXPECT_EQ(FieldsOf(status).at("shard"), kShard);
  EXPECT_EQ(FieldsOf(status).at("recorded_generation"), fmt::to_string(mark));
}

// The released peer takes any mark. Rows of a generation that it covers and that nobody moved would just be gone.
TEST(MarkBeyondWhatWasFlushed, NoViewLeavesOutWhatItCovers) {
  World world;
  world.CreateTable(R"([[1, "base"]])");
  world.Run([&](Process& process) {
    FlushGenerations(process, {R"([[2, "flushed"]])"});
    SetMark(process, ShardId(), 9);
    ExpectMarkIsSeen(FreshView::Open(*process.Table()).status(), 9, 2);
    const FreshOptions old{.max_staleness = std::chrono::hours(1)};
    ExpectMarkIsSeen(FreshView::Open(*process.Table(), old).status(), 9, 2);
    SetMark(process, ShardId(), 2);
    ExpectMarkIsSeen(FreshView::Open(*process.Table()).status(), 2, 2);
    SetMark(process, ShardId(), 1);  // what was flushed, whoever says so
    EXPECT_EQ(process.Fresh(), "1:base");
  });
}

TEST(MarkBeyondWhatWasFlushed, NorOfAWriterOfTheSession) {
  World world;
  world.CreateTable(R"([[1, "base"]])");
  world.Run([&](Process& process) {
    const auto writer = process.Open(Eager());
    FlushRows(*writer, R"([[2, "flushed"]])");
    ASSERT_OK(writer->Put({Row(3, "memory")}));
    SetMark(process, ShardId(), 2);
    ExpectMarkIsSeen(FreshView::Open(*process.Table()).status(), 2, 2);
    ExpectMarkIsSeen(FreshView::OpenForWriter(*writer).status(), 2, 2);
    ASSERT_OK(writer->Flush());
    EXPECT_EQ(process.Fresh(), "1:base") << "flushed by now";
  });
}

// Whatever the mark, nothing is left out of a shard that holds nothing.
TEST(MarkBeyondWhatWasFlushed, OfAShardThatIsNotThereItHidesNothing) {
  World world;
  world.CreateTable(R"([[1, "base"]])");
  world.Run([&](Process& process) {
    FlushGenerations(process, {R"([[2, "moved"]])"});
    Compact(process);
    SetMark(process, Must(Uuid::Parse("99999999-2222-4333-8444-555555555555")), 7);
    EXPECT_EQ(process.Fresh(), "1:base 2:moved");
    for (const auto& [key, bytes] : world.Objects()) {
      if (key.find("_mem_wal") != std::string::npos) ASSERT_OK(world.store->raw().Delete(key));
    }
    EXPECT_EQ(process.Fresh(), "1:base 2:moved");
  });
}

// The base is read after the manifests, so a mark may be ahead of the manifest that was seen, and be right.
TEST(MarkBeyondWhatWasFlushed, AFlushAndACompactionInBetweenAreNone) {
  for (const bool same_session : {false, true}) {
    SCOPED_TRACE(same_session);
    World world;
    world.CreateTable(R"([[1, "base"]])");
    world.Run([&](Process& process) {
      const Process other(world.sim.runtime(), world.store);
      const Process& writing = same_session ? process : other;
      const auto writer = writing.Open(Eager());
      FlushRows(*writer, R"([[2, "flushed"]])");
      const auto table = process.Table();
      Must(FreshView::Open(*table));
      bool shards_are_read = false;
      world.fault = [&](const RequestHit& hit) -> std::optional<RequestFault> {
        if (shards_are_read || hit.method != "list" || hit.key != "table/_versions/") return RequestFault::kNone;
        shards_are_read = true;
        return RequestFault::kSlow;
      };
      uint64_t seen_ahead = 0;
      for (int64_t id = 10; id < 20; ++id) {
        shards_are_read = false;
        auto mover = process.runtime().Spawn("mover", [&] {
          while (!shards_are_read) process.runtime().Sleep(std::chrono::milliseconds(1));
          FlushRows(*writer, fmt::format("[[{}, \"moved\"]]", id));
          Compact(writing, KeepFolders());
        });
        const auto view = Must(FreshView::Open(*table));
        const bool mover_was_first = view->base().version() == process.Table()->version();
        mover.Join();
        const std::string rows = Scan(*view);
        EXPECT_THAT(rows, testing::HasSubstr("2:flushed"));
        if (rows.find(fmt::format("{}:moved", id)) != std::string::npos && mover_was_first) ++seen_ahead;
      }
      EXPECT_GT(seen_ahead, 0u) << "the slow listing never saw the base as it is afterwards";
    });
  }
}

// ---- a table that is removed and made anew while a view of it is taken ----

// The session still has the SSTables of the table that was, so nothing but the view itself notices.
TEST(TableMadeAnew, AViewIsNeverOfBoth) {
  for (const bool with_more_versions : {false, true}) {
    SCOPED_TRACE(with_more_versions);
    World world;
    world.CreateTable(R"([[1, "base"]])");
    world.Run([&](Process& process) {
      FlushGenerations(process, {R"([[2, "old"]])"});
      const auto table = process.Table();
      EXPECT_EQ(Sorted(Scan(*Must(FreshView::Open(*table)))), "1:base 2:old");
      bool armed = true;
      // Made anew as it lies in another store.
      World made(7);
      made.CreateTable(R"([[1, "anew"]])");
      made.Run([&](Process& maker) {
        FlushGenerations(maker, {R"([[3, "anew"]])"});
        for (int i = 0; i < (with_more_versions ? 3 : 0); ++i) {
          Must(maker.Table()->Append(*Must(arrow::RecordBatchReader::Make({Row(10 + i, "anew")}))));
        }
      });
      const auto objects = made.Objects();
      world.fault = [&](const RequestHit& hit) -> std::optional<RequestFault> {
        if (!armed || hit.method != "list" || hit.key != "table/_versions/") return RequestFault::kNone;
        armed = false;
        for (const auto& [key, bytes] : world.Objects()) EXPECT_TRUE(world.store->raw().Delete(key).ok());
        for (const auto& [key, bytes] : objects)
          EXPECT_TRUE(world.store->raw().Put(key, arrow::Buffer::FromString(bytes)).ok());
        return RequestFault::kNone;
      };
      const std::string more = with_more_versions ? "10:anew 11:anew 12:anew " : "";
      EXPECT_EQ(Sorted(Scan(*Must(FreshView::Open(*table)))), more + "1:anew 3:anew");
      EXPECT_FALSE(armed);
    });
  }
}

// A writer of the table that was shows nothing on top of the one that is.
TEST(TableMadeAnew, AWriterOfTheOldOneIsNotRead) {
  for (const bool by_writer : {false, true}) {
    World world;
    world.CreateTable(R"([[1, "base"]])");
    world.Run([&](Process& process) {
      const auto writer = process.Open(Eager());
      ASSERT_OK(writer->Put({Row(2, "old")}));
      EXPECT_EQ(process.Fresh(), "1:base 2:old");
      for (const auto& [key, bytes] : world.Objects()) ASSERT_OK(world.store->raw().Delete(key));
      const Process other(world.sim.runtime(), world.store);
      other.Create(KeyedSchema(), R"([[1, "anew"]])", {});
      for (int i = 0; i < 2; ++i) ASSERT_OK(other.Open(Eager())->Close());
      const arrow::Status read =
          by_writer ? FreshView::OpenForWriter(*writer).status() : FreshView::Open(*process.Table()).status();
      ExpectError(read, ErrorKind::kFencedPeerClaimedEpoch, kShard);
      EXPECT_EQ(KindOf(writer->Put({Row(3, "late")})), ErrorKind::kFencedPeerClaimedEpoch);
    });
  }
}

// Put n writes n to one of two keys in turn. A view that has read memory when more is put, flushed and compacted would
// show numbers that were never there together.
class RowsMovePastAView : public testing::TestWithParam<uint64_t> {};

TEST_P(RowsMovePastAView, ItIsStillOneMoment) {
  WriterOptions options = Eager();
  options.max_memtable_batches = GetParam();
  for (uint64_t seed = 1; seed <= 10; ++seed) {  // the slow listing of some sees the base as it is afterwards
    SCOPED_TRACE(fmt::format("seed {}", seed));
    World world(seed);
    world.CreateTable(R"([[0, "0"], [1, "1"]])");
    world.Run([&](Process& process) {
      const auto writer = process.Open(options);
      const auto put_number = [&](int64_t number) {
        const auto row = Row(number % 2, fmt::format("{}", number));
        ASSERT_OK(writer->Put({row, row}));
      };
      put_number(2);
      bool has_memory = false;
      world.fault = [&](const RequestHit& hit) -> std::optional<RequestFault> {
        if (has_memory || hit.method != "list" || hit.key != "table/_versions/") return RequestFault::kNone;
        has_memory = true;
        return RequestFault::kSlow;
      };
      auto mover = process.runtime().Spawn("mover", [&] {
        while (!has_memory) process.runtime().Sleep(std::chrono::milliseconds(1));
        for (int64_t number = 3; number < 6; ++number) put_number(number);
        ASSERT_OK(writer->Flush());
        Compact(process, AtOnce());
      });
      const auto view = Must(FreshView::OpenForWriter(*writer));
      EXPECT_THAT((std::vector<std::string>{"0:2 1:1", "0:4 1:5"}), testing::Contains(Sorted(Scan(*view))));
      mover.Join();
    });
    if (HasFailure()) return;
  }
}

// All in one generation, each in its own, and each in its own that is active until the next one comes.
INSTANTIATE_TEST_SUITE_P(BatchesOfAMemTable, RowsMovePastAView, testing::Values(1000, 2, 3));

// ---- what the table has taken back, after the shard retired it ----

TEST(RetiredAndTakenBack, NothingGoesOnWithoutIt) {
  World world;
  world.CreateTable(R"([[1, "base"]])");
  world.Run([&](Process& process) {
    FlushGenerations(process, {R"([[2, "a"]])", R"([[3, "b"]])"});
    Compact(process, AtOnce());
    FlushGenerations(process, {R"([[4, "c"]])"});
    EXPECT_EQ(process.Fresh(), "1:base 2:a 3:b 4:c");
    TakeMarksBack(process);
    const auto before = world.Objects();
    ExpectGapIsSeen(FreshView::Open(*process.Table()).status(), 1);
    ExpectGapIsSeen(CompactShards(*process.Table()).status(), 1);
    ExpectGapIsSeen(process.TryOpen().status(), 1);
    EXPECT_EQ(world.Objects(), before);
    SetMark(process, ShardId(), 1);
    ExpectGapIsSeen(FreshView::Open(*process.Table()).status(), 2);
    SetMark(process, ShardId(), 2);
    EXPECT_EQ(process.Fresh(), "1:base 2:a 3:b 4:c");
  });
}

// What a writer knows of its shard is what it has committed itself; and it has not looked at the table since.
TEST(RetiredAndTakenBack, AWriterThatReadsForTheFirstTimeSeesIt) {
  for (const bool collected : {false, true}) {
    SCOPED_TRACE(collected);
    World world;
    world.CreateTable(R"([[1, "base"]])");
    world.Run([&](Process& process) {
      const auto writer = process.Open(Eager());
      FlushRows(*writer, R"([[2, "a"]])");
      const Process other(world.sim.runtime(), world.store);
      Compact(other, collected ? AtOnce() : KeepFolders());
      TakeMarksBack(process);
      ExpectGapIsSeen(FreshView::OpenForWriter(*writer).status(), 1);
      ExpectGapIsSeen(FreshView::Open(*process.Table()).status(), 1);
      SetMark(process, ShardId(), 1);
      ASSERT_OK(writer->Put({Row(3, "b")}));
      EXPECT_EQ(ReadBack(*writer), "1:base 2:a 3:b");
    });
  }
}

TEST(RetiredAndTakenBack, AWriterAsksOnceForEachVersion) {
  World world;
  world.CreateTable(R"([[1, "base"]])");
  world.Run([&](Process& process) {
    const auto writer = process.Open(Eager());
    FlushRows(*writer, R"([[2, "a"]])");
    const auto asked = [&] {
      world.Take();
      EXPECT_EQ(ReadBack(*writer), "1:base 2:a");
      return world.Take("/manifest/").size();
    };
    EXPECT_EQ(asked(), 0u) << "the table is as it was when the writer opened";
    TakeMarksBack(process);
    EXPECT_EQ(asked(), 2u);
    EXPECT_EQ(asked(), 0u);
  });
}

// The table was read before others compacted what the shard does not list any more.
TEST(RetiredAndTakenBack, AWriterOpensFromAnOldVersionOfTheTable) {
  World world;
  world.CreateTable("[]");
  world.Run([&](Process& process) {
    FlushGenerations(process, {R"([[1, "a"]])"});
    const auto old = process.Table();
    Compact(process, AtOnce());
    const auto writer = Must(ShardWriter::Open(*old, kShard));
    ASSERT_OK(writer->Put({Row(2, "b")}));
    EXPECT_EQ(ReadBack(*writer), "1:a 2:b");
  });
}

// The shard is asked once more behind the base; what was moved and retired until then is in neither of the two.
TEST(RetiredAndTakenBack, WhatIsRetiredWhileTheShardIsAskedAgainIsNotMissing) {
  World world;
  world.CreateTable("[]");
  world.Run([&](Process& process) {
    const Process other(world.sim.runtime(), world.store);
    const auto writer = process.Open(Eager());
    bool asked = true;
    world.fault = [&](const RequestHit& hit) -> std::optional<RequestFault> {
      if (asked || hit.method != "head" || hit.key.find("/manifest/") == std::string::npos) return RequestFault::kNone;
      asked = true;
      return RequestFault::kSlow;
    };
    std::string expected;
    for (int64_t id = 1; id < 9; ++id) {
      FlushRows(*writer, fmt::format("[[{}, \"row\"]]", id));
      expected += fmt::format("{}{}:row", expected.empty() ? "" : " ", id);
      ReplaceDetails(process, [](table::MemWalDetails&) {});  // the base moves
      asked = false;
      auto mover = process.runtime().Spawn("mover", [&] {
        while (!asked) process.runtime().Sleep(std::chrono::milliseconds(1));
        Compact(other, AtOnce());
      });
      EXPECT_EQ(ReadBack(*writer), expected);
      mover.Join();
    }
  });
}

}  // namespace
}  // namespace javelin::memwal
