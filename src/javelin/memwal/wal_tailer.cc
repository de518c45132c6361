#include "javelin/memwal/wal_tailer.h"

#include "javelin/base/error.h"
#include "javelin/memwal/wal_tip_internal.h"

namespace javelin::memwal {

namespace {
constexpr uint64_t kWidestProbe = 16;
}

struct WalTailer::Shared {
  WalFolder folder;
  std::shared_ptr<ShardManifestStore> manifests;
  Mutex mutex;
  WalPosition highest_read;  // guarded by mutex

  WalPosition HighestRead() {
    std::lock_guard lock(mutex);
    return highest_read;
  }
};

WalTailer::WalTailer(Resources resources, std::shared_ptr<ObjectStore> store,
                     std::shared_ptr<ShardManifestStore> manifests, std::string table_root) {
  const Uuid shard = manifests->shard();
  Runtime& runtime = *resources.runtime;
  shared_.reset(new Shared{.folder = {std::move(resources), std::move(store), shard, ShardPaths(table_root, shard)},
                           .manifests = std::move(manifests),
                           .mutex = Mutex(runtime)});
}

arrow::Result<std::optional<WalEntry>> WalTailer::ReadEntry(WalPosition position) {
  const WalFolder& folder = shared_->folder;
  if (position == WalPosition(0)) return InvalidInput("shard {}: WAL positions start at 1", folder.shard.ToString());
  arrow::Result<BufferPtr> bytes = folder.store->Get(folder.paths.WalEntry(position));
  if (HasKind(bytes.status(), ErrorKind::kNotFound)) return std::nullopt;
  if (!bytes.ok()) return folder.At(bytes.status(), position);
  arrow::Result<WalEntry> entry = DecodeWalEntry(*bytes);
  if (!entry.ok()) return folder.At(entry.status(), position);
  std::lock_guard lock(shared_->mutex);
  shared_->highest_read = std::max(shared_->highest_read, position);
  return *std::move(entry);
}

arrow::Result<WalPosition> WalTailer::NextPosition() {
  WalPosition known = shared_->HighestRead();
  if (known == WalPosition(0)) {
    ARROW_ASSIGN_OR_RAISE(std::optional<ShardManifest> manifest, shared_->manifests->Latest());
    if (manifest.has_value()) known = std::max(manifest->wal_position_last_seen, manifest->replay_after);
  }
  const WalFolder& folder = shared_->folder;
  // A follower is mostly at the tip: one request then; wider the farther behind it is.
  for (uint64_t width = 1;; width = std::min(2 * width, kWidestProbe)) {
    auto answers = folder.store->HeadMany(folder.Keys(known.Next(), width));
    for (const auto& answer : answers) {
      if (HasKind(answer.status(), ErrorKind::kNotFound)) return known.Next();
      if (!answer.ok()) return folder.At(answer.status(), known.Next());
      known = known.Next();
    }
  }
}

arrow::Result<WalPosition> WalTailer::FirstPosition() {
  ARROW_ASSIGN_OR_RAISE(std::vector<WalPosition> positions, shared_->folder.List(WalPosition(0)));
  return positions.empty() ? WalPosition(1) : positions.front();
}

}  // namespace javelin::memwal
