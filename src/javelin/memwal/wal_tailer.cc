#include "javelin/memwal/wal_tailer.h"

#include "javelin/base/error.h"
#include "javelin/memwal/wal_tip_internal.h"

namespace javelin::memwal {

namespace {

constexpr uint64_t kWidestProbe = 16;

// A sentinel holds nothing that grows with the table (docs/format.md, "MemWAL: WAL entries"); both libraries write
// them in 200 bytes or less. What is larger than this holds rows and need not be read to know it.
constexpr uint64_t kMaxSentinelBytes = 4'096;

}  // namespace

struct WalTailer::Shared {
  WalFolder folder;
  std::shared_ptr<ShardManifestStore> manifests;
  Mutex mutex;
  WalPosition highest_read;  // guarded by mutex

  WalPosition HighestRead() {
    std::lock_guard lock(mutex);
    return highest_read;
  }

  // A position that the log had reached at some time; 0 = not known.
  arrow::Result<WalPosition> Reached() {
    const WalPosition read = HighestRead();
    if (read > WalPosition(0)) return read;
    ARROW_ASSIGN_OR_RAISE(const std::optional<ShardManifest> manifest, manifests->Latest());
    if (!manifest.has_value()) return read;
    return std::max(manifest->wal_position_last_seen, manifest->replay_after);
  }

  // How many of these objects are no sentinels.
  arrow::Result<uint64_t> CountRowEntries(const std::vector<std::string>& small) {
    uint64_t count = 0;
    for (const auto& bytes : folder.store->GetMany(small)) {
      if (!bytes.ok() && !HasKind(bytes.status(), ErrorKind::kNotFound)) return bytes.status();
      const auto entry = bytes.ok() ? DecodeWalEntry(*bytes) : bytes.status();
      if (!entry.ok() || !entry->fence_sentinel) ++count;
    }
    return count;
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
  ARROW_ASSIGN_OR_RAISE(WalPosition known, shared_->Reached());
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

arrow::Result<WalBacklog> WalTailer::BacklogAfter(WalPosition after) {
  ARROW_ASSIGN_OR_RAISE(const WalPosition reached, shared_->Reached());
  const WalFolder& folder = shared_->folder;
  WalBacklog backlog{.tip = after};
  for (uint64_t width = 1;; width = std::min(2 * width, kWidestProbe)) {
    const std::vector<std::string> keys = folder.Keys(backlog.tip.Next(), width);
    const auto answers = folder.store->HeadMany(keys);
    std::vector<std::string> small;
    bool ended = false;
    for (size_t i = 0; i < keys.size(); ++i) {
      const auto& answer = answers[i];
      const bool missing = HasKind(answer.status(), ErrorKind::kNotFound);
      if (!answer.ok() && !missing) return folder.At(answer.status(), backlog.tip.Next());
      ended = missing && backlog.tip >= reached;
      if (ended) break;
      if (!missing && answer->size <= kMaxSentinelBytes) {
        small.push_back(keys[i]);
      } else {
        ++backlog.entries_with_rows;
      }
      backlog.tip = backlog.tip.Next();
    }
    ARROW_ASSIGN_OR_RAISE(const uint64_t with_rows, shared_->CountRowEntries(small));
    backlog.entries_with_rows += with_rows;
    if (ended) return backlog;
  }
}

arrow::Result<WalPosition> WalTailer::FirstPosition() {
  ARROW_ASSIGN_OR_RAISE(std::vector<WalPosition> positions, shared_->folder.List(WalPosition(0)));
  return positions.empty() ? WalPosition(1) : positions.front();
}

}  // namespace javelin::memwal
