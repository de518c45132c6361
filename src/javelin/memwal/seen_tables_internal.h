// What the last view of a table saw, so that the next one asks only for what is newer.
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <vector>

#include "javelin/dataset/session.h"
#include "javelin/memwal/shard_manifest.h"
#include "javelin/store/object_cache.h"
#include "javelin/table/versions.h"

namespace javelin::memwal {

// Holds nothing that holds the session: it belongs to it.
struct SeenTable {
  table::LoadedManifest base;
  std::vector<ShardManifest> manifests;  // in ascending order of shard
  // When it was a whole view that others may take too: the time before anything was read. Rows of live writers are not
  // kept.
  std::optional<TimePoint> taken_at;

  // Null if the shard was not there.
  const ShardManifest* FindShard(const Uuid& shard) const {
    const auto found = std::lower_bound(manifests.begin(), manifests.end(), shard,
                                        [](const ShardManifest& a, const Uuid& b) { return a.shard_id < b; });
    return found != manifests.end() && found->shard_id == shard ? &*found : nullptr;
  }
  uint64_t memory_bytes() const {
    constexpr uint64_t kPerFragment = 512, kPerSsTable = 128;  // roughly
    uint64_t sstables = manifests.size();
    for (const ShardManifest& manifest : manifests) sstables += manifest.sstables.size();
    return base.manifest->fragments.size() * kPerFragment + sstables * kPerSsTable;
  }
};

class SeenTables final : public SessionPart {
 public:
  explicit SeenTables(const Resources& resources)
      : tables_(*resources.runtime, static_cast<uint64_t>(resources.memory->limit()) / 64) {}
  static std::shared_ptr<SeenTables> Of(Session& session) {
    auto part = session.Part("memwal.seen_tables", [&] { return std::make_shared<SeenTables>(session.resources()); });
    return std::static_pointer_cast<SeenTables>(part);
  }

  // Null if no view of the table has been taken.
  std::shared_ptr<const SeenTable> Find(const StoreLocation& table) { return tables_.Find(table.store, table.root); }
  void Keep(const StoreLocation& table, std::shared_ptr<const SeenTable> seen) {
    tables_.Keep(table.store, table.root, std::move(seen));
  }

 private:
  ObjectCache<const SeenTable> tables_;
};

}  // namespace javelin::memwal
