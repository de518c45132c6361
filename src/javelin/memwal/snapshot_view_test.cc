// Views over SSTables that somebody listed: what counts of the list, and what a list must not say.
#include "javelin/memwal/sharding.h"
#include "javelin/memwal/writer_test_world.h"

namespace javelin::memwal {
namespace {

using namespace test;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr char kOther[] = "99999999-2222-4333-8444-555555555555";

// One SSTable per step, by writers of their own.
void Publish(World& world, const std::vector<std::function<void(ShardWriter&)>>& steps,
             const std::string& shard = kShard) {
  for (const auto& step : steps) {
    world.Run([&](Process& process) {
      auto writer = Must(process.TryOpen(Eager(), shard));
      step(*writer);
      ASSERT_OK(writer->Close());
    });
  }
}
std::function<void(ShardWriter&)> Puts(const std::string& json) {
  return [json](ShardWriter& writer) { ASSERT_OK(writer.Put({Rows(json)})); };
}
std::function<void(ShardWriter&)> Deletes(const std::string& json) {
  return [json](ShardWriter& writer) { ASSERT_OK(writer.Delete({Keys(json)})); };
}

// The shard as its manifest lists it.
ShardSnapshot Listed(const World& world, const std::string& shard = kShard) {
  const ShardPaths paths("table", Must(Uuid::Parse(shard)));
  ShardSnapshot snapshot{.shard = Must(Uuid::Parse(shard))};
  for (uint64_t version = 1;; ++version) {
    const auto bytes = world.store->raw().Get(paths.Manifest(ManifestVersion(version)));
    if (!bytes.ok()) return snapshot;
    snapshot.sstables = Must(DecodeShardManifest(**bytes)).sstables;
  }
}

std::string Read(Process& process, const std::vector<ShardSnapshot>& snapshots) {
  const auto view = Must(FreshView::OfSnapshots(process.Table(), snapshots));
  const std::string rows = Sorted(Scan(*view));
  EXPECT_EQ(Must(view->CountRows()), rows.empty() ? 0u : std::count(rows.begin(), rows.end(), ' ') + 1u);
  return rows;
}

// Says that the base holds the shard through this generation.
void Compact(Process& process, uint64_t generation) {
  ReplaceDetails(process, [&](table::MemWalDetails& details) {
    details.compacted_sstables = {{Must(Uuid::Parse(kShard)), Generation(generation)}};
  });
}

TEST(SnapshotView, NewestOfEverythingThatIsListed) {
  World world;
  world.CreateTable(R"([[1, "base"], [2, "base"], [3, "base"]])");
  Publish(world, {Puts(R"([[2, "g1"], [4, "g1"]])"), Deletes("[[1]]"), Puts(R"([[2, "g3"]])")});
  Publish(world, {Puts(R"([[3, "other"]])")}, kOther);
  ShardSnapshot all = Listed(world);
  ASSERT_EQ(all.sstables.size(), 3u);
  world.Run([&](Process& process) {
    EXPECT_EQ(Read(process, {}), "1:base 2:base 3:base");
    EXPECT_EQ(Read(process, {all}), "2:g3 3:base 4:g1");
    EXPECT_EQ(Read(process, {all, Listed(world, kOther)}), "2:g3 3:other 4:g1");
    ShardSnapshot backwards = all;
    std::reverse(backwards.sstables.begin(), backwards.sstables.end());
    EXPECT_EQ(Read(process, {backwards}), "2:g3 3:base 4:g1");
    ShardSnapshot first = all;
    first.sstables.resize(1);
    EXPECT_EQ(Read(process, {first}), "1:base 2:g1 3:base 4:g1");
  });
}

TEST(SnapshotView, RowsSayTheirGeneration) {
  World world;
  world.CreateTable(R"([[1, "base"], [2, "base"]])");
  Publish(world, {Puts(R"([[2, "g1"], [4, "g1"]])"), Puts(R"([[4, "g2"]])")});
  world.Run([&](Process& process) {
    const auto view = Must(FreshView::OfSnapshots(process.Table(), {Listed(world)}));
    const auto rows = [&](const ScanOptions& options) { return Text(*Collect(view->Scan(options, true))); };
    EXPECT_EQ(rows({}), "4:g2:2 2:g1:1 1:base:0");
    for (uint64_t offset = 0; offset < 5; ++offset) {
      ScanOptions options;
      options.columns = std::vector<std::string>{};
      options.offset = offset;
      options.limit = 2;
      options.batch_rows = 1;
      EXPECT_EQ(rows(options), std::vector<std::string>({"2 1", "1 0", "0", "", ""})[offset]);
    }
    EXPECT_EQ(Text(*Collect(Must(FreshView::OfSnapshots(process.Table(), {}))->Scan({}, true))), "1:base:0 2:base:0");
  });
}

TEST(SnapshotView, SaysWhatItReadsAndAsksForNothingBefore) {
  World world;
  world.CreateTable(R"([[1, "base"]])");
  Publish(world, {Puts(R"([[2, "g1"]])"), Puts(R"([[3, "g2"]])")});
  const ShardSnapshot all = Listed(world);
  world.Run([&](Process& process) {
    const auto table = process.Table();
    world.Take();
    const auto view = Must(FreshView::OfSnapshots(table, {all}));
    EXPECT_THAT(world.Take(), IsEmpty());
    EXPECT_THAT(view->tiers(), ElementsAre(HasSubstr("generation 2, " + all.sstables[1].path),
                                           HasSubstr("generation 1, " + all.sstables[0].path),
                                           fmt::format("Base table: version {}", table->version())));
  });
}

// P1: an SSTable that the base holds must not hide what the base says since.
TEST(SnapshotView, CompactedSsTablesCountNoMore) {
  World world;
  world.CreateTable(R"([[1, "base"], [2, "newer"]])");
  Publish(world, {Puts(R"([[2, "g1"]])"), Puts(R"([[3, "g2"]])")});
  const ShardSnapshot all = Listed(world);
  world.Run([&](Process& process) {
    const auto before = process.Table();
    Compact(process, 1);
    EXPECT_EQ(Read(process, {all}), "1:base 2:newer 3:g2");
    const auto view = Must(FreshView::OfSnapshots(process.Table(), {all}));
    EXPECT_EQ(Text(*Must(view->Get(*Keys("[[2], [3]]")))), "2:newer 3:g2");
    EXPECT_EQ(view->tiers().size(), 2u);
    EXPECT_EQ(Sorted(Scan(*Must(FreshView::OfSnapshots(before, {all})))), "1:base 2:g1 3:g2")
        << "an older version does not hold it yet";
    Compact(process, 7);
    EXPECT_EQ(Read(process, {all}), "1:base 2:newer");
  });
}

// P18: what is compacted may be deleted; what is not and is gone is said.
TEST(SnapshotView, ARetiredFolderIsNotLookedFor) {
  World world;
  world.CreateTable(R"([[1, "base"]])");
  Publish(world, {Puts(R"([[2, "g1"]])")});
  ShardSnapshot listed = Listed(world);
  listed.sstables[0].path = "nope_gen_1";
  world.Run([&](Process& process) {
    const auto view = Must(FreshView::OfSnapshots(process.Table(), {listed}));
    ExpectError(Must(view->Scan())->ToTable().status(), ErrorKind::kNotFound, "nope_gen_1");
    ExpectError(view->Get(*Keys("[[2]]")).status(), ErrorKind::kNotFound, "nope_gen_1");
    Compact(process, 1);
    EXPECT_EQ(Read(process, {listed}), "1:base");
  });
}

// P19.
TEST(SnapshotView, WithoutAKeyEveryRowCounts) {
  World world;
  world.CreateTable(R"([[1, "base"]])", {}, KeylessSchema());
  Publish(world, {Puts(R"([[1, "g1"], [1, "g1"]])"), Puts(R"([[1, "g2"]])")});
  world.Run([&](Process& process) {
    EXPECT_EQ(Read(process, {Listed(world)}), "1:base 1:g1 1:g1 1:g2");
    Compact(process, 1);
    EXPECT_EQ(Read(process, {Listed(world)}), "1:base 1:g2");
  });
}

// P20, and what else a list must not say.
TEST(SnapshotView, ListsThatMakeNoSense) {
  World world;
  world.CreateTable(R"([[1, "base"]])");
  Publish(world, {Puts(R"([[2, "g1"]])")});
  const ShardSnapshot good = Listed(world);
  world.Run([&](Process& process) {
    const auto table = process.Table();
    auto writer = Must(process.TryOpen(Eager(), kOther));
    const auto refused = [&](const std::vector<ShardSnapshot>& snapshots, const std::string& word) {
      world.Take();
      ExpectError(FreshView::OfSnapshots(table, snapshots).status(), ErrorKind::kInvalidInput, word);
      ExpectError(FreshView::OpenForWriter(*writer, snapshots).status(), ErrorKind::kInvalidInput, word);
      EXPECT_THAT(world.Take(), IsEmpty());
    };
    ShardSnapshot bad = good;
    bad.sstables[0].generation = Generation(0);
    refused({bad}, "count from 1");
    bad = good;
    bad.sstables.push_back(bad.sstables[0]);
    refused({bad}, "twice");
    refused({good, good}, "twice");
    for (const char* path : {"", "..", "a/b", "/a", "../x"}) {
      bad = good;
      bad.sstables[0].path = path;
      refused({bad}, "folder");
    }
  });
}

TEST(SnapshotView, OnTopOfAWriterItsOwnShardIsKnownBetter) {
  World world;
  world.CreateTable(R"([[1, "base"], [3, "base"]])");
  Publish(world, {Puts(R"([[2, "g1"]])"), Deletes("[[1]]")});
  Publish(world, {Puts(R"([[3, "other"]])")}, kOther);
  const ShardSnapshot other = Listed(world, kOther);
  world.Run([&](Process& process) {
    auto writer = process.Open(Eager());
    ASSERT_OK(writer->Put({Row(4, "memory")}));
    const auto read = [&](const std::vector<ShardSnapshot>& others) {
      return Sorted(Scan(*Must(FreshView::OpenForWriter(*writer, others))));
    };
    EXPECT_EQ(read({}), "2:g1 3:base 4:memory");
    EXPECT_EQ(read({other}), "2:g1 3:other 4:memory");
    ShardSnapshot stale{.shard = Must(Uuid::Parse(kShard)),
                        .sstables = {{.generation = Generation(1), .path = "nope"}}};
    EXPECT_EQ(read({stale, other}), "2:g1 3:other 4:memory");
    EXPECT_THAT(Must(FreshView::OpenForWriter(*writer, {other}))->tiers(),
                ElementsAre(HasSubstr("MemTable"), HasSubstr("generation 2"), HasSubstr("generation 1"),
                            HasSubstr(kOther), HasSubstr("Base table")));
  });
}

// Rows split by the spec of their table, put into a shard per value, come back whole.
TEST(SnapshotView, RowsRoutedToShardsComeBack) {
  World world;
  InitializeOptions options;
  options.bucket_column = "id";
  options.num_buckets = 4;
  world.CreateTable("[]", options);
  std::string expected, json;
  for (int i = 10; i < 40; ++i) {
    json += fmt::format("{}[{}, \"v\"]", i > 10 ? ", " : "[", i);
    expected += fmt::format("{}{}:v", i > 10 ? " " : "", i);
  }
  world.Run([&](Process& process) {
    const auto table = process.Table();
    const auto details = *Must(table::ReadMemWalDetails(table->manifest()));
    const auto shards = Must(RouteRows(details.sharding_specs.at(0), table->schema(), Rows(json + "]")));
    EXPECT_EQ(shards.size(), 4u);
    for (const ShardRows& shard : shards) {
      const std::string id = Uuid::Random(process.runtime().Random(), process.runtime().Random()).ToString();
      auto writer = Must(process.TryOpen(Eager(), id));
      ASSERT_OK(writer->Put({shard.rows}));
      ASSERT_OK(writer->Close());
    }
  });
  world.Run([&](Process& process) { EXPECT_EQ(process.Fresh(), expected); });
}

}  // namespace
}  // namespace javelin::memwal
