// SSTables move into the base table: which rows, in how many commits and requests, and what is let go of afterwards.
#include "javelin/memwal/compactor.h"

#include "javelin/dataset/row_change.h"
#include "javelin/memwal/compactor_test_world.h"
#include "javelin/table/feature_flags.h"

namespace javelin::memwal {
namespace {

using namespace test;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(Compact, TheNewestRowOfEachKeyMoves) {
  World world;
  world.CreateTable(R"([[1, "base"], [2, "base"], [3, "base"], [4, "base"]])");
  world.Run([&](Process& process) {
    auto writer = process.Open();
    ASSERT_OK(writer->Put({Rows(R"([[2, "old"], [5, "gone"], [2, "one"], [3, "one"]])")}));
    ASSERT_OK(writer->Delete({Keys("[[4]]")}));
    ASSERT_OK(writer->Flush());
    ASSERT_OK(writer->Delete({Keys("[[5]]")}));
    FlushRows(*writer, R"([[3, "two"], [6, "two"]])");
    ASSERT_OK(writer->Put({Row(7, "memory")}));
    const std::string fresh = "1:base 2:one 3:two 6:two 7:memory";
    ASSERT_EQ(process.Fresh(), fresh);
    const auto version = process.Table()->version();

    const auto report = Must(CompactShards(*process.Table()));
    EXPECT_EQ(Base(process), "1:base 2:one 3:two 6:two");
    EXPECT_EQ(process.Fresh(), fresh);
    EXPECT_EQ(ReadBack(*writer), fresh);
    EXPECT_EQ(process.Table()->version(), version.Next()) << "rows and progress are one commit";
    EXPECT_EQ(report.dataset->version(), version.Next());
    ASSERT_EQ(report.shards.size(), 1u);
    const ShardCompaction& shard = report.shards[0];
    EXPECT_EQ(shard.shard.ToString(), kShard);
    EXPECT_EQ(shard.passes, 1u);
    EXPECT_EQ(shard.generations, Generations(1, 2));
    EXPECT_EQ(shard.rows_read, 8u);
    EXPECT_EQ(shard.rows_upserted, 3u);
    EXPECT_EQ(shard.rows_deleted, 2u);
    EXPECT_EQ(shard.compacted_through, Generation(2));
    EXPECT_EQ(shard.retired, Generations(1, 2));
    EXPECT_EQ(shard.awaiting_indexes, 0u);
    EXPECT_EQ(shard.skipped, "");
    EXPECT_THAT(Listed(process), IsEmpty());

    // The writer goes on, in the next generation.
    FlushRows(*writer, R"([[2, "three"]])");
    EXPECT_EQ(process.Fresh(), "1:base 2:three 3:two 6:two 7:memory");
    ASSERT_OK(writer->Close());
    EXPECT_EQ(Compact(process).generations, Generations(3, 3));
    EXPECT_EQ(Sorted(Base(process)), "1:base 2:three 3:two 6:two 7:memory");
  });
}

TEST(Compact, WhatIsDoneIsNotDoneAgain) {
  World world;
  world.CreateTable();
  world.Run([&](Process& process) {
    FlushGenerations(process, {R"([[1, "a"]])"});
    Compact(process);
    const auto before = world.Objects();
    world.Take();
    const auto again = Compact(process);
    EXPECT_EQ(again.passes, 0u);
    EXPECT_THAT(again.skipped, HasSubstr("holds every"));
    EXPECT_EQ(again.compacted_through, Generation(1));
    EXPECT_EQ(world.Objects(), before) << "nothing is written";
  });
}

// Requests of a pass that touches one fragment, apart from asking where shard and table stand, retiring and deletion.
TEST(Compact, APassTakesAFewRequests) {
  for (const uint64_t sstables : {1, 3}) {
    World world;
    world.CreateTable(R"([[1, "base"], [2, "base"], [3, "base"], [4, "base"]])");
    world.Run([&](Process& process) {
      std::vector<std::string> generations;
      for (uint64_t i = 1; i <= sstables; ++i) generations.push_back(fmt::format(R"([[{}, "new"], [9, "{}"]])", i, i));
      FlushGenerations(process, generations);
    });
    std::vector<std::string> pass;
    world.Run([&](Process& process) {
      const auto table = process.Table();
      world.sim.OnSyncPoint("compact.committed", [&](const SyncHit&) {
        pass = world.requests;
        return SyncAction::Continue();
      });
      world.Take();
      EXPECT_EQ(Must(CompactShards(*table)).shards.at(0).passes, 1u);
    });
    // A small object is one request, in however many pieces it is handed over.
    std::erase_if(pass, [](const std::string& request) { return request.starts_with("put_part "); });
    // Until the first request to an SSTable everything is a look at where things stand.
    const auto first = std::find_if(pass.begin(), pass.end(), [](const std::string& request) {
      return request.find("_gen_") != std::string::npos;
    });
    // SSTable: manifest, data. Base: keys. Commit: data, deletions, newest version, transaction, version.
    EXPECT_EQ(pass.end() - first, sstables == 1 ? 8 : 12) << fmt::format("{}", fmt::join(pass, "\n"));
  }
}

// All of a run over one shard: with a pass and two SSTables to retire, and with nothing to do.
TEST(Compact, ARunTakesAFewRequests) {
  World world;
  world.CreateTable(R"([[1, "base"], [2, "base"], [3, "base"], [4, "base"]])");
  world.Run([](Process& process) { FlushGenerations(process, {R"([[1, "a"]])", R"([[2, "b"]])"}); });
  std::vector<std::string> requests;
  const auto run = [&](Process& process) {
    const auto table = process.Table();
    world.Take();
    ASSERT_OK(CompactShards(*table).status());
    requests = world.Take();
    std::erase_if(requests, [](const std::string& request) { return request.starts_with("put_part "); });
  };
  const auto text = [&] { return fmt::format("{}", fmt::join(requests, "\n")); };
  world.Run(run);
  // Table 2, shards 1, shard 3, table 2; pass 10; shard 2, table 2; retire 3; folders 3, which versions list them 1
  // + 4.
  EXPECT_EQ(requests.size(), 31u) << text();
  world.Run([](Process& process) { static_cast<void>(CollectRetired(*process.Table(), AtOnce())); });
  world.Run(run);
  // Table 2, shards 1, shard 3, table 2, folders 3.
  EXPECT_EQ(requests.size(), 9u) << text();
}

TEST(Compact, AKeyThatTheBaseHoldsTwiceIsHeldOnceAfterwards) {
  World world;
  world.CreateTable(R"([[1, "first"], [2, "first"], [1, "last"], [2, "last"], [3, "first"], [3, "last"]])");
  world.Run([&](Process& process) {
    auto writer = process.Open();
    ASSERT_OK(writer->Put({Row(1, "new")}));
    ASSERT_OK(writer->Delete({Keys("[[2]]")}));
    ASSERT_OK(writer->Close());
    const auto shard = Compact(process);
    EXPECT_EQ(shard.rows_upserted, 1u);
    EXPECT_EQ(shard.rows_deleted, 1u);
    EXPECT_EQ(Base(process), "3:first 3:last 1:new");
  });
}

TEST(Compact, DeletionsAlone) {
  World world;
  world.CreateTable(R"([[1, "base"], [2, "base"]])");
  world.Run([&](Process& process) {
    auto writer = process.Open();
    ASSERT_OK(writer->Delete({Keys("[[2], [9]]")}));
    ASSERT_OK(writer->Flush());
    EXPECT_EQ(Compact(process).rows_deleted, 2u);
    EXPECT_EQ(Base(process), "1:base");
    EXPECT_EQ(Recorded(process), Generation(1));
    // Nothing to mask and nothing to write: the progress is recorded all the same.
    ASSERT_OK(writer->Delete({Keys("[[9]]")}));
    ASSERT_OK(writer->Flush());
    const auto version = process.Table()->version();
    EXPECT_EQ(Compact(process).passes, 1u);
    EXPECT_EQ(process.Table()->version(), version.Next());
    EXPECT_EQ(Recorded(process), Generation(2));
    // The last row of a fragment goes.
    ASSERT_OK(writer->Delete({Keys("[[1]]")}));
    ASSERT_OK(writer->Close());
    Compact(process);
    EXPECT_EQ(Base(process), "");
    EXPECT_EQ(process.Fresh(), "");
    EXPECT_THAT(process.Table()->manifest().fragments, IsEmpty());
  });
}

TEST(Compact, WithoutAKeyAllRowsAreAppended) {
  World world;
  world.CreateTable(R"([[1, "base"]])", {}, KeylessSchema());
  world.Run([&](Process& process) {
    FlushGenerations(process, {R"([[1, "a"], [1, "b"]])", R"([[1, "c"], [2, "c"]])"});
    const auto shard = Compact(process);
    EXPECT_EQ(shard.rows_upserted, 4u);
    EXPECT_EQ(Base(process), "1:base 1:a 1:b 1:c 2:c") << "in the order in which they were put";
    EXPECT_EQ(process.Fresh(), Sorted(Base(process)));
  });
}

std::shared_ptr<arrow::Schema> CompositeSchema() {
  const auto key = [](const std::string& position) {
    return arrow::key_value_metadata(
        {{std::string(file::kPrimaryKeyMetadata), "true"}, {"lance-schema:unenforced-primary-key:position", position}});
  };
  return arrow::schema({arrow::field("b", arrow::utf8(), false, key("2")), arrow::field("v", arrow::int32()),
                        arrow::field("a", arrow::int32(), false, key("1"))});
}

TEST(Compact, KeysOfSeveralColumns) {
  World world;
  world.CreateTable(R"([["x", 0, 1], ["y", 0, 1], ["x", 0, 2]])", {}, CompositeSchema());
  world.Run([&](Process& process) {
    const auto plain = arrow::schema({arrow::field("b", arrow::utf8(), false), arrow::field("v", arrow::int32()),
                                      arrow::field("a", arrow::int32(), false)});
    auto writer = process.Open();
    FlushRows(*writer, {Batch(plain, R"([["x", 1, 1], ["", 1, 1], ["z", 1, 3]])")});
    ASSERT_OK(writer->Delete({Batch(plain, R"([["y", null, 1], ["z", null, 3]])")}));
    ASSERT_OK(writer->Close());
    Compact(process);
    EXPECT_EQ(Base(process), "x:0:2 x:1:1 :1:1");
    EXPECT_EQ(process.Fresh(), Sorted(Base(process)));
  });
}

// The new column takes the number that the marker of deletions has in the SSTable, and even its type.
TEST(Compact, ColumnsFollowASchemaThatChanged) {
  World world;
  world.CreateTable(R"([[1, "base"], [2, "base"]])");
  world.Run([&](Process& process) {
    auto writer = process.Open();
    ASSERT_OK(writer->Put({Rows(R"([[2, "put"], [3, "put"]])")}));
    ASSERT_OK(writer->Delete({Keys("[[1]]")}));
    ASSERT_OK(writer->Close());
    const auto old = process.Table();
    std::vector<file::Field> fields = old->schema().fields();
    fields[1].name = "words";
    const auto added =
        Must(file::Schema::FromArrow(*arrow::schema({arrow::field("extra", arrow::boolean())}), FieldId(2)));
    fields.push_back(added.fields()[0]);
    std::swap(fields[0], fields[1]);
    PlantVersion(world, *old, [&](table::Manifest& manifest) { manifest.schema = file::Schema(fields, {}); });
    EXPECT_EQ(process.Fresh(), "put:2:null put:3:null");
    Compact(process);
    EXPECT_EQ(Base(process), "put:2:null put:3:null");
    fields.erase(fields.begin());
    PlantVersion(world, *process.Table(),
                 [&](table::Manifest& manifest) { manifest.schema = file::Schema(fields, {}); });
    EXPECT_EQ(Base(process), "2:null 3:null");
  });
}

TEST(Compact, ADroppedColumnIsLeftBehind) {
  World world;
  world.CreateTable(R"([[1, "base"]])");
  world.Run([&](Process& process) {
    FlushGenerations(process, {R"([[1, "put"], [2, "put"]])"});
    const auto old = process.Table();
    PlantVersion(world, *old,
                 [&](table::Manifest& manifest) { manifest.schema = file::Schema({old->schema().fields()[0]}, {}); });
    Compact(process);
    EXPECT_EQ(Base(process), "1 2");
  });
}

TEST(Compact, StableRowIdsSurviveAnUpsert) {
  World world;
  world.CreateTable();
  world.Run([&](Process& process) {
    PlantVersion(world, *process.Table(), [](table::Manifest& manifest) {
      manifest.reader_feature_flags |= table::flag::kStableRowIds;
      manifest.writer_feature_flags |= table::flag::kStableRowIds;
    });
    auto writer = process.Open();
    FlushRows(*writer, R"([[1, "a"], [2, "a"], [3, "a"], [4, "a"]])");
    Compact(process);
    ScanOptions ids;
    ids.columns = {"id", "text", "_rowid", "_row_created_at_version"};
    const auto created = process.Table()->version().value();
    EXPECT_EQ(Base(process, ids), fmt::format("1:a:0:{0} 2:a:1:{0} 3:a:2:{0} 4:a:3:{0}", created));
    // Matched rows in another order than the base's, from two SSTables, with new ones in between.
    FlushRows(*writer, R"([[4, "b"], [9, "b"], [2, "b"]])");
    ASSERT_OK(writer->Delete({Keys("[[3]]")}));
    FlushRows(*writer, R"([[8, "c"], [1, "c"]])");
    ASSERT_OK(writer->Close());
    Compact(process);
    const auto now = process.Table()->version().value();
    EXPECT_EQ(Sorted(Base(process, ids)),
              fmt::format("1:c:0:{0} 2:b:1:{0} 4:b:3:{0} 8:c:5:{1} 9:b:4:{1}", created, now));
  });
}

TEST(Compact, ManyRowsAreReadInBatches) {
  World world;
  world.CreateTable();
  world.Run([&](Process& process) {
    const auto rows = [](int64_t first, int64_t count, int64_t step, const std::string& text) {
      arrow::Int64Builder ids;
      arrow::StringBuilder texts;
      for (int64_t i = 0; i < count; ++i) {
        EXPECT_TRUE(ids.Append(first + i * step).ok() && texts.Append(text).ok());
      }
      return arrow::RecordBatch::Make(KeylessSchema(), count, {Must(ids.Finish()), Must(texts.Finish())});
    };
    auto writer = process.Open();
    FlushRows(*writer, {rows(0, 30'000, 1, "old")});
    FlushRows(*writer, {rows(0, 10'000, 2, "even")});      // every other row of a stretch of the first
    FlushRows(*writer, {rows(20'000, 9'000, 1, "late")});  // a stretch without a hole
    FlushRows(*writer, {rows(0, 29'990, 1, "newest")});    // leaves few rows far apart
    ASSERT_OK(writer->Close());
    const auto shard = Compact(process);
    EXPECT_EQ(shard.passes, 1u);
    EXPECT_EQ(shard.rows_upserted, 30'000u);
    const auto table = Collect(process.Table()->Scan());
    std::map<std::string, int64_t> counts;
    std::set<int64_t> ids;
    for (int64_t i = 0; i < table->num_rows(); ++i) {
      const auto id = static_cast<const arrow::Int64Array&>(*table->column(0)).Value(i);
      const auto text = static_cast<const arrow::StringArray&>(*table->column(1)).GetString(i);
      ids.insert(id);
      ++counts[text];
      EXPECT_EQ(text, id < 29'990 ? "newest" : "old");
    }
    EXPECT_EQ(ids.size(), 30'000u);
    EXPECT_EQ(counts["newest"], 29'990);
  });
}

TEST(Compact, TheBudgetCutsPassesAndNeverAGeneration) {
  World world;
  world.CreateTable(R"([[1, "base"]])");
  world.Run([&](Process& process) {
    FlushGenerations(process, {R"([[1, "a"]])", R"([[2, "b"], [1, "b"]])", R"([[1, "c"]])"});
    const auto sizes = TipOf(process).sstables;
    CompactOptions options;
    options.max_bytes_per_pass = *sizes[0].in_memory_bytes + *sizes[1].in_memory_bytes;
    const auto shard = Compact(process, options);
    EXPECT_EQ(shard.passes, 2u);
    EXPECT_EQ(shard.generations, Generations(1, 3));
    EXPECT_EQ(Sorted(Base(process)), "1:c 2:b");
    FlushGenerations(process, {R"([[1, "d"]])", R"([[1, "e"]])", R"([[1, "f"]])"});
    options.max_bytes_per_pass = 1;
    EXPECT_EQ(Compact(process, options).passes, 3u) << "one SSTable always fits";
    EXPECT_EQ(Sorted(Base(process)), "1:f 2:b");
  });
}

TEST(Compact, ADryRunSaysWhatThereIsToDo) {
  World world;
  world.CreateTable(R"([[1, "base"]])");
  world.Run([&](Process& process) {
    FlushGenerations(process, {R"([[1, "a"]])", R"([[1, "b"], [2, "b"]])"});
    CompactOptions options = AtOnce();
    options.dry_run = true;
    const auto before = world.Objects();
    auto shard = Compact(process, options);
    EXPECT_EQ(shard.passes, 0u);
    EXPECT_EQ(shard.generations, Generations(1, 2));
    EXPECT_EQ(shard.rows_read, 3u);
    EXPECT_THAT(shard.retired, IsEmpty());
    EXPECT_EQ(world.Objects(), before);
    EXPECT_EQ(Base(process), "1:base");
    Compact(process);
    shard = Compact(process, options);
    EXPECT_EQ(shard.folders_deleted, 2u) << "those that a run would delete";
    EXPECT_EQ(Must(CollectRetired(*process.Table(), options)), 2u);
    EXPECT_GT(SsTableObjects(world), 0u);
    uint64_t bytes = 0;
    for (const RetiredFolder& folder : Must(ListRetired(*process.Table(), shard.shard))) bytes += folder.bytes;
    EXPECT_EQ(bytes, SsTableBytes(world)) << "both folders, all of them";
    options.dry_run = false;
    Compact(process, options);
    EXPECT_THAT(Must(ListRetired(*process.Table(), shard.shard)), IsEmpty());
  });
}

TEST(Compact, EveryShardOfTheTableOrOne) {
  World world;
  world.CreateTable();
  const std::string other = "99999999-2222-4333-8444-555555555555";
  world.Run([&](Process& process) {
    FlushGenerations(process, {R"([[1, "a"]])"});
    auto writer = Must(process.TryOpen({}, other));
    FlushRows(*writer, R"([[2, "b"]])");
    ASSERT_OK(writer->Close());
    CompactOptions options;
    options.shard = Must(Uuid::Parse(other));
    EXPECT_EQ(Compact(process, options).shard.ToString(), other);
    EXPECT_EQ(Base(process), "2:b");
    const auto report = Must(CompactShards(*process.Table()));
    ASSERT_EQ(report.shards.size(), 2u);
    EXPECT_EQ(report.shards[0].generations, Generations(1, 1));
    EXPECT_THAT(report.shards[1].generations, IsEmpty());
    EXPECT_EQ(Base(process), "2:b 1:a");
    EXPECT_EQ(process.Fresh(), "1:a 2:b");
    options.shard = Must(Uuid::Parse("00000000-0000-4000-8000-000000000000"));
    const auto missing = CompactShards(*process.Table(), options).status();
    ExpectError(missing, ErrorKind::kNotFound, "no shard 00000000");
    EXPECT_EQ(FieldsOf(missing).at("shard"), options.shard->ToString());
  });
}

TEST(Compact, BadOptionsAndTables) {
  World world;
  world.Run([&](Process& process) {
    const auto reader = Must(arrow::RecordBatchReader::Make({Row(1, "a")}));
    const auto plain = Must(Dataset::Write(process.session, kTableUri, *reader));
    ExpectError(CompactShards(*plain).status(), ErrorKind::kNotFound, "MemWAL is not initialized");
    CompactOptions options;
    options.max_bytes_per_pass = 0;
    ExpectError(CompactShards(*plain, options).status(), ErrorKind::kInvalidInput, "max_bytes_per_pass");
    options = {};
    options.retired_grace = Duration(-1);
    ExpectError(CompactShards(*plain, options).status(), ErrorKind::kInvalidInput, "retired_grace");
    ExpectError(CollectRetired(*plain, options).status(), ErrorKind::kInvalidInput, "retired_grace");
  });
}

// What the table claims is checked against what the shard ever had. Sets the mark to `generation`.
void ExpectMarkIsRefused(World& world, Process& process, uint64_t generation, const std::string& word,
                         const std::string& field, const std::string& value) {
  ReplaceDetails(process, [generation](table::MemWalDetails& details) {
    details.compacted_sstables = {{ShardId(), Generation(generation)}};
  });
  const auto before = world.Objects();
  const auto refused = CompactShards(*process.Table()).status();
  ExpectError(refused, ErrorKind::kCorruption, word);
  EXPECT_EQ(FieldsOf(refused)[field], value);
  EXPECT_EQ(world.Objects(), before);
}

TEST(Compact, AMarkBeyondWhatWasFlushedIsSeen) {
  World world;
  world.CreateTable();
  world.Run([&](Process& process) {
    FlushGenerations(process, {R"([[1, "a"]])"});
    ExpectMarkIsRefused(world, process, 99, "generation 99", "recorded_generation", "99");
  });
}

TEST(Compact, AGenerationIsNeverSkipped) {
  World world;
  world.CreateTable();
  world.Run([&](Process& process) {
    FlushGenerations(process, {R"([[1, "a"]])", R"([[2, "b"]])"});
    Compact(process);
    FlushGenerations(process, {R"([[3, "c"]])"});
    // As after going back to a version of the table that knows less.
    ExpectMarkIsRefused(world, process, 1, "generation 2 of shard", "generation", "2");
  });
}

TEST(Compact, AFailingShardDoesNotHoldUpTheOthers) {
  World world;
  world.CreateTable();
  const std::string other = "99999999-2222-4333-8444-555555555555";
  world.Run([&](Process& process) {
    FlushGenerations(process, {R"([[1, "a"]])"});
    auto writer = Must(process.TryOpen({}, other));
    FlushRows(*writer, R"([[2, "b"]])");
    ASSERT_OK(writer->Close());
    ReplaceDetails(process,
                   [](table::MemWalDetails& details) { details.compacted_sstables = {{ShardId(), Generation(99)}}; });
    const auto failed = CompactShards(*process.Table()).status();
    ExpectError(failed, ErrorKind::kCorruption, kShard);
    EXPECT_EQ(FieldsOf(failed).at("shard"), kShard);
    EXPECT_EQ(Base(process), "2:b");
  });
}

// Rows put under generations that the table says it holds would never be read, and be let go of by the next compaction.
TEST(Compact, AShardWhoseFolderIsGoneTakesNoWriterUnderTheSameId) {
  World world;
  world.CreateTable();
  world.Run([&](Process& process) {
    FlushGenerations(process, {R"([[1, "a"]])"});
    Compact(process);
    for (const auto& [key, bytes] : world.Objects()) {
      if (key.find("_mem_wal") != std::string::npos) ASSERT_OK(world.store->raw().Delete(key));
    }
  });
  const auto before = world.Objects();
  world.Run([&](Process& process) {
    const auto opened = process.TryOpen(Eager());
    ExpectError(opened.status(), ErrorKind::kCorruption, "stream into a shard with a new id");
    EXPECT_EQ(world.Objects(), before);
    ASSERT_OK(process.TryOpen(Eager(), "99999999-2222-4333-8444-555555555555").status());
  });
}

// ---- MemWAL taken off a table and turned on again: the record of what the base holds is gone ----

void TakeOffMemWal(World& world, const Process& process) {
  PlantVersion(world, *process.Table(), [](table::Manifest& manifest) { manifest.indices.clear(); });
}

// Else the SSTable, whose rows the base may hold in newer versions, would hide those.
TEST(InitializeAgain, WhatShardsStillListIsTakenOverOnDemandOnly) {
  World world;
  world.CreateTable(R"([[0, "base"]])");
  world.Run([&](Process& process) {
    FlushGenerations(process, {R"([[1, "one"]])"});
    Compact(process, AtOnce());
    FlushGenerations(process, {R"([[1, "two"], [2, "two"]])", R"([[3, "three"]])"});
    TakeOffMemWal(world, process);
    const auto table = process.Table();
    ExpectError(Initialize(*table, {}).status(), ErrorKind::kInvalidInput, "lists 2 SSTables");
    EXPECT_EQ(process.Table()->version(), table->version());

    InitializeOptions options;
    options.adopt_sstables = true;
    ASSERT_OK(Initialize(*table, options).status());
    EXPECT_EQ(Recorded(process), Generation(1)) << "what came before the oldest one";
    EXPECT_EQ(process.Fresh(), "0:base 1:two 2:two 3:three");
    Compact(process);
    EXPECT_EQ(Sorted(Base(process)), "0:base 1:two 2:two 3:three");
  });
}

TEST(InitializeAgain, WhatIsNotListedAnyMoreTheBaseHolds) {
  World world;
  world.CreateTable(R"([[0, "base"]])");
  world.Run([&](Process& process) {
    FlushGenerations(process, {R"([[1, "one"]])", R"([[2, "two"]])"});
    Compact(process, AtOnce());
    TakeOffMemWal(world, process);
    ASSERT_OK(Initialize(*process.Table(), {}).status());
    EXPECT_EQ(Recorded(process), Generation(2));
    FlushGenerations(process, {R"([[2, "new"], [3, "new"]])"});
    EXPECT_EQ(process.Fresh(), "0:base 1:one 2:new 3:new");
    Compact(process);
    EXPECT_EQ(Recorded(process), Generation(3));
    EXPECT_EQ(Sorted(Base(process)), "0:base 1:one 2:new 3:new");
  });
}

}  // namespace
}  // namespace javelin::memwal
