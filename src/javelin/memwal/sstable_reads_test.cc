// Reading SSTables through views: what it asks of the store, exactly, and what it answers.
#include <map>

#include "javelin/index/key_encoding.h"
#include "javelin/memwal/sstable_cache.h"
#include "javelin/memwal/writer_registry.h"
#include "javelin/memwal/writer_test_world.h"
#include "javelin/store/counting_store.h"

namespace javelin::memwal {
namespace {

using namespace test;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// Rows [first, first + count) with texts that do not compress to nothing, 100 bytes each.
std::shared_ptr<arrow::RecordBatch> ManyRows(int64_t first, int64_t count) {
  SeededRandom random(static_cast<uint64_t>(first));
  std::string json = "[";
  for (int64_t id = first; id < first + count; ++id) {
    std::string text;
    while (text.size() < 100) text += static_cast<char>('a' + random.Below(26));
    json += fmt::format("{}[{}, \"{}\"]", id == first ? "" : ", ", id, text);
  }
  return Rows(json + "]");
}

// SSTables of so many rows each, on a base of 10 rows.
void Publish(World& world, int sstables, int64_t rows_each) {
  world.Run([&](Process& process) {
    auto writer = process.Open(Eager());
    for (int i = 0; i < sstables; ++i) {
      ASSERT_OK(writer->Put({ManyRows(i * rows_each, rows_each)}));
      ASSERT_OK(writer->Flush());
    }
    ASSERT_OK(writer->Close());
  });
}

std::string Joined(const std::vector<std::string>& requests) { return fmt::format("{}", fmt::join(requests, "\n")); }

TEST(SsTableReads, AScanOfSmallOnesTakesTwoRequestsEachColdAndNoneWarm) {
  for (const int sstables : {1, 4, 16}) {
    World world;
    world.CreateTable(R"([[1, "base"], [2, "base"], [5000, "base"]])");
    Publish(world, sstables, 10);
    world.Run([&](Process& process) {
      const auto view = Must(FreshView::Open(*process.Table()));
      world.Take();
      EXPECT_EQ(Must(view->CountRows()), sstables * 10u + 1u);
      const auto cold = world.Take();
      EXPECT_THAT(cold, SizeIs(2 * sstables + 1)) << Joined(cold);
      EXPECT_EQ(Collect(view->Scan())->num_rows(), sstables * 10 + 1);
      const auto warm = world.Take();
      EXPECT_THAT(warm, SizeIs(0)) << Joined(warm);
    });
  }
}

// Counts what a remote store would be asked for: ranges of one file that lie apart are a request each.
std::vector<std::string> Counted(CountingStore& store) {
  auto requests = store.LogText();
  store.Reset();
  return requests;
}

TEST(SsTableReads, LargeOnesTakeThreeRequestsEachColdAndNoneWarm) {
  for (const int sstables : {1, 4}) {
    World world;
    world.CreateTable(R"([[1, "base"], [2, "base"], [500000, "base"]])");
    Publish(world, sstables, 3'000);
    world.Run([&](Process& process) {
      const auto counting = std::make_shared<CountingStore>(process.runtime(), world.store);
      const Process counted(world.sim.runtime(), counting);
      const auto view = Must(FreshView::Open(*counted.Table()));
      Counted(*counting);
      EXPECT_EQ(Collect(view->Scan())->num_rows(), sstables * 3'000 + 1);
      const auto cold = Counted(*counting);
      EXPECT_THAT(cold, SizeIs(3 * sstables + 1)) << Joined(cold);
      EXPECT_EQ(Collect(view->Scan())->num_rows(), sstables * 3'000 + 1);
      const auto warm = Counted(*counting);
      EXPECT_THAT(warm, SizeIs(0)) << Joined(warm);
    });
  }
}

// A session with so little memory that an SSTable would take more than half of the room for what was read.
TEST(SsTableReads, WhatDoesNotFitIsReadAgain) {
  World world;
  world.CreateTable(R"([[1, "base"], [2, "base"], [500000, "base"]])");
  Publish(world, 2, 9'000);
  world.Run([&](Process& process) {
    const auto counting = std::make_shared<CountingStore>(process.runtime(), world.store);
    const auto session = std::make_shared<Session>(MakeResources(world.sim.runtime(), 8 << 20));
    session->stores().Register("test://t/", counting);
    const auto view = Must(FreshView::Open(*Must(Dataset::Open(session, kTableUri))));
    Counted(*counting);
    for (const size_t requests : {7, 2, 2}) {
      EXPECT_EQ(Collect(view->Scan())->num_rows(), 18'001);
      const auto asked = Counted(*counting);
      EXPECT_THAT(asked, SizeIs(requests)) << Joined(asked);
    }
    EXPECT_EQ(Must(view->Get(*Keys("[[4500]]")))->num_rows(), 1);
    Counted(*counting);
    EXPECT_EQ(Collect(view->Scan())->num_rows(), 18'001);
    Counted(*counting);
    EXPECT_EQ(Must(view->Get(*Keys("[[4500]]")))->num_rows(), 1);
    const auto later = Counted(*counting);
    EXPECT_THAT(later, SizeIs(0)) << "scans have pushed nothing out: " << Joined(later);
  });
}

// The cache holds what fits; who still reads one that had to go goes on, and the next one opens it anew.
TEST(SsTableReads, TheCacheKeepsToItsLimit) {
  World world;
  world.CreateTable();
  Publish(world, 6, 3'000);
  world.Run([&](Process& process) {
    const auto counting = std::make_shared<CountingStore>(process.runtime(), world.store);
    const std::shared_ptr<ObjectStore> store = counting;
    const Resources resources = MakeResources(world.sim.runtime(), 4 << 20);
    SsTableCache cache(resources, nullptr);
    const auto table = process.Table();
    const std::vector<file::Field> key = {table->schema().fields()[0]};
    const auto manifest = Must(WriterRegistry::Of(*process.session)
                                   ->ReaderManifestStore(table->location(), Must(Uuid::Parse(kShard)))
                                   ->RefreshLatest());
    std::vector<std::string> folders;
    for (const SsTableEntry& entry : manifest->sstables) folders.push_back(JoinKey(Paths().shard_folder, entry.path));
    ASSERT_THAT(folders, SizeIs(6));
    std::vector<std::shared_ptr<const SsTable>> opened;
    for (const auto& folder : folders) {
      opened.push_back(Must(cache.Get(store, folder)));
      EXPECT_EQ(Must(opened.back()->GetKeys(key))->index.num_rows(), 3'000u);
      EXPECT_EQ(Must(cache.Get(store, folder)), opened.back());
      EXPECT_LE(cache.memory_bytes(), 1u << 20);
    }
    EXPECT_THAT(counting->log(), SizeIs(3 * 6));
    EXPECT_EQ(cache.Find(store, folders[0]), nullptr);
    EXPECT_EQ(cache.Find(store, folders[5]), opened[5]);
    Counted(*counting);
    const auto again = Must(cache.Get(store, folders[0]));
    EXPECT_NE(again, opened[0]);
    EXPECT_THAT(Counted(*counting), SizeIs(1));
    for (const auto& one : {again, opened[0]}) {
      const auto rows = Must(one->Read(table->schema(), 2'999, 1));
      EXPECT_EQ(rows->column(0)->GetScalar(0).ValueOrDie()->ToString(), "2999");
    }
  });
}

struct KeyRow {
  int64_t id;
  bool deleted;
};

// Rows in the order in which they were written, as one SSTable.
void PublishRows(World& world, const std::vector<KeyRow>& rows) {
  world.CreateTable();
  world.Run([&](Process& process) {
    auto writer = process.Open(Eager());
    for (const KeyRow& row : rows) {
      if (row.deleted) {
        ASSERT_OK(writer->Delete({Keys(fmt::format("[[{}]]", row.id))}));
      } else {
        ASSERT_OK(writer->Put({Row(row.id, "some")}));
      }
    }
    ASSERT_OK(writer->Close());
  });
}

// Every row of the SSTable has its key and its mark, and every key its newest row.
void ExpectKeys(const SsTable::Keys& keys, const std::vector<KeyRow>& rows) {
  const auto encoder = Must(index::KeyEncoder::Make({arrow::int64()}));
  ASSERT_EQ(keys.index.num_rows(), rows.size());
  ASSERT_THAT(keys.tombstones, SizeIs(rows.size()));
  std::map<std::string, uint64_t> newest;
  for (uint64_t row = 0; row < rows.size(); ++row) {
    const std::string key = encoder.EncodeRow(Keys(fmt::format("[[{}]]", rows[row].id))->columns(), 0);
    EXPECT_EQ(keys.index.KeyOf(row).bytes, key) << "row " << row;
    EXPECT_EQ(keys.tombstones[row], rows[row].deleted) << "row " << row;
    newest[key] = row;
  }
  for (const auto& [key, row] : newest) EXPECT_EQ(keys.index.FindNewest(index::HashedKey(key), rows.size()), row);
}

// However many rows are read at once: less than there are, as many, a divisor, one.
TEST(SsTableReads, KeysReadInPartsAreThoseReadAtOnce) {
  std::vector<KeyRow> rows;
  for (int64_t i = 0; i < 50; ++i) rows.push_back({.id = i * 37 % 41, .deleted = i % 7 == 0 || i % 7 == 3});
  for (const size_t count : {1, 49, 50}) {
    World world;
    const std::vector<KeyRow> written(rows.begin(), rows.begin() + static_cast<ptrdiff_t>(count));
    PublishRows(world, written);
    world.Run([&](Process& process) {
      const auto table = process.Table();
      const auto manifest = Must(WriterRegistry::Of(*process.session)
                                     ->ReaderManifestStore(table->location(), Must(Uuid::Parse(kShard)))
                                     ->RefreshLatest());
      ASSERT_THAT(manifest->sstables, SizeIs(1));
      const std::string folder = JoinKey(Paths().shard_folder, manifest->sstables[0].path);
      for (const uint64_t rows_at_once : {uint64_t{1}, uint64_t{7}, uint64_t{10}, uint64_t{25}, uint64_t{49},
                                          uint64_t{50}, uint64_t{51}, SsTable::kKeyRowsAtOnce}) {
        SCOPED_TRACE(fmt::format("{} rows, {} at once", count, rows_at_once));
        const auto sstable = Must(SsTable::Open(process.session->resources(), table->location().store, folder));
        const auto keys = Must(sstable->GetKeys({table->schema().fields()[0]}, rows_at_once));
        ExpectKeys(*keys, written);
        EXPECT_EQ(Must(sstable->GetKeys({table->schema().fields()[0]})), keys) << "kept";
      }
    });
  }
}

// Newest first, and no further than needed.
TEST(SsTableReads, ALookupInTheNewestOfManyAsksTheOthersNothing) {
  World world;
  world.CreateTable();
  Publish(world, 4, 8'000);
  world.Run([&](Process& process) {
    const auto counting = std::make_shared<CountingStore>(process.runtime(), world.store);
    const Process counted(world.sim.runtime(), counting);
    const auto view = Must(FreshView::Open(*counted.Table()));
    Counted(*counting);
    EXPECT_EQ(Must(view->Get(*Keys("[[28000]]")))->num_rows(), 1);
    const auto cold = Counted(*counting);
    for (const auto& request : cold) EXPECT_THAT(request, HasSubstr("_gen_4/"));
    EXPECT_THAT(cold, SizeIs(4)) << "manifest, tail, keys, the other column of the rows: " << Joined(cold);
    EXPECT_EQ(Must(view->Get(*Keys("[[26000]]")))->num_rows(), 1);
    const auto elsewhere = Counted(*counting);
    EXPECT_THAT(elsewhere, SizeIs(1)) << "in a block that was not read yet: " << Joined(elsewhere);
    EXPECT_EQ(Must(view->Get(*Keys("[[24000], [26000], [28000], [28001], [31999]]")))->num_rows(), 5);
    const auto warm = Counted(*counting);
    EXPECT_THAT(warm, SizeIs(0)) << Joined(warm);
  });
}

// Reads of SSTables that a session has open cost nothing but the rows.
TEST(SsTableReads, TwoRequestsColdAndNoneForKeysWarm) {
  World world;
  world.CreateTable();
  world.Run([&](Process& process) {
    auto writer = process.Open();
    ASSERT_OK(writer->Put({Rows(R"([[1, "a"], [2, "b"]])")}));
    ASSERT_OK(writer->Close());
  });
  world.Run([&](Process& process) {
    const auto view = Must(FreshView::Open(*process.Table()));
    world.Take();
    EXPECT_EQ(Text(*Must(view->Get(*Keys("[[2]]")))), "2:b");
    EXPECT_THAT(world.Take("_gen_1"), SizeIs(2)) << "manifest, data file";
    EXPECT_EQ(Text(*Must(view->Get(*Keys("[[1]]")))), "1:a");
    EXPECT_THAT(world.Take("_gen_1"), IsEmpty());
    EXPECT_EQ(Sorted(Scan(*view)), "1:a 2:b");
    EXPECT_THAT(world.Take("_gen_1"), IsEmpty());
  });
}

TEST(SsTableReads, WithoutAKeyEveryRowCounts) {
  World world;
  world.CreateTable(R"([[1, "base"]])", {}, KeylessSchema());
  world.Run([&](Process& process) {
    auto writer = process.Open();
    ASSERT_OK(writer->Put({Rows(R"([[1, "a"], [1, "b"]])")}));
    ASSERT_OK(writer->Flush());
    ASSERT_OK(writer->Put({Row(1, "c")}));
    EXPECT_EQ(process.Fresh(), "1:a 1:b 1:base 1:c");
    EXPECT_EQ(Must(Must(FreshView::Open(*process.Table()))->CountRows()), 4u);
  });
}

// A view stays what it was while the MemTables under it become SSTables.
TEST(SsTableReads, AViewOutlivesTheFlushOfItsRows) {
  World world;
  world.CreateTable();
  world.Run([&](Process& process) {
    auto writer = process.Open();
    ASSERT_OK(writer->Put({Rows(R"([[1, "a"], [2, "b"]])")}));
    const auto view = Must(FreshView::Open(*process.Table()));
    ASSERT_OK(writer->Delete({Keys("[[1]]")}));
    ASSERT_OK(writer->Close());
    EXPECT_EQ(Sorted(Scan(*view)), "1:a 2:b");
    EXPECT_EQ(process.Fresh(), "2:b");
  });
}

}  // namespace
}  // namespace javelin::memwal
