// Sealing a shard and taking the seal back: whom it stops, what stays readable, and crashes in between (rows SE1 to SE3
// of the crash matrix).
#include "javelin/memwal/sealing.h"

#include "javelin/memwal/writer_registry.h"
#include "javelin/memwal/writer_test_world.h"

namespace javelin::memwal {
namespace {

using namespace test;

ShardManifest Newest(Process& process) {
  const auto registry = WriterRegistry::Of(*process.session);
  const auto manifests = registry->ReaderManifestStore(process.Table()->location(), Must(Uuid::Parse(kShard)));
  return *Must(manifests->RefreshLatest());
}

void PutTwo(World& world) {
  world.CreateTable();
  world.Run([&](Process& process) {
    auto writer = process.Open(Eager());
    ASSERT_OK(writer->Put({Row(1, "a")}));
    ASSERT_OK(writer->Put({Row(2, "b")}));
    writer->Abort();  // the rows stay in the log
  });
}

TEST(Sealing, ASealedShardTakesNoWriterUntilItIsUnsealed) {
  World world;
  PutTwo(world);
  world.Run([&](Process& process) {
    const auto sealed = Must(SealShard(*process.Table(), kShard));
    EXPECT_EQ(sealed.status, ShardStatus::kSealed);
    EXPECT_EQ(sealed.writer_epoch, Epoch(2));
  });
  world.Run([&](Process& process) {
    const auto before = world.Objects();
    ExpectError(process.TryOpen().status(), ErrorKind::kSealed, "sealed");
    EXPECT_EQ(world.Objects(), before) << "a refused claim leaves nothing behind";
    const auto again = Must(SealShard(*process.Table(), kShard));
    EXPECT_EQ(again.version, Newest(process).version);
    EXPECT_EQ(world.Objects(), before) << "sealing twice changes nothing";
    const auto unsealed = Must(UnsealShard(*process.Table(), kShard));
    EXPECT_EQ(unsealed.status, ShardStatus::kActive);
    EXPECT_EQ(unsealed.writer_epoch, Epoch(2)) << "no claim is needed";
    const auto after = world.Objects();
    EXPECT_EQ(Must(UnsealShard(*process.Table(), kShard)).version, unsealed.version);
    EXPECT_EQ(world.Objects(), after) << "unsealing twice changes nothing";
  });
  world.Run([&](Process& process) { EXPECT_EQ(ReadBack(*process.Open()), "1:a 2:b"); });
}

TEST(Sealing, TheWriterAtWorkIsFencedByItsNextAppend) {
  World world;
  world.CreateTable();
  bool sealed = false;
  world.Run({[&](Process& process) {
               auto writer = process.Open(Eager());
               ASSERT_OK(writer->Put({Row(1, "before")}));
               while (!sealed) process.runtime().Sleep(std::chrono::seconds(1));
               ExpectError(writer->Put({Row(2, "after")}), ErrorKind::kFencedPeerClaimedEpoch, "");
               ExpectError(writer->Close(), ErrorKind::kFencedPeerClaimedEpoch, "");
             },
             [&](Process& process) {
               process.runtime().Sleep(std::chrono::seconds(10));
               ASSERT_OK(SealShard(*process.Table(), kShard).status());
               sealed = true;
             }});
  EXPECT_EQ(world.RowsInLog(), 1u);
}

TEST(Sealing, RowsOfASealedShardAreRead) {
  World world;
  world.CreateTable(R"([[1, "base"], [3, "base"]])");
  world.Run([&](Process& process) {
    auto writer = process.Open(Eager());
    ASSERT_OK(writer->Put({Row(1, "a")}));
    ASSERT_OK(writer->Close());
  });
  world.Run([&](Process& process) { ASSERT_OK(SealShard(*process.Table(), kShard).status()); });
  world.Run([&](Process& process) { EXPECT_EQ(process.Fresh(), "1:a 3:base"); });
}

TEST(Sealing, AWriterSealsItsOwnShard) {
  World world;
  world.CreateTable();
  world.Run([&](Process& process) {
    auto writer = process.Open(Eager());
    ASSERT_OK(writer->Put({Row(1, "a")}));
    const auto sealed = Must(SealShard(*writer));
    EXPECT_EQ(sealed.status, ShardStatus::kSealed);
    EXPECT_EQ(sealed.writer_epoch, writer->epoch());
    EXPECT_EQ(sealed.sstables.size(), 1u);
    ExpectError(writer->Put({Row(2, "b")}), ErrorKind::kClosed, "");
    EXPECT_EQ(Must(SealShard(*writer)).status, ShardStatus::kSealed);
    EXPECT_EQ(process.Fresh(), "1:a");
    ExpectError(process.TryOpen().status(), ErrorKind::kSealed, kShard);
    ASSERT_OK(UnsealShard(*process.Table(), kShard).status());
    EXPECT_EQ(ReadBack(*process.Open()), "1:a");
    // Another one holds it now.
    ExpectError(SealShard(*writer).status(), ErrorKind::kFencedPeerClaimedEpoch, "");
  });
}

// M10: a writer's own view of its manifest stays what it wrote; the durable tip shows the seal.
TEST(Sealing, OnlyARefreshSeesTheSealOfAnother) {
  World world;
  world.CreateTable();
  bool sealed = false;
  world.Run({[&](Process& process) {
               auto writer = process.Open();
               while (!sealed) process.runtime().Sleep(std::chrono::seconds(1));
               EXPECT_EQ(Must(writer->Manifest()).status, ShardStatus::kActive);
               EXPECT_EQ(Must(writer->RefreshManifest()).status, ShardStatus::kSealed);
             },
             [&](Process& process) {
               process.runtime().Sleep(std::chrono::seconds(10));
               ASSERT_OK(SealShard(*process.Table(), kShard).status());
               sealed = true;
             }});
}

TEST(Sealing, WhatCannotBeSealed) {
  World world;
  world.CreateTable();
  world.Run([&](Process& process) {
    const auto before = world.Objects();
    using Call = arrow::Result<ShardManifest> (*)(const Dataset&, const std::string&);
    for (const Call call : {Call(&SealShard), Call(&UnsealShard)}) {
      ExpectError(call(*process.Table(), "no uuid").status(), ErrorKind::kInvalidInput, "shard_id");
      ExpectError(call(*process.Table(), kShard).status(), ErrorKind::kNotFound, kShard);
    }
    EXPECT_EQ(world.Objects(), before);
  });
}

// Right before our put of this manifest version arrives, others have written these.
void OvertakeAt(World& world, uint64_t version, std::vector<ShardManifest> others) {
  world.fault = [&world, version, others, done = false](const RequestHit& hit) mutable -> std::optional<RequestFault> {
    if (!done && hit.method == "put_if_absent" && hit.key == ManifestKey(version)) {
      done = true;
      for (const auto& other : others) {
        EXPECT_TRUE(world.store->raw().Put(ManifestKey(other.version.value()), EncodeShardManifest(other)).ok());
      }
    }
    return RequestFault::kNone;
  };
}
ShardManifest Successor(const ShardManifest& base, uint64_t epoch, ShardStatus status) {
  ShardManifest next = base.NextVersion();
  next.writer_epoch = Epoch(epoch);
  next.status = status;
  return next;
}

TEST(Sealing, AnotherSealerWasFaster) {
  World world;
  PutTwo(world);
  world.Run([&](Process& process) {
    const auto claimed = Successor(Newest(process), 2, ShardStatus::kActive);
    const auto sealed = Successor(claimed, 2, ShardStatus::kSealed);
    OvertakeAt(world, 2, {claimed, sealed});
    EXPECT_EQ(Must(SealShard(*process.Table(), kShard)), sealed);
    EXPECT_EQ(Newest(process), sealed);
  });
}

TEST(Sealing, AWriterThatClaimsMeanwhileWins) {
  World world;
  PutTwo(world);
  world.Run([&](Process& process) {
    const auto rival = Successor(Newest(process), 2, ShardStatus::kActive);
    OvertakeAt(world, 2, {rival});
    ExpectError(SealShard(*process.Table(), kShard).status(), ErrorKind::kClaimLost, kShard);
    // Between our claim (version 3) and our seal.
    const auto next = Successor(Successor(rival, 3, ShardStatus::kActive), 4, ShardStatus::kActive);
    OvertakeAt(world, 4, {next});
    ExpectError(SealShard(*process.Table(), kShard).status(), ErrorKind::kFencedPeerClaimedEpoch, kShard);
    EXPECT_EQ(Newest(process), next);
  });
}

// Somebody else unsealed, and a writer opened at once.
TEST(Sealing, UnsealedByAnotherMeanwhile) {
  World world;
  PutTwo(world);
  world.Run([&](Process& process) {
    const auto sealed = Must(SealShard(*process.Table(), kShard));
    const auto unsealed = Successor(sealed, 2, ShardStatus::kActive);
    const auto claimed = Successor(unsealed, 3, ShardStatus::kActive);
    OvertakeAt(world, sealed.version.value() + 1, {unsealed, claimed});
    EXPECT_EQ(Must(UnsealShard(*process.Table(), kShard)), claimed);
    EXPECT_EQ(Newest(process), claimed);
  });
}

// SE1: the claim is done, the seal is not. The old writer is fenced, the shard is not sealed.
TEST(Sealing, ACrashBeforeTheSealLeavesAnActiveShard) {
  for (const std::string step : {"open.claimed", "open.sentinel_written", "seal.fenced"}) {
    World world;
    PutTwo(world);
    bool armed = true;
    world.sim.OnSyncPoint(step, [&armed](const SyncHit&) {
      return std::exchange(armed, false) ? SyncAction::Crash() : SyncAction::Continue();
    });
    world.Run([&](Process& process) { (void)SealShard(*process.Table(), kShard); });
    EXPECT_FALSE(armed) << step << " was not passed";
    world.Run([&](Process& process) {
      EXPECT_EQ(Newest(process).status, ShardStatus::kActive);
      EXPECT_EQ(Newest(process).writer_epoch, Epoch(2));
      const auto writer = process.Open();
      EXPECT_EQ(writer->epoch(), Epoch(3));
      EXPECT_EQ(ReadBack(*writer), "1:a 2:b") << step;
    });
  }
}

// SE2: the seal is committed. SE3: it is taken back; nobody is told, and the rows are all there.
TEST(Sealing, ACrashAfterTheSealOrItsEndChangesNothing) {
  World world;
  PutTwo(world);
  for (const std::string step : {"seal.committed", "unseal.committed"}) {
    bool armed = true;
    world.sim.OnSyncPoint(step, [&armed](const SyncHit&) {
      return std::exchange(armed, false) ? SyncAction::Crash() : SyncAction::Continue();
    });
    const bool seals = step == "seal.committed";
    world.Run([&](Process& process) {
      (void)(seals ? SealShard(*process.Table(), kShard) : UnsealShard(*process.Table(), kShard));
    });
    EXPECT_FALSE(armed) << step << " was not passed";
    world.Run([&](Process& process) {
      if (seals) {
        ExpectError(process.TryOpen().status(), ErrorKind::kSealed, kShard);
      } else {
        EXPECT_EQ(ReadBack(*process.Open()), "1:a 2:b");
      }
    });
  }
}

// The answer of the commit is lost: sealing again finds it done, or does it.
TEST(Sealing, ALostAnswerIsRepaired) {
  World world;
  PutTwo(world);
  world.fault = [](const RequestHit& hit) -> std::optional<RequestFault> {
    if (hit.method == "put_if_absent" && hit.key == ManifestKey(3)) return RequestFault::kLostAnswer;
    return RequestFault::kNone;
  };
  world.Run([&](Process& process) {
    const auto outcome = SealShard(*process.Table(), kShard);
    world.fault = nullptr;
    EXPECT_EQ(Must(SealShard(*process.Table(), kShard)).status, ShardStatus::kSealed) << outcome.status().ToString();
    EXPECT_EQ(Newest(process).status, ShardStatus::kSealed);
  });
}

}  // namespace
}  // namespace javelin::memwal
