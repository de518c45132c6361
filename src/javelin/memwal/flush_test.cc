// Frozen MemTables become SSTables: what is written, in which order, and what a failure or a crash leaves (memwal crash
// matrix, rows FR and FL).
#include "javelin/memwal/sstable.h"
#include "javelin/memwal/sstable_files_test_support.h"
#include "javelin/memwal/writer_test_world.h"
#include "javelin/store/counting_store.h"

namespace javelin::memwal {
namespace {

using namespace test;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::MatchesRegex;
using ::testing::SizeIs;

ShardManifest Tip(Process& process) {
  ShardManifestStore manifests(process.session->resources(), Must(process.session->stores().Resolve(kTableUri)).store,
                               "table", Must(Uuid::Parse(kShard)));
  return *Must(manifests.RefreshLatest());
}

// So many SSTables are listed, each with all its files and no other.
void ExpectWhole(World& world, Process& process, size_t sstables) {
  const std::shared_ptr<ObjectStore> raw(world.store, &world.store->raw());
  const ShardManifest tip = Tip(process);
  EXPECT_THAT(tip.sstables, SizeIs(sstables));
  const arrow::Status whole = CheckSsTableFiles(process.session->resources(), raw, Paths(), tip);
  EXPECT_TRUE(whole.ok()) << whole.ToString();
}

// Rows of a flush over a base of two rows. Without a key a row that is there twice shows as two.
class FlushUnderFaults : public testing::TestWithParam<bool> {
 protected:
  bool keyed() const { return GetParam(); }
  void CreateTable(World& world) const {
    world.CreateTable(R"([[1, "base"], [2, "base"]])", {}, keyed() ? KeyedSchema() : KeylessSchema());
  }
  std::string OneOf(const std::string& with_a_key, const std::string& without) const {
    return keyed() ? with_a_key : without;
  }
};

INSTANTIATE_TEST_SUITE_P(Tables, FlushUnderFaults, testing::Bool(),
                         [](const auto& keyed) { return keyed.param ? "WithAKey" : "WithoutAKey"; });

TEST(Flush, AFullMemTableBecomesAnSsTable) {
  World world;
  world.CreateTable(R"([[1, "base"], [2, "base"], [3, "base"]])");
  world.Run([&](Process& process) {
    auto writer = process.Open(BatchesPerTable(3));
    ASSERT_OK(writer->Put({Rows(R"([[2, "a"], [4, "a"], [2, "b"]])")}));
    ASSERT_OK(writer->Delete({Keys("[[3]]")}));
    ASSERT_OK(writer->Put({Row(4, "c")}));
    ASSERT_OK(writer->Flush());
    EXPECT_EQ(writer->memtable_stats().frozen_count, 0u);
    EXPECT_EQ(writer->memtable_stats().generation, 2u);
    const ShardManifest manifest = Must(writer->Manifest());
    ASSERT_THAT(manifest.sstables, SizeIs(1));
    EXPECT_EQ(manifest.sstables[0].generation, Generation(1));
    EXPECT_THAT(manifest.sstables[0].path, MatchesRegex("[0-9a-f]+_gen_1"));
    EXPECT_EQ(manifest.sstables[0].physical_rows, 5u);
    EXPECT_EQ(manifest.current_generation, Generation(2));
    EXPECT_EQ(manifest.replay_after, WalPosition(3));
    EXPECT_EQ(writer->stats().memtable_flush_count, 1u);
    EXPECT_EQ(writer->stats().memtable_flush_rows, 5u);
    EXPECT_EQ(process.Fresh(), "1:base 2:b 4:c");
    EXPECT_EQ(Get(*writer, 2), "2:b");
    EXPECT_EQ(Get(*writer, 3), "") << "deleted in the SSTable";
    ASSERT_OK(writer->Put({Row(3, "again")}));
    EXPECT_EQ(process.Fresh(), "1:base 2:b 3:again 4:c");
  });
  world.Run([&](Process& process) {
    EXPECT_EQ(process.Fresh(), "1:base 2:b 4:c") << "another process sees SSTables, not the log";
    auto writer = process.Open();
    EXPECT_EQ(writer->memtable_stats().row_count, 1u) << "only what no SSTable covers is replayed";
    EXPECT_EQ(process.Fresh(), "1:base 2:b 3:again 4:c");
  });
}

TEST(Flush, AnSsTableIsATableOfItsOwn) {
  World world;
  world.CreateTable();
  world.Run([&](Process& process) {
    auto writer = process.Open();
    ASSERT_OK(writer->Put({Rows(R"([[7, "x"], [8, "y"], [7, "z"]])")}));
    ASSERT_OK(writer->Delete({Keys("[[8]]")}));
    ASSERT_OK(writer->Close());
    const auto entry = Must(writer->Manifest()).sstables.at(0);
    const std::string uri = fmt::format("{}/_mem_wal/{}/{}", kTableUri, kShard, entry.path);
    const auto table = Must(Dataset::Open(process.session, uri));
    EXPECT_EQ(Text(*Collect(table->Scan())), "7:z:false 8:null:true");
    EXPECT_EQ(table->version(), TableVersion(1));
    EXPECT_EQ(table->schema().fields().back().id, FieldId(2));
    EXPECT_EQ(table->manifest().fragments.at(0).physical_rows, 4u);
    const auto opened =
        Must(SsTable::Open(process.session->resources(), table->location().store, table->location().root));
    EXPECT_EQ(opened->num_rows(), 4u);
    EXPECT_EQ(opened->superseded().size(), 2u);
  });
  EXPECT_THAT(world.Take("_pk_index/"), SizeIs(2));
}

// Floor of docs/architecture.md: data, manifest, two key index files, key filter, one look at the fence, shard manifest
// and its hint; one more where a key is in it twice.
TEST(Flush, TakesEightRequests) {
  for (const bool doubled : {false, true}) {
    World world;
    world.CreateTable();
    world.Run([&](Process& process) {
      auto counting = std::make_shared<CountingStore>(process.runtime(), world.store);
      Process counted(world.sim.runtime(), counting);
      auto writer = counted.Open();
      ASSERT_OK(writer->Put({Row(1, "a"), Row(doubled ? 1 : 2, "b")}));
      counting->Reset();
      ASSERT_OK(writer->Flush());
      EXPECT_EQ(counting->counts().total(), doubled ? 9u : 8u)
          << fmt::format("{}", fmt::join(counting->LogText(), "\n"));
      EXPECT_EQ(counting->counts().list, 0u);
      EXPECT_EQ(counting->counts().head, 1u);
    });
  }
}

TEST(Flush, GenerationsArePublishedInOrder) {
  World world;
  world.CreateTable();
  int failures = 3;
  world.sim.OnSyncPoint("flush.data_written", [&](const SyncHit&) {
    return failures-- > 0 ? SyncAction::Fail(arrow::Status::IOError("planted")) : SyncAction::Continue();
  });
  world.Run([&](Process& process) {
    auto writer = process.Open(BatchesPerTable(1));
    for (int i = 0; i < 4; ++i) ASSERT_OK(writer->Put({Row(i, "x")}));
    ASSERT_OK(writer->Flush());
    EXPECT_EQ(writer->stats().memtable_flush_failures, 3u);
    std::vector<uint64_t> generations;
    for (const auto& sstable : Must(writer->Manifest()).sstables) generations.push_back(sstable.generation.value());
    EXPECT_THAT(generations, ElementsAre(1, 2, 3, 4));
    EXPECT_EQ(process.Fresh(), "0:x 1:x 2:x 3:x");
  });
}

// A lost answer to the commit: the retry finds the generation published and adds no second one (FL5).
TEST(Flush, ALostAnswerIsFoundPublished) {
  World world;
  world.CreateTable();
  world.Run([&](Process& process) {
    auto writer = process.Open();
    ASSERT_OK(writer->Put({Row(1, "a")}));
    bool lost = false;
    world.fault = [&](const RequestHit& hit) -> std::optional<RequestFault> {
      if (lost || hit.method != "put_if_absent" || hit.key.find("/manifest/") == std::string::npos) return {};
      lost = true;
      return RequestFault::kLostAnswer;
    };
    ASSERT_OK(writer->Flush());
    EXPECT_TRUE(lost);
    EXPECT_THAT(Tip(process).sstables, SizeIs(1));
    EXPECT_EQ(writer->memtable_stats().frozen_count, 0u);
    EXPECT_EQ(process.Fresh(), "1:a");
    ASSERT_OK(writer->Put({Row(2, "b")}));
    ASSERT_OK(writer->Close());
    EXPECT_EQ(process.Fresh(), "1:a 2:b");
  });
}

// Every step of a flush (FL1-FL6): the process dies there, and nothing is lost or doubled.
TEST_P(FlushUnderFaults, ACrashAtEveryStepLosesAndDoublesNothing) {
  for (const std::string step :
       {"freeze.swapped", "flush.begin", "flush.data_written", "flush.key_files_written", "flush.sstable_written",
        "manifest.commit.put_done", "flush.published", "close.flushed"}) {
    SCOPED_TRACE(step);
    World world;
    CreateTable(world);
    bool armed = false;  // once the writer is open: its claim passes some of the steps too
    world.sim.OnSyncPoint(step, [&](const SyncHit&) { return armed ? SyncAction::Crash() : SyncAction::Continue(); });
    world.Run([&](Process& process) {
      auto writer = process.Open();
      ASSERT_OK(writer->Put({Rows(R"([[2, "a"], [3, "a"], [3, "b"]])")}));
      armed = true;
      (void)writer->Close();
      ADD_FAILURE() << "did not pass " << step;
    });
    armed = false;
    const std::string expected = OneOf("1:base 2:a 3:b", "1:base 2:a 2:base 3:a 3:b");
    world.Run([&](Process& process) {
      auto writer = process.Open();
      EXPECT_EQ(process.Fresh(), expected);
      ASSERT_OK(writer->Flush());
      ExpectWhole(world, process, 1);
      EXPECT_EQ(process.Fresh(), expected);
      ASSERT_OK(writer->Put({Row(4, "c")}));
      ASSERT_OK(writer->Close());
      ExpectWhole(world, process, 2);
      EXPECT_EQ(process.Fresh(), expected + " 4:c");
    });
  }
}

// Any one request of a flush fails, with or without effect: it is tried again, and the rows are there once.
TEST_P(FlushUnderFaults, EveryRequestMayFailOrLoseItsAnswer) {
  const std::string expected = OneOf("2:a 3:b", "1:base 2:a 2:base 3:a 3:b");
  for (const RequestFault fault : {RequestFault::kRefused, RequestFault::kLostAnswer}) {
    bool all_met = false;
    for (int victim = 1; !all_met; ++victim) {
      World world;
      CreateTable(world);
      int requests = 0;
      bool armed = false;
      std::string where;
      world.fault = [&](const RequestHit& hit) -> std::optional<RequestFault> {
        if (!armed || ++requests != victim) return {};
        where = fmt::format("{} {}", hit.method, hit.key);
        return fault;
      };
      world.Run([&](Process& process) {
        auto writer = process.Open();
        ASSERT_OK(writer->Put({Rows(R"([[2, "a"], [3, "a"], [3, "b"]])")}));
        if (keyed()) ASSERT_OK(writer->Delete({Keys("[[1]]")}));
        armed = true;
        ASSERT_OK(writer->Flush());
        armed = false;
        SCOPED_TRACE(fmt::format("request {}: {}", victim, where));
        all_met = requests < victim;
        EXPECT_EQ(process.Fresh(), expected);
        ExpectWhole(world, process, 1);
        ASSERT_OK(writer->Put({Row(4, "c")}));
        ASSERT_OK(writer->Close());
      });
      SCOPED_TRACE(fmt::format("request {}: {}", victim, where));
      world.Run([&](Process& process) {
        EXPECT_EQ(process.Fresh(), expected + " 4:c");
        ExpectWhole(world, process, 2);
      });
      ASSERT_LT(victim, 100);
    }
  }
}

// A writer that was overtaken publishes nothing (FL7).
TEST(Flush, AnOvertakenWriterPublishesNothing) {
  World world;
  world.CreateTable();
  world.Run([&](Process& process) {
    auto writer = process.Open();
    ASSERT_OK(writer->Put({Row(1, "a")}));
    Process peer(world.sim.runtime(), world.store);
    auto other = peer.Open();
    EXPECT_EQ(KindOf(writer->Flush()), ErrorKind::kFencedPeerClaimedEpoch);
    EXPECT_EQ(KindOf(writer->Close()), ErrorKind::kFencedPeerClaimedEpoch);
    EXPECT_THAT(Tip(peer).sstables, IsEmpty());
    EXPECT_EQ(ReadBack(*other), "1:a");
  });
}

// Any log opens within about two MemTables of memory, and the next open reads only the tail (row V10).
TEST(Flush, ALongLogIsFlushedWhileItIsReplayed) {
  World world;
  world.CreateTable();
  constexpr int kRows = 40;
  WriterOptions small = BatchesPerTable(4);
  small.max_memtable_size = 100'000;
  small.max_unflushed_memtable_bytes = 100'000'000;
  world.HoldFlushes();
  world.Run([&](Process& process) {
    auto writer = process.Open(small);
    for (int i = 0; i < kRows; ++i) ASSERT_OK(writer->Put({Row(i, "x"), Row(1'000, std::to_string(i))}));
    EXPECT_EQ(writer->memtable_stats().frozen_count, 20u);
  });
  world.ReleaseFlushes();
  world.Run([&](Process& process) {
    uint64_t flushed = 0;
    world.sim.OnSyncPoint("open.flushed", [&](const SyncHit&) {
      ++flushed;
      return SyncAction::Continue();
    });
    auto writer = process.Open(small);
    EXPECT_GT(flushed, 4u);
    EXPECT_LE(writer->memtable_stats().retained_bytes, 400'000u);  // during the replay: ReplayMemory
    EXPECT_EQ(Must(Must(FreshView::OpenForWriter(*writer))->CountRows()), static_cast<uint64_t>(kRows + 1));
    EXPECT_EQ(Get(*writer, 1'000), "1000:39");
    ASSERT_OK(writer->Flush());
  });
  world.Run([&](Process& process) {
    world.Take();
    auto writer = process.Open(small);
    EXPECT_THAT(world.Take("get table/_mem_wal/11111111-2222-4333-8444-555555555555/wal/"), SizeIs(1)) << "a sentinel";
    EXPECT_EQ(Must(Must(FreshView::OpenForWriter(*writer))->CountRows()), static_cast<uint64_t>(kRows + 1));
  });
}

// Puts that wait find room once a flush is through; nobody is refused.
TEST(Backpressure, AWaitingPutGoesOnWhenAFlushHasMadeRoom) {
  World world;
  world.CreateTable();
  world.Run([&](Process& process) {
    WriterOptions options = BatchesPerTable(1);
    options.max_memtable_size = 1'000;
    options.max_unflushed_memtable_bytes = 200'000;
    world.sim.OnSyncPoint("flush.begin", [](const SyncHit&) { return SyncAction::Delay(std::chrono::seconds(3)); });
    auto writer = process.Open(options);
    for (int i = 0; i < 30; ++i) ASSERT_OK(writer->Put({Row(i, "x")}));
    EXPECT_GT(writer->stats().backpressure_waits, 0u);
    EXPECT_EQ(Must(Must(FreshView::OpenForWriter(*writer))->CountRows()), 30u);
    const auto refused = [&] {
      while (true) {
        const auto ticket = writer->PutAsync({Row(99, "y")});
        if (!ticket.ok()) return ticket.status();
      }
    }();
    ExpectError(refused, ErrorKind::kBackpressure, "not accepted");  // who does not wait is told at once
  });
}

// What an open replayed may be more than its own ceiling allows: it is flushed when the first put asks for room.
TEST(Backpressure, AReplayedMemTableAboveTheCeilingMakesRoom) {
  for (const auto room : {ShardWriter::Room::kWait, ShardWriter::Room::kRefuse}) {
    World world;
    world.CreateTable();
    world.Run([&](Process& process) {
      const auto writer = process.Open(Eager());
      for (int64_t id = 0; id < 20; ++id) ASSERT_OK(writer->Put({Row(id, std::string(1000, 'x'))}));
    });
    world.Run([&](Process& process) {
      WriterOptions options = Eager();
      options.max_memtable_size = 1000;
      options.max_unflushed_memtable_bytes = 1000 + kKeyFilterBytes;
      const auto writer = process.Open(options);
      auto ticket = writer->PutAsync({Row(100, "y")}, room);
      if (room == ShardWriter::Room::kRefuse) {
        EXPECT_EQ(KindOf(ticket.status()), ErrorKind::kBackpressure);
        process.runtime().Sleep(std::chrono::seconds(10));
        ticket = writer->PutAsync({Row(100, "y")}, room);
      }
      ASSERT_OK(ticket.status());
      ASSERT_OK(ticket->Wait());
      EXPECT_EQ(Must(Must(FreshView::OpenForWriter(*writer))->CountRows()), 21u);
    });
  }
}

}  // namespace
}  // namespace javelin::memwal
