// A table that another process removes and makes anew, with the same shard, under those who hold the shard: nobody
// writes into the new one what follows from the old one.
#include <filesystem>

#include "javelin/memwal/compactor_test_world.h"
#include "javelin/memwal/sealing.h"
#include "javelin/store/stores.h"

namespace javelin::memwal {
namespace {

using namespace test;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

struct Stage {
  Process& mine;   // holds the shard, or knows it
  Process& other;  // removes the table and makes it anew
  ObjectStore& objects;
  std::function<void()> remove;

  // Every version of the shard manifest with its bytes.
  std::map<std::string, std::string> Manifests() const {
    std::map<std::string, std::string> manifests;
    for (const auto& object : Must(ListAll(objects, {.prefix = Paths().ManifestFolder()})).objects) {
      if (object.key.ends_with(kManifestSuffix)) manifests[object.key] = Must(objects.Get(object.key))->ToString();
    }
    return manifests;
  }
  void MakeAnew(const std::string& rows = R"([[5, "new"]])") const {
    remove();
    other.Create(KeyedSchema(), rows, {});
  }
};

void OnEveryStore(const std::function<void(Stage&)>& body) {
  {
    SCOPED_TRACE("simulated store");
    World world;
    world.Run([&](Process& mine) {
      Process other(world.sim.runtime(), world.store);
      ObjectStore& objects = world.store->raw();
      Stage stage{mine, other, objects, [&] {
                    for (const auto& object : Must(ListAll(objects, {})).objects) ASSERT_OK(objects.Delete(object.key));
                  }};
      body(stage);
    });
  }
  SCOPED_TRACE("local store");
  std::string folder = (std::filesystem::temp_directory_path() / "javelin-anew-XXXXXX").string();
  ASSERT_NE(::mkdtemp(folder.data()), nullptr);
  {
    const auto runtime = MakeThreadRuntime();
    const auto local = [&] { return MakeLocalStore(MakeResources(runtime), folder, {.sync = false}); };
    Process mine(runtime, local());
    Process other(runtime, local());
    const auto objects = local();
    Stage stage{mine, other, *objects, [&] { std::filesystem::remove_all(folder + "/table"); }};
    body(stage);
  }
  std::filesystem::remove_all(folder);
}

// With and without an SSTable on either side: the manifest that each holds may be the same to the last byte.
TEST(ShardMadeAnew, AFlushEndsTheWriterThatHeldTheOldOne) {
  for (const bool flushed : {false, true}) {
    for (const bool other_flushed : {false, true}) {
      SCOPED_TRACE(fmt::format("flushed: {}, {}", flushed, other_flushed));
      OnEveryStore([&](Stage& stage) {
        stage.mine.Create(KeyedSchema(), "[]", {});
        auto writer = stage.mine.Open(Eager());
        ASSERT_OK(writer->Put({Row(10, "old")}));
        if (flushed) ASSERT_OK(writer->Flush());
        stage.MakeAnew();
        auto successor = stage.other.Open(Eager());
        ASSERT_OK(successor->Put({Row(1, "two"), Row(7, "two")}));
        if (other_flushed) ASSERT_OK(successor->Flush());
        (void)writer->Put({Row(30, "after")});  // nobody can tell yet, so it may be taken
        const auto before = stage.Manifests();
        ExpectError(writer->Flush(), ErrorKind::kFencedPeerClaimedEpoch, "removed under its writer");
        EXPECT_EQ(stage.Manifests(), before);
        // For good.
        ExpectError(writer->Put({Row(31, "later")}), ErrorKind::kFencedPeerClaimedEpoch, "open the table again");
        ExpectError(writer->Snapshot().status(), ErrorKind::kFencedPeerClaimedEpoch, "");
        ExpectError(writer->RefreshManifest().status(), ErrorKind::kFencedPeerClaimedEpoch, "");
        ExpectError(writer->Close(), ErrorKind::kFencedPeerClaimedEpoch, "");
        ASSERT_OK(successor->Flush());
        ASSERT_OK(successor->Close());
        EXPECT_EQ(Get(*stage.other.Open(), 7), "7:two");
        EXPECT_EQ(Get(*stage.mine.Open(), 1), "1:two") << "the session opens the shard that is there now";
      });
    }
  }
}

TEST(ShardMadeAnew, AFlushOfAShardThatIsGoneMakesNoNewOne) {
  OnEveryStore([&](Stage& stage) {
    stage.mine.Create(KeyedSchema(), "[]", {});
    auto writer = stage.mine.Open(Eager());
    ASSERT_OK(writer->Put({Row(10, "old")}));
    ASSERT_OK(writer->Flush());
    stage.remove();
    (void)writer->Put({Row(11, "old")});
    ExpectError(writer->Flush(), ErrorKind::kFencedPeerClaimedEpoch, "is gone");
    EXPECT_THAT(stage.Manifests(), IsEmpty());
  });
}

TEST(ShardMadeAnew, NoOneElseOfTheSessionIsHeldBack) {
  OnEveryStore([&](Stage& stage) {
    stage.mine.Create(KeyedSchema(), "[]", {});
    auto old = stage.mine.Open(Eager());
    ASSERT_OK(old->Put({Row(10, "old")}));
    stage.MakeAnew();
    // The same session opens the same shard while the old writer is still there; both hold epoch 1.
    auto writer = stage.mine.Open(Eager());
    EXPECT_EQ(writer->epoch(), Epoch(1));
    ExpectError(old->Put({Row(11, "old")}), ErrorKind::kFencedPeerClaimedEpoch, "removed under its writer");
    ASSERT_OK(writer->Put({Row(12, "new")}));
    ASSERT_OK(writer->Flush());
    EXPECT_EQ(stage.other.Fresh(), "12:new 5:new");
  });
}

TEST(ShardMadeAnew, EvolveEndsTheWriterThatHeldTheOldOne) {
  OnEveryStore([&](Stage& stage) {
    stage.mine.Create(KeyedSchema(), "[]", {});
    auto writer = stage.mine.Open(Eager());
    ASSERT_OK(writer->Put({Row(10, "old")}));
    stage.MakeAnew();
    ExpectError(writer->Evolve().status(), ErrorKind::kFencedPeerClaimedEpoch, "removed under its writer");
    ExpectError(writer->Put({Row(11, "old")}), ErrorKind::kFencedPeerClaimedEpoch, "removed under its writer");
    EXPECT_THAT(stage.Manifests(), IsEmpty());
  });
}

TEST(ShardMadeAnew, AWriterSealsOnlyItsOwn) {
  OnEveryStore([&](Stage& stage) {
    stage.mine.Create(KeyedSchema(), "[]", {});
    auto writer = stage.mine.Open(Eager());
    stage.MakeAnew();
    ASSERT_OK(stage.other.Open(Eager())->Close());
    const auto before = stage.Manifests();
    ExpectError(SealShard(*writer).status(), ErrorKind::kFencedPeerClaimedEpoch, "removed under its writer");
    EXPECT_EQ(stage.Manifests(), before);
  });
}

// By its table a shard is sealed as it is now, whatever a writer of the session held.
TEST(ShardMadeAnew, ATableSealsTheShardThatItHasNow) {
  OnEveryStore([&](Stage& stage) {
    stage.mine.Create(KeyedSchema(), "[]", {});
    auto writer = stage.mine.Open(Eager());
    ASSERT_OK(writer->Put({Row(10, "old")}));
    for (int i = 0; i < 3; ++i) FlushRows(*writer, R"([[11, "old"]])");
    stage.MakeAnew();
    FlushGenerations(stage.other, {R"([[1, "two"]])"});
    const ShardManifest sealed = Must(SealShard(*stage.mine.Table(), kShard));
    EXPECT_EQ(sealed.version, ManifestVersion(4)) << "claim, flush, claim, seal";
    EXPECT_EQ(sealed.status, ShardStatus::kSealed);
    EXPECT_EQ(TipOf(stage.other), sealed);
    EXPECT_THAT(Listed(stage.other), ElementsAre(Generation(1)));
  });
}

// The new shard has a generation 1 as well, which no base holds yet.
TEST(ShardMadeAnew, ACompactionRetiresOnlyWhatItMoved) {
  for (const bool writer_of_the_session : {false, true}) {
    SCOPED_TRACE(writer_of_the_session);
    World world;
    world.CreateTable();
    world.Run([&](Process& mine) {
      Process other(world.sim.runtime(), world.store);
      std::shared_ptr<ShardWriter> writer;
      if (writer_of_the_session) {
        writer = mine.Open();
        FlushRows(*writer, R"([[1, "old"]])");
      } else {
        FlushGenerations(other, {R"([[1, "old"]])"});
      }
      bool retiring = false;
      world.sim.OnSyncPoint("compact.before_retiring", [&](const SyncHit&) {
        retiring = true;
        return SyncAction::Delay(std::chrono::minutes(1));
      });
      auto remover = mine.runtime().Spawn("remover", [&] {
        while (!retiring) mine.runtime().Sleep(std::chrono::seconds(1));
        for (const auto& object : Must(ListAll(world.store->raw(), {})).objects)
          ASSERT_OK(world.store->raw().Delete(object.key));
        other.Create(KeyedSchema(), "[]", {});
        FlushGenerations(other, {R"([[7, "two"]])"});
        retiring = false;
      });
      const auto compacted = CompactShards(*mine.Table(), AtOnce());
      EXPECT_FALSE(retiring) << "the removal came in time";
      remover.Join();
      if (writer_of_the_session) {
        ExpectError(compacted.status(), ErrorKind::kFencedPeerClaimedEpoch, "removed under its writer");
      } else if (compacted.ok()) {
        EXPECT_THAT(compacted->shards.at(0).retired, IsEmpty());
      }
      EXPECT_EQ(TipOf(other).version, ManifestVersion(2));
      EXPECT_THAT(Listed(other), ElementsAre(Generation(1)));
      EXPECT_EQ(other.Fresh(), "7:two");
    });
  }
}

}  // namespace
}  // namespace javelin::memwal
