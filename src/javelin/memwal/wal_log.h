// The WAL of one shard as a writer uses it: find the tip, fence with a sentinel, append, read ahead (docs/format.md,
// "MemWAL: log").
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include <arrow/result.h>

#include "javelin/base/resources.h"
#include "javelin/memwal/shard_manifest_store.h"
#include "javelin/memwal/wal_entry.h"

namespace javelin::memwal {

struct WalLogOptions {
  uint32_t max_persist_retries = 3;
  Duration persist_retry_base_delay = std::chrono::milliseconds(50);
  uint32_t read_ahead = 16;  // entries fetched at once during replay
  // How much of a long log the search for its tip may keep in memory for the replay; what is above is read again.
  uint64_t prefetch_limit_bytes = 512u << 20;
};

struct AppendResult {
  WalPosition position;
  uint64_t bytes = 0;
};

// Used by one task or strand at a time; contexts T and S.
class WalLog {
 public:
  // Without an epoch: for reading until Hold.
  WalLog(Resources resources, std::shared_ptr<ObjectStore> store, std::shared_ptr<ShardManifestStore> manifests,
         std::string table_root, std::optional<Epoch> epoch, WalLogOptions options = {});

  // The epoch that the shard was claimed with. Fenced(PeerClaimedEpoch) if an entry read so far is of a higher one.
  arrow::Status Hold(Epoch epoch);

  // First free position above everything that exists, and the entries that finding it already read. WalGap if a
  // position above `replay_after` and below the tip, or known from `wal_position_last_seen`, is missing. Never below
  // replay_after + 1.
  struct Tip {
    WalPosition next;
    // Raw bytes of entries replay_after + 1 ... that discovery fetched anyway, in order, without holes.
    std::vector<BufferPtr> prefetched;
  };
  arrow::Result<Tip> DiscoverTip(const ShardManifest& manifest);

  // Writes the fence sentinel at the first free position (O3) and returns it with what discovery fetched. Every entry
  // below it is final then. `known`: an earlier answer of DiscoverTip, tried before asking again.
  struct Sentinel {
    WalPosition position;
    std::vector<BufferPtr> prefetched;
  };
  arrow::Result<Sentinel> WriteSentinel(const ShardManifest& manifest, std::optional<Tip> known = {});

  // What to read: from `first` up to `end` (exclusive; every position must exist, else WalGap) or, without `end`, up to
  // the first missing one, which must lie above `last_seen`.
  struct Range {
    WalPosition first;
    WalPosition last_seen;
    std::optional<WalPosition> end;
    std::vector<BufferPtr> prefetched;  // raw bytes of `first` and its successors

    // All that the shard's SSTables do not cover.
    static Range Of(const ShardManifest& manifest, std::optional<WalPosition> end = {},
                    std::vector<BufferPtr> prefetched = {}) {
      return {manifest.replay_after.Next(), manifest.wal_position_last_seen, end, std::move(prefetched)};
    }
  };
  // Calls `apply(position, entry)` for every position of the range. Reads `read_ahead` wide. Returns the first position
  // not read. WalCorrupt: an entry that does not decode or whose generation is below that of one read before.
  // Fenced(PeerClaimedEpoch): an entry of a higher epoch than ours. All name shard and position.
  using Apply = std::function<arrow::Status(WalPosition, WalEntry)>;
  arrow::Result<WalPosition> Replay(Range range, const Apply& apply);

  void SetNextPosition(WalPosition next) { next_ = next; }
  WalPosition next_position() const { return next_; }

  // One conditional PUT at the next position, under this log's epoch; the protocol of collisions, retries and fencing
  // is in the .cc. Errors: Fenced(PeerClaimedEpoch) and Fenced(PersistenceFailure) are terminal and come back from
  // every later append. InvalidInput, IO after 1,024 lost races, and store errors of a fence check or tip discovery are
  // not terminal: nothing was written.
  arrow::Result<AppendResult> Append(const WalEntry& entry);

 private:
  struct Impl;
  arrow::Status DiscoverNext();

  WalPosition next_;  // 0 = not known yet: the first append finds it
  std::shared_ptr<Impl> impl_;
};

}  // namespace javelin::memwal
