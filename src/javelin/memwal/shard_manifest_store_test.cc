#include "javelin/memwal/shard_manifest_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "javelin/memwal/test_support_internal.h"

namespace javelin::memwal {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Requests = std::vector<std::string>;

// One storage, and as many processes on it as a test wants.
class ManifestWorld {
 public:
  explicit ManifestWorld(const Resources& resources)
      : resources_(resources), objects_(MakeMemoryStore(resources)), store_(Scripted()) {}

  std::shared_ptr<ScriptedStore> Scripted() { return std::make_shared<ScriptedStore>(resources_, objects_); }
  std::shared_ptr<ShardManifestStore> Open(std::shared_ptr<ObjectStore> store, ManifestStoreOptions options = {}) {
    return std::make_shared<ShardManifestStore>(resources_, std::move(store), "table", TestShard(), options);
  }
  // A process whose requests go through store().
  std::shared_ptr<ShardManifestStore> Open(ManifestStoreOptions options = {}) { return Open(store_, options); }
  // Another process; its requests are not seen by store().
  std::shared_ptr<ShardManifestStore> OpenPeer() { return Open(objects_); }

  ScriptedStore& store() { return *store_; }
  const ShardPaths& paths() const { return paths_; }
  void PutHint(const std::string& text) {
    ASSERT_TRUE(objects_->Put(paths_.ManifestHint(), arrow::Buffer::FromString(text)).ok());
  }
  void DeleteHint() { ASSERT_TRUE(objects_->Delete(paths_.ManifestHint()).ok()); }
  std::string Hint() { return objects_->Get(paths_.ManifestHint()).ValueOrDie()->ToString(); }
  ShardManifest Stored(uint64_t version) {
    return DecodeShardManifest(*objects_->Get(paths_.Manifest(ManifestVersion(version))).ValueOrDie()).ValueOrDie();
  }
  std::vector<uint64_t> StoredVersions() {
    std::vector<uint64_t> versions;
    auto page = ListAll(*objects_, {.prefix = paths_.ManifestFolder()}).ValueOrDie();
    for (const auto& object : page.objects) {
      if (auto version = ParseReversedBits(object.key.substr(paths_.ManifestFolder().size()), kManifestSuffix))
        versions.push_back(*version);
    }
    std::sort(versions.begin(), versions.end());
    return versions;
  }
  // The table is gone, as if a process had removed its folder.
  void Remove() {
    for (const auto& [key, bytes] : Everything()) ASSERT_TRUE(objects_->Delete(key).ok());
  }
  std::map<std::string, std::string> Everything() {
    std::map<std::string, std::string> everything;
    for (const auto& object : ListAll(*objects_, {}).ValueOrDie().objects)
      everything[object.key] = objects_->Get(object.key).ValueOrDie()->ToString();
    return everything;
  }

 private:
  Resources resources_;
  std::shared_ptr<ObjectStore> objects_;
  std::shared_ptr<ScriptedStore> store_;
  ShardPaths paths_{"table", TestShard()};
};

ShardManifestStore::Change RaiseLastSeen() {
  return [](const ShardManifest& base) -> arrow::Result<ShardManifest> {
    ShardManifest next = base.NextVersion();
    next.wal_position_last_seen = base.wal_position_last_seen.Next();
    return next;
  };
}

arrow::Result<ShardManifest> Commit(ShardManifestStore& store, Epoch epoch,
                                    ShardManifestStore::Change change = RaiseLastSeen()) {
  return store.CommitUpdate(epoch, std::move(change)).Get();
}

uint64_t VersionOf(const arrow::Result<std::optional<ShardManifest>>& manifest) {
  if (!manifest.ok() || !manifest->has_value()) return 0;
  return (*manifest)->version.value();
}

void Claim(ShardManifestStore& store) { ASSERT_TRUE(store.ClaimEpoch(1).ok()); }

// ---- claims ----

TEST(ManifestStore, FirstClaimCreatesVersionOne) {
  InVirtualTime([](Simulation&, const Resources& resources) {
    ManifestWorld world(resources);
    ShardManifest claimed = world.Open()->ClaimEpoch(1).ValueOrDie();
    EXPECT_THAT(world.store().TakeRequests(), ElementsAre("GET manifest/hint", "LIST manifest", "CREATE manifest/1",
                                                          "PUT manifest/hint", "HEAD manifest/1"));
    EXPECT_EQ(
        claimed,
        (ShardManifest{
            .shard_id = TestShard(), .version = ManifestVersion(1), .shard_spec_id = 1, .writer_epoch = Epoch(1)}));
    EXPECT_EQ(world.Stored(1), claimed);
    EXPECT_EQ(world.Hint(), R"({"version":1})");
  });
}

TEST(ManifestStore, SecondClaimRaisesTheEpochAndKeepsTheRest) {
  InVirtualTime([](Simulation&, const Resources& resources) {
    ManifestWorld world(resources);
    auto first = world.OpenPeer();
    Claim(*first);
    ASSERT_TRUE(Commit(*first, Epoch(1), [](const ShardManifest& base) -> arrow::Result<ShardManifest> {
                  ShardManifest next = base.NextVersion();
                  next.sstables.push_back({.generation = Generation(1), .path = "0badcafe_gen_1", .physical_rows = 3});
                  next.current_generation = Generation(2);
                  next.replay_after = next.wal_position_last_seen = WalPosition(4);
                  return next;
                }).ok());
    ShardManifest claimed = world.Open()->ClaimEpoch(1).ValueOrDie();
    EXPECT_THAT(world.store().TakeRequests(), ElementsAre("GET manifest/hint", "GET manifest/2", "HEAD manifest/3",
                                                          "CREATE manifest/3", "PUT manifest/hint", "HEAD manifest/3"));
    ShardManifest expected = world.Stored(2).NextVersion();
    expected.writer_epoch = Epoch(2);
    EXPECT_EQ(claimed, expected);
  });
}

TEST(ManifestStore, SealedShardsRefuseClaims) {
  InVirtualTime([](Simulation&, const Resources& resources) {
    ManifestWorld world(resources);
    auto sealer = world.OpenPeer();
    Claim(*sealer);
    auto set_status = [&](ShardStatus status) {
      return Commit(*sealer, Epoch(1), [status](const ShardManifest& base) -> arrow::Result<ShardManifest> {
        ShardManifest next = base.NextVersion();
        next.status = status;
        return next;
      });
    };
    ASSERT_TRUE(set_status(ShardStatus::kSealed).ok());
    auto before = world.Everything();
    EXPECT_KIND(kSealed, "sealed", world.Open()->ClaimEpoch(1).status());
    EXPECT_EQ(world.Everything(), before);
    ASSERT_TRUE(set_status(ShardStatus::kActive).ok());
    EXPECT_EQ(world.Open()->ClaimEpoch(1).ValueOrDie().writer_epoch, Epoch(2));
  });
}

TEST(ManifestStore, ClaimUnderAnotherSpecIsRefused) {
  InVirtualTime([](Simulation&, const Resources& resources) {
    ManifestWorld world(resources);
    Claim(*world.OpenPeer());
    auto before = world.Everything();
    EXPECT_KIND(kInvalidInput, "spec 1", world.Open()->ClaimEpoch(2).status());
    EXPECT_EQ(world.Everything(), before);
  });
}

TEST(ManifestStore, TheSecondOfTwoClaimersGivesUp) {
  InVirtualTime([](Simulation&, const Resources& resources) {
    ManifestWorld world(resources);
    Claim(*world.OpenPeer());
    world.store().Before("CREATE manifest/2", [&] { Claim(*world.OpenPeer()); });
    EXPECT_KIND(kClaimLost, "epoch 2", world.Open()->ClaimEpoch(1).status());
    EXPECT_EQ(world.StoredVersions(), (std::vector<uint64_t>{1, 2}));
    // The same on a fresh shard.
    ManifestWorld fresh(resources);
    fresh.store().Before("CREATE manifest/1", [&] { Claim(*fresh.OpenPeer()); });
    EXPECT_KIND(kClaimLost, "epoch 1", fresh.Open()->ClaimEpoch(1).status());
  });
}

TEST(ManifestStore, AClaimGoesOnOverVersionsThatWereNoClaims) {
  InVirtualTime([](Simulation&, const Resources& resources) {
    ManifestWorld world(resources);
    auto incumbent = world.OpenPeer();
    Claim(*incumbent);
    int commits = 0;
    world.store().On("CREATE manifest/",
                     {.times = 3, .before = [&] { commits += Commit(*incumbent, Epoch(1)).ok(); }, .silent = true});
    EXPECT_EQ(world.Open()->ClaimEpoch(1).ValueOrDie().writer_epoch, Epoch(2));
    EXPECT_EQ(commits, 3);
    EXPECT_EQ(world.StoredVersions().back(), 5u);
    // Not for ever.
    world.store().On("CREATE manifest/", {.answer = ErrorKind::kAlreadyExists, .times = -1});
    EXPECT_KIND(kVersionConflict, "16 claims", world.Open()->ClaimEpoch(1).status());
  });
}

TEST(ManifestStore, AClaimWithoutAnAnswerIsAnErrorAndTheNextTakesAHigherEpoch) {
  InVirtualTime([](Simulation&, const Resources& resources) {
    ManifestWorld world(resources);
    auto store = world.Open();
    world.store().LoseAnswer("CREATE manifest/1");
    EXPECT_KIND(kTransient, "manifest version 1", store->ClaimEpoch(1).status());
    EXPECT_EQ(store->ClaimEpoch(1).ValueOrDie().writer_epoch, Epoch(2));
    EXPECT_EQ(world.StoredVersions(), (std::vector<uint64_t>{1, 2}));
  });
}

TEST(ManifestStore, AClaimThatLosesItsHintIsFoundFromTheOldOne) {
  InVirtualTime([](Simulation&, const Resources& resources) {
    ManifestWorld world(resources);
    Claim(*world.OpenPeer());
    world.store().Fail("PUT manifest/hint");
    EXPECT_EQ(world.Open()->ClaimEpoch(1).ValueOrDie().version, ManifestVersion(2));
    EXPECT_EQ(world.Hint(), R"({"version":1})");
    EXPECT_EQ(world.Open()->ClaimEpoch(1).ValueOrDie().writer_epoch, Epoch(3));
  });
}

// ---- fences and positions ----

TEST(ManifestStore, APeersClaimIsSeenThroughAHeldPosition) {
  InVirtualTime([](Simulation&, const Resources& resources) {
    ManifestWorld world(resources);
    auto writer = world.Open();
    Claim(*writer);
    world.store().TakeRequests();
    EXPECT_TRUE(writer->CheckFenced(Epoch(1)).ok());
    EXPECT_THAT(world.store().TakeRequests(), ElementsAre("HEAD manifest/2", "HEAD manifest/1"));
    Claim(*world.OpenPeer());
    EXPECT_EQ(VersionOf(writer->Latest()), 1u);  // its own last commit
    arrow::Status fenced = writer->CheckFenced(Epoch(1));
    EXPECT_KIND(kFencedPeerClaimedEpoch, "epoch 2", fenced);
    EXPECT_EQ(FieldsOf(fenced).at("shard"), kTestShard);
    EXPECT_EQ(FieldsOf(fenced).at("epoch"), "1");
    EXPECT_THAT(world.store().TakeRequests(),
                ElementsAre("HEAD manifest/2", "HEAD manifest/3", "GET manifest/2", "HEAD manifest/1"));
  });
}

TEST(ManifestStore, LatestNeverAdoptsAndRefreshDoes) {
  InVirtualTime([](Simulation&, const Resources& resources) {
    ManifestWorld world(resources);
    auto writer = world.OpenPeer();
    auto reader = world.Open();
    EXPECT_EQ(VersionOf(reader->Latest()), 0u);
    Claim(*writer);
    for (uint64_t version = 1; version < 5; ++version) {
      EXPECT_EQ(VersionOf(reader->Latest()), version);
      ASSERT_TRUE(Commit(*writer, Epoch(1)).ok());
    }
    EXPECT_FALSE(reader->PositionIsYoung());
    EXPECT_EQ(VersionOf(reader->RefreshLatest()), 5u);
    EXPECT_TRUE(reader->PositionIsYoung());
    world.store().TakeRequests();
    ASSERT_TRUE(Commit(*writer, Epoch(1)).ok());
    EXPECT_EQ(VersionOf(reader->Latest()), 5u);
    EXPECT_THAT(world.store().TakeRequests(), IsEmpty());
    EXPECT_EQ(VersionOf(reader->RefreshLatest()), 6u);
  });
}

TEST(ManifestStore, OnlyRefreshSeesASealSetElsewhere) {
  InVirtualTime([](Simulation&, const Resources& resources) {
    ManifestWorld world(resources);
    auto writer = world.Open();
    Claim(*writer);
    auto sealer = world.OpenPeer();
    ASSERT_TRUE(sealer->RefreshLatest().ok());
    ASSERT_TRUE(Commit(*sealer, Epoch(1), [](const ShardManifest& base) -> arrow::Result<ShardManifest> {
                  ShardManifest next = base.NextVersion();
                  next.status = ShardStatus::kSealed;
                  return next;
                }).ok());
    EXPECT_EQ((*writer->Latest())->status, ShardStatus::kActive);
    EXPECT_EQ((*writer->RefreshLatest())->status, ShardStatus::kSealed);
    EXPECT_EQ((*writer->Latest())->status, ShardStatus::kSealed);
  });
}

TEST(ManifestStore, APositionIsBuiltUponForAnHour) {
  InVirtualTime([](Simulation& simulation, const Resources& resources) {
    ManifestWorld world(resources);
    auto writer = world.Open();
    Claim(*writer);
    simulation.runtime()->Sleep(minutes(59));
    world.store().TakeRequests();
    ASSERT_TRUE(Commit(*writer, Epoch(1)).ok());
    EXPECT_THAT(world.store().TakeRequests(), ElementsAre("HEAD manifest/1", "CREATE manifest/2", "PUT manifest/hint"));
    simulation.runtime()->Sleep(minutes(59));  // the commit confirmed it again
    ASSERT_TRUE(Commit(*writer, Epoch(1)).ok());
    EXPECT_THAT(world.store().TakeRequests(),
                ElementsAre("HEAD manifest/2", "HEAD manifest/1", "CREATE manifest/3", "PUT manifest/hint"));
    simulation.runtime()->Sleep(hours(1));
    EXPECT_FALSE(writer->PositionIsYoung());
    ASSERT_TRUE(Commit(*writer, Epoch(1)).ok());
    EXPECT_THAT(world.store().TakeRequests(),
                ElementsAre("GET manifest/hint", "GET manifest/3", "HEAD manifest/4", "HEAD manifest/3",
                            "HEAD manifest/2", "CREATE manifest/4", "PUT manifest/hint"));
    // Old or not, it is what latest() answers with.
    simulation.runtime()->Sleep(hours(5));
    EXPECT_EQ(VersionOf(writer->Latest()), 4u);
    EXPECT_THAT(world.store().TakeRequests(), IsEmpty());
  });
}

// The time of a position is taken before the request that confirms it, or a slow answer would make it younger than it
// is.
TEST(ManifestStore, AgeCountsFromBeforeTheRequest) {
  InVirtualTime([](Simulation& simulation, const Resources& resources) {
    ManifestWorld world(resources);
    auto writer = world.Open();
    world.store().Before("CREATE manifest/1", [&] { simulation.runtime()->Sleep(minutes(50)); });
    Claim(*writer);
    simulation.runtime()->Sleep(minutes(11));
    EXPECT_FALSE(writer->PositionIsYoung());
    world.store().Before("HEAD manifest/2", [&] { simulation.runtime()->Sleep(minutes(50)); });
    ASSERT_TRUE(writer->RefreshLatest().ok());
    simulation.runtime()->Sleep(minutes(11));
    EXPECT_FALSE(writer->PositionIsYoung());
  });
}

TEST(ManifestStore, AShardThatIsNotThereIsNotFound) {
  InVirtualTime([](Simulation&, const Resources& resources) {
    ManifestWorld world(resources);
    auto store = world.Open();
    EXPECT_KIND(kNotFound, kTestShard, store->CheckFenced(Epoch(1)));
    EXPECT_KIND(kNotFound, kTestShard, Commit(*store, Epoch(1)).status());
    EXPECT_THAT(world.StoredVersions(), IsEmpty());
    // Nor one that it saw and that is gone.
    Claim(*world.OpenPeer());
    ASSERT_TRUE(store->RefreshLatest().ok());
    world.Remove();
    EXPECT_KIND(kNotFound, kTestShard, Commit(*store, Epoch(1)).status());
    EXPECT_EQ(VersionOf(store->RefreshLatest()), 0u);
    EXPECT_THAT(world.StoredVersions(), IsEmpty());
  });
}

// ---- shards that are removed and made anew ----

// Whatever is there in its place: nothing, the very same bytes, fewer versions or more.
TEST(ManifestStore, WhoClaimedAShardHoldsNoOther) {
  for (const std::optional<int> commits :
       {std::optional<int>(), std::optional(0), std::optional(1), std::optional(7)}) {
    for (const bool old : {false, true}) {
      InVirtualTime([&](Simulation& simulation, const Resources& resources) {
        ManifestWorld world(resources);
        auto writer = world.Open();
        Claim(*writer);
        if (commits != 0) {
          ASSERT_TRUE(Commit(*writer, Epoch(1)).ok());
          ASSERT_TRUE(Commit(*writer, Epoch(1)).ok());
        }
        world.Remove();
        simulation.runtime()->Sleep(old ? hours(1) : minutes(1));
        if (commits.has_value()) {
          auto peer = world.OpenPeer();
          Claim(*peer);
          for (int i = 0; i < *commits; ++i) ASSERT_TRUE(Commit(*peer, Epoch(1)).ok());
        }
        const auto before = world.Everything();
        EXPECT_FALSE(writer->lost());
        EXPECT_KIND(kFencedPeerClaimedEpoch, "removed under its writer", Commit(*writer, Epoch(1)).status());
        EXPECT_TRUE(writer->lost());
        world.store().TakeRequests();
        EXPECT_KIND(kFencedPeerClaimedEpoch, kTestShard, Commit(*writer, Epoch(1)).status());
        EXPECT_KIND(kFencedPeerClaimedEpoch, kTestShard, writer->CheckFenced(Epoch(1)));
        EXPECT_KIND(kFencedPeerClaimedEpoch, kTestShard, writer->CheckFencedIfOld(Epoch(1)));
        EXPECT_KIND(kFencedPeerClaimedEpoch, kTestShard, writer->RefreshLatest().status());
        EXPECT_KIND(kFencedPeerClaimedEpoch, kTestShard, writer->Latest().status());
        EXPECT_KIND(kFencedPeerClaimedEpoch, kTestShard, writer->ClaimEpoch(1).status());
        EXPECT_KIND(kFencedPeerClaimedEpoch, kTestShard, writer->PruneVersionsBefore(ManifestVersion(1)).status());
        EXPECT_THAT(world.store().TakeRequests(), IsEmpty());
        EXPECT_EQ(world.Everything(), before);
      });
    }
  }
}

TEST(ManifestStore, ACheckOfTheFenceFindsTheShardMadeAnew) {
  InVirtualTime([](Simulation&, const Resources& resources) {
    ManifestWorld world(resources);
    auto writer = world.Open();
    Claim(*writer);
    world.Remove();
    Claim(*world.OpenPeer());
    EXPECT_KIND(kFencedPeerClaimedEpoch, "is another one", writer->CheckFenced(Epoch(1)));
  });
}

TEST(ManifestStore, AClaimOfAShardThatIsRemovedAtOnceFails) {
  InVirtualTime([](Simulation&, const Resources& resources) {
    ManifestWorld world(resources);
    world.store().Before("HEAD manifest/1", [&] { world.Remove(); });
    EXPECT_KIND(kFencedPeerClaimedEpoch, "is gone", world.Open()->ClaimEpoch(1).status());
    // Who cannot ask does not hold the shard.
    world.store().Fail("HEAD manifest/1", ErrorKind::kDenied);
    EXPECT_KIND(kDenied, "manifest version 1", world.Open()->ClaimEpoch(1).status());
  });
}

// Only NotFound and another object say that the shard is gone.
TEST(ManifestStore, ACommitThatCannotAskWritesNothing) {
  InVirtualTime([](Simulation&, const Resources& resources) {
    ManifestWorld world(resources);
    auto writer = world.Open();
    Claim(*writer);
    const auto before = world.Everything();
    world.store().Fail("HEAD manifest/1");
    EXPECT_KIND(kTransient, "manifest version 1", Commit(*writer, Epoch(1)).status());
    EXPECT_EQ(world.Everything(), before);
    EXPECT_EQ(Commit(*writer, Epoch(1)).ValueOrDie().version, ManifestVersion(2));
  });
}

// Old versions may be pruned: a writer that does something now and then never hangs on one.
TEST(ManifestStore, AWriterGoesOnWhereItsClaimWasPruned) {
  InVirtualTime([](Simulation& simulation, const Resources& resources) {
    ManifestWorld world(resources);
    auto writer = world.Open();
    Claim(*writer);
    for (int hour = 0; hour < 60; ++hour) {
      simulation.runtime()->Sleep(minutes(59));
      ASSERT_TRUE(Commit(*writer, Epoch(1)).ok());
      auto pruner = world.OpenPeer();
      ASSERT_TRUE(pruner->PruneVersionsBefore(writer->Latest().ValueOrDie()->version).ok());
    }
    EXPECT_GT(world.StoredVersions().front(), 30u);
    EXPECT_EQ(world.StoredVersions().back(), 61u);
    // One that slept for a day while others committed and pruned is fenced: it cannot tell.
    auto peer = world.OpenPeer();
    ASSERT_TRUE(peer->RefreshLatest().ok());
    ASSERT_TRUE(Commit(*peer, Epoch(1)).ok());
    simulation.runtime()->Sleep(hours(25));
    ASSERT_TRUE(Commit(*peer, Epoch(1)).ok());
    ASSERT_TRUE(peer->PruneVersionsBefore(ManifestVersion(63)).ok());
    EXPECT_KIND(kFencedPeerClaimedEpoch, "is gone", Commit(*writer, Epoch(1)).status());
  });
}

// Who claimed nothing commits what follows from the manifest that it read, and takes whatever is there.
TEST(ManifestStore, WhoClaimedNothingTakesTheShardAsItIs) {
  InVirtualTime([](Simulation&, const Resources& resources) {
    ManifestWorld world(resources);
    auto old = world.OpenPeer();
    Claim(*old);
    for (int i = 0; i < 4; ++i) ASSERT_TRUE(Commit(*old, Epoch(1)).ok());
    auto compactor = world.Open();
    EXPECT_EQ(VersionOf(compactor->RefreshLatest()), 5u);
    world.store().TakeRequests();
    ASSERT_TRUE(Commit(*compactor, Epoch(1)).ok());
    EXPECT_THAT(world.store().TakeRequests(), ElementsAre("GET manifest/5", "CREATE manifest/6", "PUT manifest/hint"));
    world.Remove();
    auto peer = world.OpenPeer();
    Claim(*peer);
    ASSERT_TRUE(Commit(*peer, Epoch(1)).ok());
    std::vector<uint64_t> bases;
    const auto change = [&](const ShardManifest& base) -> arrow::Result<ShardManifest> {
      bases.push_back(base.version.value());
      return base.NextVersion();
    };
    EXPECT_EQ(Commit(*compactor, Epoch(1), change).ValueOrDie().version, ManifestVersion(3));
    EXPECT_THAT(bases, ElementsAre(6, 2));
    EXPECT_EQ(world.StoredVersions(), (std::vector<uint64_t>{1, 2, 3}));
    world.Remove();
    Claim(*world.OpenPeer());
    EXPECT_EQ(VersionOf(compactor->RefreshLatest()), 1u);
    EXPECT_EQ(VersionOf(compactor->Latest()), 1u);
  });
}

// ---- commits ----

TEST(ManifestStore, ACommitIsOneConditionalPut) {
  InVirtualTime([](Simulation&, const Resources& resources) {
    ManifestWorld world(resources);
    auto writer = world.Open();
    Claim(*writer);
    world.store().TakeRequests();
    ShardManifest committed = Commit(*writer, Epoch(1)).ValueOrDie();
    EXPECT_THAT(world.store().TakeRequests(), ElementsAre("HEAD manifest/1", "CREATE manifest/2", "PUT manifest/hint"));
    EXPECT_EQ(committed, world.Stored(2));
    EXPECT_EQ(*writer->Latest().ValueOrDie(), committed);
    EXPECT_EQ(world.Hint(), R"({"version":2})");
  });
}

TEST(ManifestStore, WhatIsNoSuccessorIsRefusedAndNothingChanges) {
  InVirtualTime([](Simulation&, const Resources& resources) {
    ManifestWorld world(resources);
    auto writer = world.Open();
    Claim(*writer);
    ASSERT_TRUE(Commit(*writer, Epoch(1)).ok());
    auto before = world.Everything();
    world.store().TakeRequests();
    for (uint64_t version : {0, 1, 2, 4}) {
      auto change = [version](const ShardManifest& base) -> arrow::Result<ShardManifest> {
        ShardManifest next = base;
        next.version = ManifestVersion(version);
        return next;
      };
      EXPECT_KIND(kInvalidInput, "successor of 2 is 3", Commit(*writer, Epoch(1), change).status());
    }
    auto other_epoch = [](const ShardManifest& base) -> arrow::Result<ShardManifest> {
      ShardManifest next = base.NextVersion();
      next.writer_epoch = Epoch(2);
      return next;
    };
    EXPECT_KIND(kInvalidInput, "epoch 2", Commit(*writer, Epoch(1), other_epoch).status());
    auto other_shard = [](const ShardManifest& base) -> arrow::Result<ShardManifest> {
      ShardManifest next = base.NextVersion();
      next.shard_id = Uuid::Random(1, 2);
      return next;
    };
    EXPECT_KIND(kInvalidInput, "shard", Commit(*writer, Epoch(1), other_shard).status());
    auto refuses = [](const ShardManifest&) -> arrow::Result<ShardManifest> { return Backpressure("not now"); };
    EXPECT_KIND(kBackpressure, "not now", Commit(*writer, Epoch(1), refuses).status());
    EXPECT_THAT(world.store().TakeRequests(), IsEmpty());
    EXPECT_EQ(world.Everything(), before);
    EXPECT_EQ(VersionOf(writer->Latest()), 2u);
  });
}

TEST(ManifestStore, AStalePositionRecovers) {
  InVirtualTime([](Simulation&, const Resources& resources) {
    ManifestWorld world(resources);
    auto writer = world.Open();
    Claim(*writer);
    auto peer = world.OpenPeer();  // a compactor: commits under the same epoch
    ASSERT_TRUE(peer->RefreshLatest().ok());
    ASSERT_TRUE(Commit(*peer, Epoch(1)).ok());
    ASSERT_TRUE(Commit(*peer, Epoch(1)).ok());
    world.store().TakeRequests();
    ShardManifest committed = Commit(*writer, Epoch(1)).ValueOrDie();
    EXPECT_EQ(committed.version, ManifestVersion(4));
    EXPECT_EQ(committed.wal_position_last_seen, WalPosition(3));  // on top of both
    EXPECT_THAT(world.store().TakeRequests(),
                ElementsAre("HEAD manifest/1", "CREATE manifest/2", "GET manifest/hint", "GET manifest/3",
                            "HEAD manifest/4", "HEAD manifest/1", "CREATE manifest/4", "PUT manifest/hint"));
  });
}

TEST(ManifestStore, AFencedWriterLearnsItByTheLostRace) {
  InVirtualTime([](Simulation&, const Resources& resources) {
    ManifestWorld world(resources);
    auto writer = world.Open();
    Claim(*writer);
    Claim(*world.OpenPeer());
    auto before = world.Everything();
    EXPECT_KIND(kFencedPeerClaimedEpoch, "epoch 2", Commit(*writer, Epoch(1)).status());
    EXPECT_EQ(world.Everything(), before);
  });
}

// The change is made against a manifest of its own; a position that moved meanwhile only makes the attempt a lost race.
TEST(ManifestStore, ARefreshDuringTheChangeMakesTheCommitRunAgain) {
  InVirtualTime([](Simulation&, const Resources& resources) {
    ManifestWorld world(resources);
    auto writer = world.Open();
    Claim(*writer);
    world.store().TakeRequests();
    std::vector<uint64_t> bases;
    auto change = [&](const ShardManifest& base) -> arrow::Result<ShardManifest> {
      bases.push_back(base.version.value());
      if (bases.size() == 1) {
        EXPECT_TRUE(
            world.store()
                .inner()
                .PutIfAbsent(world.paths().Manifest(ManifestVersion(2)), EncodeShardManifest(base.NextVersion()))
                .ok());
        EXPECT_EQ(VersionOf(writer->RefreshLatest()), 2u);
      }
      return base.NextVersion();
    };
    EXPECT_EQ(Commit(*writer, Epoch(1), change).ValueOrDie().version, ManifestVersion(3));
    EXPECT_THAT(bases, ElementsAre(1, 2));
    // The doomed version 2 was not even tried.
    EXPECT_THAT(
        world.store().TakeRequests(),
        ElementsAre("HEAD manifest/2", "HEAD manifest/3", "GET manifest/2", "HEAD manifest/1", "HEAD manifest/1",
                    "GET manifest/hint", "GET manifest/1", "HEAD manifest/2", "HEAD manifest/3", "GET manifest/2",
                    "HEAD manifest/1", "CREATE manifest/3", "PUT manifest/hint"));
  });
}

TEST(ManifestStore, LostRacesEndAsVersionConflict) {
  InVirtualTime([](Simulation&, const Resources& resources) {
    ManifestWorld world(resources);
    auto writer = world.Open();
    Claim(*writer);
    for (ErrorKind kind : {ErrorKind::kAlreadyExists, ErrorKind::kPrecondition}) {
      world.store().Fail("CREATE manifest/2", kind, 10);
      world.store().TakeRequests();
      arrow::Status status = Commit(*writer, Epoch(1)).status();
      EXPECT_KIND(kVersionConflict, "version 2", status);
      EXPECT_EQ(FieldsOf(status).at("version"), "2");
      EXPECT_EQ(FieldsOf(status).at("shard"), kTestShard);
      EXPECT_EQ(world.store().TakeCounts()["CREATE manifest/2"], 10);
    }
    EXPECT_TRUE(Commit(*writer, Epoch(1)).ok());
  });
}

TEST(ManifestStore, AnUnknownOutcomeIsReturnedAndDropsThePosition) {
  InVirtualTime([](Simulation&, const Resources& resources) {
    ManifestWorld world(resources);
    auto writer = world.Open();
    Claim(*writer);
    world.store().LoseAnswer("CREATE manifest/2");
    EXPECT_KIND(kTransient, "manifest version 2", Commit(*writer, Epoch(1)).status());
    world.store().TakeRequests();
    EXPECT_EQ(VersionOf(writer->Latest()), 2u);  // asked storage
    EXPECT_THAT(world.store().TakeRequests(), ElementsAre("GET manifest/hint", "GET manifest/1", "HEAD manifest/2",
                                                          "HEAD manifest/3", "GET manifest/2"));
    EXPECT_EQ(Commit(*writer, Epoch(1)).ValueOrDie().version, ManifestVersion(3));
    // And where it never arrived.
    world.store().Fail("CREATE manifest/4", ErrorKind::kOutcomeUnknown);
    EXPECT_KIND(kOutcomeUnknown, "manifest version 4", Commit(*writer, Epoch(1)).status());
    EXPECT_EQ(Commit(*writer, Epoch(1)).ValueOrDie().version, ManifestVersion(4));
  });
}

TEST(ManifestStore, ConcurrentCommitsAreOnePutEach) {
  for (int commits : {8, 64}) {
    InVirtualTime([&](Simulation&, const Resources& resources) {
      ManifestWorld world(resources);
      auto writer = world.Open();
      Claim(*writer);
      world.store().TakeRequests();
      std::vector<Cell<ShardManifest>> cells(commits);
      std::vector<TaskHandle> tasks;
      for (auto& cell : cells)
        tasks.push_back(
            resources.runtime->Spawn("committer", [&] { cell = writer->CommitUpdate(Epoch(1), RaiseLastSeen()); }));
      for (auto& task : tasks) task.Join();
      std::set<uint64_t> versions;
      for (auto& cell : cells) versions.insert(cell.Get().ValueOrDie().version.value());
      EXPECT_EQ(versions.size(), static_cast<size_t>(commits));
      EXPECT_EQ(*versions.rbegin(), commits + 1u);
      EXPECT_EQ(world.Stored(commits + 1).wal_position_last_seen, WalPosition(commits));  // none lost
      auto counts = world.store().TakeCounts();
      EXPECT_EQ(counts.size(), commits + 2u);  // each version once, the look at the claim, and the hint
      EXPECT_EQ(counts["HEAD manifest/1"], commits);
      EXPECT_EQ(counts["PUT manifest/hint"], commits);
      for (int version = 2; version <= commits + 1; ++version)
        EXPECT_EQ(counts["CREATE manifest/" + std::to_string(version)], 1);
    });
  }
}

// The same on real threads.
TEST(ManifestStore, ConcurrentCommitsOnThreads) {
  Resources resources = MakeResources(MakeThreadRuntime(), 1 << 30);
  ManifestWorld world(resources);
  auto writer = world.Open();
  Claim(*writer);
  world.store().TakeRequests();
  constexpr int kCommits = 64;
  std::vector<Cell<ShardManifest>> cells(kCommits);
  std::vector<TaskHandle> tasks;
  std::atomic<int> reads{0};
  for (auto& cell : cells) {
    tasks.push_back(resources.runtime->Spawn("committer", [&] {
      cell = writer->CommitUpdate(Epoch(1), RaiseLastSeen());
      reads += VersionOf(writer->Latest()) > 0;
    }));
  }
  for (auto& task : tasks) task.Join();
  for (auto& cell : cells) EXPECT_TRUE(cell.Get().ok());
  EXPECT_EQ(reads, kCommits);
  EXPECT_EQ(world.Stored(kCommits + 1).wal_position_last_seen, WalPosition(kCommits));
  EXPECT_EQ(world.store().TakeCounts().size(), kCommits + 2u);
}

// ---- finding the tip ----

TEST(ManifestStore, HintMissingLowHighOrGarbage) {
  InVirtualTime([](Simulation&, const Resources& resources) {
    ManifestWorld world(resources);
    auto writer = world.OpenPeer();
    Claim(*writer);
    for (int i = 0; i < 4; ++i) ASSERT_TRUE(Commit(*writer, Epoch(1)).ok());
    auto find = [&] {
      world.store().TakeRequests();
      EXPECT_EQ(VersionOf(world.Open()->RefreshLatest()), 5u);
      return world.store().TakeRequests();
    };
    const Requests by_listing{"GET manifest/hint", "LIST manifest", "GET manifest/5"};
    EXPECT_EQ(find(), (Requests{"GET manifest/hint", "GET manifest/5", "HEAD manifest/6"}));
    world.PutHint(R"({"version":3})");
    EXPECT_EQ(find(), (Requests{"GET manifest/hint", "GET manifest/3", "HEAD manifest/4", "HEAD manifest/5",
                                "HEAD manifest/6", "GET manifest/5"}));
    world.PutHint(R"({"version":9})");
    EXPECT_EQ(find(), (Requests{"GET manifest/hint", "GET manifest/9", "LIST manifest", "GET manifest/5"}));
    for (const char* garbage :
         {"", "{", "7", "null", "[5]", R"({"version":"5"})", R"({"version":-5})", R"({"version":5.0})",
          R"({"version":0})", R"({"other":5})", "\xff\xfe", R"({"version":99999999999999999999999})"}) {
      world.PutHint(garbage);
      EXPECT_EQ(find(), by_listing) << garbage;
    }
    world.PutHint(R"({"version":5, "x": ")" + std::string(2'000, 'x') + "\"}");
    EXPECT_EQ(find(), by_listing);
    world.PutHint(R"({"version":18446744073709551615})");
    EXPECT_EQ(find(),
              (Requests{"GET manifest/hint", "GET manifest/18446744073709551615", "LIST manifest", "GET manifest/5"}));
    world.DeleteHint();
    EXPECT_EQ(find(), by_listing);
    // A hint that cannot be read is no hint, and no reason to give up.
    world.store().Fail("GET manifest/hint");
    EXPECT_EQ(find(), by_listing);
  });
}

TEST(ManifestStore, ProbesInBatches) {
  InVirtualTime([](Simulation&, const Resources& resources) {
    ManifestWorld world(resources);
    auto writer = world.OpenPeer();
    Claim(*writer);
    for (int i = 0; i < 5; ++i) ASSERT_TRUE(Commit(*writer, Epoch(1)).ok());
    world.PutHint(R"({"version":1})");
    EXPECT_EQ(VersionOf(world.Open({.scan_batch_size = 3})->RefreshLatest()), 6u);
    EXPECT_THAT(
        world.store().TakeRequests(),
        ElementsAre("GET manifest/hint", "GET manifest/1", "HEAD manifest/2", "HEAD manifest/3", "HEAD manifest/4",
                    "HEAD manifest/5", "HEAD manifest/6", "HEAD manifest/7", "HEAD manifest/8", "HEAD manifest/7",
                    "HEAD manifest/8", "HEAD manifest/9", "GET manifest/6"));
  });
}

TEST(ManifestStore, ForeignNamesInTheFolderAreIgnored) {
  InVirtualTime([](Simulation&, const Resources& resources) {
    ManifestWorld world(resources);
    Claim(*world.OpenPeer());
    world.DeleteHint();
    const std::string seven = ReversedBits(7);
    for (const std::string& name :
         {seven + ".binpb.tmp.0123", seven, seven + ".arrow", "x" + seven + ".binpb", seven + ".binpb/deeper"}) {
      arrow::Status put =
          world.store().inner().Put(world.paths().ManifestFolder() + name, arrow::Buffer::FromString("x"));
      ASSERT_TRUE(put.ok()) << put.ToString();
    }
    EXPECT_EQ(VersionOf(world.Open()->RefreshLatest()), 1u);
  });
}

TEST(ManifestStore, AnyOtherAnswerThanNotFoundFailsTheSearch) {
  for (ErrorKind kind : {ErrorKind::kTransient, ErrorKind::kDenied, ErrorKind::kIO}) {
    InVirtualTime([&](Simulation&, const Resources& resources) {
      ManifestWorld world(resources);
      auto writer = world.OpenPeer();
      Claim(*writer);
      ASSERT_TRUE(Commit(*writer, Epoch(1)).ok());
      auto fails = [&](ShardManifestStore& store) {
        world.store().TakeRequests();
        EXPECT_EQ(KindOf(store.RefreshLatest().status()), kind);
        EXPECT_EQ(KindOf(store.CheckFenced(Epoch(1))), kind);
        EXPECT_EQ(KindOf(store.ClaimEpoch(1).status()), kind);
        EXPECT_EQ(KindOf(Commit(store, Epoch(1)).status()), kind);
        for (const std::string& request : world.store().TakeRequests())
          EXPECT_FALSE(request.starts_with("CREATE")) << request;
        EXPECT_FALSE(store.PositionIsYoung());
      };
      // A HEAD behind the hinted version, which itself is below the tip: the dangerous one.
      world.PutHint(R"({"version":1})");
      auto reader = world.Open();
      world.store().Fail("HEAD manifest/2", kind, 4);
      fails(*reader);
      world.store().Fail("HEAD manifest/3", kind, 4);
      fails(*reader);
      world.store().Fail("GET manifest/1", kind, 4);
      fails(*reader);
      world.store().Fail("GET manifest/2", kind, 4);
      fails(*reader);
      world.DeleteHint();
      world.store().Fail("LIST manifest", kind, 4);
      fails(*reader);
      world.store().Fail("GET manifest/2", kind, 4);
      fails(*reader);
      EXPECT_EQ(VersionOf(reader->RefreshLatest()), 2u);
      // With a position held, too: nothing is adopted, and the fence question has no answer.
      ASSERT_TRUE(Commit(*writer, Epoch(1)).ok());
      world.store().Fail("HEAD manifest/3", kind, 1);
      EXPECT_EQ(KindOf(reader->CheckFenced(Epoch(1))), kind);
      EXPECT_EQ(VersionOf(reader->Latest()), 2u);
    });
  }
}

TEST(ManifestStore, DamagedManifestsAreCorruption) {
  InVirtualTime([](Simulation&, const Resources& resources) {
    ManifestWorld world(resources);
    Claim(*world.OpenPeer());
    auto put = [&](const BufferPtr& bytes) {
      ASSERT_TRUE(world.store().inner().Put(world.paths().Manifest(ManifestVersion(1)), bytes).ok());
    };
    ShardManifest manifest = world.Stored(1);
    put(arrow::Buffer::FromString("nonsense"));
    EXPECT_KIND(kCorruption, "manifest version 1", world.Open()->RefreshLatest().status());
    put(EncodeShardManifest(manifest.NextVersion()));
    EXPECT_KIND(kCorruption, "says it is version 2", world.Open()->RefreshLatest().status());
    ShardManifest other = manifest;
    other.shard_id = Uuid::Random(1, 2);
    put(EncodeShardManifest(other));
    EXPECT_KIND(kCorruption, other.shard_id.ToString(), world.Open()->RefreshLatest().status());
  });
}

// An older version is never taken for the newest: neither a claim nor a commit writes anything.
TEST(ManifestStore, ADamagedTipStopsClaimsAndCommits) {
  for (const bool hinted : {true, false}) {
    InVirtualTime([&](Simulation&, const Resources& resources) {
      ManifestWorld world(resources);
      auto incumbent = world.Open();
      Claim(*incumbent);
      ASSERT_TRUE(Commit(*incumbent, Epoch(1)).ok());
      auto bytes = EncodeShardManifest(world.Stored(2).NextVersion());
      ASSERT_TRUE(world.store()
                      .inner()
                      .Put(world.paths().Manifest(ManifestVersion(3)), arrow::SliceBuffer(bytes, 0, bytes->size() / 2))
                      .ok());
      if (hinted) world.PutHint(R"({"version":3})");
      const auto before = world.Everything();
      EXPECT_KIND(kCorruption, "manifest version 3", world.Open()->ClaimEpoch(1).status());
      EXPECT_KIND(kCorruption, "manifest version 3", world.Open()->InitializeShard(1, {}).status());
      EXPECT_KIND(kCorruption, "manifest version 3", Commit(*world.Open(), Epoch(1)).status());
      EXPECT_KIND(kCorruption, "manifest version 3", world.Open()->Latest().status());
      EXPECT_EQ(VersionOf(incumbent->Latest()), 2u) << "who holds a position keeps it";
      // It learns of the version only when it writes itself; the damaged object stays as it is.
      EXPECT_KIND(kCorruption, "manifest version 3", Commit(*incumbent, Epoch(1)).status());
      EXPECT_EQ(world.Everything(), before);
    });
  }
}

// ---- creating shards ahead, pruning ----

TEST(ManifestStore, InitializeShardCreatesEpochZero) {
  InVirtualTime([](Simulation&, const Resources& resources) {
    ManifestWorld world(resources);
    const std::map<std::string, std::string> fields{{"bucket", std::string("\x03\0\0\0", 4)}};
    ShardManifest made = world.Open()->InitializeShard(1, fields).ValueOrDie();
    EXPECT_EQ(made,
              (ShardManifest{
                  .shard_id = TestShard(), .version = ManifestVersion(1), .shard_spec_id = 1, .shard_fields = fields}));
    EXPECT_THAT(world.store().TakeRequests(),
                ElementsAre("GET manifest/hint", "LIST manifest", "CREATE manifest/1", "PUT manifest/hint"));
    // Again: the same. A claim keeps the fields.
    EXPECT_EQ(world.Open()->InitializeShard(1, fields).ValueOrDie(), made);
    EXPECT_EQ(world.OpenPeer()->ClaimEpoch(1).ValueOrDie().shard_fields, fields);
    EXPECT_EQ(world.Open()->InitializeShard(1, fields).ValueOrDie().version, ManifestVersion(2));
    auto before = world.Everything();
    EXPECT_KIND(kInvalidInput, "already initialized", world.Open()->InitializeShard(1, {}).status());
    EXPECT_KIND(kInvalidInput, "already initialized", world.Open()->InitializeShard(2, fields).status());
    EXPECT_EQ(world.Everything(), before);
  });
}

TEST(ManifestStore, InitializeShardThatLosesTheRaceComparesWithTheWinner) {
  InVirtualTime([](Simulation&, const Resources& resources) {
    const std::map<std::string, std::string> fields{{"bucket", "x"}};
    ManifestWorld same(resources);
    same.store().Before("CREATE manifest/1", [&] { ASSERT_TRUE(same.OpenPeer()->InitializeShard(1, fields).ok()); });
    EXPECT_EQ(same.Open()->InitializeShard(1, fields).ValueOrDie().version, ManifestVersion(1));
    ManifestWorld other(resources);
    other.store().Before("CREATE manifest/1", [&] { ASSERT_TRUE(other.OpenPeer()->InitializeShard(1, {}).ok()); });
    EXPECT_KIND(kInvalidInput, "already initialized", other.Open()->InitializeShard(1, fields).status());
  });
}

TEST(ManifestStore, InitializeShardNeverHidesAPrunedShard) {
  InVirtualTime([](Simulation&, const Resources& resources) {
    ManifestWorld world(resources);
    auto writer = world.OpenPeer();
    Claim(*writer);
    ASSERT_TRUE(Commit(*writer, Epoch(1)).ok());
    ASSERT_TRUE(world.store().inner().Delete(world.paths().Manifest(ManifestVersion(1))).ok());
    world.DeleteHint();
    EXPECT_EQ(world.Open()->InitializeShard(1, {}).ValueOrDie().version, ManifestVersion(2));
    EXPECT_EQ(world.StoredVersions(), std::vector<uint64_t>{2});
  });
}

class Pruning : public ::testing::Test {
 protected:
  // Versions 1 to 3 are a day old, 4 to 6 are young.
  static void With(const std::function<void(ManifestWorld&, ShardManifestStore&, Runtime&)>& body) {
    InVirtualTime([&](Simulation& simulation, const Resources& resources) {
      ManifestWorld world(resources);
      auto writer = world.Open();
      Claim(*writer);
      for (int i = 0; i < 2; ++i) ASSERT_TRUE(Commit(*writer, Epoch(1)).ok());
      simulation.runtime()->Sleep(hours(24));
      for (int i = 0; i < 3; ++i) ASSERT_TRUE(Commit(*writer, Epoch(1)).ok());
      world.store().TakeRequests();
      body(world, *writer, *simulation.runtime());
    });
  }
};

TEST_F(Pruning, DeletesOldVersionsOldestFirst) {
  With([](ManifestWorld& world, ShardManifestStore& store, Runtime&) {
    EXPECT_EQ(store.PruneVersionsBefore(ManifestVersion(3)).ValueOrDie(), 2u);
    EXPECT_THAT(world.store().TakeRequests(),
                ElementsAre("HEAD manifest/7", "HEAD manifest/4", "LIST manifest", "PUT manifest/hint",
                            "DELETE manifest/1", "DELETE manifest/2"));
    EXPECT_EQ(world.StoredVersions(), (std::vector<uint64_t>{3, 4, 5, 6}));
    EXPECT_EQ(store.PruneVersionsBefore(ManifestVersion(3)).ValueOrDie(), 0u);
  });
}

TEST_F(Pruning, StopsAtTheFirstYoungVersion) {
  With([](ManifestWorld& world, ShardManifestStore& store, Runtime& runtime) {
    EXPECT_EQ(store.PruneVersionsBefore(ManifestVersion(6)).ValueOrDie(), 3u);
    EXPECT_EQ(world.StoredVersions(), (std::vector<uint64_t>{4, 5, 6}));
    runtime.Sleep(hours(24));
    EXPECT_EQ(store.PruneVersionsBefore(ManifestVersion(6)).ValueOrDie(), 2u);
    EXPECT_EQ(world.StoredVersions(), std::vector<uint64_t>{6});
    EXPECT_EQ(VersionOf(world.Open()->RefreshLatest()), 6u);
  });
}

TEST_F(Pruning, StopsAtTheFirstFailure) {
  With([](ManifestWorld& world, ShardManifestStore& store, Runtime&) {
    world.store().Fail("DELETE manifest/2");
    EXPECT_EQ(store.PruneVersionsBefore(ManifestVersion(6)).ValueOrDie(), 1u);
    EXPECT_EQ(world.StoredVersions(), (std::vector<uint64_t>{2, 3, 4, 5, 6}));
  });
}

TEST_F(Pruning, KeepsTheTip) {
  With([](ManifestWorld& world, ShardManifestStore& store, Runtime&) {
    EXPECT_KIND(kInvalidInput, "newest is 6", store.PruneVersionsBefore(ManifestVersion(7)).status());
    EXPECT_EQ(world.StoredVersions().size(), 6u);
  });
  InVirtualTime([](Simulation&, const Resources& resources) {
    EXPECT_KIND(kNotFound, kTestShard,
                ManifestWorld(resources).Open()->PruneVersionsBefore(ManifestVersion(1)).status());
  });
}

TEST_F(Pruning, NoHintNoPruning) {
  With([](ManifestWorld& world, ShardManifestStore& store, Runtime&) {
    world.store().Fail("PUT manifest/hint");
    EXPECT_EQ(store.PruneVersionsBefore(ManifestVersion(6)).ValueOrDie(), 0u);
    EXPECT_EQ(world.StoredVersions().size(), 6u);
  });
}

TEST_F(Pruning, AHintToAPrunedVersionLeadsToTheListing) {
  With([](ManifestWorld& world, ShardManifestStore& store, Runtime&) {
    EXPECT_EQ(store.PruneVersionsBefore(ManifestVersion(6)).ValueOrDie(), 3u);
    world.PutHint(R"({"version":2})");
    world.store().TakeRequests();
    EXPECT_EQ(VersionOf(world.Open()->RefreshLatest()), 6u);
    EXPECT_THAT(world.store().TakeRequests(),
                ElementsAre("GET manifest/hint", "GET manifest/2", "LIST manifest", "GET manifest/6"));
  });
}

// ---- steps ----

TEST(ManifestStore, SyncPointsStandBehindTheirSteps) {
  InVirtualTime([](Simulation& simulation, const Resources& resources) {
    ManifestWorld world(resources);
    std::vector<std::string> names;
    simulation.OnSyncPoint("", [&](const SyncHit& hit) {
      names.emplace_back(hit.name);
      return SyncAction::Continue();
    });
    Claim(*world.Open());
    EXPECT_THAT(names, ElementsAre("manifest.commit.put_done", "manifest.commit.hint_done", "open.claimed"));
  });
}

TEST(ManifestStore, AStepThatFailsBehindThePutIsALostAnswer) {
  InVirtualTime([](Simulation& simulation, const Resources& resources) {
    ManifestWorld world(resources);
    auto writer = world.Open();
    Claim(*writer);
    simulation.OnSyncPoint("manifest.commit.put_done", AtHit(2, SyncAction::Fail(OutcomeUnknown("lost"))));
    EXPECT_KIND(kOutcomeUnknown, "lost", Commit(*writer, Epoch(1)).status());
    EXPECT_EQ(world.StoredVersions(), (std::vector<uint64_t>{1, 2}));
    EXPECT_EQ(Commit(*writer, Epoch(1)).ValueOrDie().version, ManifestVersion(3));
  });
}

}  // namespace
}  // namespace javelin::memwal
