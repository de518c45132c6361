#include "javelin/memwal/sstable_cache.h"

namespace javelin::memwal {

std::shared_ptr<SsTableCache> SsTableCache::Of(Session& session) {
  auto part = session.Part("memwal.sstables", [&] { return std::make_shared<SsTableCache>(session.resources()); });
  return std::static_pointer_cast<SsTableCache>(part);
}

arrow::Result<std::shared_ptr<const SsTable>> SsTableCache::Get(const std::shared_ptr<ObjectStore>& store,
                                                                const std::string& folder) {
  return tables_.Get(store, folder, [&] { return SsTable::Open(resources_, store, folder); });
}

}  // namespace javelin::memwal
