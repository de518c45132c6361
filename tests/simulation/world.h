// One simulated world of the write path: a table with one shard in a simulated store, actors that write and read it,
// and the history of what they did.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>

#include <arrow/result.h>

#include "history.h"
#include "invariants.h"
#include "javelin/base/simulation.h"
#include "javelin/dataset/dataset.h"
#include "javelin/memwal/compactor.h"
#include "javelin/memwal/fresh_view.h"
#include "javelin/memwal/sealing.h"
#include "javelin/memwal/shard_writer.h"
#include "javelin/store/sim_store.h"
#include "shard_objects.h"
#include "table_reading.h"

namespace javelin::simulation {

inline constexpr std::string_view kTableRoot = "table";
inline constexpr std::string_view kShard = "5eed0000-0000-4000-8000-000000000001";
inline constexpr int64_t kBaseKeys = 3;  // rows of the base table: keys 0, 1, 2
inline constexpr int64_t kMostKeys = 9;  // no operation touches a key above

// How often what happened: a run in which nothing happens proves nothing.
struct Coverage {
  uint64_t crashes = 0, opened = 0, open_failed = 0, fenced = 0, lost_persistence = 0, backpressure = 0;
  uint64_t acknowledged = 0, unknown = 0, refused = 0, scans = 0, tails = 0, freezes = 0, damaged = 0;
  uint64_t passes = 0, compactions_failed = 0, retired = 0, folders_deleted = 0, views_outlived = 0;
  uint64_t seals = 0, unseals = 0, opens_refused = 0;
  void Add(const Coverage& other);
};

class World {
 public:
  // A fresh store that holds the table (rows of keys 0 .. kBaseKeys - 1) and no shard.
  World(uint64_t seed, const SimulationOptions& options, const SimStoreOptions& store_options);

  // ---- for actors ----

  // A session of the calling actor's own: actors meet in the store only.
  std::shared_ptr<Session> NewSession(bool retries);
  arrow::Result<std::shared_ptr<Dataset>> OpenTable(std::shared_ptr<Session> session);
  // A call must have ended in one of these ways (OK is always one); anything else is a violation.
  void Expect(const std::string& call, const arrow::Status& status, std::initializer_list<ErrorKind> kinds);

  // The same for a call that reads SSTables: NotFound is right if somebody deletes the folder that it names.
  void ExpectRead(const std::string& call, const arrow::Status& status, std::initializer_list<ErrorKind> kinds);

  // ---- the end of a run ----

  // From here on no request fails. A test's hooks on SyncPoints look at this themselves.
  void Quiet() { quiet_ = true; }
  bool quiet() const { return quiet_; }
  // Runs what there is, then recovers without faults (recovery.h), then checks every invariant. Returns all violations.
  Violations RunRecoverAndCheck();

  // Decides about requests before the seed does, until Quiet.
  RequestHook on_request;

  // ---- for the test, and for looking at the store from outside of time ----

  arrow::Result<ShardObjects> Load();
  memwal::ShardPaths paths() const;
  // Version of the newest manifest and position of the newest entry; 0 = none.
  uint64_t ManifestTip();
  uint64_t LogTip();
  // The newest manifest; nullopt = none.
  std::optional<memwal::ShardManifest> NewestManifest();
  // The newest generation that is published; 0 = none.
  Generation Published();
  bool IsSealed();

  uint64_t seed() const { return simulation.seed(); }
  Runtime& runtime() { return *simulation.runtime(); }

  // The history outlives the actors, which the simulation ends.
  History history;
  Coverage coverage;
  Simulation simulation;
  std::shared_ptr<SimStore> store;

 private:
  uint64_t Tip(const std::string& folder, std::string_view suffix);
  void NoteDeletion(const RequestHit& hit);

  bool quiet_ = false;
};

TableState BaseState();
// Reads what is in SSTables and in the base, in a session without a writer.
void ReadPublished(World& world, const Dataset& dataset);
// Reads a writer's rows by scan, lookup and count, and compares the three. False once the writer answers no more.
bool ReadOnce(World& world, const memwal::ShardWriter& writer, int number);
// Looks every key up, some twice, in one call. Invalid if the answer is not one row per key that exists, in the order
// asked.
arrow::Result<TableState> LookUpAll(const memwal::FreshView& view);

}  // namespace javelin::simulation
