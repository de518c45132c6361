#include "javelin/memwal/sstable_cache.h"

namespace javelin::memwal {

std::shared_ptr<SsTableCache> SsTableCache::Of(Session& session) {
  auto part = session.Part("memwal.sstables", [&] { return std::make_shared<SsTableCache>(session.resources()); });
  return std::static_pointer_cast<SsTableCache>(part);
}

arrow::Result<std::shared_ptr<const SsTable>> SsTableCache::Get(const std::shared_ptr<ObjectStore>& store,
                                                                const std::string& folder) {
  const std::string name = store->Describe(folder);
  if (auto known = Find(name, store)) return known;
  ARROW_ASSIGN_OR_RAISE(std::shared_ptr<const SsTable> table, SsTable::Open(resources_, store, folder));
  Keep({name, store, table});
  return table;
}

std::shared_ptr<const SsTable> SsTableCache::Find(const std::string& name, const std::shared_ptr<ObjectStore>& store) {
  std::lock_guard lock(mutex_);
  const auto found = by_name_.find(name);
  if (found == by_name_.end() || found->second->store.lock() != store) return nullptr;
  entries_.splice(entries_.begin(), entries_, found->second);
  return found->second->table;
}

// The newest one always stays: somebody is about to read it. Sizes are asked for anew, since keys are read later.
void SsTableCache::Keep(Entry entry) {
  std::lock_guard lock(mutex_);
  if (const auto known = by_name_.find(entry.name); known != by_name_.end()) {
    entries_.erase(known->second);
    by_name_.erase(known);
  }
  entries_.push_front(std::move(entry));
  by_name_[entries_.front().name] = entries_.begin();
  uint64_t bytes = 0;
  for (auto kept = entries_.begin(); kept != entries_.end();) {
    bytes += kept->table->memory_bytes();
    if (bytes > limit_ && kept != entries_.begin()) {
      by_name_.erase(kept->name);
      kept = entries_.erase(kept);
    } else {
      ++kept;
    }
  }
}

}  // namespace javelin::memwal
