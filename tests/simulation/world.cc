#include "world.h"

#include <arrow/api.h>
#include <arrow/compute/initialize.h>

#include "javelin/memwal/initialize.h"
#include "javelin/memwal/writer_registry.h"
#include "javelin/memwal/writer_state.h"
#include "javelin/store/stores.h"
#include "recovery.h"

namespace javelin::simulation {

namespace {

using Objects = std::vector<std::pair<std::string, BufferPtr>>;

constexpr std::string_view kUriPrefix = "sim://";

// What a read may meet in a world whose store and SyncPoints fail.
constexpr std::initializer_list<ErrorKind> kReadFailures = {ErrorKind::kFencedPeerClaimedEpoch,
                                                            ErrorKind::kFencedPersistenceFailure,
                                                            ErrorKind::kClosed,
                                                            ErrorKind::kTransient,
                                                            ErrorKind::kIO,
                                                            ErrorKind::kOutcomeUnknown,
                                                            ErrorKind::kCancelled};

std::string TableUri() { return std::string(kUriPrefix) + std::string(kTableRoot); }

std::shared_ptr<Session> SessionOver(const std::shared_ptr<Runtime>& runtime, std::shared_ptr<ObjectStore> store) {
  auto session = std::make_shared<Session>(MakeResources(runtime, int64_t{1} << 30));
  session->stores().Register(std::string(kUriPrefix), std::move(store));
  return session;
}

arrow::Status CreateTable(const std::shared_ptr<Session>& session) {
  std::vector<int64_t> keys;
  for (const auto& [key, version] : BaseState()) keys.push_back(key);
  ARROW_ASSIGN_OR_RAISE(auto rows, arrow::RecordBatchReader::Make({MakePutBatch(0, 0, keys)}));
  ARROW_ASSIGN_OR_RAISE(auto dataset, Dataset::Write(session, TableUri(), *rows));
  return memwal::Initialize(*dataset, {.unsharded = true}).status();
}

arrow::Result<Objects> MakeTable() {
  ARROW_RETURN_NOT_OK(arrow::compute::Initialize());
  Simulation simulation(0, {.stalls = false});
  auto store = MakeMemoryStore(MakeResources(simulation.runtime()));
  arrow::Status created;
  simulation.StartActor("creator", Duration::zero(),
                        [&] { created = CreateTable(SessionOver(simulation.runtime(), store)); });
  ARROW_RETURN_NOT_OK(simulation.RunAll());
  ARROW_RETURN_NOT_OK(created);
  Objects objects;
  ARROW_ASSIGN_OR_RAISE(ListPage page, ListAll(*store, {}));
  for (const ObjectInfo& object : page.objects) {
    ARROW_ASSIGN_OR_RAISE(BufferPtr bytes, store->Get(object.key));
    objects.emplace_back(object.key, bytes);
  }
  return objects;
}

// Made once and copied into every world, always the same bytes.
const Objects& TableObjects() {
  static const Objects objects = MakeTable().ValueOrDie();
  return objects;
}

}  // namespace

void Coverage::Add(const Coverage& other) {
  crashes += other.crashes;
  opened += other.opened;
  open_failed += other.open_failed;
  fenced += other.fenced;
  lost_persistence += other.lost_persistence;
  backpressure += other.backpressure;
  acknowledged += other.acknowledged;
  unknown += other.unknown;
  refused += other.refused;
  scans += other.scans;
  tails += other.tails;
  freezes += other.freezes;
  damaged += other.damaged;
  passes += other.passes;
  compactions_failed += other.compactions_failed;
  retired += other.retired;
  folders_deleted += other.folders_deleted;
  views_outlived += other.views_outlived;
  seals += other.seals;
  unseals += other.unseals;
  opens_refused += other.opens_refused;
}

World::World(uint64_t seed, const SimulationOptions& options, const SimStoreOptions& store_options)
    : history(BaseState()), simulation(seed, options), store(std::make_shared<SimStore>(simulation, store_options)) {
  store->OnRequest([this](const RequestHit& hit) -> std::optional<RequestFault> {
    NoteDeletion(hit);
    if (quiet_) return RequestFault::kNone;
    return on_request ? on_request(hit) : std::nullopt;
  });
  for (const auto& [key, bytes] : TableObjects()) {
    if (!store->raw().Put(key, bytes).ok()) std::abort();
  }
}

std::shared_ptr<Session> World::NewSession(bool retries) {
  std::shared_ptr<ObjectStore> view = store;
  if (retries) view = MakeRetryStore(MakeResources(simulation.runtime()), view);
  return SessionOver(simulation.runtime(), std::move(view));
}

arrow::Result<std::shared_ptr<Dataset>> World::OpenTable(std::shared_ptr<Session> session) {
  return Dataset::Open(std::move(session), TableUri());
}

void World::Expect(const std::string& call, const arrow::Status& status, std::initializer_list<ErrorKind> kinds) {
  if (runtime().Unwinding() || status.ok()) return;
  for (ErrorKind kind : kinds) {
    if (KindOf(status) == kind) return;
  }
  history.Violated(fmt::format("{} ended with {}: {}", call, ToString(KindOf(status)), status.ToString()));
}

void World::ExpectRead(const std::string& call, const arrow::Status& status, std::initializer_list<ErrorKind> kinds) {
  if (!history.IsOfDeletedFolder(status)) return Expect(call, status, kinds);
  ++coverage.views_outlived;
}

memwal::ShardPaths World::paths() const {
  return memwal::ShardPaths(kTableRoot, table::Uuid::Parse(kShard).ValueOrDie());
}

arrow::Result<ShardObjects> World::Load() { return LoadShard(store->raw(), paths()); }

uint64_t World::ManifestTip() { return Tip(paths().ManifestFolder(), ".binpb"); }
uint64_t World::LogTip() { return Tip(paths().WalFolder(), ".arrow"); }

std::optional<memwal::ShardManifest> World::NewestManifest() {
  const ManifestVersion tip(ManifestTip());
  if (tip == ManifestVersion()) return std::nullopt;
  const auto bytes = store->raw().Get(paths().Manifest(tip)).ValueOrDie();
  return memwal::DecodeShardManifest(*bytes).ValueOrDie();
}

Generation World::Published() {
  const auto manifest = NewestManifest();
  return manifest.has_value() ? Generation(manifest->current_generation.value() - 1) : Generation(0);
}

bool World::IsSealed() {
  const auto manifest = NewestManifest();
  return manifest.has_value() && manifest->status == memwal::ShardStatus::kSealed;
}

void World::NoteDeletion(const RequestHit& hit) {
  const std::string shard = paths().shard_folder + "/";
  if (hit.method != "delete" || !hit.key.starts_with(shard)) return;
  const std::string below = hit.key.substr(shard.size());
  history.DeletionSent(below.substr(0, below.find('/')), ManifestVersion(ManifestTip()));
}

uint64_t World::Tip(const std::string& folder, std::string_view suffix) {
  uint64_t tip = 0;
  auto page = ListAll(store->raw(), {.prefix = folder});
  if (!page.ok()) return tip;
  for (const ObjectInfo& object : page->objects) {
    tip = std::max(tip, memwal::ParseReversedBits(object.key.substr(folder.size()), suffix).value_or(0));
  }
  return tip;
}

Violations World::RunRecoverAndCheck() {
  Violations violations;
  std::vector<BaseVersion> base;
  auto run = [&] {
    arrow::Status ended = simulation.RunAll();
    if (!ended.ok()) violations.push_back(ended.ToString());
    return ended.ok();
  };
  if (run()) {
    simulation.LandRequests();
    Quiet();
    simulation.StartActor("recovery", Duration::zero(), [&] { Recover(*this, &base); });
    run();
  }
  auto shard = Load();
  Violations found = shard.ok() ? CheckEverything(*shard, history, base) : Violations{shard.status().ToString()};
  violations.insert(violations.end(), found.begin(), found.end());
  return violations;
}

TableState BaseState() {
  TableState state;
  for (int32_t key = 0; key < kBaseKeys; ++key) state[key] = {0, key};
  return state;
}

// A view that has answered nothing may still move, and then is of the moment of its first answer.
void Fix(const memwal::FreshView& view) { (void)view.tiers(); }

// Rows that are only in the log of another process are not in a view of this one.
void ReadPublished(World& world, const Dataset& dataset) {
  ScanRecord record;
  record.writer = -1;
  record.started = world.history.Now();
  record.published_before = world.Published();
  auto view = memwal::FreshView::Open(dataset);
  const bool fixed = record.started % 2 == 0;
  if (view.ok() && fixed) Fix(**view);
  record.finished = world.history.Now();
  record.published_after = world.Published();
  world.Expect("opening a view of the table", view.status(), kReadFailures);
  if (!view.ok()) return;
  auto scanned = ScanAll(**view);
  world.ExpectRead("a scan of the table", scanned.status(), kReadFailures);
  if (!scanned.ok()) return;
  if (!fixed) {
    record.finished = world.history.Now();
    record.published_after = world.Published();
  }
  record.state = *scanned;
  world.history.Scanned(world.runtime(), std::move(record));
}

bool ReadOnce(World& world, const memwal::ShardWriter& writer, int number) {
  ScanRecord record;
  record.writer = number;
  record.started = world.history.Now();
  // By the door of the writer and by that of the table, which finds the writer in its session.
  const bool by_writer = record.started % 2 == 0;
  auto view = by_writer ? memwal::FreshView::OpenForWriter(writer) : memwal::FreshView::Open(writer.dataset());
  const bool fixed = !by_writer || record.started % 4 == 0;
  if (view.ok() && fixed) Fix(**view);
  // What a writer that has ended, or is about to, did not flush is in nobody's memory.
  const auto& location = writer.dataset().location();
  const auto living = memwal::WriterRegistry::Of(*writer.dataset().session())->Writers(location);
  if (!by_writer && std::find(living.begin(), living.end(), writer.state()) == living.end()) return true;
  record.finished = world.history.Now();
  world.Expect("opening a view", view.status(), kReadFailures);
  world.history.CallEnded(world.runtime(), number, record.started, view.status(), "opening a view");
  if (!view.ok()) return HasKind(view.status(), ErrorKind::kTransient);

  auto scanned = ScanAll(**view);
  world.ExpectRead("a scan", scanned.status(), kReadFailures);
  if (!scanned.ok()) return true;
  if (!fixed) record.finished = world.history.Now();
  record.state = *scanned;
  world.history.Scanned(world.runtime(), record);
  ++world.coverage.scans;

  auto looked_up = LookUpAll(**view);
  world.ExpectRead("lookups", looked_up.status(), kReadFailures);
  if (looked_up.ok() && *looked_up != *scanned && !world.runtime().Unwinding()) {
    world.history.Violated("lookups see " + Describe(*looked_up) + ", a scan of the same view " + Describe(*scanned));
  }
  auto count = (*view)->CountRows();
  world.ExpectRead("counting rows", count.status(), kReadFailures);
  if (count.ok() && *count != scanned->size() && !world.runtime().Unwinding()) {
    world.history.Violated(fmt::format("a view counts {} rows and scans {}", *count, scanned->size()));
  }
  return true;
}

arrow::Result<TableState> LookUpAll(const memwal::FreshView& view) {
  std::vector<int64_t> asked;
  for (int64_t key = kMostKeys - 1; key >= 0; --key) {
    asked.push_back(key);
    if (key % 3 == 0) asked.push_back(kMostKeys - 1);  // again
  }
  ARROW_ASSIGN_OR_RAISE(auto rows, view.Get(*MakeKeyBatch(asked)));
  TableState state;
  ARROW_RETURN_NOT_OK(AddRows(*rows, &state));
  auto ids = std::static_pointer_cast<arrow::Int64Array>(rows->GetColumnByName("id"));
  for (int64_t row = 1; row < rows->num_rows(); ++row) {
    if (ids->Value(row) > ids->Value(row - 1))
      return arrow::Status::Invalid("a lookup does not answer in the order asked");
  }
  return state;
}

}  // namespace javelin::simulation
