// Compaction beside writers, readers, other compactors and crashes: no row is lost, doubled or older than it was.
#include "javelin/dataset/row_change.h"
#include "javelin/memwal/compactor.h"
#include "javelin/memwal/compactor_test_world.h"

namespace javelin::memwal {
namespace {

using namespace test;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr char kBaseRows[] = R"([[1, "base"], [2, "base"], [3, "base"], [4, "base"]])";

// Two generations with every kind of change over `kBaseRows`.
void FlushChanges(Process& process) {
  auto writer = process.Open();
  ASSERT_OK(writer->Put({Rows(R"([[1, "one"], [5, "one"], [6, "one"]])")}));
  ASSERT_OK(writer->Delete({Keys("[[2]]")}));
  ASSERT_OK(writer->Flush());
  ASSERT_OK(writer->Delete({Keys("[[5]]")}));
  FlushRows(*writer, R"([[3, "two"], [6, "two"]])");
  ASSERT_OK(writer->Close());
}
constexpr char kChanged[] = "1:one 3:two 4:base 6:two";

// Without a key there are no deletes, and a row that is there twice shows as two.
void FlushKeylessRows(Process& process) {
  FlushGenerations(process, {R"([[1, "one"], [5, "one"], [6, "one"]])", R"([[3, "two"], [6, "two"]])"});
}
constexpr char kAllRows[] = "1:base 1:one 2:base 3:base 3:two 4:base 5:one 6:one 6:two";

class KeyedOrNot : public testing::TestWithParam<bool> {
 protected:
  void Prepare(World& world) const {
    world.CreateTable(kBaseRows, {}, GetParam() ? KeyedSchema() : KeylessSchema());
    world.Run([&](Process& process) { GetParam() ? FlushChanges(process) : FlushKeylessRows(process); });
  }
  std::string expected() const { return GetParam() ? kChanged : kAllRows; }
};
std::string NameOfKeyed(const testing::TestParamInfo<bool>& keyed) { return keyed.param ? "WithAKey" : "WithoutAKey"; }

CompactOptions OneAtATime() {
  CompactOptions options = AtOnce();
  options.max_bytes_per_pass = 1;
  return options;
}

// A row of the base changes behind the back of the shards; `what` = "" deletes it.
void ChangeBase(Process& process, int64_t id, const std::string& what) {
  const auto table = process.Table();
  ScanOptions options;
  options.columns = {"id"};
  options.with_row_address = true;
  const auto rows = Collect(table->Scan(options));
  RowChange change;
  for (int64_t i = 0; i < rows->num_rows(); ++i) {
    if (static_cast<const arrow::Int64Array&>(*rows->column(0)).Value(i) != id) continue;
    change.masked.push_back(RowAddress(static_cast<const arrow::UInt64Array&>(*rows->column(1)).Value(i)));
  }
  std::shared_ptr<arrow::RecordBatchReader> reader;
  if (!what.empty()) reader = Must(arrow::RecordBatchReader::Make({Row(id, what)}));
  change.new_rows = reader.get();
  ASSERT_OK(CommitRowChange(*table, change).status());
}

// ---- crashes ----

class CompactCrash : public KeyedOrNot {};

// Row CP1, and every other step: whatever a compactor that dies leaves behind, the rows are the same, and the next one
// ends the work.
TEST_P(CompactCrash, AtEveryStep) {
  uint64_t steps = 0;
  std::set<std::string> seen;
  {
    World world;
    Prepare(world);
    world.sim.OnSyncPoint("", [&](const SyncHit& hit) {
      seen.insert(std::string(hit.name));
      ++steps;
      return SyncAction::Continue();
    });
    world.Run([](Process& process) { Compact(process, OneAtATime()); });
  }
  for (const char* name :
       {"compact.begin", "compact.rows_found", "commit.before_manifest", "compact.committed", "compact.before_retiring",
        "manifest.commit.put_done", "compact.retired", "compact.collect"}) {
    EXPECT_TRUE(seen.contains(name)) << name;
  }
  for (uint64_t step = 1; step <= steps; ++step) {
    World world(step);
    Prepare(world);
    std::string where;
    uint64_t hits = 0;
    world.sim.OnSyncPoint("", [&](const SyncHit& hit) {
      if (++hits != step) return SyncAction::Continue();
      where = hit.name;
      return SyncAction::Crash();
    });
    world.Run([](Process& process) { static_cast<void>(CompactShards(*process.Table(), OneAtATime())); });
    SCOPED_TRACE(fmt::format("crashed at step {}, {}", step, where));
    ASSERT_FALSE(where.empty());
    world.sim.LandRequests();
    world.Run([this](Process& process) {
      EXPECT_EQ(process.Fresh(), expected());
      const auto shard = Compact(process, OneAtATime());
      EXPECT_EQ(process.Fresh(), expected());
      EXPECT_EQ(Sorted(Base(process)), expected());
      EXPECT_EQ(shard.compacted_through, Generation(2));
      EXPECT_EQ(Recorded(process), Generation(2));
      EXPECT_THAT(Listed(process), IsEmpty());
      auto writer = process.Open();
      ASSERT_OK(writer->Put({Row(7, "later")}));
      EXPECT_EQ(process.Fresh(), expected() + " 7:later");
    });
    EXPECT_EQ(SsTableObjects(world), 0u) << "the folders are collected";
  }
}

INSTANTIATE_TEST_SUITE_P(Tables, CompactCrash, testing::Bool(), NameOfKeyed);

// ---- answers that are lost, refused requests ----

class CompactFaults : public KeyedOrNot {};

// Row CP2 and all its kin: each request of a run fails once, with and without effect. Either the run copes, or it says
// so and a second one ends the work.
TEST_P(CompactFaults, EveryRequestFailsOnce) {
  for (const RequestFault kind : {RequestFault::kRefused, RequestFault::kLostAnswer}) {
    uint64_t failed = 0;
    for (uint64_t request = 1;; ++request) {
      World world(request);
      Prepare(world);
      std::string where;
      uint64_t count = 0;
      bool ok = false;
      world.Run([&](Process& process) {
        const auto table = process.Table();
        world.fault = [&](const RequestHit& hit) -> std::optional<RequestFault> {
          if (++count != request) return RequestFault::kNone;
          where = fmt::format("{} {}", hit.method, hit.key);
          return kind;
        };
        ok = CompactShards(*table, OneAtATime()).ok();
      });
      world.fault = nullptr;
      if (where.empty()) break;
      SCOPED_TRACE(where);
      failed += ok ? 0 : 1;
      world.Run([&](Process& process) {
        EXPECT_EQ(process.Fresh(), expected());
        EXPECT_TRUE(!ok || Recorded(process) == Generation(2));
        Compact(process, OneAtATime());
        EXPECT_EQ(Sorted(Base(process)), expected());
        EXPECT_EQ(process.Fresh(), expected());
        EXPECT_THAT(Listed(process), IsEmpty());
      });
      if (HasFailure()) return;
    }
    EXPECT_GT(failed, 0u) << "some requests cannot be done without";
  }
}

INSTANTIATE_TEST_SUITE_P(Tables, CompactFaults, testing::Bool(), NameOfKeyed);

// ---- between commit and retirement ----

// Row CP3: the SSTable is still listed, but what the base says since wins.
TEST(CompactSteps, ACompactedSsTableThatIsListedHidesNothing) {
  World world;
  world.CreateTable(kBaseRows);
  world.Run(FlushChanges);
  world.sim.OnSyncPoint("compact.committed", AtHit(1, SyncAction::Crash()));
  world.Run([](Process& process) { static_cast<void>(CompactShards(*process.Table())); });
  world.Run([](Process& process) {
    EXPECT_EQ(Listed(process), Generations(1, 2));
    EXPECT_EQ(Recorded(process), Generation(2));
    EXPECT_EQ(process.Fresh(), kChanged);
    ChangeBase(process, 3, "newer");
    ChangeBase(process, 6, "");
    EXPECT_EQ(process.Fresh(), "1:one 3:newer 4:base");
    EXPECT_EQ(Compact(process).passes, 0u) << "only retiring is left";
    EXPECT_THAT(Listed(process), IsEmpty());
    EXPECT_EQ(process.Fresh(), "1:one 3:newer 4:base");
  });
}

// Row CP4: what is not listed is never read, and collected once the grace is over.
TEST(CompactSteps, FoldersStayForTheGraceAndGoAfterIt) {
  World world;
  world.CreateTable(kBaseRows);
  world.Run([&](Process& process) {
    FlushChanges(process);
    // Written long ago, retired just now.
    process.runtime().Sleep(std::chrono::hours(1));
    EXPECT_EQ(Compact(process).folders_deleted, 0u);
    const size_t objects = SsTableObjects(world);
    EXPECT_GT(objects, 0u);
    world.Take();
    EXPECT_EQ(process.Fresh(), kChanged);
    EXPECT_THAT(world.Take("_gen_"), IsEmpty());
    process.runtime().Sleep(std::chrono::minutes(9));
    EXPECT_EQ(Must(CollectRetired(*process.Table())), 0u);
    EXPECT_EQ(SsTableObjects(world), objects);
    process.runtime().Sleep(std::chrono::minutes(2));
    // One that is listed beside them.
    FlushGenerations(process, {R"([[8, "three"]])"});
    EXPECT_EQ(Must(CollectRetired(*process.Table())), 2u);
    EXPECT_EQ(process.Fresh(), std::string(kChanged) + " 8:three");
    EXPECT_EQ(Must(CollectRetired(*process.Table())), 0u);
    EXPECT_EQ(Compact(process, AtOnce()).folders_deleted, 1u);
    EXPECT_EQ(SsTableObjects(world), 0u);
  });
}

TEST(CompactSteps, WhatAFlushLeftBehindIsCollectedAndAFlushUnderWayIsNot) {
  World world;
  world.CreateTable();
  const auto fails = [&](const char* step) {
    world.sim.OnSyncPoint(step, AtHit(1, SyncAction::Crash()));
    world.Run([](Process& process) {
      auto writer = process.Open();
      static_cast<void>(writer->Put({Row(1, "a")}));
      static_cast<void>(writer->Flush());
    });
  };
  fails("flush.sstable_written");
  EXPECT_GT(SsTableObjects(world), 0u);
  world.Run([&](Process& process) {
    EXPECT_EQ(Must(CollectRetired(*process.Table(), AtOnce())), 0u) << "generation 1 may still be published";
    auto writer = process.Open();
    ASSERT_OK(writer->Flush());
    EXPECT_EQ(process.Fresh(), "1:a");
    // Other things below the shard are nobody's to delete.
    for (const char* name : {"0123abcd_gen_", "0123ABCD_gen_1", "0123abcd_gen_1x", "notes", "123abcd_gen_1"}) {
      ASSERT_OK(
          world.store->raw().Put(fmt::format("{}/{}/x", Paths().shard_folder, name), arrow::Buffer::FromString("x")));
    }
    EXPECT_EQ(Must(CollectRetired(*process.Table(), AtOnce())), 1u);
    EXPECT_EQ(process.Fresh(), "1:a");
    EXPECT_EQ(Must(CollectRetired(*process.Table(), AtOnce())), 0u);
    ASSERT_OK(writer->Close());
  });
}

// What never was listed stays for a day, whatever the grace; what was, for the grace, however young its files are.
TEST(CompactSteps, WhatNeverWasListedStaysForADay) {
  World world;
  world.CreateTable();
  bool crashes = true;
  world.sim.OnSyncPoint("flush.sstable_written",
                        [&](const SyncHit&) { return crashes ? SyncAction::Crash() : SyncAction::Continue(); });
  world.Run([](Process& process) {
    auto writer = process.Open();
    static_cast<void>(writer->Put({Row(1, "a")}));
    static_cast<void>(writer->Flush());
  });
  crashes = false;
  const auto folders = [&] {
    return Must(ListAll(world.store->raw(), {.prefix = Paths().shard_folder + "/", .recursive = false}))
               .folders.size() -
           2;  // the log and the manifests
  };
  ASSERT_EQ(folders(), 1u);
  world.Run([&](Process& process) {
    CompactOptions with_grace;
    with_grace.retired_grace = std::chrono::minutes(10);
    const auto collect = [&] { return Must(CollectRetired(*process.Table(), with_grace)); };
    process.runtime().Sleep(std::chrono::hours(23));
    FlushGenerations(process, {});  // what is in the log
    EXPECT_EQ(folders(), 2u);
    EXPECT_EQ(collect(), 0u) << "the orphan is 23 hours old, the other one is listed";
    EXPECT_EQ(Compact(process, with_grace).retired, Generations(1, 1));
    process.runtime().Sleep(std::chrono::minutes(11));
    EXPECT_EQ(collect(), 1u) << "retired, though it is younger than the orphan";
    EXPECT_EQ(folders(), 1u);
    process.runtime().Sleep(std::chrono::minutes(48));
    EXPECT_EQ(collect(), 0u);
    process.runtime().Sleep(std::chrono::minutes(2));
    with_grace.retired_grace = std::chrono::hours(25);
    EXPECT_EQ(collect(), 0u) << "a longer grace counts for it too";
    with_grace.retired_grace = std::chrono::minutes(10);
    with_grace.dry_run = true;
    EXPECT_EQ(collect(), 1u);
    EXPECT_EQ(folders(), 1u);
    with_grace.dry_run = false;
    EXPECT_EQ(collect(), 1u);
    EXPECT_EQ(folders(), 0u);
    EXPECT_EQ(process.Fresh(), "1:a");
  });
}

// Row CP5.
TEST(CompactSteps, AReaderWithAnOldViewIsToldToTakeANewOne) {
  World world;
  world.CreateTable(kBaseRows);
  world.Run(FlushChanges);
  world.Run([&](Process& process) {
    const auto old = Must(FreshView::Open(*process.Table()));
    Process late(world.sim.runtime(), world.store);
    const auto before = late.Table();
    const auto listed = TipOf(late).sstables;
    Process compactor(world.sim.runtime(), world.store);
    EXPECT_EQ(Compact(compactor).folders_deleted, 0u);
    EXPECT_EQ(Sorted(Scan(*old)), kChanged) << "within the grace it reads on";
    // Another one, which has opened nothing yet.
    const auto unread = Must(FreshView::OfSnapshots(before, {{ShardId(), listed}}));
    EXPECT_EQ(Compact(compactor, AtOnce()).folders_deleted, 2u);
    const auto read = Must(unread->Scan())->ToTable().status();
    ExpectError(read, ErrorKind::kNotFound, "SSTable");
    // What the base holds is not opened, whoever lists it.
    EXPECT_EQ(Sorted(Scan(*Must(FreshView::OfSnapshots(late.Table(), {{ShardId(), listed}})))), kChanged);
    EXPECT_EQ(late.Fresh(), kChanged);
  });
}

// ---- indexes ----

void AddTextIndex(Process& process) {
  table::IndexEntry entry;
  entry.uuid = std::string(16, 'u');
  entry.name = "text_idx";
  entry.fields = {FieldId(1)};
  // IndexMetadata: uuid, fields, name.
  entry.encoded = "\x0a\x12\x0a\x10" + entry.uuid + "\x12\x01\x01\x1a\x08" + entry.name;
  const auto table = process.Table();
  ASSERT_OK(table->Commit({.read_version = table->version(), .operation = table::CreateIndex{{entry}, {}}}).status());
}

// The entry made anew keeps only what it can prove; so it is told to the table as another program would.
void PlantCatchUp(World& world, Process& process, Generation caught_up) {
  PlantVersion(world, *process.Table(), [&](table::Manifest& manifest) {
    for (table::IndexEntry& index : manifest.indices) {
      if (index.name != table::kMemWalIndexName) continue;
      auto details = Must(table::DecodeMemWalDetails(index.details));
      details.index_catchup.clear();
      if (caught_up > Generation(0)) details.index_catchup = {{"text_idx", {{ShardId(), caught_up}}}};
      index = table::MakeMemWalIndexEntry(details, Uuid::Random(3, 4), manifest.version.value(), 0);
    }
  });
}

// An SSTable stays listed until every index of the table covers its rows.
TEST(CompactSteps, RetiringWaitsForIndexes) {
  World world;
  world.CreateTable(kBaseRows);
  world.Run(FlushChanges);
  world.Run([&](Process& process) {
    AddTextIndex(process);
    auto shard = Compact(process, AtOnce());
    EXPECT_EQ(shard.passes, 1u);
    EXPECT_THAT(shard.retired, IsEmpty());
    EXPECT_EQ(shard.awaiting_indexes, 2u);
    EXPECT_EQ(Listed(process), Generations(1, 2));
    EXPECT_EQ(process.Fresh(), kChanged);
    ReplaceDetails(process, [](table::MemWalDetails& details) {
      details.index_catchup = {{"text_idx", {{ShardId(), Generation(1)}}}};
    });
    PlantCatchUp(world, process, Generation(1));
    shard = Compact(process, AtOnce());
    EXPECT_EQ(shard.retired, Generations(1, 1));
    EXPECT_EQ(shard.awaiting_indexes, 1u);
    EXPECT_EQ(Listed(process), Generations(2, 2));
    EXPECT_EQ(process.Fresh(), kChanged);
  });
}

// A commit of the shard that is lost takes time, in which an index may lose what it had caught up with.
TEST(CompactSteps, ACatchUpThatIsWithdrawnBeforeALaterTryKeepsSsTables) {
  for (const Generation kept : {Generation(0), Generation(1)}) {
    SCOPED_TRACE(fmt::format("generation {}", kept));
    World world;
    world.CreateTable(kBaseRows);
    world.Run(FlushChanges);
    world.Run([&](Process& process) {
      AddTextIndex(process);
      EXPECT_EQ(Compact(process, AtOnce()).awaiting_indexes, 2u);
      PlantCatchUp(world, process, Generation(2));
    });
    world.sim.OnSyncPoint("compact.before_retiring", AtHit(1, SyncAction::Delay(std::chrono::seconds(60))));
    world.Run({[&](Process& process) {
                 const auto shard = Compact(process, AtOnce());
                 EXPECT_EQ(shard.retired, Generations(1, kept.value()));
                 EXPECT_EQ(shard.awaiting_indexes, 2 - kept.value());
                 EXPECT_EQ(shard.folders_deleted, kept.value());
               },
               [&](Process& process) {
                 process.runtime().Sleep(std::chrono::seconds(30));
                 PlantCatchUp(world, process, kept);
                 ASSERT_OK(process.Open()->Close());  // a claim: the first try of the compactor fails
               }});
    world.Run([&](Process& process) {
      EXPECT_EQ(Listed(process), Generations(kept.value() + 1, 2));
      EXPECT_EQ(process.Fresh(), kChanged);
    });
  }
}

// ---- others at work on the table ----

// A pass whose fragment changes under it finds out anew what is to be done.
TEST(CompactRace, TheBaseChangesUnderAPass) {
  World world;
  world.CreateTable(kBaseRows);
  world.Run(FlushChanges);
  bool changed = false;
  world.sim.OnSyncPoint("compact.rows_found", AtHit(1, SyncAction::Delay(std::chrono::seconds(60))));
  world.Run({[&](Process& process) {
               const auto shard = Compact(process);
               EXPECT_TRUE(changed);
               EXPECT_EQ(shard.passes, 1u);
             },
             [&](Process& process) {
               process.runtime().Sleep(std::chrono::seconds(30));
               ChangeBase(process, 1, "direct");
               ChangeBase(process, 4, "direct");
               changed = true;
             }});
  world.Run([](Process& process) { EXPECT_EQ(Sorted(Base(process)), "1:one 3:two 4:direct 6:two"); });
}

// Somebody records the work as done while it is being done: then nothing of ours is committed.
TEST(CompactRace, TheRecordMovesUnderAPass) {
  World world;
  world.CreateTable(kBaseRows);
  world.Run(FlushChanges);
  bool marked = false;
  world.sim.OnSyncPoint("compact.rows_found", AtHit(1, SyncAction::Delay(std::chrono::seconds(60))));
  world.Run({[&](Process& process) {
               const auto shard = Compact(process);
               EXPECT_TRUE(marked);
               EXPECT_EQ(shard.passes, 0u);
               EXPECT_EQ(shard.compacted_through, Generation(2));
               EXPECT_NE(shard.skipped, "");
             },
             [&](Process& process) {
               process.runtime().Sleep(std::chrono::seconds(30));
               ReplaceDetails(process, [](table::MemWalDetails& details) {
                 details.compacted_sstables = {{ShardId(), Generation(2)}};
               });
               marked = true;
             }});
  world.Run([](Process& process) { EXPECT_EQ(Base(process), "1:base 2:base 3:base 4:base"); });
}

// A claim in the middle: the new writer is not fenced by the compactor, nor the compactor held up by it.
TEST(CompactRace, AClaimBetweenCommitAndRetirement) {
  World world;
  world.CreateTable(kBaseRows);
  world.Run(FlushChanges);
  world.sim.OnSyncPoint("compact.before_retiring", AtHit(1, SyncAction::Delay(std::chrono::seconds(60))));
  world.Run({[&](Process& process) { EXPECT_EQ(Compact(process).retired, Generations(1, 2)); },
             [&](Process& process) {
               process.runtime().Sleep(std::chrono::seconds(30));
               auto writer = process.Open();
               ASSERT_OK(writer->Put({Row(9, "claimed")}));
               process.runtime().Sleep(std::chrono::seconds(90));
               ASSERT_OK(writer->Put({Row(8, "claimed")}));
               ASSERT_OK(writer->Close());
             }});
  world.Run([](Process& process) {
    EXPECT_EQ(process.Fresh(), std::string(kChanged) + " 8:claimed 9:claimed");
    EXPECT_EQ(Listed(process), Generations(3, 3));
  });
}

// A run ends although a writer flushes faster than it moves.
TEST(CompactRace, AWriterIsNotChased) {
  World world;
  world.CreateTable();
  world.sim.OnSyncPoint("compact.committed", [](const SyncHit&) { return SyncAction::Delay(std::chrono::seconds(1)); });
  bool done = false;
  int64_t flushed = 0;
  world.Run({[&](Process& process) {
               auto writer = process.Open(Eager());
               while (!done && flushed < 300) {
                 FlushRows(*writer, fmt::format(R"([[{}, "row"]])", ++flushed));
                 process.runtime().Sleep(std::chrono::milliseconds(100));
               }
             },
             [&](Process& process) {
               process.runtime().Sleep(std::chrono::milliseconds(700));
               const auto shard = Compact(process, OneAtATime());
               EXPECT_GT(shard.passes, 2u);
               done = true;
             }});
  EXPECT_LT(flushed, 300);
  EXPECT_GT(flushed, 20);
}

// Row CP6: two at once. Every generation moves once, whoever moves it.
TEST(CompactRace, TwoCompactors) {
  uint64_t shared = 0;
  for (const uint64_t seed : Seeds(30)) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    World world(seed);
    world.CreateTable(kBaseRows);
    world.Run([](Process& process) {
      FlushChanges(process);
      FlushGenerations(process, {R"([[3, "three"]])", R"([[1, "four"], [7, "four"]])"});
    });
    // In half of the runs whoever has made a pass lets the other one make the next.
    if (seed % 2 == 0) {
      world.sim.OnSyncPoint("compact.committed",
                            [](const SyncHit&) { return SyncAction::Delay(std::chrono::seconds(1)); });
    }
    std::vector<Generation> moved;
    uint64_t at_work = 0;
    const auto compactor = [&](Process& process) {
      const auto shard = Compact(process, OneAtATime());
      moved.insert(moved.end(), shard.generations.begin(), shard.generations.end());
      at_work += shard.passes > 0 ? 1 : 0;
    };
    world.Run({compactor, compactor});
    std::sort(moved.begin(), moved.end());
    EXPECT_EQ(moved, Generations(1, 4));
    shared += at_work == 2 ? 1 : 0;
    world.Run([](Process& process) {
      EXPECT_EQ(Sorted(Base(process)), "1:four 3:three 4:base 6:two 7:four");
      EXPECT_EQ(process.Fresh(), Sorted(Base(process)));
      EXPECT_THAT(Listed(process), IsEmpty());
    });
    if (HasFailure()) return;
  }
  EXPECT_GT(shared, 0u) << "in no run both had work to do";
}

// Row CP7: a writer puts, deletes and flushes, two compactors and a reader are at work all the while. No read shows a
// key twice or a row older than one read before; all rows are there in the end.
TEST(CompactRace, WriterReaderAndCompactors) {
  for (const uint64_t seed : Seeds(15)) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    World world(seed);
    world.CreateTable("[]");
    bool writing = true;
    std::map<int64_t, int64_t> rows;  // id -> number of the last put of it; 0 = deleted
    const auto write = [&](Process& process) {
      SeededRandom& random = world.sim.plan_random();
      auto writer = process.Open(Eager());
      for (int64_t put = 1; put <= 40 && !testing::Test::HasFailure(); ++put) {
        const auto id = static_cast<int64_t>(random.Below(6));
        if (random.Below(4) == 0) {
          ASSERT_OK(writer->Delete({Keys(fmt::format("[[{}]]", id))}));
          rows[id] = 0;
        } else {
          ASSERT_OK(writer->Put({Row(id, fmt::format("{}", put))}));
          rows[id] = put;
        }
        if (random.Below(4) == 0) ASSERT_OK(writer->Flush());
      }
      ASSERT_OK(writer->Close());
      writing = false;
    };
    const auto compact = [&](Process& process) {
      while (writing && !testing::Test::HasFailure()) {
        ASSERT_OK(CompactShards(*process.Table(), OneAtATime()).status());
        process.runtime().Sleep(std::chrono::milliseconds(world.sim.plan_random().Below(400)));
      }
    };
    const auto read = [&](Process& process) {
      std::map<int64_t, int64_t> newest;
      while (writing && !testing::Test::HasFailure()) {
        const auto view = Must(FreshView::Open(*process.Table()));
        const auto scanned = Must(view->Scan())->ToTable();
        if (!scanned.ok()) {
          ASSERT_TRUE(HasKind(scanned.status(), ErrorKind::kNotFound)) << scanned.status().ToString();
          continue;
        }
        const auto batch = Must((*scanned)->CombineChunksToBatch());
        std::set<int64_t> ids;
        for (int64_t i = 0; i < batch->num_rows(); ++i) {
          const auto id = static_cast<const arrow::Int64Array&>(*batch->column(0)).Value(i);
          const int64_t put = std::stoll(static_cast<const arrow::StringArray&>(*batch->column(1)).GetString(i));
          EXPECT_TRUE(ids.insert(id).second) << "key " << id << " twice";
          EXPECT_GE(put, newest[id]) << "key " << id << " goes back";
          newest[id] = put;
        }
        process.runtime().Sleep(std::chrono::milliseconds(20));
      }
    };
    world.Run({write, compact, compact, read});
    if (HasFailure()) return;
    world.Run([&](Process& process) {
      std::string expected;
      for (const auto& [id, put] : rows) {
        if (put != 0) expected += fmt::format("{}{}:{}", expected.empty() ? "" : " ", id, put);
      }
      EXPECT_EQ(process.Fresh(), expected);
      ASSERT_OK(CompactShards(*process.Table(), AtOnce()).status());
      EXPECT_EQ(Sorted(Base(process)), expected);
      EXPECT_EQ(process.Fresh(), expected);
    });
  }
}

// Compactors die at any step, and their requests fail, arrive late or lose their answers; others take their place. The
// rows are those of the writer all the while.
TEST(CompactRace, CompactorsThatDieAndWhoseRequestsFail) {
  uint64_t crashes = 0, failures = 0;
  for (const uint64_t seed : Seeds(15)) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    World world(seed);
    world.CreateTable("[]");
    SeededRandom& random = world.sim.crash_random();
    bool writing = true;
    std::string expected;
    const ActorId writer_id = world.Start([&](Process& process) {
      std::map<int64_t, std::string> rows;
      auto writer = process.Open(Eager());
      for (int put = 1; put <= 30 && !testing::Test::HasFailure(); ++put) {
        const auto id = static_cast<int64_t>(random.Below(6));
        if (random.Below(4) == 0) {
          ASSERT_OK(writer->Delete({Keys(fmt::format("[[{}]]", id))}));
          rows.erase(id);
        } else {
          ASSERT_OK(writer->Put({Row(id, fmt::format("{}", put))}));
          rows[id] = fmt::format("{}:{}", id, put);
        }
        if (random.Below(3) == 0) ASSERT_OK(writer->Flush());
        std::vector<std::string> lines;
        for (const auto& [key, line] : rows) lines.push_back(line);
        expected = fmt::format("{}", fmt::join(lines, " "));
        auto read = Must(FreshView::Open(*process.Table()));
        auto seen = Must(read->Scan())->ToTable();
        while (HasKind(seen.status(), ErrorKind::kNotFound)) {
          read = Must(FreshView::Open(*process.Table()));
          seen = Must(read->Scan())->ToTable();
        }
        EXPECT_EQ(Sorted(Text(*Must(Must(seen)->CombineChunksToBatch()))), expected);
        process.runtime().Sleep(std::chrono::milliseconds(random.Below(500)));
      }
      ASSERT_OK(writer->Close());
      writing = false;
    });
    const std::function<void(Process&)> compact = [&](Process& process) {
      while (writing) {
        const auto table = Dataset::Open(process.session, kTableUri);
        const arrow::Status done = table.ok() ? CompactShards(**table, OneAtATime()).status() : table.status();
        if (!done.ok()) {
          ++failures;
          EXPECT_FALSE(HasKind(done, ErrorKind::kCorruption) || HasKind(done, ErrorKind::kInternal)) << done.ToString();
        }
        process.runtime().Sleep(std::chrono::milliseconds(random.Below(200)));
      }
    };
    world.Start(compact);
    world.Start(compact);
    world.fault = [&](const RequestHit& hit) -> std::optional<RequestFault> {
      constexpr RequestFault kKinds[] = {RequestFault::kRefused, RequestFault::kLostAnswer, RequestFault::kLandsLate,
                                         RequestFault::kSlow};
      if (hit.actor == writer_id || random.Below(30) != 0) return RequestFault::kNone;
      return kKinds[random.Below(4)];
    };
    world.sim.OnSyncPoint("", [&](const SyncHit& hit) {
      if (!writing || hit.actor == writer_id || random.Below(40) != 0) return SyncAction::Continue();
      ++crashes;
      world.Start(compact);
      return SyncAction::Crash();
    });
    ASSERT_OK(world.sim.RunAll());
    world.fault = nullptr;
    world.sim.LandRequests();
    world.Run([&](Process& process) {
      EXPECT_EQ(process.Fresh(), expected);
      Compact(process, OneAtATime());
      EXPECT_EQ(Sorted(Base(process)), expected);
      EXPECT_EQ(process.Fresh(), expected);
      EXPECT_THAT(Listed(process), IsEmpty());
    });
    EXPECT_EQ(SsTableObjects(world), 0u);
    if (HasFailure()) return;
  }
  EXPECT_GT(crashes, 0u);
  EXPECT_GT(failures, 0u);
}

}  // namespace
}  // namespace javelin::memwal
