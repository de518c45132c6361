#include "reader_actor.h"

#include "javelin/base/seeded_random.h"
#include "javelin/store/counting_store.h"

namespace javelin::simulation {

namespace {
constexpr std::initializer_list<ErrorKind> kStoreFailures = {ErrorKind::kTransient, ErrorKind::kIO};
}

void ReaderActor::Run() {
  auto counting = std::make_shared<CountingStore>(world_.runtime(), world_.store);
  Resources resources = MakeResources(world_.simulation.runtime());
  auto shard = table::Uuid::Parse(kShard).ValueOrDie();
  // A store object that never wrote holds no position, so that every poll asks storage.
  auto manifests = std::make_shared<memwal::ShardManifestStore>(resources, counting, std::string(kTableRoot), shard);
  memwal::WalTailer tailer(resources, counting, manifests, std::string(kTableRoot));
  auto dataset = world_.OpenTable(world_.NewSession(false));
  SeededRandom random(world_.seed(), stream_);
  for (int round = 0; round < rounds_; ++round) {
    PollManifest(*manifests);
    TailLog(tailer);
    if (dataset.ok() && random.OneIn(3)) ReadPublished(world_, **dataset);
    world_.runtime().Sleep(std::chrono::milliseconds(random.Between(0, 1500)));
  }
  RequestCounts counts = counting->counts();
  uint64_t writes = counts.put + counts.put_if_absent + counts.put_if_match + counts.remove + counts.copy;
  if (writes != 0) world_.history.Violated(fmt::format("a reader of the log made {} writing requests", writes));
}

// Latest() without a position reflects the last commit: neither older than the tip when it started, nor newer than it
// is now.
void ReaderActor::PollManifest(memwal::ShardManifestStore& manifests) {
  uint64_t before = world_.ManifestTip();
  auto latest = manifests.Latest();
  world_.Expect("polling the manifest", latest.status(), kStoreFailures);
  if (!latest.ok() || world_.runtime().Unwinding()) return;
  uint64_t seen = latest->has_value() ? (*latest)->version.value() : 0;
  if (seen < before || seen > world_.ManifestTip() || seen < last_version_) {
    world_.history.Violated(fmt::format("a poll saw manifest {} after {}, while the tip went from {} to {}", seen,
                                        last_version_, before, world_.ManifestTip()));
  }
  last_version_ = seen;
}

void ReaderActor::TailLog(memwal::WalTailer& tailer) {
  TailRecord record;
  record.started = world_.history.Now();
  auto next = tailer.NextPosition();
  world_.Expect("finding the end of the log", next.status(), kStoreFailures);
  if (!next.ok()) return;
  record.next = *next;
  for (WalPosition position(1); position < record.next; position = position.Next()) {
    auto entry = tailer.ReadEntry(position);
    world_.Expect("reading an entry", entry.status(), kStoreFailures);
    if (!entry.ok() || world_.runtime().Unwinding()) return;
    if (!entry->has_value()) {
      world_.history.Violated(
          fmt::format("entry {} is missing below the end {} that the tailer found", position, record.next));
      return;
    }
    record.digests.push_back(Describe(**entry));
  }
  record.finished = world_.history.Now();
  world_.history.Tailed(world_.runtime(), std::move(record));
  ++world_.coverage.tails;
}

}  // namespace javelin::simulation
