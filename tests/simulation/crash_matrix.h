// Runs to one exact moment, and what is there afterwards: the fixture of the crash matrix.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "shard_user.h"

namespace javelin::simulation {

inline memwal::WriterOptions Quick() {
  memwal::WriterOptions options;
  options.max_wal_flush_interval = std::chrono::milliseconds(50);
  return options;
}

inline memwal::WriterOptions NotDurable(Duration interval) {
  memwal::WriterOptions options;
  options.durable_write = false;
  options.max_wal_flush_interval = interval;
  return options;
}

class CrashMatrix : public ::testing::Test {
 protected:
  explicit CrashMatrix(const SimStoreOptions& store = {.faults = false}) : world(1, {.stalls = false}, store) {}
  void TearDown() override { EXPECT_EQ(world.RunRecoverAndCheck(), Violations()); }

  // Runs one process to its end, or to its crash.
  void Process(const std::string& name, const std::function<void(ShardUser&)>& body,
               Duration delay = Duration::zero()) {
    world.simulation.StartActor(name, delay, [this, name, body] {
      ShardUser user(world, name);
      body(user);
    });
  }
  void Run() {
    arrow::Status ended = world.simulation.RunAll();
    ASSERT_TRUE(ended.ok()) << ended.ToString();
  }

  void CrashAt(const std::string& sync_point, uint64_t hit = 1) {
    world.simulation.OnSyncPoint(sync_point, AtHit(hit, SyncAction::Crash()));
  }

  // The next time; whether it has happened.
  std::shared_ptr<bool> CrashOnceAt(const std::string& sync_point) {
    auto crashed = std::make_shared<bool>(false);
    world.simulation.OnSyncPoint(sync_point, [crashed](const SyncHit&) {
      return std::exchange(*crashed, true) ? SyncAction::Continue() : SyncAction::Crash();
    });
    return crashed;
  }

  // The n-th request of this method below this folder of the shard meets `fault`; `crash`: its sender ends as it is
  // sent.
  void OnRequest(std::string method, std::string folder, uint64_t n, RequestFault fault, bool crash = false) {
    auto count = std::make_shared<uint64_t>(0);
    world.on_request = [=, this](const RequestHit& hit) -> std::optional<RequestFault> {
      if (hit.method != method || !hit.key.starts_with(folder) || ++*count != n) return std::nullopt;
      if (crash) world.simulation.Crash(hit.actor);
      return fault;
    };
  }

  // Epochs of the log, sentinels negative.
  std::vector<int64_t> LogEpochs() {
    std::vector<int64_t> epochs;
    const ShardObjects shard = world.Load().ValueOrDie();
    for (const LogEntry& entry : shard.log) {
      int64_t epoch = static_cast<int64_t>(entry.entry.writer_epoch.value());
      epochs.push_back(entry.entry.fence_sentinel ? -epoch : epoch);
    }
    return epochs;
  }

  // What a new writer of the shard sees.
  TableState Reopened() {
    TableState state;
    Process("reopened", [&](ShardUser& user) {
      EXPECT_TRUE(user.Open(Quick()).ok());
      state = user.Read().ValueOr(TableState());
    });
    Run();
    return state;
  }

  // The newest manifest of the shard.
  memwal::ShardManifest Newest() { return world.NewestManifest().value(); }
  std::vector<Generation> Listed() {
    std::vector<Generation> generations;
    for (const auto& entry : Newest().sstables) generations.push_back(entry.generation);
    return generations;
  }
  // Names of the folders of SSTables that are there, listed or not.
  std::vector<std::string> Folders() {
    std::vector<std::string> names;
    const ShardObjects shard = world.Load().ValueOrDie();
    for (const auto& [name, objects] : shard.folders) names.push_back(name);
    return names;
  }

  std::map<std::string, std::string> ShardBytes() {
    std::map<std::string, std::string> bytes;
    auto page = ListAll(world.store->raw(), {.prefix = world.paths().shard_folder + "/"}).ValueOrDie();
    for (const ObjectInfo& object : page.objects)
      bytes[object.key] = world.store->raw().Get(object.key).ValueOrDie()->ToString();
    return bytes;
  }

  World world;
};

}  // namespace javelin::simulation
