#include "javelin/memwal/wal_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <arrow/api.h>

#include "javelin/memwal/test_support_internal.h"

namespace javelin::memwal {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Requests = std::vector<std::string>;

WalEntry Rows(int64_t id, std::optional<Generation> generation = Generation(1)) {
  auto schema = arrow::schema({arrow::field("id", arrow::int64())});
  arrow::Int64Builder builder;
  EXPECT_TRUE(builder.Append(id).ok());
  WalEntry entry{.generation = generation, .schema = schema};
  entry.batches = {arrow::RecordBatch::Make(schema, 1, arrow::ArrayVector{builder.Finish().ValueOrDie()})};
  return entry;
}

int64_t IdOf(const WalEntry& entry) {
  return entry.batches.empty() ? -1 : static_cast<const arrow::Int64Array&>(*entry.batches[0]->column(0)).Value(0);
}

// A writer as far as the log is concerned.
struct Writer {
  std::shared_ptr<ScriptedStore> store;
  std::shared_ptr<ShardManifestStore> manifests;
  ShardManifest claimed;
  std::unique_ptr<WalLog> log;
  std::vector<int64_t> replayed;  // -1 = an entry without rows

  arrow::Status Append(int64_t id) { return log->Append(Rows(id)).status(); }
};

class World {
 public:
  World(Simulation& simulation, const Resources& resources)
      : simulation_(simulation), resources_(resources), objects_(MakeMemoryStore(resources)) {}

  Writer Claim(WalLogOptions options = {}) {
    Writer writer;
    writer.store = std::make_shared<ScriptedStore>(resources_, objects_);
    writer.manifests = std::make_shared<ShardManifestStore>(resources_, writer.store, "table", TestShard());
    writer.claimed = writer.manifests->ClaimEpoch(1).ValueOrDie();
    writer.log = std::make_unique<WalLog>(resources_, writer.store, writer.manifests, "table",
                                          writer.claimed.writer_epoch, options);
    return writer;
  }
  // Claim, sentinel, replay: what an open does, without its memory.
  arrow::Result<Writer> Open(WalLogOptions options = {}, std::function<void(Writer&)> before_sentinel = nullptr) {
    Writer writer = Claim(options);
    if (before_sentinel) before_sentinel(writer);
    std::optional<WalPosition> end;
    std::vector<BufferPtr> prefetched;
    if (writer.claimed.writer_epoch > Epoch(1)) {
      ARROW_ASSIGN_OR_RAISE(auto sentinel, writer.log->WriteSentinel(writer.claimed));
      end = sentinel.position;
      prefetched = std::move(sentinel.prefetched);
    }
    auto keep = [&](WalPosition, WalEntry entry) {
      writer.replayed.push_back(IdOf(entry));
      return arrow::Status::OK();
    };
    ARROW_ASSIGN_OR_RAISE(WalPosition next,
                          writer.log->Replay(WalLog::Range::Of(writer.claimed, end, std::move(prefetched)), keep));
    writer.log->SetNextPosition(end.has_value() ? end->Next() : next);
    return writer;
  }
  Writer MustOpen(WalLogOptions options = {}) { return Open(options).ValueOrDie(); }

  void Put(uint64_t position, const BufferPtr& bytes) {
    ASSERT_TRUE(objects_->Put(paths_.WalEntry(WalPosition(position)), bytes).ok());
  }
  void PutEntry(uint64_t position, uint64_t epoch, int64_t id, std::optional<Generation> generation = Generation(1)) {
    WalEntry entry = Rows(id, generation);
    entry.writer_epoch = Epoch(epoch);
    Put(position, EncodeWalEntry(entry).ValueOrDie());
  }
  void Delete(uint64_t position) { ASSERT_TRUE(objects_->Delete(paths_.WalEntry(WalPosition(position))).ok()); }
  // What is stored, by position: (epoch, id; -1 for no rows).
  std::map<uint64_t, std::pair<uint64_t, int64_t>> Log() {
    std::map<uint64_t, std::pair<uint64_t, int64_t>> log;
    for (const auto& object : ListAll(*objects_, {.prefix = paths_.WalFolder()}).ValueOrDie().objects) {
      auto position = ParseReversedBits(object.key.substr(paths_.WalFolder().size()), kWalEntrySuffix);
      if (!position) continue;
      auto entry = DecodeWalEntry(objects_->Get(object.key).ValueOrDie());
      log[*position] =
          entry.ok() ? std::pair(entry->writer_epoch.value(), IdOf(*entry)) : std::pair(uint64_t{0}, int64_t{-2});
    }
    return log;
  }
  ObjectStore& objects() { return *objects_; }
  const ShardPaths& paths() const { return paths_; }
  Simulation& simulation() { return simulation_; }
  Runtime& runtime() { return *resources_.runtime; }
  const Resources& resources() const { return resources_; }

 private:
  Simulation& simulation_;
  Resources resources_;
  std::shared_ptr<ObjectStore> objects_;
  ShardPaths paths_{"table", TestShard()};
};

void InWorld(const std::function<void(World&)>& body) {
  InVirtualTime([&](Simulation& simulation, const Resources& resources) {
    World world(simulation, resources);
    body(world);
  });
}

using LogMap = std::map<uint64_t, std::pair<uint64_t, int64_t>>;

// ---- request floors ----

TEST(WalLog, OpeningAFreshShardIsSixRequests) {
  InWorld([](World& world) {
    Writer writer = world.MustOpen();
    EXPECT_THAT(writer.store->TakeRequests(), ElementsAre("GET manifest/hint", "LIST manifest", "CREATE manifest/1",
                                                          "PUT manifest/hint", "HEAD manifest/1", "GET wal/1"));
    EXPECT_EQ(writer.log->next_position(), WalPosition(1));
    ASSERT_TRUE(writer.Append(7).ok());
    EXPECT_THAT(writer.store->TakeRequests(), ElementsAre("CREATE wal/1"));
    EXPECT_EQ(world.Log(), (LogMap{{1, {1, 7}}}));
  });
}

TEST(WalLog, ReopeningAShortLogIsAListingAndAGetPerEntry) {
  InWorld([](World& world) {
    Writer first = world.MustOpen();
    for (int i = 1; i <= 20; ++i) ASSERT_TRUE(first.Append(i).ok());
    Writer second = world.MustOpen();
    Requests expected{"GET manifest/hint", "GET manifest/1",  "HEAD manifest/2", "CREATE manifest/2",
                      "PUT manifest/hint", "HEAD manifest/2", "LIST wal",        "CREATE wal/21"};
    for (int i = 1; i <= 20; ++i) expected.push_back("GET wal/" + std::to_string(i));
    EXPECT_EQ(second.store->TakeRequests(), expected);  // 8 + N; the cursor commit adds 3
    EXPECT_EQ(second.replayed.size(), 20u);
    EXPECT_EQ(second.log->next_position(), WalPosition(22));
    EXPECT_EQ(world.Log()[21], (std::pair<uint64_t, int64_t>{2, -1}));
  });
}

// Raises the replay position and the hint to `position`, as a flush would.
void Cover(Writer& writer, uint64_t replay_after, uint64_t last_seen) {
  auto committed = writer.manifests->CommitUpdate(writer.claimed.writer_epoch,
                                                  [=](const ShardManifest& base) -> arrow::Result<ShardManifest> {
                                                    ShardManifest next = base.NextVersion();
                                                    next.replay_after = WalPosition(replay_after);
                                                    next.wal_position_last_seen = WalPosition(last_seen);
                                                    return next;
                                                  });
  ASSERT_TRUE(committed.Get().ok());
}

TEST(WalLog, ReopeningALongLogReadsAhead) {
  for (int entries : {0, 1, 15, 16, 17, 40}) {
    InWorld([&](World& world) {
      Writer first = world.MustOpen();
      first.log->SetNextPosition(WalPosition(2'001));
      for (int i = 1; i <= entries; ++i) ASSERT_TRUE(first.Append(i).ok());
      Cover(first, 2'000, 2'000);
      Writer second = world.MustOpen();
      auto counts = second.store->TakeCounts();
      int total = 0, gets = 0, heads = 0;
      for (const auto& [request, count] : counts) {
        // Absent as the next version, then there as the claim.
        EXPECT_EQ(count, request == "HEAD manifest/3" ? 2 : 1) << request;
        total += count;
        gets += request.starts_with("GET wal/");
        heads += request.starts_with("HEAD wal/");
      }
      EXPECT_EQ(gets + heads, entries + 17) << entries;  // every entry, and 17 that are absent
      EXPECT_EQ(total, entries + 24) << entries;  // + 6 of the claim + the sentinel; the cursor commit adds 3: 27 + N
      EXPECT_EQ(second.replayed.size(), static_cast<size_t>(entries));
      EXPECT_EQ(counts["CREATE wal/" + std::to_string(2'001 + entries)], 1);
      EXPECT_EQ(counts.count("LIST wal"), 0u);
    });
  }
}

TEST(WalLog, ReadingAheadKeepsALimitedPrefixInMemory) {
  InWorld([](World& world) {
    Writer first = world.MustOpen();
    first.log->SetNextPosition(WalPosition(2'001));
    for (int i = 1; i <= 40; ++i) ASSERT_TRUE(first.Append(i).ok());
    Cover(first, 2'000, 2'000);
    Writer second = world.Claim({.prefetch_limit_bytes = 1});
    auto tip = second.log->DiscoverTip(second.claimed).ValueOrDie();
    EXPECT_EQ(tip.next, WalPosition(2'041));
    EXPECT_EQ(tip.prefetched.size(), 16u);  // the window that passed the limit
    auto counts = second.store->TakeCounts();
    EXPECT_EQ(counts["GET wal/2016"], 1);
    EXPECT_EQ(counts["HEAD wal/2017"], 1);
    EXPECT_EQ(counts.count("GET wal/2017"), 0u);
    std::vector<int64_t> ids;
    auto keep = [&](WalPosition, WalEntry entry) {
      ids.push_back(IdOf(entry));
      return arrow::Status::OK();
    };
    EXPECT_EQ(
        second.log->Replay(WalLog::Range::Of(second.claimed, tip.next, std::move(tip.prefetched)), keep).ValueOrDie(),
        WalPosition(2'041));
    ASSERT_EQ(ids.size(), 40u);
    for (int i = 0; i < 40; ++i) EXPECT_EQ(ids[i], i + 1);
    EXPECT_EQ(second.store->TakeCounts().size(), 24u);
  });
}

// ---- tip and gaps ----

TEST(WalLog, TheTipIsNeverBelowTheReplayPosition) {
  InWorld([](World& world) {
    Writer first = world.MustOpen();
    ASSERT_TRUE(first.Append(1).ok());
    ASSERT_TRUE(first.Append(2).ok());
    Cover(first, 2, 2);
    world.Delete(1);
    world.Delete(2);
    Writer second = world.MustOpen();
    EXPECT_EQ(world.Log(), (LogMap{{3, {2, -1}}}));
    EXPECT_THAT(second.replayed, IsEmpty());
  });
}

TEST(WalLog, AHoleIsAGapWhereverItIs) {
  for (uint64_t hole : {1, 2, 4}) {
    InWorld([&](World& world) {
      Writer first = world.MustOpen();
      for (int i = 1; i <= 5; ++i) ASSERT_TRUE(first.Append(i).ok());
      world.Delete(hole);
      auto before = world.Log();
      arrow::Status status = world.Open().status();
      EXPECT_KIND(kWalGap, "WAL position " + std::to_string(hole), status);
      EXPECT_EQ(FieldsOf(status).at("position"), std::to_string(hole));
      EXPECT_EQ(FieldsOf(status).at("shard"), kTestShard);
      EXPECT_EQ(world.Log(), before);  // no sentinel that could fill it
    });
  }
}

TEST(WalLog, AMissingEndThatTheManifestKnowsIsAGap) {
  InWorld([](World& world) {
    Writer first = world.MustOpen();
    for (int i = 1; i <= 5; ++i) ASSERT_TRUE(first.Append(i).ok());
    Cover(first, 1, 5);
    world.Delete(5);
    EXPECT_KIND(kWalGap, "position 5", world.Open().status());
    world.Delete(4);
    world.Delete(3);
    world.Delete(2);
    EXPECT_KIND(kWalGap, "position 2", world.Open().status());
  });
}

// A listing or a window of requests is not one moment: while the predecessor appends it can show a later entry without
// the earlier one. Only a hole that is still there afterwards is a gap.
TEST(WalLog, EntriesThatAppearWhileOneLooksAreNoGap) {
  for (bool long_log : {false, true}) {
    InWorld([&](World& world) {
      const uint64_t base = long_log ? 2'000 : 0;
      Writer old = world.MustOpen();
      old.log->SetNextPosition(WalPosition(base + 1));
      for (int i = 1; i <= 3; ++i) ASSERT_TRUE(old.Append(i).ok());
      if (long_log) Cover(old, base, base);
      auto race = [&](Writer& writer) {
        if (long_log) {
          // Position 4 was answered already when 4 and 5 are appended.
          writer.store->Before("GET wal/2005", [&] {
            ASSERT_TRUE(old.Append(4).ok());
            ASSERT_TRUE(old.Append(5).ok());
          });
        } else {
          // The listing has 5, and misses 4.
          world.PutEntry(5, 1, 5);
          writer.store->Before("HEAD wal/4", [&] { ASSERT_TRUE(old.Append(4).ok()); });
        }
      };
      Writer successor = world.Open({}, race).ValueOrDie();
      EXPECT_THAT(successor.replayed, ElementsAre(1, 2, 3, 4, 5));
      EXPECT_EQ(world.Log()[base + 6], (std::pair<uint64_t, int64_t>{2, -1}));
    });
  }
}

// The same where there is no sentinel yet: what appears is a successor's.
TEST(WalLog, ASuccessorThatAppearsDuringAReplayIsNoGap) {
  InWorld([](World& world) {
    Writer writer = world.Claim();
    world.PutEntry(1, 1, 1);
    writer.store->Before("GET wal/3", [&] {
      world.PutEntry(2, 2, -1);
      world.PutEntry(3, 2, 3);
    });
    auto ignore = [](WalPosition, WalEntry) { return arrow::Status::OK(); };
    EXPECT_KIND(kFencedPeerClaimedEpoch, "position 2",
                writer.log->Replay(WalLog::Range::Of(writer.claimed, std::nullopt, {}), ignore).status());
  });
}

TEST(WalLog, AHoleInALongLogIsAGap) {
  // Holes with 1 to 16 absent positions; last_seen is below, at or above them.
  for (uint64_t hole : {2'001, 2'005, 2'016, 2'017, 2'020}) {
    for (uint64_t width : {1, 16}) {
      for (uint64_t last_seen : {2'000, 2'030}) {
        InWorld([&](World& world) {
          Writer first = world.MustOpen();
          for (uint64_t i = 2'001; i <= 2'045; ++i) world.PutEntry(i, 1, 1);
          for (uint64_t i = 0; i < width; ++i) world.Delete(hole + i);
          Cover(first, 2'000, last_seen);
          EXPECT_KIND(kWalGap, "position " + std::to_string(hole), world.Open().status());
        });
      }
    }
  }
}

TEST(WalLog, WithoutASentinelTheLogEndsAtTheFirstMissingPosition) {
  InWorld([](World& world) {
    Writer writer = world.Claim();
    ASSERT_EQ(writer.claimed.writer_epoch, Epoch(1));
    for (uint64_t i = 1; i <= 20; ++i) world.PutEntry(i, 1, i);
    writer.store->TakeRequests();
    std::vector<int64_t> ids;
    auto keep = [&](WalPosition, WalEntry entry) {
      ids.push_back(IdOf(entry));
      return arrow::Status::OK();
    };
    EXPECT_EQ(writer.log->Replay(WalLog::Range::Of(writer.claimed, std::nullopt, {}), keep).ValueOrDie(),
              WalPosition(21));
    EXPECT_EQ(ids.size(), 20u);
    EXPECT_EQ(writer.store->TakeRequests().size(), 33u);  // 1, then two windows of 16
    world.Delete(5);
    EXPECT_KIND(kWalGap, "position 5",
                writer.log->Replay(WalLog::Range::Of(writer.claimed, std::nullopt, {}), keep).status());
  });
}

TEST(WalLog, ForeignNamesDoNotMoveTheTip) {
  InWorld([](World& world) {
    Writer first = world.MustOpen();
    for (int i = 1; i <= 3; ++i) ASSERT_TRUE(first.Append(i).ok());
    for (const std::string& name : {ReversedBits(4) + ".arrow.tmp.x", ReversedBits(4), ReversedBits(4) + ".binpb",
                                    ReversedBits(9) + ".arrow.bak"}) {
      ASSERT_TRUE(world.objects().Put(world.paths().WalFolder() + name, arrow::Buffer::FromString("x")).ok());
    }
    Writer second = world.MustOpen();
    EXPECT_EQ(world.Log(), (LogMap{{1, {1, 1}}, {2, {1, 2}}, {3, {1, 3}}, {4, {2, -1}}}));
    EXPECT_KIND(kFencedPeerClaimedEpoch, "epoch 2", first.Append(999));
  });
}

TEST(WalLog, EveryFailureOfTheStoreFailsTheOpen) {
  struct Case {
    const char* request;
    bool long_log;
  };
  for (const Case& test :
       {Case{"LIST wal", false}, Case{"GET wal/2", false}, Case{"CREATE wal/", false}, Case{"GET wal/2003", true},
        Case{"GET wal/2010", true}, Case{"HEAD wal/2020", true}, Case{"CREATE wal/", true}}) {
    InWorld([&](World& world) {
      Writer first = world.MustOpen();
      for (uint64_t i = 1; i <= 5; ++i) world.PutEntry(test.long_log ? 2'000 + i : i, 1, i);
      if (test.long_log) Cover(first, 2'000, 2'000);
      auto fail = [&](Writer& writer) { writer.store->Fail(test.request); };
      EXPECT_KIND(kTransient, test.request, world.Open({}, fail).status());
      std::vector<int64_t> replayed = world.MustOpen().replayed;
      std::erase(replayed, -1);  // sentinels of failed opens
      EXPECT_THAT(replayed, ElementsAre(1, 2, 3, 4, 5)) << test.request;
    });
  }
}

// ---- sentinel ----

TEST(WalLog, ASentinelFencesTheIncumbentAndKeepsItsRows) {
  InWorld([](World& world) {
    Writer old = world.MustOpen();
    ASSERT_TRUE(old.Append(1).ok());
    // Between claim and sentinel the incumbent may still append.
    Writer successor = world.Open({}, [&](Writer&) { ASSERT_TRUE(old.Append(2).ok()); }).ValueOrDie();
    EXPECT_THAT(successor.replayed, ElementsAre(1, 2));
    arrow::Status fenced = old.Append(3);
    EXPECT_KIND(kFencedPeerClaimedEpoch, "epoch 2", fenced);
    EXPECT_EQ(old.Append(4).message(), fenced.message());
    ASSERT_TRUE(successor.Append(5).ok());
    EXPECT_EQ(world.Log(), (LogMap{{1, {1, 1}}, {2, {1, 2}}, {3, {2, -1}}, {4, {2, 5}}}));
  });
}

TEST(WalLog, ASentinelLooksAgainWhenItsPositionIsTaken) {
  for (bool long_log : {false, true}) {
    InWorld([&](World& world) {
      Writer old = world.MustOpen();
      const uint64_t base = long_log ? 2'000 : 0;
      old.log->SetNextPosition(WalPosition(base + 1));
      for (int i = 1; i <= 3; ++i) ASSERT_TRUE(old.Append(i).ok());
      if (long_log) Cover(old, base, base);
      int id = 3;
      auto race = [&](Writer& writer) {
        writer.store->On("CREATE wal/",
                         {.times = 5, .before = [&] { ASSERT_TRUE(old.Append(++id).ok()); }, .silent = true});
      };
      Writer successor = world.Open({}, race).ValueOrDie();
      EXPECT_THAT(successor.replayed, ElementsAre(1, 2, 3, 4, 5, 6, 7, 8));
      EXPECT_EQ(world.Log()[base + 9], (std::pair<uint64_t, int64_t>{2, -1}));
      // What was read once is not read again.
      auto counts = successor.store->TakeCounts();
      for (int i = 1; i <= 3; ++i) EXPECT_EQ(counts["GET wal/" + std::to_string(base + i)], 1);
    });
  }
}

TEST(WalLog, ASentinelGivesUpAfter1024Races) {
  InWorld([](World& world) {
    Writer writer = world.Claim();
    writer.store->On("CREATE wal/", {.answer = ErrorKind::kAlreadyExists, .times = -1});
    EXPECT_KIND(kIO, "1024 attempts", writer.log->WriteSentinel(writer.claimed).status());
    EXPECT_EQ(writer.store->TakeCounts()["CREATE wal/1"], 1'024);
  });
}

TEST(WalLog, ASentinelWithoutAnAnswerIsOnlyAnExtraEntry) {
  InWorld([](World& world) {
    ASSERT_TRUE(world.MustOpen().Append(1).ok());
    EXPECT_KIND(kTransient, "sentinel",
                world.Open({}, [](Writer& writer) { writer.store->LoseAnswer("CREATE wal/"); }).status());
    Writer third = world.MustOpen();
    EXPECT_EQ(world.Log(), (LogMap{{1, {1, 1}}, {2, {2, -1}}, {3, {3, -1}}}));
    EXPECT_THAT(third.replayed, ElementsAre(1, -1));
  });
}

// An opener that stalled between its claim and its sentinel writes it after rows of its successor.
TEST(WalLog, ALateSentinelIsSteppedOverAndItsOpenerIsFenced) {
  InWorld([](World& world) {
    Writer first = world.MustOpen();
    Writer successor;
    arrow::Status late = world
                             .Open({},
                                   [&](Writer&) {
                                     successor = world.MustOpen();
                                     ASSERT_TRUE(successor.Append(1).ok());
                                   })
                             .status();
    EXPECT_KIND(kFencedPeerClaimedEpoch, "epoch 3", late);
    EXPECT_EQ(world.Log(), (LogMap{{1, {3, -1}}, {2, {3, 1}}, {3, {2, -1}}}));
    successor.store->TakeRequests();
    ASSERT_TRUE(successor.Append(2).ok());
    EXPECT_THAT(successor.store->TakeRequests(),
                ElementsAre("CREATE wal/3", "HEAD manifest/4", "HEAD manifest/3", "CREATE wal/4"));
    EXPECT_THAT(world.MustOpen().replayed, ElementsAre(-1, 1, -1, 2));
  });
}

// ---- replay ----

TEST(WalLog, ReplayRefusesHigherEpochs) {
  InWorld([](World& world) {
    Writer writer = world.Claim();  // epoch 1, and yet a later writer was there
    world.PutEntry(1, 1, 1);
    world.PutEntry(2, 2, 2);
    std::vector<int64_t> ids;
    auto keep = [&](WalPosition, WalEntry entry) {
      ids.push_back(IdOf(entry));
      return arrow::Status::OK();
    };
    arrow::Status status = writer.log->Replay(WalLog::Range::Of(writer.claimed, std::nullopt, {}), keep).status();
    EXPECT_KIND(kFencedPeerClaimedEpoch, "position 2", status);
    EXPECT_EQ(FieldsOf(status).at("epoch"), "1");
    EXPECT_THAT(ids, ElementsAre(1));
  });
}

TEST(WalLog, ReplayNamesDamagedEntries) {
  InWorld([](World& world) {
    Writer first = world.MustOpen();
    for (int i = 1; i <= 3; ++i) ASSERT_TRUE(first.Append(i).ok());
    BufferPtr good = world.objects().Get(world.paths().WalEntry(WalPosition(2))).ValueOrDie();
    for (const BufferPtr& bad : {arrow::Buffer::FromString(""), arrow::Buffer::FromString("random"),
                                 arrow::SliceBuffer(good, 0, good->size() / 2)}) {
      world.Put(2, bad);
      arrow::Status status = world.Open().status();
      EXPECT_KIND(kWalCorrupt, "WAL position 2", status);
      EXPECT_THAT(status.message(), HasSubstr(kTestShard));
      EXPECT_EQ(FieldsOf(status).at("position"), "2");
    }
    world.Put(2, good);
    EXPECT_TRUE(world.Open().ok());
  });
}

TEST(WalLog, ReplayRefusesGenerationsThatFall) {
  InWorld([](World& world) {
    Writer first = world.MustOpen();
    world.PutEntry(1, 1, 1, Generation(2));
    world.PutEntry(2, 1, 2, std::nullopt);
    world.PutEntry(3, 1, 3, Generation(1));
    EXPECT_KIND(kWalCorrupt, "generation 1 follows generation 2", world.Open().status());
  });
}

TEST(WalLog, ReplayHandsOnWhatItsCallerSays) {
  InWorld([](World& world) {
    Writer first = world.MustOpen();
    ASSERT_TRUE(first.Append(1).ok());
    ASSERT_TRUE(first.Append(2).ok());
    Writer second = world.Claim();
    auto stop = [](WalPosition position, WalEntry) {
      return position == WalPosition(2) ? Backpressure("full") : arrow::Status::OK();
    };
    EXPECT_KIND(kBackpressure, "full",
                second.log->Replay(WalLog::Range::Of(second.claimed, WalPosition(3), {}), stop).status());
  });
}

// ---- append ----

TEST(WalLog, AppendRefusesBadEntriesWithoutARequest) {
  InWorld([](World& world) {
    Writer writer = world.MustOpen();
    writer.store->TakeRequests();
    WalEntry entry = Rows(1);
    entry.batches.clear();
    EXPECT_KIND(kInvalidInput, "batch", writer.log->Append(entry).status());
    EXPECT_THAT(writer.store->TakeRequests(), IsEmpty());
    EXPECT_TRUE(writer.Append(1).ok());
  });
}

TEST(WalLog, AppendStampsItsOwnEpochAndSaysWhereAndHowMuch) {
  InWorld([](World& world) {
    Writer writer = world.MustOpen();
    WalEntry entry = Rows(1);
    entry.writer_epoch = Epoch(77);
    AppendResult result = writer.log->Append(entry).ValueOrDie();
    EXPECT_EQ(result.position, WalPosition(1));
    EXPECT_EQ(result.bytes,
              static_cast<uint64_t>(world.objects().Get(world.paths().WalEntry(WalPosition(1))).ValueOrDie()->size()));
    EXPECT_EQ(world.Log(), (LogMap{{1, {1, 1}}}));
  });
}

TEST(WalLog, AppendFindsItsPositionIfNobodyToldIt) {
  InWorld([](World& world) {
    Writer first = world.MustOpen();
    ASSERT_TRUE(first.Append(1).ok());
    Writer second = world.Claim();
    ASSERT_TRUE(second.Append(2).ok());
    EXPECT_EQ(world.Log(), (LogMap{{1, {1, 1}}, {2, {2, 2}}}));
  });
}

TEST(WalLog, AFailedPutIsTriedAgainAtTheSamePosition) {
  InWorld([](World& world) {
    Writer writer = world.MustOpen();
    writer.store->TakeRequests();
    writer.store->Fail("CREATE wal/1", ErrorKind::kTransient, 3);
    TimePoint start = world.runtime().Now();
    ASSERT_TRUE(writer.Append(1).ok());
    EXPECT_THAT(writer.store->TakeRequests(),
                ElementsAre("CREATE wal/1", "HEAD manifest/2", "HEAD manifest/1", "CREATE wal/1", "HEAD manifest/2",
                            "HEAD manifest/1", "CREATE wal/1", "HEAD manifest/2", "HEAD manifest/1", "CREATE wal/1"));
    EXPECT_EQ(world.runtime().Now() - start, milliseconds(50 + 100 + 200));
    EXPECT_EQ(world.Log(), (LogMap{{1, {1, 1}}}));
  });
}

TEST(WalLog, RetriesWaitAtMostFiveSeconds) {
  InWorld([](World& world) {
    Writer writer = world.MustOpen({.max_persist_retries = 10, .persist_retry_base_delay = seconds(1)});
    writer.store->Fail("CREATE wal/1", ErrorKind::kTransient, 5);
    TimePoint start = world.runtime().Now();
    ASSERT_TRUE(writer.Append(1).ok());
    EXPECT_EQ(world.runtime().Now() - start, seconds(1 + 2 + 4 + 5 + 5));
  });
}

TEST(WalLog, ExhaustedRetriesPoisonForGood) {
  for (ErrorKind kind :
       {ErrorKind::kTransient, ErrorKind::kIO, ErrorKind::kDenied, ErrorKind::kOutcomeUnknown, ErrorKind::kNotFound}) {
    InWorld([&](World& world) {
      Writer writer = world.MustOpen({.max_persist_retries = 2});
      writer.store->TakeRequests();
      writer.store->Fail("CREATE wal/1", kind, 3);
      arrow::Status status = writer.Append(1);
      EXPECT_KIND(kFencedPersistenceFailure, "WAL position 1", status);
      EXPECT_THAT(status.message(), HasSubstr("epoch 1"));
      EXPECT_THAT(status.message(), HasSubstr(kTestShard));
      EXPECT_EQ(FieldsOf(status).at("position"), "1");
      EXPECT_EQ(writer.store->TakeCounts()["CREATE wal/1"], 3);
      EXPECT_EQ(writer.Append(2).ToString(), status.ToString());
      EXPECT_THAT(writer.store->TakeRequests(), IsEmpty());
      EXPECT_THAT(world.Log(), IsEmpty());
    });
  }
}

TEST(WalLog, ALostAnswerPoisonsAndTheReplayDecides) {
  InWorld([](World& world) {
    Writer writer = world.MustOpen();
    writer.store->LoseAnswer("CREATE wal/1");
    EXPECT_KIND(kFencedPersistenceFailure, "WAL position 1", writer.Append(1));
    EXPECT_EQ(world.Log(), (LogMap{{1, {1, 1}}}));  // and at no second position
    EXPECT_THAT(world.MustOpen().replayed, ElementsAre(1));
  });
}

TEST(WalLog, ASuccessorShowsUpAsFencedHoweverThePutFails) {
  InWorld([](World& world) {
    // By the collision.
    Writer writer = world.MustOpen();
    world.MustOpen();
    EXPECT_KIND(kFencedPeerClaimedEpoch, "epoch 2", writer.Append(1));
    // By the check behind a failure.
    Writer third = world.MustOpen();
    world.MustOpen();
    third.store->Fail("CREATE wal/");
    EXPECT_KIND(kFencedPeerClaimedEpoch, "epoch 4", third.Append(1));
    // By the check behind a collision that follows a failure: the more precise of two truths.
    Writer fifth = world.MustOpen();
    fifth.store->Fail("CREATE wal/");
    fifth.store->Fail("HEAD manifest/");
    world.MustOpen();
    EXPECT_KIND(kFencedPeerClaimedEpoch, "epoch 6", fifth.Append(1));
  });
}

TEST(WalLog, AFenceCheckThatFailsNeitherAllowsNorForgets) {
  InWorld([](World& world) {
    // Behind a failed PUT: the entry may exist, so only retries or poison are left.
    Writer writer = world.MustOpen({.max_persist_retries = 1});
    writer.store->Fail("CREATE wal/1", ErrorKind::kTransient, 2);
    writer.store->Fail("HEAD manifest/", ErrorKind::kTransient, 2);
    EXPECT_KIND(kFencedPersistenceFailure, "WAL position 1", writer.Append(1));
    // Behind a collision: nothing of ours exists; the writer stays healthy and steps over once it may ask again.
    Writer second = world.MustOpen();
    uint64_t next = second.log->next_position().value();
    world.PutEntry(next, 1, 100);
    second.store->Fail("HEAD manifest/");
    EXPECT_KIND(kTransient, "position " + std::to_string(next), second.Append(2));
    EXPECT_EQ(world.Log().count(next + 1), 0u);
    ASSERT_TRUE(second.Append(3).ok());
    EXPECT_EQ(world.Log()[next + 1], (std::pair<uint64_t, int64_t>{2, 3}));
  });
}

TEST(WalLog, ManyTakenPositionsAreLookedUp) {
  InWorld([](World& world) {
    Writer writer = world.MustOpen();
    for (uint64_t i = 1; i <= 40; ++i) world.PutEntry(i, 1, 0);
    writer.store->TakeRequests();
    ASSERT_TRUE(writer.Append(1).ok());
    auto counts = writer.store->TakeCounts();
    EXPECT_EQ(counts["LIST wal"], 1);
    EXPECT_EQ(counts["HEAD manifest/2"], 16);
    EXPECT_EQ(counts["CREATE wal/41"], 1);
    EXPECT_EQ(counts.count("CREATE wal/17"), 0u);
  });
}

TEST(WalLog, A1024LostRacesAreAnErrorButNotTheEnd) {
  InWorld([](World& world) {
    Writer writer = world.MustOpen();
    writer.store->On("CREATE wal/", {.answer = ErrorKind::kAlreadyExists, .times = 1'024});
    EXPECT_KIND(kIO, "1024 positions", writer.Append(1));
    writer.log->SetNextPosition(WalPosition(1));
    EXPECT_TRUE(writer.Append(2).ok());
  });
}

TEST(WalLog, AWriterThatSleptAsksWhetherItIsFencedBeforeItAppends) {
  InWorld([](World& world) {
    Writer writer = world.MustOpen();
    ASSERT_TRUE(writer.Append(1).ok());
    world.runtime().Sleep(hours(1));
    writer.store->TakeRequests();
    ASSERT_TRUE(writer.Append(2).ok());
    EXPECT_THAT(writer.store->TakeRequests(), ElementsAre("GET manifest/hint", "GET manifest/1", "HEAD manifest/2",
                                                          "HEAD manifest/1", "CREATE wal/2"));
    ASSERT_TRUE(writer.Append(3).ok());
    EXPECT_THAT(writer.store->TakeRequests(), ElementsAre("CREATE wal/3"));
    // The successor's log was collected: the old slots are empty again.
    Writer successor = world.MustOpen();
    for (uint64_t i = 1; i <= 4; ++i) world.Delete(i);
    world.runtime().Sleep(hours(25));
    EXPECT_KIND(kFencedPeerClaimedEpoch, "epoch 2", writer.Append(4));
    EXPECT_THAT(world.Log(), IsEmpty());
  });
}

// ---- steps ----

TEST(WalLog, SyncPoints) {
  InWorld([](World& world) {
    std::vector<std::string> names;
    world.simulation().OnSyncPoint("", [&](const SyncHit& hit) {
      if (!hit.name.starts_with("manifest")) names.emplace_back(hit.name);
      return SyncAction::Continue();
    });
    Writer writer = world.MustOpen();
    ASSERT_TRUE(writer.Append(1).ok());
    world.MustOpen();
    EXPECT_THAT(names, ElementsAre("open.claimed", "wal.append.put_sent", "wal.append.done", "open.claimed",
                                   "open.sentinel_written", "wal.replay.entry"));
  });
}

TEST(WalLog, FailingSteps) {
  InWorld([](World& world) {
    // An answer lost behind the PUT.
    world.simulation().OnSyncPoint("wal.append.put_sent", AtHit(1, SyncAction::Fail(OutcomeUnknown("lost"))));
    Writer writer = world.MustOpen();
    EXPECT_KIND(kFencedPersistenceFailure, "WAL position 1", writer.Append(1));
    // Behind success: the entry is there, and the caller must not send it again.
    world.simulation().OnSyncPoint("wal.append.done", AtHit(1, SyncAction::Fail(OutcomeUnknown("lost"))));
    Writer second = world.MustOpen();
    EXPECT_KIND(kFencedPersistenceFailure, "WAL position 3", second.Append(2));
    EXPECT_THAT(world.MustOpen().replayed, ElementsAre(1, -1, 2));
    // Behind the sentinel.
    world.simulation().OnSyncPoint("open.sentinel_written", AtHit(3, SyncAction::Fail(OutcomeUnknown("lost"))));
    EXPECT_KIND(kOutcomeUnknown, "sentinel", world.Open().status());
  });
}

// ---- planted bugs: each changes what a test above sees ----

TEST(WalLogPlantedBugs, NoFenceCheckAfterCollision) {
  InWorld([](World& world) {
    world.simulation().PlantBug("wal.no_fence_check_after_collision");
    Writer old = world.MustOpen();
    world.MustOpen();
    EXPECT_TRUE(old.Append(1).ok());  // behind its successor's sentinel
    EXPECT_EQ(world.Log()[2], (std::pair<uint64_t, int64_t>{1, 1}));
  });
}

TEST(WalLogPlantedBugs, NextPositionAfterUnknownOutcome) {
  InWorld([](World& world) {
    world.simulation().PlantBug("wal.next_position_after_unknown_outcome");
    Writer writer = world.MustOpen();
    writer.store->LoseAnswer("CREATE wal/1");
    EXPECT_TRUE(writer.Append(1).ok());
    EXPECT_EQ(world.Log(), (LogMap{{1, {1, 1}}, {2, {1, 1}}}));  // twice
  });
}

TEST(WalLogPlantedBugs, ReplayAcceptsHigherEpoch) {
  InWorld([](World& world) {
    world.simulation().PlantBug("wal.replay_accepts_higher_epoch");
    Writer writer = world.Claim();
    world.PutEntry(1, 2, 1);
    auto ignore = [](WalPosition, WalEntry) { return arrow::Status::OK(); };
    EXPECT_TRUE(writer.log->Replay(WalLog::Range::Of(writer.claimed, std::nullopt, {}), ignore).ok());
  });
}

TEST(WalLogPlantedBugs, GapReadAsEnd) {
  InWorld([](World& world) {
    world.simulation().PlantBug("wal.gap_read_as_end");
    Writer first = world.MustOpen();
    for (int i = 1; i <= 5; ++i) ASSERT_TRUE(first.Append(i).ok());
    world.Delete(2);
    EXPECT_THAT(world.MustOpen().replayed, ElementsAre(1));
  });
}

}  // namespace
}  // namespace javelin::memwal
