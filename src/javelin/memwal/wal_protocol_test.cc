// The claim, sentinel, replay and append protocol under a seeded scheduler, a store that fails, and processes that
// crash: three processes fight over one shard. What must hold is read from the objects.
#include <gtest/gtest.h>

#include <arrow/api.h>

#include "javelin/memwal/test_support_internal.h"
#include "javelin/memwal/wal_log.h"
#include "javelin/store/sim_store.h"

namespace javelin::memwal {
namespace {

constexpr int kProcesses = 3;
constexpr int kLives = 3;
constexpr int kAppends = 8;

WalEntry Row(int64_t id) {
  auto schema = arrow::schema({arrow::field("id", arrow::int64())});
  auto column = arrow::MakeArrayFromScalar(arrow::Int64Scalar(id), 1).ValueOrDie();
  WalEntry entry{.schema = schema};
  entry.batches = {arrow::RecordBatch::Make(schema, 1, arrow::ArrayVector{column})};
  return entry;
}

int64_t IdOf(const WalEntry& entry) {
  return entry.batches.empty() ? -1 : static_cast<const arrow::Int64Array&>(*entry.batches[0]->column(0)).Value(0);
}

class ShardFight {
 public:
  ShardFight(uint64_t seed, const std::vector<std::string>& bugs)
      : simulation_(seed, {.longest_freeze_exponent = 36}), store_(std::make_shared<SimStore>(simulation_)) {
    for (const std::string& bug : bugs) simulation_.PlantBug(bug);
    const uint64_t crash_one_in = simulation_.crash_random().Between(10, 120);
    simulation_.OnSyncPoint("", [this, crash_one_in](const SyncHit& hit) {
      return simulation_.crash_random().OneIn(crash_one_in) ? SyncAction::Crash() : SyncAction::Continue();
    });
    for (int process = 0; process < kProcesses; ++process) {
      for (int life = 0; life < kLives; ++life) {
        Duration delay(simulation_.plan_random().Between(0, 20'000'000'000));
        simulation_.StartActor("writer", delay, [this] { Live(); });
      }
    }
  }

  // Every violation, as text.
  std::vector<std::string> Finish() {
    arrow::Status ended = simulation_.RunAll();
    if (!ended.ok()) Violated(ended.ToString());
    simulation_.LandRequests();
    CheckManifests();
    CheckLog();
    return violations_;
  }
  uint64_t hash() const { return simulation_.trace_hash(); }
  size_t acknowledged() const { return acknowledged_.size(); }
  bool asked(const std::string& bug) const { return simulation_.PlantedBugWasAsked(bug); }

 private:
  void Violated(std::string text) { violations_.push_back(std::move(text)); }

  // One process: opens the shard and appends until it is fenced, poisoned or done.
  void Live() {
    const std::map<int64_t, WalPosition> acknowledged_before = acknowledged_;
    Resources resources = MakeResources(simulation_.runtime(), 1 << 30);
    auto manifests = std::make_shared<ShardManifestStore>(resources, store_, "table", TestShard());
    auto claimed = manifests->ClaimEpoch(1);
    if (!claimed.ok()) return;
    WalLog log(resources, store_, manifests, "table", claimed->writer_epoch);
    std::optional<WalPosition> end;
    std::vector<BufferPtr> prefetched;
    if (claimed->writer_epoch > Epoch(1)) {
      auto sentinel = log.WriteSentinel(*claimed);
      if (!sentinel.ok()) return CheckRefusal(sentinel.status());
      end = sentinel->position;
      prefetched = std::move(sentinel->prefetched);
    }
    std::set<int64_t> replayed;
    auto keep = [&](WalPosition, WalEntry entry) {
      replayed.insert(IdOf(entry));
      return arrow::Status::OK();
    };
    auto next = log.Replay(WalLog::Range::Of(*claimed, end, std::move(prefetched)), keep);
    if (!next.ok()) return CheckRefusal(next.status());
    for (const auto& [id, position] : acknowledged_before) {
      if (!replayed.contains(id)) Violated(fmt::format("epoch {} opened without row {}", claimed->writer_epoch, id));
    }
    log.SetNextPosition(end.has_value() ? end->Next() : *next);
    for (int i = 0; i < kAppends; ++i) {
      simulation_.runtime()->Sleep(Duration(simulation_.plan_random().Between(0, 1'000'000'000)));
      const int64_t id = ++last_id_;
      auto appended = log.Append(Row(id));
      if (!appended.ok()) return;
      acknowledged_[id] = appended->position;
      if (i == kAppends / 2) RecordCursor(*manifests, claimed->writer_epoch, appended->position);
    }
  }

  // No fault of the store may look like damage.
  void CheckRefusal(const arrow::Status& status) {
    if (HasKind(status, ErrorKind::kWalGap) || HasKind(status, ErrorKind::kWalCorrupt))
      Violated("an open saw " + status.ToString());
  }

  void RecordCursor(ShardManifestStore& manifests, Epoch epoch, WalPosition position) {
    (void)manifests
        .CommitUpdate(epoch,
                      [position](const ShardManifest& base) -> arrow::Result<ShardManifest> {
                        ShardManifest next = base.NextVersion();
                        next.wal_position_last_seen = std::max(base.wal_position_last_seen, position);
                        return next;
                      })
        .Get();
  }

  void CheckManifests() {
    Epoch epoch(0);
    for (uint64_t version = 1;; ++version) {
      auto bytes = store_->raw().Get(paths_.Manifest(ManifestVersion(version)));
      if (!bytes.ok()) break;
      auto manifest = DecodeShardManifest(**bytes).ValueOrDie();
      if (manifest.version != ManifestVersion(version))
        Violated(fmt::format("version {} says {}", version, manifest.version));
      if (manifest.writer_epoch < epoch || manifest.writer_epoch > epoch.Next())
        Violated(fmt::format("epoch {} follows {}", manifest.writer_epoch, epoch));
      epoch = manifest.writer_epoch;
      ++versions_;
    }
    auto listed = ListAll(store_->raw(), {.prefix = paths_.ManifestFolder()}).ValueOrDie().objects.size();
    bool hint = store_->raw().Head(paths_.ManifestHint()).ok();
    if (listed != versions_ + hint)
      Violated(fmt::format("{} manifest objects, {} versions without a gap", listed, versions_));
  }

  void CheckLog() {
    Epoch epoch(0);
    std::map<int64_t, WalPosition> found;
    uint64_t position = 1;
    for (;; ++position) {
      auto bytes = store_->raw().Get(paths_.WalEntry(WalPosition(position)));
      if (!bytes.ok()) break;
      auto entry = DecodeWalEntry(*bytes).ValueOrDie();
      if (entry.batches.empty()) continue;
      if (entry.writer_epoch < epoch)
        Violated(fmt::format("position {}: epoch {} follows {}", position, entry.writer_epoch, epoch));
      epoch = entry.writer_epoch;
      if (!found.emplace(IdOf(entry), WalPosition(position)).second)
        Violated(fmt::format("row {} is in the log twice", IdOf(entry)));
    }
    auto listed = ListAll(store_->raw(), {.prefix = paths_.WalFolder()}).ValueOrDie().objects.size();
    if (listed != position - 1) Violated(fmt::format("{} log objects, {} without a gap", listed, position - 1));
    for (const auto& [id, acknowledged_at] : acknowledged_) {
      auto at = found.find(id);
      if (at == found.end())
        Violated(fmt::format("row {} was acknowledged and is lost", id));
      else if (at->second != acknowledged_at)
        Violated(fmt::format("row {} is at {}, acknowledged at {}", id, at->second, acknowledged_at));
    }
  }

  Simulation simulation_;
  std::shared_ptr<SimStore> store_;
  ShardPaths paths_{"table", TestShard()};
  std::map<int64_t, WalPosition> acknowledged_;
  int64_t last_id_ = 0;
  size_t versions_ = 0;
  std::vector<std::string> violations_;
};

TEST(WalProtocol, NothingAcknowledgedIsLostOrDoubled) {
  size_t acknowledged = 0;
  for (uint64_t seed : Seeds()) {
    ShardFight run(seed, {});
    std::vector<std::string> violations = run.Finish();
    ASSERT_TRUE(violations.empty()) << "seed " << seed << ": " << violations.front() << " (and "
                                    << violations.size() - 1 << " more)";
    acknowledged += run.acknowledged();
  }
  EXPECT_GT(acknowledged, 10 * Seeds().size());  // the runs get somewhere
}

TEST(WalProtocol, SameSeedSameRun) {
  for (uint64_t seed : Seeds(10)) {
    arrow::Status same = CheckSameHash(seed, [](uint64_t again) {
      ShardFight run(again, {});
      run.Finish();
      return run.hash();
    });
    EXPECT_TRUE(same.ok()) << same.ToString();
  }
}

// The checks above see each of these within a few seeds.
TEST(WalProtocol, PlantedBugsAreFound) {
  for (const std::string bug : {"wal.no_fence_check_after_collision", "wal.next_position_after_unknown_outcome",
                                "wal.replay_accepts_higher_epoch"}) {
    bool found = false;
    uint64_t seed = 0;
    while (!found && seed < 2'000) {
      ShardFight run(++seed, {bug});
      found = !run.Finish().empty() && run.asked(bug);
    }
    EXPECT_TRUE(found) << bug << " was not found in " << seed << " seeds";
    RecordProperty(bug, static_cast<int>(seed));
  }
}

}  // namespace
}  // namespace javelin::memwal
