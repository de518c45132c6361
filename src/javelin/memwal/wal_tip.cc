#include "javelin/base/error.h"
#include "javelin/memwal/wal_tip_internal.h"

namespace javelin::memwal {

namespace {

// Up to here one listing is cheaper than reading ahead. Names are bit-reversed, so a listing cannot be cut short.
constexpr uint64_t kListingLimit = 1'000;
constexpr uint64_t kWindow = 16;

// Whether an answer to a GET or HEAD says that the object exists; an error for every answer that says neither.
template <typename Answer>
arrow::Result<bool> Exists(const arrow::Result<Answer>& answer, const WalFolder& folder, WalPosition position) {
  if (answer.ok()) return true;
  if (HasKind(answer.status(), ErrorKind::kNotFound)) return false;
  return folder.At(answer.status(), position);
}

int64_t TotalBytes(const std::vector<BufferPtr>& buffers) {
  int64_t bytes = 0;
  for (const BufferPtr& buffer : buffers) bytes += buffer->size();
  return bytes;
}

}  // namespace

std::vector<std::string> WalFolder::Keys(WalPosition first, uint64_t count) const {
  std::vector<std::string> keys;
  for (uint64_t i = 0; i < count; ++i) keys.push_back(paths.WalEntry(WalPosition(first.value() + i)));
  return keys;
}

arrow::Status WalFolder::At(const arrow::Status& status, WalPosition position) const {
  arrow::Status named = WithContext(status, fmt::format("shard {}, WAL position {}", shard.ToString(), position));
  return WithField(WithField(named, "shard", shard.ToString()), "position", fmt::to_string(position));
}

arrow::Status WalFolder::Gap(WalPosition position) const {
  return At(WalGap("the entry is missing although later ones were written; rows may be lost: restore the object, or "
                   "let an operator "
                   "decide what to do with the entries above it"),
            position);
}

arrow::Status WalFolder::ConfirmGap(WalPosition position) const {
  ARROW_ASSIGN_OR_RAISE(bool exists, Exists(store->Head(paths.WalEntry(position)), *this, position));
  return exists ? arrow::Status::OK() : Gap(position);
}

arrow::Result<std::vector<WalPosition>> WalFolder::List(WalPosition after) const {
  const std::string folder = paths.WalFolder();
  arrow::Result<ListPage> page = ListAll(*store, {.prefix = folder, .recursive = false});
  if (!page.ok()) return WithContext(page.status(), fmt::format("listing the WAL of shard {}", shard.ToString()));
  std::vector<WalPosition> positions;
  for (const ObjectInfo& object : page->objects) {
    auto position = ParseReversedBits(std::string_view(object.key).substr(folder.size()), kWalEntrySuffix);
    if (position && WalPosition(*position) > after) positions.push_back(WalPosition(*position));
  }
  std::sort(positions.begin(), positions.end());
  return positions;
}

arrow::Result<WalLog::Tip> WalTipFinder::Find(const ShardManifest& manifest, std::optional<WalLog::Tip> known) const {
  if (manifest.wal_position_last_seen.value() < kListingLimit) return FromListing(manifest);
  if (!known.has_value()) known = WalLog::Tip{.next = manifest.replay_after.Next()};
  return ReadAhead(manifest, *std::move(known));
}

arrow::Result<WalLog::Tip> WalTipFinder::FromListing(const ShardManifest& manifest) const {
  ARROW_ASSIGN_OR_RAISE(std::vector<WalPosition> positions, folder_.List(manifest.replay_after));
  const bool gap_read_as_end = folder_.resources.runtime->PlantedBug("wal.gap_read_as_end");
  WalPosition expected = manifest.replay_after.Next();
  for (WalPosition position : positions) {
    for (; expected < position && !gap_read_as_end; expected = expected.Next())
      ARROW_RETURN_NOT_OK(folder_.ConfirmGap(expected));
    expected = position.Next();
  }
  if (expected <= manifest.wal_position_last_seen && !gap_read_as_end) return folder_.Gap(expected);
  return WalLog::Tip{.next = expected};
}

arrow::Result<WalLog::Tip> WalTipFinder::ReadAhead(const ShardManifest& manifest, WalLog::Tip tip) const {
  const WalPosition first = manifest.replay_after.Next();
  while (true) {
    ARROW_ASSIGN_OR_RAISE(bool found, Step(first, &tip));
    if (!found) continue;
    if (tip.next <= manifest.wal_position_last_seen) return folder_.Gap(tip.next);
    return tip;
  }
}

arrow::Result<bool> WalTipFinder::Step(WalPosition first, WalLog::Tip* tip) const {
  const WalPosition start = tip->next;
  const std::vector<std::string> keys = folder_.Keys(start, kWindow);
  // Entries are kept for the replay while they are a prefix of it and fit; beyond that only their existence is asked
  // for.
  bool keep = tip->prefetched.size() == start.value() - first.value() &&
              static_cast<uint64_t>(TotalBytes(tip->prefetched)) < prefetch_limit_;
  std::vector<arrow::Result<BufferPtr>> entries;
  std::vector<arrow::Result<ObjectInfo>> infos;
  if (keep) {
    entries = folder_.store->GetMany(keys);
  } else {
    infos = folder_.store->HeadMany(keys);
  }
  std::optional<WalPosition> hole;
  bool later_exists = false;
  for (uint64_t i = 0; i < kWindow; ++i) {
    const WalPosition position(start.value() + i);
    ARROW_ASSIGN_OR_RAISE(bool exists,
                          keep ? Exists(entries[i], folder_, position) : Exists(infos[i], folder_, position));
    if (hole.has_value()) {
      later_exists |= exists;
    } else if (!exists) {
      hole = position;
    } else {
      if (keep) tip->prefetched.push_back(*std::move(entries[i]));
      tip->next = position.Next();
    }
  }
  if (!hole.has_value()) return false;
  if (!later_exists) {
    ARROW_ASSIGN_OR_RAISE(later_exists,
                          AnyExists(WalPosition(start.value() + kWindow), WalPosition(hole->value() + kWindow)));
  }
  if (!later_exists) return true;
  ARROW_RETURN_NOT_OK(folder_.ConfirmGap(*hole));
  return false;
}

arrow::Result<bool> WalTipFinder::AnyExists(WalPosition first, WalPosition last) const {
  const std::vector<std::string> keys = folder_.Keys(first, last.value() - first.value() + 1);
  std::vector<arrow::Result<ObjectInfo>> infos = folder_.store->HeadMany(keys);
  bool any = false;
  for (size_t i = 0; i < infos.size(); ++i) {
    ARROW_ASSIGN_OR_RAISE(bool exists, Exists(infos[i], folder_, WalPosition(first.value() + i)));
    any |= exists;
  }
  return any;
}

}  // namespace javelin::memwal
