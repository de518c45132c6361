// What one session knows of the shards of its tables: one manifest store each, and the writers that are open.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "javelin/dataset/session.h"
#include "javelin/memwal/shard_manifest_store.h"
#include "javelin/memwal/writer_state.h"

namespace javelin::memwal {

class WriterRegistry final : public SessionPart {
 public:
  explicit WriterRegistry(Resources resources) : resources_(std::move(resources)), mutex_(*resources_.runtime) {}
  static std::shared_ptr<WriterRegistry> Of(Session& session);

  // The one manifest store of the shard, so that every user of the session sees the same position. The newest options
  // count for all of them; without any, those that it has. Lives as long as somebody holds it.
  std::shared_ptr<ShardManifestStore> ManifestStore(const StoreLocation& table, const Uuid& shard,
                                                    std::optional<ManifestStoreOptions> options = {});

  // The same for those who begin anew with the shard: if it was removed under an earlier writer of the session, a new
  // object for the one that is there now. Store errors. Contexts T, S.
  arrow::Result<std::shared_ptr<ShardManifestStore>> ManifestStoreOfNow(
      const StoreLocation& table, const Uuid& shard, std::optional<ManifestStoreOptions> options = {});

  // A store object of its own, for those who only look: it holds no position, so it sees what is in storage now, also
  // where a table was removed and made anew.
  std::shared_ptr<ShardManifestStore> ReaderManifestStore(const StoreLocation& table, const Uuid& shard) const;

  // The writer that now owns the shard in this session; it takes the place of one before it.
  void Add(const StoreLocation& table, const std::shared_ptr<WriterState>& writer);
  // Nothing happens if another writer has taken its place.
  void Remove(const StoreLocation& table, const std::shared_ptr<WriterState>& writer);
  // In order of shard.
  std::vector<std::shared_ptr<WriterState>> Writers(const StoreLocation& table) const;

 private:
  struct Shard {
    std::weak_ptr<ObjectStore> store;
    std::weak_ptr<ShardManifestStore> manifests;
    std::weak_ptr<WriterState> writer;
    bool unused() const { return manifests.expired() && writer.expired(); }
  };
  using Key = std::pair<std::string, Uuid>;  // table root, shard

  // The entry of the shard in that store, made if there is none. With the lock held.
  Shard& Find(const StoreLocation& table, const Uuid& shard);

  const Resources resources_;
  mutable Mutex mutex_;
  // Several stores may hold a table at the same root.
  std::multimap<Key, Shard> shards_;
};

}  // namespace javelin::memwal
