// What the last view of a table saw, so that the next one asks only for what is newer.
#pragma once

#include <map>
#include <memory>

#include "javelin/dataset/dataset.h"
#include "javelin/dataset/session.h"
#include "javelin/memwal/fresh_view_internal.h"
#include "javelin/memwal/shard_manifest_store.h"
#include "javelin/store/object_cache.h"

namespace javelin::memwal {

struct SeenTable {
  std::shared_ptr<Dataset> base;
  std::map<Uuid, ManifestVersion> shards;
  // The view itself, where it held no memory of a writer; and a time before it was taken.
  std::shared_ptr<const FreshView::Impl> view;
  TimePoint taken_at{};

  uint64_t memory_bytes() const {
    constexpr uint64_t kPerFragment = 512, kPerShard = 128;  // roughly
    return base->manifest().fragments.size() * kPerFragment + shards.size() * kPerShard;
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
