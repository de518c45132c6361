// Reading base and memory as one table: newest wins, deleted rows are gone, nothing is written.
#include "javelin/memwal/fresh_view.h"

#include "javelin/memwal/compactor.h"
#include "javelin/memwal/sources_internal.h"
#include "javelin/memwal/writer_test_world.h"

namespace javelin::memwal {
namespace {

using namespace test;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

ScanOptions Columns(std::vector<std::string> columns) {
  ScanOptions options;
  options.columns = std::move(columns);
  return options;
}

TEST(FreshView, NewestRowOfEachKeyOverBaseFrozenAndActive) {
  World world;
  world.CreateTable(R"([[1, "base"], [2, "base"], [3, "base"], [4, "base"]])");
  world.Run([&](Process& process) {
    auto writer = process.Open(BatchesPerTable(2));
    ASSERT_OK(writer->Put({Rows(R"([[2, "frozen"], [3, "frozen"], [5, "frozen"]])")}));
    ASSERT_OK(writer->Delete({Keys("[[4], [9]]")}));
    ASSERT_EQ(writer->memtable_stats().frozen_count, 1u);
    ASSERT_OK(writer->Put({Rows(R"([[3, "first"], [6, "active"], [3, "active"]])")}));
    const auto view = Must(FreshView::Open(*process.Table()));
    EXPECT_EQ(Scan(*view), "6:active 3:active 2:frozen 5:frozen 1:base") << "newest generation first, the base last";
    EXPECT_EQ(Must(view->CountRows()), 5u);
    // The view is what it was, whatever follows.
    ASSERT_OK(writer->Delete({Keys("[[1], [2], [3], [5], [6]]")}));
    EXPECT_EQ(Scan(*view), "6:active 3:active 2:frozen 5:frozen 1:base");
    EXPECT_EQ(process.Fresh(), "");
    EXPECT_EQ(Must(Must(FreshView::Open(*process.Table()))->CountRows()), 0u);
    ASSERT_OK(writer->Put({Row(4, "again")}));
    EXPECT_EQ(process.Fresh(), "4:again");
  });
}

TEST(FreshView, ProjectionLimitAndOffset) {
  World world;
  world.CreateTable(R"([[1, "base"], [2, "base"], [3, "base"], [4, "base"]])");
  world.Run([&](Process& process) {
    auto writer = process.Open(BatchesPerTable(1));
    ASSERT_OK(writer->Put({Rows(R"([[2, "old"], [5, "old"]])")}));
    ASSERT_OK(writer->Put({Rows(R"([[5, "new"], [6, "new"]])")}));
    const auto view = Must(FreshView::Open(*process.Table()));
    const std::vector<std::string> all{"5:new", "6:new", "2:old", "1:base", "3:base", "4:base"};
    EXPECT_EQ(Scan(*view), fmt::format("{}", fmt::join(all, " ")));
    EXPECT_EQ(Scan(*view, Columns({"text"})), "new new old base base base") << "the key is checked without being shown";
    EXPECT_EQ(Scan(*view, Columns({"text", "id"})), "new:5 new:6 old:2 base:1 base:3 base:4");
    EXPECT_EQ(Collect(view->Scan(Columns({"text"})))->schema()->field_names(), std::vector<std::string>{"text"});
    for (uint64_t offset = 0; offset <= 7; ++offset) {
      for (uint64_t limit = 0; limit <= 7; ++limit) {
        for (const uint64_t batch_rows : {1, 2, 100}) {
          ScanOptions options;
          options.offset = offset;
          options.limit = limit;
          options.batch_rows = batch_rows;
          std::vector<std::string> expected;
          for (uint64_t i = offset; i < std::min<uint64_t>(offset + limit, all.size()); ++i) expected.push_back(all[i]);
          EXPECT_EQ(Scan(*view, options), fmt::format("{}", fmt::join(expected, " "))) << offset << " " << limit;
          auto reader = Must(view->Scan(options));
          for (auto batch = Must(reader->Next()); batch != nullptr; batch = Must(reader->Next())) {
            EXPECT_LE(static_cast<uint64_t>(batch->num_rows()), batch_rows);
            EXPECT_GT(batch->num_rows(), 0);
          }
        }
      }
    }
    ExpectError(view->Scan(Columns({"nothing"})).status(), ErrorKind::kInvalidInput, "nothing");
    EXPECT_EQ(Must(view->CountRows()), 6u);
    auto none = Must(view->Scan(Columns({})));
    EXPECT_EQ(none->schema()->num_fields(), 0);
  });
}

TEST(FreshView, RowsInMemoryHaveNoAddressYet) {
  World world;
  world.CreateTable(R"([[1, "base"], [2, "base"]])");
  world.Run([&](Process& process) {
    auto writer = process.Open();
    ASSERT_OK(writer->Put({Row(1, "new")}));
    ScanOptions options = Columns({"id"});
    options.with_row_id = true;
    options.with_row_address = true;
    const auto rows = Collect(Must(FreshView::Open(*process.Table()))->Scan(options));
    EXPECT_EQ(rows->schema()->field_names(), (std::vector<std::string>{"id", "_rowid", "_rowaddr"}));
    EXPECT_EQ(Text(*rows), "1:null:null 2:1:1");
  });
}

TEST(FreshView, WithoutAKeyEverythingIsConcatenated) {
  World world;
  world.CreateTable(R"([[1, "base"], [2, "base"]])", {}, KeylessSchema());
  world.Run([&](Process& process) {
    auto writer = process.Open(BatchesPerTable(1));
    ASSERT_OK(writer->Put({Rows(R"([[1, "a"], [1, "b"]])")}));
    ASSERT_OK(writer->Put({Row(1, "c")}));
    const auto view = Must(FreshView::Open(*process.Table()));
    EXPECT_EQ(Scan(*view), "1:c 1:a 1:b 1:base 2:base");
    EXPECT_EQ(Must(view->CountRows()), 5u);
    ScanOptions options;
    options.offset = 2;
    options.limit = 2;
    EXPECT_EQ(Scan(*view, options), "1:b 1:base");
    ExpectError(view->Get(*Keys("[[1]]")).status(), ErrorKind::kInvalidInput, "no primary key");
  });
}

TEST(FreshView, WithoutMemoryItIsTheBaseTable) {
  World world;
  world.CreateTable(R"([[1, "base"], [2, "base"]])");
  world.Run([&](Process& process) {
    EXPECT_EQ(process.Fresh(), "1:base 2:base");
    auto writer = process.Open();
    EXPECT_EQ(process.Fresh(), "1:base 2:base");
    EXPECT_EQ(Text(*Must(Must(FreshView::Open(*process.Table()))->Get(*Keys("[[2], [3]]")))), "2:base");
  });
}

TEST(FreshView, GetInTheOrderAsked) {
  World world;
  world.CreateTable(R"([[1, "base"], [2, "base"], [3, "base"], [8, "base"]])");
  world.Run([&](Process& process) {
    auto writer = process.Open(BatchesPerTable(2));
    ASSERT_OK(writer->Put({Rows(R"([[2, "frozen"], [7, "v1"], [7, "v2"]])")}));
    ASSERT_OK(writer->Delete({Keys("[[3]]")}));
    ASSERT_OK(writer->Put({Rows(R"([[4, "active"], [4, "newest"]])")}));
    const auto view = Must(FreshView::Open(*process.Table()));
    const auto get = [&](const std::string& keys) { return Text(*Must(view->Get(*Keys(keys)))); };
    EXPECT_EQ(get("[[7]]"), "7:v2") << "the newest of two versions in one MemTable, one row";
    EXPECT_EQ(get("[[8], [4], [1], [2], [7]]"), "8:base 4:newest 1:base 2:frozen 7:v2");
    EXPECT_EQ(get("[[4], [4], [1], [4], [1]]"), "4:newest 1:base") << "a key asked twice answers once";
    EXPECT_EQ(get("[[3], [99]]"), "") << "deleted and unknown keys are absent";
    EXPECT_EQ(get("[]"), "");
    EXPECT_EQ(Text(*Must(view->Get(*Keys("[[1], [7]]"), std::vector<std::string>{"text"}))), "base v2");
    const auto extra = Batch(arrow::schema({arrow::field("other", arrow::utf8()), arrow::field("id", arrow::int64())}),
                             R"([["x", 1]])");
    EXPECT_EQ(Text(*Must(view->Get(*extra))), "1:base") << "further columns of the keys are ignored";
    const auto invalid = ErrorKind::kInvalidInput;
    ExpectError(view->Get(*Batch(arrow::schema({arrow::field("x", arrow::int64())}), "[[1]]")).status(), invalid,
                "'id'");
    ExpectError(view->Get(*Batch(arrow::schema({arrow::field("id", arrow::int32())}), "[[1]]")).status(), invalid,
                "int32");
    ExpectError(view->Get(*Batch(arrow::schema({arrow::field("id", arrow::int64())}), "[[null]]")).status(), invalid,
                "null");
    ExpectError(view->Get(*Keys("[[1]]"), std::vector<std::string>{"nothing"}).status(), invalid, "nothing");
  });
}

// Insert, then update to null in one MemTable: the last write counts, null or not.
TEST(FreshView, ANullReplacesAValue) {
  World world;
  world.CreateTable();
  world.Run([&](Process& process) {
    auto writer = process.Open();
    ASSERT_OK(writer->Put({Row(1, "x")}));
    ASSERT_OK(writer->Put({Rows("[[1, null]]")}));
    EXPECT_EQ(process.Fresh(), "1:null");
    EXPECT_EQ(Text(*Must(Must(FreshView::Open(*process.Table()))->Get(*Keys("[[1]]")))), "1:null");
  });
}

// The released peer forgets a frozen MemTable until it is flushed; a row that a put acknowledged never disappears here.
TEST(FreshView, FrozenMemTablesAreRead) {
  for (const bool planted : {false, true}) {
    World world;
    if (planted) world.sim.PlantBug("writer.frozen_left_out_of_view");
    world.CreateTable();
    world.Run([&](Process& process) {
      auto writer = process.Open(BatchesPerTable(1));
      ASSERT_OK(writer->Put({Row(1, "a")}));
      ASSERT_EQ(writer->memtable_stats().frozen_count, 1u);
      EXPECT_EQ(process.Fresh(), planted ? "" : "1:a");
      EXPECT_EQ(world.sim.PlantedBugWasAsked("writer.frozen_left_out_of_view"), planted);
    });
  }
}

// While rows move from active to frozen under readers, every view holds a prefix of the puts.
TEST(FreshView, EveryViewIsAPrefixOfThePuts) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    World world(seed);
    world.CreateTable();
    world.Run([&](Process& process) {
      auto writer = process.Open(BatchesPerTable(2));
      bool done = false;
      auto putter = process.runtime().Spawn("putter", [&] {
        std::vector<Ticket> tickets;
        for (int i = 0; i < 12; ++i) tickets.push_back(Must(writer->PutAsync({Row(i, "x")})));
        for (const Ticket& ticket : tickets) ASSERT_OK(ticket.Wait());
        done = true;
      });
      uint64_t before = 0;
      while (!done) {
        const auto view = Must(FreshView::OpenForWriter(*writer));
        const auto rows = Collect(view->Scan(Columns({"id"})));
        std::set<int64_t> ids;
        for (int64_t i = 0; i < rows->num_rows(); ++i)
          ids.insert(static_cast<const arrow::Int64Array&>(*rows->column(0)).Value(i));
        EXPECT_EQ(ids.size(), static_cast<size_t>(rows->num_rows()));
        EXPECT_TRUE(ids.empty() || *ids.rbegin() + 1 == static_cast<int64_t>(ids.size()))
            << "not a prefix, seed " << seed;
        EXPECT_GE(ids.size(), before);
        before = ids.size();
        process.runtime().Sleep(std::chrono::milliseconds(7));
      }
      putter.Join();
      EXPECT_EQ(Must(Must(FreshView::OpenForWriter(*writer))->CountRows()), 12u);
    });
  }
}

TEST(FreshView, ReadingWritesNothing) {
  World world;
  world.CreateTable(R"([[1, "base"]])");
  world.Run([&](Process& process) {
    auto writer = process.Open();
    ASSERT_OK(writer->Put({Row(2, "a")}));
    const auto table = process.Table();
    world.Take();
    const auto view = Must(FreshView::Open(*table));
    (void)Scan(*view);
    (void)Must(view->Get(*Keys("[[1], [2]]")));
    (void)Must(view->CountRows());
    (void)Scan(*Must(FreshView::OpenForWriter(*writer)));
    for (const auto& request : world.Take())
      EXPECT_THAT(request, testing::AnyOf(HasSubstr("get"), HasSubstr("head"), HasSubstr("list")));
  });
}

TEST(FreshView, TheOwnShardCostsNoManifestRequest) {
  World world;
  world.CreateTable();
  world.Run([&](Process& process) {
    auto writer = process.Open();
    for (int64_t generation = 1; generation <= 3; ++generation) {
      ASSERT_OK(writer->Put({Row(generation, "a")}));
      ASSERT_OK(writer->Flush());
    }
    ASSERT_OK(writer->Put({Row(4, "a")}));
    const auto table = process.Table();
    EXPECT_EQ(Must(Must(FreshView::Open(*table))->CountRows()), 4u);
    world.Take();
    const auto view = Must(FreshView::Open(*table));
    EXPECT_EQ(Must(view->CountRows()), 4u);
    EXPECT_THAT(world.Take(), ElementsAre("list table/_mem_wal/", "list table/_versions/"));
  });
}

TEST(FreshView, SeveralShardsOfOneSession) {
  World world;
  world.CreateTable(R"([[1, "base"], [2, "base"]])");
  world.Run([&](Process& process) {
    auto first = process.Open();
    auto second = Must(process.TryOpen({}, "99999999-2222-4333-8444-555555555555"));
    ASSERT_OK(first->Put({Row(1, "first")}));
    ASSERT_OK(second->Delete({Keys("[[2]]")}));
    ASSERT_OK(second->Put({Row(3, "second")}));
    EXPECT_EQ(process.Fresh(), "1:first 3:second");
    EXPECT_EQ(ReadBack(*first), "1:first 2:base") << "one writer's own shard";
    ASSERT_OK(second->Close());
    EXPECT_EQ(process.Fresh(), "1:first 3:second") << "a closed writer's rows are in an SSTable";
    second = Must(process.TryOpen({}, "99999999-2222-4333-8444-555555555555"));
    ASSERT_OK(second->Put({Row(1, "misplaced"), Row(4, "more")}));
    EXPECT_EQ(process.Fresh(), "1:first 1:misplaced 3:second 4:more") << "a key belongs to one shard";
  });
}

// A folder that is no shard, and the shard of another process without SSTables, are no obstacle.
TEST(FreshView, OtherThingsBelowTheShards) {
  World world;
  world.CreateTable(R"([[1, "base"]])");
  ASSERT_OK(world.store->raw().Put("table/_mem_wal/notes/readme.txt", arrow::Buffer::FromString("x")));
  world.Run([&](Process& process) { ASSERT_OK(process.Open()->Put({Row(2, "in the log")})); });
  world.Run([&](Process& process) { EXPECT_EQ(process.Fresh(), "1:base"); });
}

arrow::Status AddSsTable(ShardManifestStore& manifests, uint64_t generation) {
  return manifests
      .CommitUpdate(Must(manifests.Latest())->writer_epoch,
                    [generation](const ShardManifest& base) {
                      ShardManifest next = base.NextVersion();
                      next.sstables.push_back({Generation(generation), fmt::format("0123abcd_gen_{}", generation)});
                      next.current_generation = Generation(generation + 1);
                      return arrow::Result<ShardManifest>(next);
                    })
      .Get()
      .status();
}

// An SSTable that is listed but cannot be read fails the read and names the folder; nothing is left out silently.
TEST(FreshView, AnSsTableThatIsGoneFailsTheRead) {
  World world;
  world.CreateTable(R"([[1, "base"]])");
  world.Run([&](Process& process) {
    auto writer = process.Open();
    ASSERT_OK(writer->Put({Row(2, "a")}));
    ASSERT_OK(AddSsTable(*writer->manifest_store(), 1));
    EXPECT_EQ(process.Fresh(), "1:base 2:a") << "memory still holds that generation";
  });
  world.Run([&](Process& process) {
    const auto view = Must(FreshView::Open(*process.Table()));
    const auto refused = Must(view->Scan())->ToTable().status();
    ExpectError(refused, ErrorKind::kNotFound, "0123abcd_gen_1");
    EXPECT_THAT(FieldsOf(refused).at("path"), HasSubstr("0123abcd_gen_1"));
    ExpectError(view->Get(*Keys("[[1]]")).status(), ErrorKind::kNotFound, "0123abcd_gen_1");
    ExpectError(view->CountRows().status(), ErrorKind::kNotFound, "0123abcd_gen_1");
  });
}

// What somebody else publishes is seen although the closed writer, which knows older versions, is still held.
TEST(FreshView, AClosedWriterThatIsHeldHidesNothing) {
  World world;
  world.CreateTable(R"([[1, "base"]])");
  world.Run([&](Process& process) {
    auto writer = process.Open();
    const Ticket ticket = Must(writer->PutAsync({Row(2, "a")}));
    ASSERT_OK(writer->Close());
    EXPECT_EQ(process.Fresh(), "1:base 2:a");
    Process peer(world.sim.runtime(), world.store);
    auto other = peer.Open();
    ASSERT_OK(other->Put({Rows(R"([[2, "newer"], [3, "theirs"]])")}));
    ASSERT_OK(other->Flush());
    EXPECT_EQ(process.Fresh(), "1:base 2:newer 3:theirs");
    EXPECT_TRUE(ticket.Done());
  });
}

// The generations of an overtaken writer mean something else by now.
TEST(FreshView, AnOvertakenWriterIsNoSource) {
  World world;
  world.CreateTable(R"([[1, "base"]])");
  world.Run([&](Process& process) {
    auto writer = process.Open();
    ASSERT_OK(writer->Put({Row(2, "a")}));
    Process peer(world.sim.runtime(), world.store);
    auto other = peer.Open();
    ASSERT_OK(other->Put({Row(3, "theirs")}));
    ASSERT_OK(AddSsTable(*other->manifest_store(), 1));
    ASSERT_OK(writer->RefreshManifest().status());
    const auto kind = ErrorKind::kFencedPeerClaimedEpoch;
    ExpectError(FreshView::Open(*process.Table()).status(), kind, "another one has claimed epoch 2");
    ExpectError(FreshView::OpenForWriter(*writer).status(), kind, "close this writer");
  });
}

TEST(FreshView, SsTablesBelowTheWatermarkAreInTheBase) {
  World world;
  world.CreateTable(R"([[1, "base"], [2, "compacted"]])");
  world.Run([&](Process& process) {
    {
      auto writer = process.Open();
      ASSERT_OK(AddSsTable(*writer->manifest_store(), 1));
    }
    ExpectError(Must(FreshView::Open(*process.Table()))->CountRows().status(), ErrorKind::kNotFound, "0123abcd_gen_1");
    ReplaceDetails(process, [](table::MemWalDetails& details) {
      details.compacted_sstables = {{Must(Uuid::Parse(kShard)), Generation(1)}};
    });
    EXPECT_EQ(process.Fresh(), "1:base 2:compacted");
    auto writer = process.Open();
    EXPECT_EQ(writer->memtable_stats().generation, 2u);
    ASSERT_OK(writer->Put({Row(2, "newer")}));
    EXPECT_EQ(process.Fresh(), "1:base 2:newer");
  });
}

// ---- columns of a table that changed since the writer was opened ----

// The next version of the table, as somebody who changes schemas would commit it.
void CommitSchema(World& world, const Dataset& table, file::Schema schema) {
  table::Manifest manifest = table.manifest();
  manifest.version = manifest.version.Next();
  manifest.schema = std::move(schema);
  const std::string name = fmt::format("{:020}.manifest", UINT64_MAX - manifest.version.value());
  ASSERT_OK(
      world.store->raw().PutIfAbsent(table.Key("_versions/" + name), Must(table::EncodeManifestFile(manifest, ""))));
}

TEST(FreshView, RowsInMemoryFollowASchemaThatChanges) {
  World world;
  world.CreateTable(R"([[1, "base"], [2, "base"]])");
  world.Run([&](Process& process) {
    auto writer = process.Open(BatchesPerTable(1));
    ASSERT_OK(writer->Put({Rows(R"([[2, "memory"], [3, "memory"]])")}));
    auto table = process.Table();
    std::vector<file::Field> fields = table->schema().fields();
    fields[1].name = "words";
    const auto added =
        Must(file::Schema::FromArrow(*arrow::schema({arrow::field("extra", arrow::int32())}), FieldId(7)));
    fields.push_back(added.fields()[0]);
    CommitSchema(world, *table, file::Schema(fields, {}));
    table = process.Table();
    EXPECT_EQ(table->arrow_schema()->field_names(), (std::vector<std::string>{"id", "words", "extra"}));
    EXPECT_EQ(process.Fresh(), "1:base:null 2:memory:null 3:memory:null")
        << "a renamed column keeps its values, an added one is null";
    const auto view = Must(FreshView::Open(*table));
    EXPECT_EQ(Text(*Must(view->Get(*Keys("[[3], [1]]"), std::vector<std::string>{"extra", "words"}))),
              "null:memory null:base");
    fields.erase(fields.begin() + 1);
    CommitSchema(world, *table, file::Schema(fields, {}));
    EXPECT_EQ(process.Fresh(), "1:null 2:null 3:null") << "a dropped column is gone";
    ASSERT_OK(writer->Put({Row(4, "old schema")}));
    EXPECT_EQ(process.Fresh(), "1:null 2:null 3:null 4:null");
    writer.reset();
    // Reopened under the new schema: what the log holds of the old one follows.
    auto next = process.Open();
    EXPECT_EQ(ReadBack(*next), "1:null 2:null 3:null 4:null");
    ASSERT_OK(next->Put({Batch(
        arrow::schema({arrow::field("id", arrow::int64()), arrow::field("extra", arrow::int32())}), "[[3, 33]]")}));
    EXPECT_EQ(process.Fresh(), "1:null 2:null 3:33 4:null");
  });
}

file::Schema Evolved(const arrow::FieldVector& fields, const std::vector<int32_t>& ids) {
  auto schema = Must(file::Schema::FromArrow(*arrow::schema(fields)));
  std::vector<file::Field> evolved = schema.fields();
  for (size_t i = 0; i < evolved.size(); ++i) evolved[i].id = FieldId(ids[i]);
  return file::Schema(std::move(evolved), {});
}

TEST(MemoryRows, ColumnsAreMatchedByFieldId) {
  World world;
  world.CreateTable();
  world.Run([&](Process& process) {
    auto writer = process.Open();
    ASSERT_OK(writer->Put({Rows(R"([[1, "a"], [2, "b"], [3, "c"]])")}));
    const auto view = Must(writer->Snapshot())[0];
    const auto& batch = *view.table->store()[0].batch;
    const auto take = [&](const file::Schema& target) {
      MemoryRows rows(target);
      return rows.Take(*view.table, batch, {true, false, true});
    };
    const auto id = KeyedSchema()->field(0);
    EXPECT_EQ(Text(*Must(take(Evolved({id, arrow::field("renamed", arrow::utf8())}, {0, 1})))), "1:a 3:c");
    EXPECT_EQ(Text(*Must(take(Evolved({arrow::field("added", arrow::int32()), id, arrow::field("text", arrow::utf8())},
                                      {5, 0, 1})))),
              "null:1:a null:3:c");
    EXPECT_EQ(Text(*Must(take(Evolved({id}, {0})))), "1 3") << "a dropped column is gone";
    EXPECT_EQ(Text(*Must(take(Evolved({id, arrow::field("text", arrow::utf8())}, {0, 9})))), "1:null 3:null")
        << "a new column under an old name is another column";
    EXPECT_FALSE(take(Evolved({id, arrow::field("text", arrow::int64())}, {0, 1})).ok())
        << "a changed type is no match";
  });
}

// ---- versions ----

// What shards hold goes with the newest version only; on top of an older one it would be a table that never was.
TEST(FreshView, OfAnOlderVersionThereIsNone) {
  World world;
  world.CreateTable(R"([[1, "base"]])");
  world.Run([&](Process& process) {
    const auto opened = process.Table();
    const TableVersion newest = opened->version();
    const auto by_number = Must(Dataset::Open(process.session, kTableUri, {.version = newest}));
    EXPECT_EQ(Scan(*Must(FreshView::Open(*by_number))), "1:base") << "it is the newest";
    const auto writer = process.Open(Eager());
    ASSERT_OK(writer->Put({Row(2, "new")}));
    EXPECT_EQ(Sorted(Scan(*Must(FreshView::Open(*by_number)))), "1:base 2:new");
    Must(opened->Append(*Must(arrow::RecordBatchReader::Make({Row(3, "appended")}))));
    EXPECT_EQ(Sorted(Scan(*Must(FreshView::Open(*opened)))), "1:base 2:new 3:appended") << "a handle may become old";
    const FreshOptions old{.max_staleness = std::chrono::hours(1)};
    for (const auto& past : {by_number, Must(opened->Checkout(newest)), Must(opened->Checkout(TableVersion(1)))}) {
      ExpectError(FreshView::Open(*past).status(), ErrorKind::kNotSupported, "checkout_latest()");
      ExpectError(FreshView::Open(*past, old).status(), ErrorKind::kNotSupported, "checkout_latest()");
      EXPECT_EQ(Sorted(Scan(*Must(FreshView::Open(*Must(past->CheckoutLatest()))))), "1:base 2:new 3:appended");
    }
    ASSERT_OK(writer->Close());
    EXPECT_EQ(process.Fresh(), "1:base 2:new 3:appended");
    ExpectError(FreshView::Open(*by_number, old).status(), ErrorKind::kNotSupported, "checkout_latest()");
    EXPECT_EQ(Sorted(Scan(*Must(FreshView::OfSnapshots(by_number, {})))), "1:base") << "who lists SSTables says which";
  });
}

// ---- requests ----

// Shards with an SSTable each, and nobody who writes to them.
void PublishShards(World& world, int shards) {
  world.Run([&](Process& process) {
    for (int i = 0; i < shards; ++i) {
      auto writer = Must(process.TryOpen(Eager(), fmt::format("11111111-2222-4333-8444-{:012}", i)));
      ASSERT_OK(writer->Put({Row(i, fmt::format("shard{}", i))}));
      ASSERT_OK(writer->Close());
    }
  });
}

std::string Joined(const std::vector<std::string>& requests) { return fmt::format("{}", fmt::join(requests, "\n")); }

TEST(FreshViewRequests, ThreePerShardColdAndTwoWarm) {
  for (const int shards : {0, 1, 3}) {
    World world;
    world.CreateTable();
    PublishShards(world, shards);
    world.Run([&](Process& process) {
      const auto table = process.Table();
      world.Take();
      const auto first = Must(FreshView::Open(*table));
      auto requests = world.Take();
      EXPECT_THAT(requests, SizeIs(2 + 3 * shards)) << Joined(requests);
      const auto second = Must(FreshView::Open(*table));
      requests = world.Take();
      EXPECT_THAT(requests, SizeIs(2 + 2 * shards)) << Joined(requests);
      EXPECT_EQ(second->tiers(), first->tiers());
      // A handle on an older version is no worse.
      Must(table->Append(*Must(arrow::RecordBatchReader::Make({Row(100, "base")}))));
      EXPECT_EQ(Must(Must(FreshView::Open(*table))->CountRows()), shards + 1u);
      world.Take();
      Must(FreshView::Open(*table));
      requests = world.Take();
      EXPECT_THAT(requests, SizeIs(2 + 2 * shards)) << Joined(requests);
    });
  }
}

TEST(FreshViewRequests, WarmViewsSeeWhatOthersDo) {
  World world;
  world.CreateTable();
  PublishShards(world, 1);
  // A process that looks, and others that write meanwhile: to the shard, to a new one, to the base.
  world.Run([&](Process& looking) {
    const auto table = looking.Table();
    const auto fresh = [&] { return Sorted(Scan(*Must(FreshView::Open(*table)))); };
    EXPECT_EQ(fresh(), "0:shard0");
    EXPECT_EQ(fresh(), "0:shard0");
    const Process other(world.sim.runtime(), world.store);
    const auto publish = [&](const std::string& shard, const std::string& json) {
      auto writer = Must(other.TryOpen(Eager(), shard));
      ASSERT_OK(writer->Put({Rows(json)}));
      ASSERT_OK(writer->Close());
    };
    publish("11111111-2222-4333-8444-000000000000", R"([[0, "newer"], [5, "more"]])");
    EXPECT_EQ(fresh(), "0:newer 5:more");
    publish("22222222-2222-4333-8444-000000000000", R"([[7, "new"]])");
    EXPECT_EQ(fresh(), "0:newer 5:more 7:new");
    ASSERT_OK(CompactShards(*other.Table()).status());
    EXPECT_EQ(fresh(), "0:newer 5:more 7:new");
    publish("22222222-2222-4333-8444-000000000000", R"([[7, "newest"]])");
    EXPECT_EQ(fresh(), "0:newer 5:more 7:newest");
  });
}

// What a view saw of the base, those for one writer and those over all shards do not read again.
TEST(FreshViewRequests, TheBaseIsReadOnceForAllViewsOfTheSession) {
  World world;
  world.CreateTable();
  PublishShards(world, 1);
  world.Run([&](Process& process) {
    const auto writer = process.Open(Eager());
    const auto table = process.Table();
    Must(FreshView::OpenForWriter(*writer));
    const auto append = [&](int64_t id) {
      const Process other(world.sim.runtime(), world.store);
      Must(other.Table()->Append(*Must(arrow::RecordBatchReader::Make({Row(id, "appended")}))));
      world.Take();
    };
    append(100);
    Must(FreshView::OpenForWriter(*writer));
    EXPECT_THAT(world.Take(), SizeIs(3)) << "listing, the new version, and the old one is there still";
    Must(FreshView::OpenForWriter(*writer));
    EXPECT_THAT(world.Take(), ElementsAre("list table/_versions/"));
    Must(FreshView::Open(*table));
    EXPECT_THAT(world.Take("table/_versions/"), ElementsAre("list table/_versions/"));
    append(101);
    Must(FreshView::Open(*table));
    world.Take();
    EXPECT_EQ(Must(Must(FreshView::OpenForWriter(*writer))->CountRows()), 2u);
    EXPECT_THAT(world.Take("table/_versions/"), ElementsAre("list table/_versions/"));
  });
}

TEST(FreshViewRequests, AViewThatIsOldEnoughCostsNothing) {
  World world;
  world.CreateTable();
  PublishShards(world, 2);
  world.Run([&](Process& looking) {
    const auto table = looking.Table();
    const auto fresh = [&](std::optional<Duration> max_staleness) {
      return Sorted(Scan(*Must(FreshView::Open(*table, {.max_staleness = max_staleness}))));
    };
    using std::chrono::seconds;
    EXPECT_EQ(fresh(seconds(60)), "0:shard0 1:shard1");
    const Process other(world.sim.runtime(), world.store);
    auto writer = Must(other.TryOpen(Eager(), "11111111-2222-4333-8444-000000000000"));
    ASSERT_OK(writer->Put({Row(7, "newer")}));
    ASSERT_OK(writer->Close());
    world.Take();
    EXPECT_EQ(fresh(seconds(60)), "0:shard0 1:shard1");
    EXPECT_THAT(world.Take(), IsEmpty());
    looking.runtime().Sleep(seconds(30));
    EXPECT_EQ(fresh(seconds(20)), "0:shard0 1:shard1 7:newer") << "the last one is older than that";
    EXPECT_EQ(fresh(std::nullopt), "0:shard0 1:shard1 7:newer");
    // Who writes reads what was written.
    auto own = Must(looking.TryOpen(Eager(), "11111111-2222-4333-8444-000000000001"));
    ASSERT_OK(own->Put({Row(8, "own")}));
    EXPECT_EQ(fresh(seconds(60)), "0:shard0 1:shard1 7:newer 8:own");
    ASSERT_OK(own->Close());
    EXPECT_EQ(fresh(seconds(60)), "0:shard0 1:shard1 7:newer 8:own");
  });
}

TEST(FreshViewRequests, AClosedWriterThatIsStillHeldKeepsNobodyInThePast) {
  World world;
  world.CreateTable();
  world.Run([&](Process& process) {
    const auto old = process.Open(Eager());
    ASSERT_OK(old->Put({Row(1, "old")}));
    ASSERT_OK(old->Close());
    EXPECT_EQ(process.Fresh(), "1:old");
    for (const auto& [key, bytes] : world.Objects()) ASSERT_OK(world.store->raw().Delete(key));
    process.Create(KeyedSchema(), "[]", {});
    const auto writer = process.Open(Eager());
    EXPECT_EQ(Must(writer->Manifest()).version, ManifestVersion(1));
    ASSERT_OK(writer->Put({Row(2, "new")}));
    ASSERT_OK(writer->Close());
    EXPECT_EQ(process.Fresh(), "2:new");
  });
}

// The same calls in the same order may end at the same versions: what was seen of the table before counts no more.
TEST(FreshViewRequests, ATableThatWasMadeAnewIsReadAsItIs) {
  World world;
  world.CreateTable();
  PublishShards(world, 2);
  world.Run([&](Process& looking) {
    const auto table = looking.Table();
    EXPECT_EQ(Sorted(Scan(*Must(FreshView::Open(*table)))), "0:shard0 1:shard1");
    EXPECT_EQ(Sorted(Scan(*Must(FreshView::Open(*table)))), "0:shard0 1:shard1");
    for (const auto& [key, bytes] : world.Objects()) ASSERT_OK(world.store->raw().Delete(key));
    const Process other(world.sim.runtime(), world.store);
    other.Create(KeyedSchema(), "[]", {});
    auto writer = Must(other.TryOpen(Eager(), "11111111-2222-4333-8444-000000000001"));
    ASSERT_OK(writer->Put({Row(9, "other")}));
    ASSERT_OK(writer->Close());
    EXPECT_EQ(Sorted(Scan(*Must(FreshView::Open(*table)))), "9:other");
    EXPECT_EQ(Sorted(Scan(*Must(FreshView::Open(*table)))), "9:other");
    // Only the shards are removed, under the same base.
    for (const auto& [key, bytes] : world.Objects()) {
      if (key.find("_mem_wal") != std::string::npos) ASSERT_OK(world.store->raw().Delete(key));
    }
    writer = Must(Process(world.sim.runtime(), world.store).TryOpen(Eager(), "11111111-2222-4333-8444-000000000001"));
    ASSERT_OK(writer->Put({Row(8, "third")}));
    ASSERT_OK(writer->Close());
    EXPECT_EQ(Sorted(Scan(*Must(FreshView::Open(*table)))), "8:third");
  });
}

}  // namespace
}  // namespace javelin::memwal
