// A table changes its columns while its shards hold rows: memory, log, SSTables and base, before and after the writer
// follows.
#include "javelin/memwal/schema_change_test_support.h"
#include "javelin/memwal/sstable_writer.h"
#include "javelin/table/versions.h"

namespace javelin::memwal {
namespace {

using namespace test;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::StartsWith;

// How often an open has flushed while it replayed.
std::shared_ptr<int> CountFlushesOfOpens(World& world) {
  const auto count = std::make_shared<int>(0);
  world.sim.OnSyncPoint("open.flushed", [count](const SyncHit&) {
    ++*count;
    return SyncAction::Continue();
  });
  return count;
}

file::Field Number(int32_t id = 2) { return Column("n", id, arrow::int32()); }

// The schema of the SSTable with that place in the manifest.
file::Schema SchemaOfSsTable(const Process& process, size_t number) {
  const auto table = process.Table();
  const std::string folder = JoinKey(Paths().shard_folder, TipOf(process).sstables.at(number).path);
  const StoreLocation place{table->location().store, folder, folder};
  return Must(table::LoadVersion(place, table::ManifestName{TableVersion(1)})).manifest->schema;
}

TEST(Evolve, RowsOfEveryTierAnswerUnderTheNewColumns) {
  World world;
  world.CreateTable(R"([[0, "base"]])");
  world.Run([&](Process& process) {
    const auto writer = process.Open(Eager());
    FlushRows(*writer, R"([[1, "sstable"], [9, "gone"]])");
    world.HoldFlushes();
    ASSERT_OK(writer->Put({Row(2, "frozen"), Row(3, "frozen")}));
    AddColumn(world, process, Number());
    EXPECT_TRUE(Must(writer->Evolve()));
    ASSERT_OK(writer->Put({RowsFor(*writer, R"([[3, "again", 33], [4, "active", 44]])")}));
    ASSERT_OK(writer->Delete({Keys("[[9]]")}));
    EXPECT_EQ(process.Fresh(), "0:base:null 1:sstable:null 2:frozen:null 3:again:33 4:active:44");
    EXPECT_EQ(Get(*writer, 2), "2:frozen:null");
    EXPECT_EQ(Get(*writer, 1), "1:sstable:null");

    RenameColumn(world, process, "text", "words");
    EXPECT_TRUE(Must(writer->Evolve()));
    EXPECT_EQ(writer->arrow_schema()->field_names(), (std::vector<std::string>{"id", "words", "n"}));
    ASSERT_OK(writer->Put({RowsFor(*writer, R"([[5, "renamed", 55]])")}));
    EXPECT_EQ(process.Fresh(), "0:base:null 1:sstable:null 2:frozen:null 3:again:33 4:active:44 5:renamed:55");

    DropColumn(world, process, "words");
    EXPECT_EQ(process.Fresh(), "0:null 1:null 2:null 3:33 4:44 5:55") << "before the writer knows";
    EXPECT_TRUE(Must(writer->Evolve()));
    ASSERT_OK(writer->Put({RowsFor(*writer, "[[6, 66]]")}));
    const auto view = Must(FreshView::OpenForWriter(*writer));
    EXPECT_EQ(Sorted(Scan(*view)), "0:null 1:null 2:null 3:33 4:44 5:55 6:66");
    EXPECT_EQ(Must(view->CountRows()), 7u);
    EXPECT_EQ(Sorted(Text(*Collect(view->Scan({}, /*with_generation=*/true)))),
              "0:null:0 1:null:1 2:null:2 3:33:3 4:44:3 5:55:4 6:66:5");

    world.ReleaseFlushes();
    ASSERT_OK(writer->Close());
    EXPECT_EQ(process.Fresh(), "0:null 1:null 2:null 3:33 4:44 5:55 6:66") << "all of it in SSTables";
    Compact(process);
    EXPECT_EQ(Sorted(Base(process)), "0:null 1:null 2:null 3:33 4:44 5:55 6:66");
  });
}

TEST(Evolve, AFrozenMemTableIsFlushedWithTheColumnsThatItHas) {
  World world;
  world.CreateTable();
  world.Run([&](Process& process) {
    const auto writer = process.Open();
    ASSERT_OK(writer->Put({Row(1, "a")}));
    AddColumn(world, process, Number());
    ASSERT_TRUE(Must(writer->Evolve()));
    ASSERT_OK(writer->Put({RowsFor(*writer, R"([[2, "b", 22]])")}));
    ASSERT_OK(writer->Close());
    const auto names = [&](size_t number) { return SchemaOfSsTable(process, number).ToArrow()->field_names(); };
    EXPECT_EQ(names(0), (std::vector<std::string>{"id", "text", "_tombstone"}));
    EXPECT_EQ(names(1), (std::vector<std::string>{"id", "text", "n", "_tombstone"}));
    EXPECT_EQ(process.Fresh(), "1:a:null 2:b:22");
  });
}

TEST(Evolve, AnEmptyMemTableTakesTheNewColumnsInItsPlace) {
  World world;
  world.CreateTable();
  world.Run([&](Process& process) {
    const auto writer = process.Open();
    FlushRows(*writer, R"([[1, "a"], [2, "b"]])");
    const auto before = writer->memtable_stats();
    AddColumn(world, process, Number());
    ASSERT_TRUE(Must(writer->Evolve()));
    const auto after = writer->memtable_stats();
    EXPECT_EQ(after.generation, before.generation);
    EXPECT_EQ(after.global_offset, before.global_offset);
    EXPECT_EQ(after.frozen_count, 0u);
    ASSERT_OK(writer->Put({RowsFor(*writer, R"([[2, "bb", 22]])")}));
    ASSERT_OK(writer->Close());
    EXPECT_EQ(Listed(process), Generations(1, 2));
    EXPECT_EQ(process.Fresh(), "1:a:null 2:bb:22");
  });
}

TEST(Evolve, TheSameColumnsChangeNothing) {
  World world;
  world.CreateTable();
  world.Run([&](Process& process) {
    const auto writer = process.Open();
    ASSERT_OK(writer->Put({Row(1, "a")}));
    EXPECT_FALSE(Must(writer->Evolve()));
    PlantVersion(world, *process.Table(), [](table::Manifest&) {});
    world.Take();
    EXPECT_FALSE(Must(writer->Evolve()));
    EXPECT_THAT(world.Take("PUT"), IsEmpty());
    EXPECT_EQ(writer->memtable_stats().generation, 1u);
    EXPECT_EQ(writer->memtable_stats().row_count, 1u);
  });
}

TEST(Evolve, CallersAtOnceFreezeOnce) {
  for (uint64_t seed = 1; seed <= 8; ++seed) {
    SCOPED_TRACE(seed);
    World world(seed);
    world.CreateTable();
    world.Run([&](Process& process) {
      const auto writer = process.Open(Eager());
      ASSERT_OK(writer->Put({Row(1, "a")}));
      AddColumn(world, process, Number());
      std::vector<TaskHandle> callers;
      int changed = 0;
      for (int i = 0; i < 4; ++i) {
        callers.push_back(process.runtime().Spawn("caller", [&] { changed += Must(writer->Evolve()) ? 1 : 0; }));
      }
      for (TaskHandle& caller : callers) caller.Join();
      EXPECT_EQ(changed, 1);
      EXPECT_EQ(writer->memtable_stats().generation, 2u);
      ASSERT_OK(writer->Close());
      EXPECT_EQ(Listed(process), Generations(1, 1));
    });
  }
}

// A caller that read an older version of the table and comes late does not take the writer back.
TEST(Evolve, AnOlderVersionThatComesLateIsLeftOut) {
  World world;
  world.CreateTable();
  world.Run([&](Process& process) {
    const auto writer = process.Open();
    AddColumn(world, process, Number());
    bool first = true;
    world.sim.OnSyncPoint("evolve.read", [&](const SyncHit&) {
      return std::exchange(first, false) ? SyncAction::Delay(std::chrono::seconds(1)) : SyncAction::Continue();
    });
    auto late = process.runtime().Spawn("late", [&] { EXPECT_FALSE(Must(writer->Evolve())); });
    process.runtime().Sleep(std::chrono::milliseconds(500));
    DropColumn(world, process, "n");
    AddColumn(world, process, Column("m", 3, arrow::utf8()));
    EXPECT_TRUE(Must(writer->Evolve()));
    late.Join();
    EXPECT_EQ(writer->arrow_schema()->field_names(), (std::vector<std::string>{"id", "text", "m"}));
  });
}

TEST(Evolve, ARefusalChangesNothing) {
  struct Case {
    std::function<void(std::vector<file::Field>&)> change;
    ErrorKind kind;
    std::string word;
  };
  const std::vector<Case> cases = {
      {[](auto& columns) { columns[0].primary_key = false; }, ErrorKind::kInvalidInput, "primary key"},
      {[](auto& columns) { columns.erase(columns.begin()); }, ErrorKind::kInvalidInput, "primary key"},
      {[](auto& columns) { columns[0].id = FieldId(7); }, ErrorKind::kInvalidInput, "primary key"},
      {[](auto& columns) { columns[1] = Column("text", 1, arrow::int64()); }, ErrorKind::kInvalidInput, "'text'"},
      {[](auto& columns) { columns[1].nullable = false; }, ErrorKind::kInvalidInput, "must not be null"},
      {[](auto& columns) {
         columns.push_back(Number());
         columns.back().nullable = false;
       },
       ErrorKind::kInvalidInput, "must not be null"},
      {[](auto& columns) { columns.push_back(Column("_tombstone", 2, arrow::boolean())); }, ErrorKind::kInvalidInput,
       "_tombstone"},
  };
  for (const Case& each : cases) {
    World world;
    world.CreateTable();
    world.Run([&](Process& process) {
      const auto writer = process.Open();
      ASSERT_OK(writer->Put({Row(1, "a")}));
      ChangeColumns(world, process, each.change);
      const auto refused = writer->Evolve().status();
      ExpectError(refused, each.kind, each.word);
      EXPECT_EQ(writer->memtable_stats().generation, 1u);
      ASSERT_OK(writer->Put({Row(2, "b")}));
      EXPECT_EQ(world.RowsInLog(), 2u) << "the writer is healthy";
    });
  }
}

TEST(Evolve, WithoutMemWalThereIsNothingToFollow) {
  World world;
  world.CreateTable();
  world.Run([&](Process& process) {
    const auto writer = process.Open();
    ASSERT_OK(writer->Put({Row(1, "a")}));
    PlantVersion(world, *process.Table(), [](table::Manifest& manifest) { manifest.indices.clear(); });
    EXPECT_EQ(process.Fresh(), "1:a");
    ExpectError(writer->Evolve().status(), ErrorKind::kNotFound, "no MemWAL");
    // What was allowed since, a cast for one, cannot be followed by field id.
    ChangeColumns(world, process, [](auto& columns) { columns[1] = Column("text", 2, arrow::large_utf8()); });
    ExpectError(FreshView::Open(*process.Table()).status(), ErrorKind::kNotSupported, "close the writer");
    writer->Abort();
    EXPECT_EQ(process.Fresh(), "");
  });
}

TEST(Evolve, AWriterThatWasOvertakenLearnsOfIt) {
  World world;
  world.CreateTable();
  world.Run([&](Process& process) {
    const auto writer = process.Open();
    Process other(world.sim.runtime(), world.store);
    const auto successor = other.Open();
    ExpectError(writer->Evolve().status(), ErrorKind::kFencedPeerClaimedEpoch, "epoch");
    ExpectError(writer->Put({Row(1, "a")}), ErrorKind::kFencedPeerClaimedEpoch, "epoch");
    ASSERT_OK(successor->Close());
    ExpectError(successor->Evolve().status(), ErrorKind::kClosed, "open a new one");
  });
}

TEST(Evolve, ItsRequestsAreCounted) {
  World world;
  world.CreateTable();
  world.Run([&](Process& process) {
    const auto writer = process.Open(Eager());
    AddColumn(world, process, Number());
    world.Take();
    ASSERT_TRUE(Must(writer->Evolve()));
    const auto changed = world.Take();
    ASSERT_FALSE(Must(writer->Evolve()));
    const auto unchanged = world.Take();
    // The fence and that it still is the same shard, then the newest version of the table.
    for (const auto& requests : {changed, unchanged}) {
      EXPECT_THAT(requests, ElementsAre(StartsWith("head"), StartsWith("head"), StartsWith("list"), StartsWith("get")));
    }
  });
}

TEST(Evolve, PutsOfTheOtherSchemaAreToldWhatToDo) {
  World world;
  world.CreateTable();
  world.Run([&](Process& process) {
    const auto writer = process.Open();
    const auto old_rows = Row(1, "a");
    AddColumn(world, process, Number());
    RenameColumn(world, process, "text", "words");
    const auto new_rows = Batch(process.Table()->arrow_schema(), R"([[1, "a", 1]])");
    const auto refused = [&](const std::shared_ptr<arrow::RecordBatch>& rows, const std::string& word,
                             uint64_t version) {
      const auto status = writer->Put({rows});
      ExpectError(status, ErrorKind::kInvalidInput, word);
      ExpectError(status, ErrorKind::kInvalidInput, "evolve the writer");
      EXPECT_EQ(FieldsOf(status).at("table_version"), fmt::format("{}", version));
    };
    refused(new_rows, "'text'", 2);
    ASSERT_TRUE(Must(writer->Evolve()));
    refused(old_rows, "'words'", 4);
    ASSERT_OK(writer->Put({new_rows}));
    DropColumn(world, process, "n");
    ASSERT_TRUE(Must(writer->Evolve()));
    refused(new_rows, "'n'", 5);
    EXPECT_EQ(writer->stats().put_count, 1u);
    EXPECT_EQ(process.Fresh(), "1:a");
  });
}

// Puts of both schemas while the writer changes: each is taken under the schema that it fits, or refused; none is lost.
TEST(Evolve, PutsThatRaceIt) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(seed);
    World world(seed);
    world.CreateTable();
    std::vector<std::string> accepted;
    world.Run([&](Process& process) {
      WriterOptions options = Eager();
      options.max_memtable_batches = 3;
      const auto writer = process.Open(options);
      const auto old_schema = writer->arrow_schema();
      AddColumn(world, process, Number());
      const auto new_schema = process.Table()->arrow_schema();
      std::vector<TaskHandle> tasks;
      for (int putter = 0; putter < 3; ++putter) {
        tasks.push_back(process.runtime().Spawn("putter", [&, putter] {
          for (int i = 0; i < 8; ++i) {
            const int id = putter * 10 + i;
            const auto old_put = writer->Put({Batch(old_schema, fmt::format(R"([[{}, "o"]])", id))});
            if (old_put.ok()) {
              accepted.push_back(fmt::format("{}:o:null", id));
              continue;
            }
            ExpectError(old_put, ErrorKind::kInvalidInput, "'n'");
            ASSERT_OK(writer->Put({Batch(new_schema, fmt::format(R"([[{}, "w", {}]])", id, id))}));
            accepted.push_back(fmt::format("{}:w:{}", id, id));
          }
        }));
      }
      process.runtime().Sleep(std::chrono::milliseconds(seed));
      ASSERT_OK(writer->Evolve().status());
      for (TaskHandle& task : tasks) task.Join();
      const std::string expected = Sorted(fmt::format("{}", fmt::join(accepted, " ")));
      EXPECT_EQ(process.Fresh(), expected);
      if (seed % 2 == 0) ASSERT_OK(writer->Close());
    });
    world.Run([&](Process& process) {
      const auto writer = process.Open();
      EXPECT_EQ(process.Fresh(), Sorted(fmt::format("{}", fmt::join(accepted, " "))));
    });
  }
}

// Row EV1: the base changes, the writer does not follow and dies.
TEST(SchemaChange, ALogOfTheOldColumnsIsReplayedUnderTheNewOnes) {
  World world;
  world.CreateTable();
  world.Run([&](Process& process) {
    const auto writer = process.Open();
    ASSERT_OK(writer->Put({Rows(R"([[1, "a"], [2, "b"]])")}));
    ASSERT_OK(writer->Delete({Keys("[[2]]")}));
    AddColumn(world, process, Number());
    RenameColumn(world, process, "text", "words");
    EXPECT_EQ(process.Fresh(), "1:a:null");
    ASSERT_OK(writer->Put({Row(3, "c")}));  // still what it knows
    writer->Abort();
  });
  world.Run([&](Process& process) {
    const auto writer = process.Open();
    EXPECT_EQ(ReadBack(*writer), "1:a:null 3:c:null");
    ASSERT_OK(writer->Put({RowsFor(*writer, R"([[4, "d", 44]])")}));
    ASSERT_OK(writer->Close());
    EXPECT_EQ(SchemaOfSsTable(process, 0).ToArrow()->field_names(),
              (std::vector<std::string>{"id", "words", "n", "_tombstone"}));
    EXPECT_EQ(process.Fresh(), "1:a:null 3:c:null 4:d:44");
  });
}

// Row EV2: the log holds entries of both schemas when the process dies; with small MemTables the replay flushes.
TEST(SchemaChange, ALogOfBothColumnsIsReplayed) {
  for (const bool flushes : {false, true}) {
    for (const bool second_put : {false, true}) {
      SCOPED_TRACE(fmt::format("flushes {} second put {}", flushes, second_put));
      World world;
      world.CreateTable();
      world.HoldFlushes();
      world.Run([&](Process& process) {
        const auto writer = process.Open(BatchesPerTable(2));
        for (int i = 0; i < 5; ++i) ASSERT_OK(writer->Put({Row(i, "o")}));
        AddColumn(world, process, Number());
        ASSERT_TRUE(Must(writer->Evolve()));
        for (int i = 4; second_put && i < 9; ++i)
          ASSERT_OK(writer->Put({RowsFor(*writer, fmt::format(R"([[{}, "n", {}]])", i, i))}));
        writer->Abort();
      });
      world.ReleaseFlushes();
      const std::string rows = second_put ? "0:o:null 1:o:null 2:o:null 3:o:null 4:n:4 5:n:5 6:n:6 7:n:7 8:n:8"
                                          : "0:o:null 1:o:null 2:o:null 3:o:null 4:o:null";
      world.Run([&](Process& process) {
        WriterOptions options;
        if (flushes) options.max_memtable_size = 60;
        const auto flushed = CountFlushesOfOpens(world);
        const auto writer = process.Open(options);
        EXPECT_EQ(*flushed > 0, flushes);
        EXPECT_EQ(ReadBack(*writer), rows);
        ASSERT_OK(writer->Close());
        EXPECT_EQ(process.Fresh(), rows);
        Compact(process);
        EXPECT_EQ(Sorted(Base(process)), rows);
      });
    }
  }
}

// Row EV2 at each step of an evolve: what was acknowledged is there, under the columns of the table.
TEST(SchemaChange, ACrashAtAnyStepOfAnEvolveLosesNothing) {
  for (const std::string step : {"evolve.read", "freeze.swapped", "flush.begin", "flush.data_written",
                                 "flush.sstable_written", "flush.published"}) {
    SCOPED_TRACE(step);
    World world;
    world.CreateTable();
    bool crashed = false;
    world.Run([&](Process& process) {
      const auto writer = process.Open(Eager());
      ASSERT_OK(writer->Put({Row(1, "a"), Row(2, "b")}));
      AddColumn(world, process, Number());
      world.sim.OnSyncPoint(step, [&](const SyncHit&) {
        return std::exchange(crashed, true) ? SyncAction::Continue() : SyncAction::Crash();
      });
      (void)writer->Evolve();
      (void)writer->Flush();
    });
    EXPECT_TRUE(crashed);
    world.Run([&](Process& process) {
      const auto writer = process.Open();
      EXPECT_EQ(process.Fresh(), "1:a:null 2:b:null");
      ASSERT_OK(writer->Put({RowsFor(*writer, R"([[2, "bb", 2]])")}));
      ASSERT_OK(writer->Close());
      EXPECT_EQ(process.Fresh(), "1:a:null 2:bb:2");
    });
  }
}

// The opener holds a version of the table from before the column that its predecessor wrote. Without a look at the
// newest version the values would be dropped, and flushed away.
TEST(SchemaChange, AnOpenWithAnOldVersionKeepsTheNewColumns) {
  for (const auto& [after_read, flushes] : {std::pair(false, false), {false, true}, {true, false}, {true, true}}) {
    SCOPED_TRACE(fmt::format("appended after the read {} flushes {}", after_read, flushes));
    World world;
    world.CreateTable();
    world.HoldFlushes();
    world.Run([&](Process& process) {
      const auto old_table = process.Table();
      const auto writer = process.Open(BatchesPerTable(3));
      for (int i = 0; i < 4; ++i) ASSERT_OK(writer->Put({Row(i, "o")}));
      AddColumn(world, process, Column("gone", 2, arrow::int64()));
      ASSERT_TRUE(Must(writer->Evolve()));
      const auto put_new = [&] {
        DropColumn(world, process, "gone");
        AddColumn(world, process, Number(3));
        ASSERT_TRUE(Must(writer->Evolve()));
        for (int i = 3; i < 9; ++i) ASSERT_OK(writer->Put({RowsFor(*writer, fmt::format(R"([[{}, "n", {}]])", i, i))}));
        writer->Abort();
        world.ReleaseFlushes();
      };
      ASSERT_OK(writer->Put({RowsFor(*writer, R"([[20, "g", 7]])")}));
      if (!after_read) put_new();
      Process other(world.sim.runtime(), world.store);
      world.sim.OnSyncPoint("open.read", [&](const SyncHit&) {
        if (!after_read) return SyncAction::Continue();
        process.runtime().Spawn("predecessor", put_new);
        return SyncAction::Delay(std::chrono::minutes(1));
      });
      WriterOptions options;
      if (flushes) options.max_memtable_size = 60;
      const auto flushed = CountFlushesOfOpens(world);
      const auto stale = Must(Dataset::Open(other.session, kTableUri, {.version = old_table->version()}));
      const auto next = Must(ShardWriter::Open(*stale, kShard, options));
      EXPECT_EQ(*flushed > 0, flushes);
      const std::string rows = "0:o:null 1:o:null 20:g:null 2:o:null 3:n:3 4:n:4 5:n:5 6:n:6 7:n:7 8:n:8";
      EXPECT_EQ(other.Fresh(), rows);
      ASSERT_OK(next->Put({RowsFor(*next, R"([[1, "p", 11]])")}));
      EXPECT_EQ(Get(*next, 1), "1:p:11");
      EXPECT_EQ(next->memtable_stats().pending_wal_batch_count, 0u);
      EXPECT_FALSE(Must(next->Evolve())) << "it has taken the newest columns already";
      ASSERT_OK(next->Close());
      EXPECT_EQ(other.Fresh(), "0:o:null 1:p:11 20:g:null 2:o:null 3:n:3 4:n:4 5:n:5 6:n:6 7:n:7 8:n:8");
    });
  }
}

// The marker of deletions has the id that the table gives to its next column, here one of the same type.
TEST(SchemaChange, TheMarkerOfDeletionsIsNoColumnOfTheTable) {
  World world;
  world.CreateTable();
  world.Run([&](Process& process) {
    const auto writer = process.Open();
    FlushRows(*writer, R"([[1, "a"], [2, "b"]])");
    ASSERT_OK(writer->Delete({Keys("[[2]]")}));
    ASSERT_OK(writer->Flush());
    EXPECT_EQ(SchemaOfSsTable(process, 0).FindByName("_tombstone")->id, FieldId(2));
    AddColumn(world, process, Column("flag", 2, arrow::boolean()));
    EXPECT_EQ(process.Fresh(), "1:a:null");
    ASSERT_TRUE(Must(writer->Evolve()));
    ASSERT_OK(writer->Put({RowsFor(*writer, R"([[3, "c", true], [4, "d", false], [5, "e", null]])")}));
    EXPECT_EQ(process.Fresh(), "1:a:null 3:c:true 4:d:false 5:e:null");
    EXPECT_EQ(Get(*writer, 1), "1:a:null");
    ASSERT_OK(writer->Flush());
    EXPECT_EQ(SchemaOfSsTable(process, 2).FindByName("_tombstone")->id, FieldId(3));
    EXPECT_EQ(process.Fresh(), "1:a:null 3:c:true 4:d:false 5:e:null");
    Compact(process);
    EXPECT_EQ(Sorted(Base(process)), "1:a:null 3:c:true 4:d:false 5:e:null");
  });
}

// A column that comes again under its old name is another column.
TEST(SchemaChange, DroppedAndAddedAgainIsAnotherColumn) {
  World world;
  world.CreateTable(R"([[0, "base"]])");
  world.Run([&](Process& process) {
    const auto writer = process.Open();
    FlushRows(*writer, R"([[1, "a"]])");
    ASSERT_OK(writer->Put({Row(2, "b")}));
    DropColumn(world, process, "text");
    AddColumn(world, process, Column("text", 2, arrow::utf8()));
    EXPECT_EQ(process.Fresh(), "0:null 1:null 2:null");
    ASSERT_TRUE(Must(writer->Evolve()));
    ASSERT_OK(writer->Put({Row(3, "c")}));
    EXPECT_EQ(process.Fresh(), "0:null 1:null 2:null 3:c");
    writer->Abort();
    const auto next = process.Open();
    EXPECT_EQ(process.Fresh(), "0:null 1:null 2:null 3:c");
    ASSERT_OK(next->Close());
    Compact(process);
    EXPECT_EQ(Sorted(Base(process)), "0:null 1:null 2:null 3:c");
  });
}

// What a table does that does not keep its field ids: values of the dropped column must not show under the other one.
TEST(SchemaChange, AnIdThatIsGivenAgainIsNoticed) {
  World world;
  world.CreateTable(R"([[0, "base"]])");
  world.Run([&](Process& process) {
    AddColumn(world, process, Number());
    const auto writer = process.Open();
    ASSERT_OK(writer->Put({RowsFor(*writer, R"([[1, "a", 11]])")}));
    ASSERT_OK(writer->Flush());
    ASSERT_OK(writer->Put({RowsFor(*writer, R"([[2, "b", 22]])")}));
    writer->Abort();
    RenameColumn(world, process, "n", "m");
    EXPECT_EQ(process.Fresh(), "0:base:null 1:a:11") << "what was renamed is the same column";
    DropColumn(world, process, "m");
    auto other = Number();
    other.name = "other";
    AddColumn(world, process, other);

    const auto table = process.Table();
    const auto version = table->version();
    const auto view = Must(FreshView::Open(*table));
    ExpectError(Must(view->Scan())->ToTable().status(), ErrorKind::kNotSupported, "no such column");
    ExpectError(view->Get(*Keys("[[1]]")).status(), ErrorKind::kNotSupported, "no such column");
    ExpectError(CompactShards(*table).status(), ErrorKind::kNotSupported, "no such column");
    ExpectError(ShardWriter::Open(*table, kShard, Eager()).status(), ErrorKind::kNotSupported, "no such column");
    EXPECT_EQ(process.Table()->version(), version);

    DropColumn(world, process, "other");  // as the error says
    ASSERT_OK(process.Open()->Close());
    EXPECT_EQ(process.Fresh(), "0:base 1:a 2:b");
    Compact(process);
    EXPECT_EQ(Sorted(Base(process)), "0:base 1:a 2:b");
  });
}

// Once for an SSTable and a version of the table, and only where a name has changed.
TEST(SchemaChange, ARenameIsLookedUpOnce) {
  World world;
  world.CreateTable();
  world.Run([&](Process& process) {
    FlushGenerations(process, {R"([[1, "a"]])"});
    for (const auto& [from, to] : {std::pair("text", "x"), std::pair("x", "y")}) RenameColumn(world, process, from, to);
    const auto view = Must(FreshView::Open(*process.Table()));
    world.Take();
    EXPECT_EQ(Scan(*view), "1:a");
    EXPECT_THAT(world.Take("table/_versions"), ::testing::SizeIs(3))
        << "the newest, by listing; the one before; with the name";
    EXPECT_EQ(Scan(*view), "1:a");
    EXPECT_THAT(world.Take("table/_versions"), IsEmpty());
  });
}

// A column whose type changed under its id, a key that is another one, a null that is not allowed any more: refused
// wherever the rows lie, never answered.
TEST(SchemaChange, WhatCannotBeFollowedIsRefused) {
  struct Case {
    std::function<void(std::vector<file::Field>&)> change;
    std::string word;
  };
  const std::vector<Case> cases = {
      {[](auto& columns) { columns[1] = Column("text", 1, arrow::int64()); }, "type"},
      {[](auto& columns) { columns[0].primary_key = false; }, "primary key"},
      {[](auto& columns) { columns[1].nullable = false; }, "must not be null"},
  };
  for (const Case& each : cases) {
    SCOPED_TRACE(each.word);
    World world;
    world.CreateTable();
    const auto refused = [&](const Process& process) {
      const auto view = FreshView::Open(*process.Table());
      if (!view.ok()) return view.status();
      const auto reader = Must((*view)->Scan());
      return reader->ToTable().status();
    };
    world.Run([&](Process& process) {
      const auto writer = process.Open();
      ASSERT_OK(writer->Put({Rows(R"([[1, "a"], [2, null]])")}));
      ASSERT_OK(writer->Delete({Keys("[[1]]")}));
      ChangeColumns(world, process, each.change);
      EXPECT_THAT(refused(process).message(), ::testing::HasSubstr(each.word)) << "in memory";
      ASSERT_OK(writer->Close());
      EXPECT_THAT(refused(process).message(), ::testing::HasSubstr(each.word)) << "in an SSTable";
      const auto version = process.Table()->version();
      EXPECT_FALSE(CompactShards(*process.Table()).ok());
      EXPECT_EQ(process.Table()->version(), version);
    });
  }
}

// The columns change between a pass's look at the rows and its commit.
TEST(SchemaChange, CompactionMeetsAChange) {
  const std::vector<std::pair<std::string, std::function<void(World&, const Process&)>>> changes = {
      {"0:base:null 1:a:null", [](World& world, const Process& process) { AddColumn(world, process, Number()); }},
      {"0 1", [](World& world, const Process& process) { DropColumn(world, process, "text"); }},
      {"0:base 1:a", [](World& world, const Process& process) { RenameColumn(world, process, "text", "words"); }},
  };
  for (const auto& [expected, change] : changes) {
    World world;
    world.CreateTable(R"([[0, "base"], [1, "base"]])");
    world.Run([&](Process& process) {
      FlushGenerations(process, {R"([[1, "a"], [2, "b"]])", R"([[2, "c"]])"});
      const auto writer = process.Open();
      ASSERT_OK(writer->Delete({Keys("[[2]]")}));
      ASSERT_OK(writer->Close());
      bool once = true;
      world.sim.OnSyncPoint("compact.rows_found", [&](const SyncHit&) {
        if (!std::exchange(once, false)) return SyncAction::Continue();
        process.runtime().Spawn("other", [&] { change(world, process); });
        return SyncAction::Delay(std::chrono::seconds(10));
      });
      Compact(process);
      EXPECT_FALSE(once);
      EXPECT_EQ(Recorded(process), Generation(3));
      EXPECT_EQ(Sorted(Base(process)), expected);
      EXPECT_EQ(process.Fresh(), expected);
    });
  }
}

}  // namespace
}  // namespace javelin::memwal
