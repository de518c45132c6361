#include "javelin/memwal/sstable_cache.h"

#include "javelin/base/error.h"
#include "javelin/dataset/file_blocks.h"
#include "javelin/table/versions.h"

namespace javelin::memwal {

SsTableCache::SsTableCache(Resources resources, std::shared_ptr<BlockCache> blocks)
    : resources_(std::move(resources)),
      blocks_(std::move(blocks)),
      tables_(*resources_.runtime, static_cast<uint64_t>(resources_.memory->limit()) / 4),
      filters_(*resources_.runtime, static_cast<uint64_t>(resources_.memory->limit()) / 64),
      written_keys_(*resources_.runtime, static_cast<uint64_t>(resources_.memory->limit()) / 64) {}

std::shared_ptr<SsTableCache> SsTableCache::Of(Session& session) {
  const auto blocks = FileBlocks(session);  // a part cannot be made while another one is
  auto part =
      session.Part("memwal.sstables", [&] { return std::make_shared<SsTableCache>(session.resources(), blocks); });
  return std::static_pointer_cast<SsTableCache>(part);
}

arrow::Result<std::shared_ptr<const SsTable>> SsTableCache::Get(const std::shared_ptr<ObjectStore>& store,
                                                                const std::string& folder) {
  return tables_.Get(store, folder, [&] { return SsTable::Open(resources_, store, folder, blocks_); });
}

std::shared_ptr<const SsTable> SsTableCache::Find(const std::shared_ptr<ObjectStore>& store,
                                                  const std::string& folder) {
  return tables_.Find(store, folder);
}

namespace {
constexpr uint64_t kEntryBytes = 512;  // of a cache, or of a field, about
}

uint64_t SsTableCache::Filter::memory_bytes() const {
  return kEntryBytes + (bloom == nullptr ? 0 : index::BloomFilter::kDefaultBytes);
}

arrow::Result<std::shared_ptr<const index::BloomFilter>> SsTableCache::GetFilter(
    const std::shared_ptr<ObjectStore>& store, const std::string& folder) {
  ARROW_ASSIGN_OR_RAISE(const auto filter, filters_.Get(store, folder, [&] { return ReadFilter(*store, folder); }));
  return filter->bloom;
}

arrow::Result<std::shared_ptr<const SsTableCache::Filter>> SsTableCache::ReadFilter(ObjectStore& store,
                                                                                    const std::string& folder) {
  const auto read = store.GetTail(JoinKey(folder, "bloom_filter.bin"), index::BloomFilter::kDefaultBytes);
  if (HasKind(read.status(), ErrorKind::kNotFound)) return std::make_shared<const Filter>();
  ARROW_ASSIGN_OR_RAISE(const ObjectTail tail, read);
  if (tail.object_size != index::BloomFilter::kDefaultBytes) return std::make_shared<const Filter>();
  ARROW_ASSIGN_OR_RAISE(auto bloom, index::BloomFilter::FromBytes(*tail.bytes));
  if (bloom.HasEmptyPage()) return std::make_shared<const Filter>();
  return std::make_shared<const Filter>(Filter{std::make_shared<const index::BloomFilter>(std::move(bloom))});
}

uint64_t SsTableCache::Key::memory_bytes() const { return kEntryBytes * (1 + fields.size()); }

arrow::Result<std::shared_ptr<const SsTableCache::Key>> SsTableCache::GetKey(const std::shared_ptr<ObjectStore>& store,
                                                                             const std::string& folder) {
  return written_keys_.Get(store, folder, [&]() -> arrow::Result<std::shared_ptr<const Key>> {
    Key key;
    if (const auto table = tables_.Find(store, folder)) {
      for (const file::Field* field : table->schema().PrimaryKey()) key.fields.push_back(*field);
    } else {
      const StoreLocation place{store, folder, store->Describe(folder)};
      ARROW_ASSIGN_OR_RAISE(const auto loaded, table::LoadVersion(place, table::ManifestName{TableVersion(1)}));
      for (const file::Field* field : loaded.manifest->schema.PrimaryKey()) key.fields.push_back(*field);
    }
    return std::make_shared<const Key>(std::move(key));
  });
}

}  // namespace javelin::memwal
