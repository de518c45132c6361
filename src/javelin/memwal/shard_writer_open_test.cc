// Opening and reopening a writer: what it asks of the store, what it refuses, what it finds again.
#include "javelin/memwal/foreign_table_test_support.h"
#include "javelin/memwal/writer_test_world.h"

namespace javelin::memwal {
namespace {

using namespace test;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// The log of others.
void WriteEntry(World& world, uint64_t position, const WalEntry& entry) {
  ASSERT_OK(world.store->raw().Put(EntryKey(position), Must(EncodeWalEntry(entry))));
}
WalEntry EntryOf(uint64_t epoch, std::optional<uint64_t> generation, const std::string& json) {
  WalEntry entry{.writer_epoch = Epoch(epoch), .schema = KeylessSchema(), .batches = {Rows(json)}};
  if (generation.has_value()) entry.generation = Generation(*generation);
  return entry;
}

// Whoever turned MemWAL on: SSTables of such a table could be written and never be compacted.
TEST(OpenWriter, RefusesATableWhoseDataFilesAreNotWritten) {
  World world;
  world.CreateTable();
  world.Run([&](Process& process) {
    const auto table = process.Table();
    table::Manifest manifest = table->manifest();
    manifest.data_format_version = "2.3";
    const auto older = table->At({std::make_shared<const table::Manifest>(manifest), table->loaded().scheme, {}, {}});
    world.Take();
    ExpectError(ShardWriter::Open(*older, kShard, Eager()).status(), ErrorKind::kNotSupported, "version 2.3");
    EXPECT_THAT(world.Take(), IsEmpty());
  });
}

TEST(OpenWriter, FreshShardTakesSixRequestsAndAnIdleWriterNone) {
  World world;
  world.CreateTable();
  world.Run([&](Process& process) {
    const auto table = process.Table();
    world.Take();
    auto writer = Must(ShardWriter::Open(*table, kShard));
    const std::string folder = Paths().shard_folder;
    EXPECT_THAT(world.Take(),
                ElementsAre("get " + folder + "/manifest/version_hint.json", "list " + folder + "/manifest/",
                            "put_if_absent " + ManifestKey(1), "put " + folder + "/manifest/version_hint.json",
                            "head " + ManifestKey(1), "get " + EntryKey(1)));
    EXPECT_EQ(writer->epoch(), Epoch(1));
    EXPECT_EQ(writer->shard_id(), kShard);
    EXPECT_THAT(writer->warnings(), IsEmpty());
    process.runtime().Sleep(std::chrono::seconds(30));
    EXPECT_THAT(world.Take(), IsEmpty()) << "an idle writer asks for nothing";
    ASSERT_OK(writer->Close());
    writer.reset();
    EXPECT_THAT(world.Take(), IsEmpty()) << "closing a writer that wrote nothing asks for nothing";
  });
}

TEST(OpenWriter, ReopenTakesElevenRequestsAndOneForEachEntry) {
  World world;
  world.CreateTable();
  for (const int entries : {0, 3, 20}) {
    world.Run([&](Process& process) {
      auto writer = process.Open(Eager());
      for (int i = 0; i < entries; ++i) ASSERT_OK(writer->Put({Row(i, "x")}));
      writer->Abort();
    });
    const size_t in_log = world.Log().size();
    world.Run([&](Process& process) {
      const auto table = process.Table();
      world.Take();
      auto writer = Must(ShardWriter::Open(*table, kShard));
      const auto requests = world.Take();
      EXPECT_EQ(requests.size(), 11 + in_log) << fmt::format("{}", fmt::join(requests, "\n"));
      EXPECT_EQ(Must(writer->Manifest()).wal_position_last_seen, WalPosition(in_log + 1));
    });
  }
}

// From this many positions on the log is read ahead instead of listed: every entry, and 17 that are absent.
TEST(OpenWriter, ReopenOfALongLogTakesTwentySevenRequestsAndOneForEachEntry) {
  World world;
  world.CreateTable();
  constexpr uint64_t kEntries = 1'000;
  for (uint64_t i = 1; i <= kEntries; ++i) WriteEntry(world, i, EntryOf(1, 1, fmt::format(R"([[{}, "x"]])", i)));
  world.Run([&](Process& process) {
    auto first = process.Open();  // epoch 1: no sentinel
    EXPECT_EQ(Must(first->Manifest()).wal_position_last_seen, WalPosition(kEntries));
  });
  world.Run([&](Process& process) {
    const auto table = process.Table();
    world.Take();
    auto writer = Must(ShardWriter::Open(*table, kShard));
    auto requests = world.Take();
    EXPECT_EQ(requests.size(), 27 + kEntries);
    std::sort(requests.begin(), requests.end());
    EXPECT_EQ(std::unique(requests.begin(), requests.end()), requests.end() - 3)
        << "only the hint is written twice, and the claim asked for before it and twice after it";
    EXPECT_EQ(Must(Must(FreshView::OpenForWriter(*writer))->CountRows()), kEntries);
    EXPECT_EQ(Must(writer->Manifest()).wal_position_last_seen, WalPosition(kEntries + 1));
    world.Take();
    ASSERT_OK(writer->Put({Row(5'000, "next")}));
    EXPECT_THAT(world.Take(), ElementsAre("put_if_absent " + EntryKey(kEntries + 2)));
  });
}

// The manifest store is shared by the session; the options of the newest open count.
TEST(OpenWriter, TheManifestScanIsAsWideAsTheNewestOpenAsks) {
  World world;
  world.CreateTable();
  const auto heads_of_open = [&](uint32_t batch_size) {
    size_t heads = 0;
    world.Run([&](Process& process) {
      auto incumbent = process.Open();
      const uint64_t held = Must(incumbent->Manifest()).version.value();
      Process peer(world.sim.runtime(), world.store);
      ShardManifestStore other(peer.session->resources(), world.store, "table", Must(Uuid::Parse(kShard)));
      for (int i = 0; i < 5; ++i) {
        ASSERT_OK(other
                      .CommitUpdate(
                          incumbent->epoch(),
                          [](const ShardManifest& base) { return arrow::Result<ShardManifest>(base.NextVersion()); })
                      .Get()
                      .status());
      }
      WriterOptions options;
      options.manifest_scan_batch_size = batch_size;
      world.Take();
      auto writer = process.Open(options);
      EXPECT_EQ(Must(writer->Manifest()).version.value(), held + 5 + 2) << "the claim and the cursor";
      for (const auto& request : world.Take("head ")) heads += request.find("/manifest/") != std::string::npos;
    });
    return heads;
  };
  // Four of them ask for a claim: what the session knew when the open began and when it had found the newest version,
  // then its own, at once and before the cursor.
  EXPECT_EQ(heads_of_open(1), 4 + 6u) << "one by one: five versions and the first absent one";
  EXPECT_EQ(heads_of_open(4), 4 + 9u) << "one, then four at a time";
}

TEST(OpenWriter, ReopenFindsItsRowsAndCountsThemOnce) {
  World world;
  world.CreateTable();
  world.Run([&](Process& process) {
    auto writer = process.Open();
    for (int i = 0; i < 8; ++i) ASSERT_OK(writer->Put({Row(i, "old")}));
  });  // the destructor aborts
  EXPECT_EQ(world.RowsInLog(), 8u);
  world.Run([&](Process& process) {
    auto writer = process.Open();
    EXPECT_EQ(writer->epoch(), Epoch(2));
    EXPECT_EQ(writer->memtable_stats().durable_batch_count, 8u);
    EXPECT_EQ(writer->memtable_stats().pending_wal_batch_count, 0u);
    const auto before = Must(writer->Snapshot());
    ASSERT_EQ(before.size(), 1u);
    EXPECT_EQ(before[0].visible_batches, 8u);
    ASSERT_OK(writer->Put({Rows(R"([[8, "new"], [9, "new"]])")}));
    ASSERT_OK(writer->Close());
    EXPECT_EQ(before[0].table->key_index()->num_rows(), 10u) << "every row is indexed once";
    EXPECT_FALSE(before[0].table->key_index()->has_overrides());
    EXPECT_EQ(writer->stats().index_update_rows, 2u);
  });
  EXPECT_EQ(world.RowsInLog(), 10u) << "replayed rows are not appended again";
  world.Run([&](Process& process) {
    EXPECT_EQ(ReadBack(*process.Open()), "0:old 1:old 2:old 3:old 4:old 5:old 6:old 7:old 8:new 9:new");
  });
}

// The planted bug of the same rule: without the stamp the rows are appended twice.
TEST(OpenWriter, AReplayThatDoesNotStampIsSeen) {
  World world;
  world.CreateTable();
  world.Run([&](Process& process) { ASSERT_OK(process.Open()->Put({Row(1, "a")})); });
  world.sim.PlantBug("writer.replay_does_not_stamp_durable");
  world.Run([&](Process& process) {
    auto writer = process.Open();
    ASSERT_OK(writer->Put({Row(2, "b")}));
  });
  EXPECT_TRUE(world.sim.PlantedBugWasAsked("writer.replay_does_not_stamp_durable"));
  EXPECT_EQ(world.RowsInLog(), 3u);
}

TEST(OpenWriter, SeveralGenerationsStayReadable) {
  World world;
  world.CreateTable();
  world.HoldFlushes();
  world.Run([&](Process& process) {
    auto writer = process.Open(BatchesPerTable(2));
    for (int i = 0; i < 5; ++i) ASSERT_OK(writer->Put({Row(i % 3, fmt::format("v{}", i))}));
    EXPECT_EQ(writer->memtable_stats().generation, 3u);
    EXPECT_EQ(writer->memtable_stats().frozen_count, 2u);
    EXPECT_EQ(ReadBack(*writer), "0:v3 1:v4 2:v2");
  });
  world.Run([&](Process& process) {
    auto writer = process.Open(BatchesPerTable(2));
    EXPECT_EQ(writer->memtable_stats().generation, 3u);
    EXPECT_EQ(writer->memtable_stats().frozen_count, 2u);
    EXPECT_EQ(writer->memtable_stats().global_offset, 4u);
    EXPECT_EQ(writer->memtable_stats().durable_batch_count, 5u);
    EXPECT_EQ(ReadBack(*writer), "0:v3 1:v4 2:v2");
    ASSERT_OK(writer->Put({Row(0, "v5")}));
    EXPECT_EQ(ReadBack(*writer), "0:v5 1:v4 2:v2");
  });
  std::vector<uint64_t> generations;
  for (const auto& entry : world.Log()) {
    if (!entry.batches.empty()) generations.push_back(entry.generation->value());
  }
  EXPECT_THAT(generations, ElementsAre(1, 1, 2, 2, 3, 3));
}

// Any log opens under any configuration; the limits count from the first put on.
TEST(OpenWriter, SmallerLimitsThanTheLogWasWrittenWith) {
  World world;
  world.CreateTable();
  world.HoldFlushes();
  world.Run([&](Process& process) {
    auto writer = process.Open(Eager());
    for (int i = 0; i < 30; ++i) ASSERT_OK(writer->Put({Row(i, "x")}));
  });
  world.Run([&](Process& process) {
    WriterOptions options = BatchesPerTable(10);
    options.max_memtable_rows = 5;
    auto writer = process.Open(options);
    EXPECT_EQ(writer->memtable_stats().row_count, 30u);
    EXPECT_EQ(writer->memtable_stats().frozen_count, 0u);
    ASSERT_OK(writer->Put({Row(100, "y")}));
    EXPECT_EQ(writer->memtable_stats().frozen_count, 1u);
    EXPECT_EQ(writer->memtable_stats().generation, 2u);
    EXPECT_EQ(Must(Must(FreshView::OpenForWriter(*writer))->CountRows()), 31u);
  });
}

// ---- the log of others ----

TEST(ReplayLog, EntriesWithoutGenerationAreCutBySize) {
  World world;
  world.CreateTable();
  for (uint64_t i = 1; i <= 5; ++i)
    WriteEntry(world, i, EntryOf(1, {}, fmt::format(R"([[{}, "a"], [{}, "b"]])", i, i + 100)));
  world.Run([&](Process& process) {
    WriterOptions options;
    options.max_memtable_rows = 4;
    auto writer = process.Open(options);
    EXPECT_EQ(writer->memtable_stats().frozen_count, 2u);
    EXPECT_EQ(writer->memtable_stats().generation, 3u);
    EXPECT_EQ(Must(Must(FreshView::OpenForWriter(*writer))->CountRows()), 10u);
  });
}

// "Nothing flushed" is the cursor at 0 and generation 1; an empty list of SSTables says nothing.
TEST(ReplayLog, GenerationsThatWereFlushedAreSkipped) {
  World world;
  world.CreateTable();
  world.Run([&](Process& process) {
    auto writer = process.Open(BatchesPerTable(1));
    for (int i = 0; i < 4; ++i) ASSERT_OK(writer->Put({Row(i, "x")}));
    const auto committed = writer->manifest_store()->CommitUpdate(writer->epoch(), [](const ShardManifest& base) {
      ShardManifest next = base.NextVersion();
      next.current_generation = Generation(3);
      next.replay_after = WalPosition(1);
      return arrow::Result<ShardManifest>(next);
    });
    ASSERT_OK(committed.Get().status());
  });
  world.Run([&](Process& process) {
    ReplaceDetails(process, [](table::MemWalDetails& details) {
      details.compacted_sstables = {{Must(Uuid::Parse(kShard)), Generation(2)}};
    });
    auto writer = process.Open();
    EXPECT_EQ(ReadBack(*writer), "2:x 3:x");
    EXPECT_EQ(writer->memtable_stats().global_offset, 1u);
  });
}

TEST(ReplayLog, AnEntryOfALaterWriterFences) {
  World world;
  world.CreateTable();
  world.Run([&](Process& process) { ASSERT_OK(process.Open()->Put({Row(1, "a")})); });
  WriteEntry(world, 2, EntryOf(9, 1, R"([[2, "b"]])"));
  world.Run([&](Process& process) {
    ExpectError(process.TryOpen().status(), ErrorKind::kFencedPeerClaimedEpoch, "epoch 9");
  });
}

TEST(ReplayLog, DamageFailsTheOpenAndNamesThePosition) {
  const auto open_with = [](const std::function<void(World&)>& damage, ErrorKind kind, const std::string& word) {
    World world;
    world.CreateTable();
    world.Run([&](Process& process) {
      auto writer = process.Open();
      for (int i = 0; i < 3; ++i) ASSERT_OK(writer->Put({Row(i, "x")}));
    });
    damage(world);
    world.Run([&](Process& process) { ExpectError(process.TryOpen().status(), kind, word); });
  };
  open_with([](World& world) { ASSERT_OK(world.store->raw().Delete(EntryKey(2))); }, ErrorKind::kWalGap, "2");
  open_with([](World& world) { ASSERT_OK(world.store->raw().Put(EntryKey(3), arrow::Buffer::FromString("junk"))); },
            ErrorKind::kWalCorrupt, "3");
  open_with([](World& world) { WriteEntry(world, 4, EntryOf(1, 0, R"([[2, "b"]])")); }, ErrorKind::kWalCorrupt, "4");
  open_with(
      [](World& world) {
        auto entry = EntryOf(1, 1, "[]");
        entry.schema = arrow::schema({arrow::field("text", arrow::utf8())});
        entry.batches = {Batch(entry.schema, R"([["x"]])")};
        WriteEntry(world, 4, entry);
      },
      ErrorKind::kWalCorrupt, "entry 4");
  open_with(
      [](World& world) {
        auto entry = EntryOf(1, 1, "[]");
        entry.schema = arrow::schema({arrow::field("id", arrow::int64()), arrow::field("text", arrow::utf8())});
        entry.batches = {Batch(entry.schema, R"([[null, "x"]])")};
        WriteEntry(world, 4, entry);
      },
      ErrorKind::kWalCorrupt, "null in column 'id'");
}

// The log is read before anything is claimed: a shard that cannot be opened stays with the writer that has it.
TEST(ReplayLog, DamageLeavesTheIncumbentAlone) {
  const auto fails = [](const std::function<void(World&)>& damage, ErrorKind kind) {
    World world;
    world.CreateTable();
    world.Run([&](Process& process) {
      auto incumbent = process.Open();
      for (int i = 0; i < 3; ++i) ASSERT_OK(incumbent->Put({Row(i, "x")}));
      damage(world);
      Process other(world.sim.runtime(), world.store);
      const auto before = world.Objects();
      for (int attempt = 0; attempt < 2; ++attempt) EXPECT_EQ(KindOf(other.TryOpen().status()), kind);
      EXPECT_EQ(world.Objects(), before);
      ASSERT_OK(incumbent->Put({Row(9, "goes on")}));
    });
  };
  fails([](World& world) { ASSERT_OK(world.store->raw().Delete(EntryKey(2))); }, ErrorKind::kWalGap);
  fails([](World& world) { ASSERT_OK(world.store->raw().Put(EntryKey(2), arrow::Buffer::FromString("junk"))); },
        ErrorKind::kWalCorrupt);
  fails([](World& world) { ASSERT_OK(world.store->raw().Put(EntryKey(3), arrow::Buffer::FromString(""))); },
        ErrorKind::kWalCorrupt);
  fails(
      [](World& world) {
        auto entry = EntryOf(1, 1, "[]");
        entry.schema = arrow::schema({arrow::field("text", arrow::utf8())});
        entry.batches = {Batch(entry.schema, R"([["x"]])")};
        WriteEntry(world, 3, entry);
      },
      ErrorKind::kWalCorrupt);
}

// The predecessor appends while the log is read, and between claim and sentinel.
TEST(ReplayLog, WhatComesWhileTheLogIsReadIsCaughtUp) {
  // The incumbent's own open passed two of the steps once.
  const std::pair<const char*, int> steps[] = {{"wal.replay.entry", 1}, {"open.read", 2}, {"open.claimed", 2}};
  for (const auto& [step, hit] : steps) {
    World world;
    world.CreateTable();
    world.Run([&](Process& process) {
      auto incumbent = process.Open(Eager());
      for (int i = 0; i < 3; ++i) ASSERT_OK(incumbent->Put({Row(i, "x")}));
      Process other(world.sim.runtime(), world.store);
      world.sim.OnSyncPoint(step, AtHit(hit, SyncAction::Delay(std::chrono::seconds(2))));
      auto opening = process.runtime().Spawn("open", [&] {
        auto writer = other.Open();
        EXPECT_EQ(ReadBack(*writer), "0:x 1:x 2:x 3:late") << step;
        EXPECT_EQ(writer->memtable_stats().row_count, 4u) << step;
      });
      process.runtime().Sleep(std::chrono::seconds(1));
      ASSERT_OK(incumbent->Put({Row(3, "late")}));
      opening.Join();
    });
  }
}

// ---- what an open refuses ----

void ExpectRefusedOpen(World& world, Process& process, ErrorKind kind, const std::string& word) {
  const auto before = world.Objects();
  ExpectError(process.TryOpen().status(), kind, word);
  EXPECT_EQ(world.Objects(), before) << "storage is untouched";
}
void ExpectGoesOn(ShardWriter& incumbent) {
  ASSERT_OK(incumbent.Put({Row(77, "still")}));
  EXPECT_EQ(Get(incumbent, 77), "77:still");
  ASSERT_OK(incumbent.Close());
}

// A doomed open touches nothing, so the writer that holds the shard goes on.
TEST(OpenWriter, EveryRefusalLeavesTheIncumbentAlone) {
  InitializeOptions unsharded;
  unsharded.unsharded = true;
  World world;
  world.CreateTable("[]", unsharded);
  world.Run([&](Process& process) {
    auto incumbent = process.Open();
    ASSERT_OK(incumbent->Put({Row(0, "x")}));
    const auto before = world.Objects();
    const auto refused = [&](const std::function<void(WriterOptions&)>& set, ErrorKind kind, const std::string& word,
                             const std::string& shard = kShard) {
      WriterOptions options;
      set(options);
      ExpectError(process.TryOpen(options, shard).status(), kind, word);
    };
    const auto nothing = [](WriterOptions&) {};
    const auto invalid = ErrorKind::kInvalidInput;
    refused(nothing, invalid, "shard_id", "not-a-uuid");
    refused([](auto& o) { o.shard_spec_id = 7; }, invalid, "shard_spec_id");
    refused([](auto& o) { o.max_memtable_batches = 0; }, invalid, "max_memtable_batches");
    refused([](auto& o) { o.max_memtable_rows = 0; }, invalid, "max_memtable_rows");
    refused([](auto& o) { o.max_memtable_size = 0; }, invalid, "max_memtable_size");
    refused([](auto& o) { o.manifest_scan_batch_size = 0; }, invalid, "manifest_scan_batch_size");
    refused([](auto& o) { o.max_unflushed_memtable_bytes = 1 << 20; }, invalid, "max_unflushed_memtable_bytes");
    refused([](auto& o) { o.max_wal_flush_interval = Duration::zero(); }, invalid, "max_wal_flush_interval");
    refused(
        [](auto& o) {
          o.max_wal_flush_interval = Duration::zero();
          o.enable_memtable = false;
        },
        invalid, "max_wal_flush_interval");
    refused([](auto& o) { o.enable_memtable = false; }, ErrorKind::kNotSupported, "enable_memtable");
    EXPECT_EQ(world.Objects(), before) << "storage is untouched";
    ASSERT_OK(incumbent->Put({Row(1, "y")}));
    EXPECT_EQ(ReadBack(*incumbent), "0:x 1:y");
  });
}

// The MemWAL of a table goes while a writer is at work, or was never there.
TEST(OpenWriter, NeedsMemWal) {
  World world;
  world.CreateTable();
  world.Run([&](Process& process) {
    auto incumbent = process.Open();
    const auto with = process.Table();
    const auto entry = *with->manifest().FindIndex(table::kMemWalIndexName);
    ASSERT_OK(with->Commit({.read_version = with->version(), .operation = table::CreateIndex{{}, {entry}}}).status());
    ExpectRefusedOpen(world, process, ErrorKind::kNotFound, "MemWAL is not initialized");
    ExpectGoesOn(*incumbent);
  });
}

TEST(OpenWriter, NeedsMemWalOnAFreshTable) {
  World world;
  world.Run([&](Process& process) {
    auto reader = Must(arrow::RecordBatchReader::Make({}, KeyedSchema()));
    const auto table = Must(Dataset::Write(process.session, kTableUri, *reader));
    const auto before = world.Objects();
    ExpectError(ShardWriter::Open(*table, kShard).status(), ErrorKind::kNotFound, "MemWAL is not initialized");
    EXPECT_EQ(world.Objects(), before);
  });
}

TEST(OpenWriter, TakesTheTablesOnlySpec) {
  InitializeOptions bucket;
  bucket.bucket_column = "id";
  bucket.num_buckets = 4;
  World world;
  world.CreateTable("[]", bucket);
  world.Run([&](Process& process) {
    auto writer = process.Open();
    EXPECT_EQ(Must(writer->Manifest()).shard_spec_id, 1u);
    EXPECT_EQ(writer->options().shard_spec_id, 1u);
    WriterOptions options;
    options.shard_spec_id = 2;
    ExpectError(process.TryOpen(options).status(), ErrorKind::kInvalidInput, "only sharding spec is 1");
    ASSERT_OK(writer->Put({Row(1, "a")}));
  });
}

TEST(OpenWriter, SeveralSpecsAreNotHandled) {
  World world;
  world.CreateTable();
  world.Run([&](Process& process) {
    auto incumbent = process.Open();
    ReplaceDetails(process, [](table::MemWalDetails& details) { details.sharding_specs = {{1, {}}, {2, {}}}; });
    ExpectRefusedOpen(world, process, ErrorKind::kNotSupported, "2 sharding specs");
    ExpectGoesOn(*incumbent);
  });
}

// Tables that Initialize refuses, with MemWAL on them and a shard that somebody else holds.
TEST(OpenWriter, TablesThatCannotHaveShardsAreRefusedBeforeTheClaim) {
  const auto key = arrow::key_value_metadata({{std::string(file::kPrimaryKeyMetadata), "true"}});
  const auto float_key = arrow::field("id", arrow::float64(), false, key);
  const struct {
    std::shared_ptr<arrow::Schema> schema;
    std::string word;
    ErrorKind kind = ErrorKind::kInvalidInput;
  } tables[] = {
      {arrow::schema({float_key, arrow::field("text", arrow::utf8())}), "'id' has type double: unsupported type"},
      {arrow::schema({arrow::field("text", arrow::utf8()),
                      arrow::field("in", arrow::struct_({arrow::field("id", arrow::int64(), false, key)}), false)}),
       "'id' lies inside another column"},
      {arrow::schema({arrow::field("id", arrow::int64(), false, key), arrow::field("_tombstone", arrow::boolean())}),
       "'_tombstone' cannot have shards"},
      {arrow::schema(
           {arrow::field("id", arrow::int64(), false, key), arrow::field("tags", arrow::list(arrow::struct_({})))}),
       "'tags.item'", ErrorKind::kNotSupported},
  };
  for (const auto& table : tables) {
    World world;
    world.Run([&](Process& process) {
      ASSERT_OK(WriteForeignTable(*process.session, kTableUri, *table.schema));
      PlantMemWal(process);
      ShardManifestStore holder(process.session->resources(), world.store, "table", Must(Uuid::Parse(kShard)));
      ASSERT_OK(holder.ClaimEpoch(0).status());
      ExpectRefusedOpen(world, process, table.kind, table.word);
      ASSERT_OK(holder.CheckFenced(Epoch(1)));
    });
  }
}

// A damaged newest manifest: nobody may take an older one for the newest, and the writer at work does not need it.
TEST(OpenWriter, ADamagedManifestLetsNobodyInAndHarmsNobody) {
  World world;
  world.CreateTable();
  world.Run([&](Process& process) {
    auto incumbent = process.Open();
    ASSERT_OK(incumbent->Put({Row(0, "x")}));
    const auto newest = Must(world.store->raw().Get(ManifestKey(1)));
    ASSERT_OK(world.store->raw().Put(ManifestKey(2), arrow::SliceBuffer(newest, 0, newest->size() / 2)));
    Process other(world.sim.runtime(), world.store);
    const std::string word = fmt::format("manifest version 2 of shard {}", kShard);
    const auto before = world.Objects();
    ExpectError(process.TryOpen().status(), ErrorKind::kCorruption, word);
    ExpectError(other.TryOpen().status(), ErrorKind::kCorruption, word);
    ExpectError(FreshView::Open(*other.Table()).status(), ErrorKind::kCorruption, word);
    EXPECT_EQ(world.Objects(), before);
    ASSERT_OK(incumbent->Put({Row(1, "y")}));
    EXPECT_EQ(ReadBack(*incumbent), "0:x 1:y");
    EXPECT_EQ(process.Fresh(), "0:x 1:y") << "its session has the manifest that it wrote";
    ExpectError(incumbent->Close(), ErrorKind::kCorruption, word);  // no flush can be published; the log has the rows
  });
  EXPECT_EQ(world.RowsInLog(), 2u);
}

TEST(OpenWriter, IndexesThatAreLeftOutAreNamed) {
  World world;
  world.CreateTable();
  world.Run([&](Process& process) {
    ReplaceDetails(process, [](table::MemWalDetails& details) {
      details.maintain_all_indexes = false;
      details.maintained_indexes = {"nowhere"};
    });
    auto writer = process.Open();
    ASSERT_EQ(writer->warnings().size(), 1u);
    EXPECT_THAT(writer->warnings()[0], HasSubstr("'nowhere', which does not exist"));
  });
}

TEST(OpenWriter, AStoredDefaultThatIsMalformedIsRefused) {
  World world;
  world.CreateTable();
  world.Run([&](Process& process) {
    auto incumbent = process.Open();
    ReplaceDetails(process,
                   [](table::MemWalDetails& details) { details.writer_config_defaults["max_memtable_rows"] = "many"; });
    const auto before = world.Objects();
    ExpectError(process.TryOpen().status(), ErrorKind::kInvalidInput, "max_memtable_rows = 'many'");
    EXPECT_EQ(world.Objects(), before);
    ASSERT_OK(incumbent->Put({Row(1, "a")}));
  });
}

TEST(OpenWriter, StoredDefaultsAreUsedUnderExplicitOptions) {
  InitializeOptions initialize;
  initialize.writer_defaults.max_memtable_rows = 10;
  World world;
  world.CreateTable("[]", initialize);
  world.Run([&](Process& process) {
    std::string eleven;
    for (int i = 0; i < 11; ++i) eleven += fmt::format("{}[{}, \"x\"]", i == 0 ? "" : ", ", i);
    const auto rows = Rows("[" + eleven + "]");
    {
      auto writer = process.Open();
      EXPECT_EQ(writer->options().max_memtable_rows, 10u);
      ExpectError(writer->Put({rows}), ErrorKind::kInvalidInput, "max_memtable_rows = 10");
    }
    WriterOptions options;
    options.max_memtable_rows = 11;
    ASSERT_OK(process.Open(options)->Put({rows}));
  });
}

// ---- two writers ----

TEST(TwoWriters, ThePredecessorIsFencedAndItsRowsAreKept) {
  World world;
  world.CreateTable();
  world.Run([&](Process& process) {
    auto first = process.Open();
    ASSERT_OK(first->Put({Row(1, "acknowledged")}));
    auto second = process.Open();
    EXPECT_EQ(second->epoch(), Epoch(2));
    EXPECT_EQ(ReadBack(*second), "1:acknowledged");
    const auto fenced = first->Put({Row(2, "late")});
    ExpectError(fenced, ErrorKind::kFencedPeerClaimedEpoch, "epoch 2");
    EXPECT_EQ(FieldsOf(fenced).at("shard"), kShard);
    // The same error from everything that follows; figures still answer.
    ExpectError(first->Put({Row(3, "later")}), ErrorKind::kFencedPeerClaimedEpoch, "epoch 2");
    ExpectError(first->Delete({Keys("[[1]]")}), ErrorKind::kFencedPeerClaimedEpoch, "epoch 2");
    ExpectError(first->Snapshot().status(), ErrorKind::kFencedPeerClaimedEpoch, "epoch 2");
    ExpectError(FreshView::OpenForWriter(*first).status(), ErrorKind::kFencedPeerClaimedEpoch, "epoch 2");
    ExpectError(first->FlushWal(), ErrorKind::kFencedPeerClaimedEpoch, "epoch 2");
    EXPECT_EQ(first->memtable_stats().row_count, 2u);
    EXPECT_EQ(first->stats().wal_flush_count, 1u);
    ExpectError(first->Close(), ErrorKind::kFencedPeerClaimedEpoch, "epoch 2");
    ASSERT_OK(second->Put({Row(4, "new")}));
    EXPECT_EQ(ReadBack(*second), "1:acknowledged 4:new");
    EXPECT_EQ(process.Fresh(), "1:acknowledged 4:new") << "the view follows the owner of the shard";
  });
}

TEST(TwoWriters, EveryWaiterOfAFencedWriterWakes) {
  World world;
  world.CreateTable();
  world.Run([&](Process& process) {
    auto first = process.Open();
    auto second = process.Open();
    std::vector<TaskHandle> callers;
    int fenced = 0;
    for (int i = 0; i < 12; ++i) {
      callers.push_back(process.runtime().Spawn("caller", [&, i] {
        if (HasKind(first->Put({Row(i, "x")}), ErrorKind::kFencedPeerClaimedEpoch)) ++fenced;
      }));
    }
    for (auto& caller : callers) caller.Join();
    EXPECT_EQ(fenced, 12);
    EXPECT_EQ(Must(Must(FreshView::OpenForWriter(*second))->CountRows()), 0u);
  });
}

// One process writes until it is fenced while another takes the shard over. Returns how many acknowledged rows the new
// owner lacks.
size_t LostInTakeover(uint64_t seed, bool planted) {
  World world(seed);
  if (planted) world.sim.PlantBug("writer.replay_before_sentinel");
  world.CreateTable();
  std::set<int64_t> acknowledged;
  std::set<int64_t> found;
  world.Run({[&](Process& process) {
               auto writer = process.Open(Eager());
               for (int64_t i = 0; writer->Put({Row(i, "x")}).ok(); ++i) {
                 acknowledged.insert(i);
                 process.runtime().Sleep(std::chrono::milliseconds(5));
               }
             },
             [&](Process& process) {
               process.runtime().Sleep(std::chrono::seconds(1));
               auto writer = process.Open();
               const auto rows = Collect(Must(FreshView::OpenForWriter(*writer))->Scan());
               const auto& ids = static_cast<const arrow::Int64Array&>(*rows->column(0));
               for (int64_t i = 0; i < ids.length(); ++i) found.insert(ids.Value(i));
             }});
  EXPECT_FALSE(acknowledged.empty());
  EXPECT_EQ(world.sim.PlantedBugWasAsked("writer.replay_before_sentinel"), planted);
  return std::count_if(acknowledged.begin(), acknowledged.end(), [&](int64_t id) { return !found.contains(id); });
}

TEST(TwoWriters, TakeoverKeepsEveryAcknowledgedRow) {
  size_t lost_with_bug = 0;
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    EXPECT_EQ(LostInTakeover(seed, false), 0u) << "seed " << seed;
    lost_with_bug += LostInTakeover(seed, true);
  }
  EXPECT_GT(lost_with_bug, 0u) << "a replay before the sentinel would be noticed here";
}

// A listing comes in pages, in an order that is not that of the log: entries that the predecessor appends meanwhile may
// show without the ones before them. That is no hole.
TEST(TwoWriters, AppendsDuringTheListingAreNoGap) {
  World world(1, /*page_size=*/1);
  world.CreateTable();
  world.Run([&](Process& process) {
    auto first = process.Open();
    for (int i = 1; i <= 3; ++i) ASSERT_OK(first->Put({Row(i, "x")}));
    int pages = 0;
    world.fault = [&](const RequestHit& hit) -> std::optional<RequestFault> {
      if (hit.method != "list" || !hit.key.ends_with("/wal/") || ++pages != 2) return RequestFault::kNone;
      WriteEntry(world, 4, EntryOf(1, 1, R"([[4, "x"]])"));  // sorts before the page
      WriteEntry(world, 5, EntryOf(1, 1, R"([[5, "x"]])"));  // and this one behind it
      return RequestFault::kNone;
    };
    auto second = process.Open();
    EXPECT_GT(pages, 3);
    EXPECT_EQ(ReadBack(*second), "1:x 2:x 3:x 4:x 5:x");
  });
}

// A cursor that cannot be recorded costs requests at the next open, nothing else.
TEST(OpenWriter, TheReplayCursorIsBestEffort) {
  World world;
  world.CreateTable();
  world.Run([&](Process& process) { ASSERT_OK(process.Open()->Put({Row(1, "a")})); });
  world.fault = [](const RequestHit& hit) -> std::optional<RequestFault> {
    return hit.key == ManifestKey(3) && hit.method == "put_if_absent" ? RequestFault::kRefused : RequestFault::kNone;
  };
  world.Run([&](Process& process) {
    auto writer = process.Open();
    ASSERT_EQ(writer->warnings().size(), 1u);
    EXPECT_THAT(writer->warnings()[0], HasSubstr("cursor"));
    EXPECT_EQ(ReadBack(*writer), "1:a");
    ASSERT_OK(writer->Put({Row(2, "b")}));
  });
}

TEST(OpenWriter, CrashAtEveryStepLosesNothing) {
  for (const std::string step : {"open.validated", "open.claimed", "open.sentinel_written", "wal.replay.entry",
                                 "open.replayed", "open.cursor_recorded"}) {
    World world;
    world.CreateTable();
    world.Run([&](Process& process) {
      auto writer = process.Open(BatchesPerTable(2));
      for (int i = 0; i < 3; ++i) ASSERT_OK(writer->Put({Row(i, "x")}));
    });
    bool armed = true;
    world.sim.OnSyncPoint(step, [&armed](const SyncHit&) {
      return std::exchange(armed, false) ? SyncAction::Crash() : SyncAction::Continue();
    });
    world.Run([&](Process& process) { (void)process.TryOpen(); });
    EXPECT_FALSE(armed) << step << " was not passed";
    world.Run([&](Process& process) { EXPECT_EQ(ReadBack(*process.Open()), "0:x 1:x 2:x") << step; });
  }
}

}  // namespace
}  // namespace javelin::memwal
