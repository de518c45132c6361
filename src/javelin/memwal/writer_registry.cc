#include "javelin/memwal/writer_registry.h"

namespace javelin::memwal {

std::shared_ptr<WriterRegistry> WriterRegistry::Of(Session& session) {
  auto part = session.Part("memwal.writers", [&] { return std::make_shared<WriterRegistry>(session.resources()); });
  return std::static_pointer_cast<WriterRegistry>(part);
}

WriterRegistry::Shard& WriterRegistry::Find(const StoreLocation& table, const Uuid& shard) {
  std::erase_if(shards_, [](const auto& entry) { return entry.second.unused(); });
  const Key key(table.root, shard);
  const auto [begin, end] = shards_.equal_range(key);
  for (auto entry = begin; entry != end; ++entry) {
    if (entry->second.store.lock() == table.store) return entry->second;
  }
  return shards_.emplace(key, Shard{table.store, {}, {}})->second;
}

std::shared_ptr<ShardManifestStore> WriterRegistry::ManifestStore(const StoreLocation& table, const Uuid& shard,
                                                                  std::optional<ManifestStoreOptions> options) {
  std::lock_guard lock(mutex_);
  Shard& entry = Find(table, shard);
  auto manifests = entry.manifests.lock();
  if (manifests == nullptr || manifests->lost()) {
    manifests = std::make_shared<ShardManifestStore>(resources_, table.store, table.root, shard);
    entry.manifests = manifests;
  }
  if (options.has_value()) manifests->SetOptions(*options);
  return manifests;
}

arrow::Result<std::shared_ptr<ShardManifestStore>> WriterRegistry::ManifestStoreOfNow(
    const StoreLocation& table, const Uuid& shard, std::optional<ManifestStoreOptions> options) {
  auto manifests = ManifestStore(table, shard, options);
  const arrow::Status known = manifests->CheckClaimed();
  if (manifests->lost()) return ManifestStore(table, shard, options);
  ARROW_RETURN_NOT_OK(known);
  return manifests;
}

std::shared_ptr<ShardManifestStore> WriterRegistry::ReaderManifestStore(const StoreLocation& table,
                                                                        const Uuid& shard) const {
  return std::make_shared<ShardManifestStore>(resources_, table.store, table.root, shard);
}

void WriterRegistry::Add(const StoreLocation& table, const std::shared_ptr<WriterState>& writer) {
  std::lock_guard lock(mutex_);
  Find(table, writer->manifests()->shard()).writer = writer;
}

void WriterRegistry::Remove(const StoreLocation& table, const std::shared_ptr<WriterState>& writer) {
  std::lock_guard lock(mutex_);
  Shard& entry = Find(table, writer->manifests()->shard());
  if (entry.writer.lock() != writer) return;
  entry.writer.reset();
  entry.manifests.reset();  // what a writer that ended knows of the shard holds nobody back
}

std::vector<std::shared_ptr<WriterState>> WriterRegistry::Writers(const StoreLocation& table) const {
  std::vector<std::shared_ptr<WriterState>> writers;
  std::lock_guard lock(mutex_);
  for (const auto& [key, entry] : shards_) {
    if (key.first != table.root || entry.store.lock() != table.store) continue;
    if (auto writer = entry.writer.lock()) writers.push_back(std::move(writer));
  }
  return writers;
}

}  // namespace javelin::memwal
