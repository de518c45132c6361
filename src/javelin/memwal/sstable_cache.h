// The SSTables that a session has open, and key filters of others. They never change, so only memory limits how long
// they are kept.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <arrow/result.h>

#include "javelin/dataset/session.h"
#include "javelin/index/bloom_filter.h"
#include "javelin/memwal/sstable.h"
#include "javelin/store/object_cache.h"

namespace javelin::memwal {

class SsTableCache final : public SessionPart {
 public:
  // A quarter of the memory limit is for SSTables and their keys, a 64th each for filters and for what key they are of;
  // `blocks` has a share of its own.
  SsTableCache(Resources resources, std::shared_ptr<BlockCache> blocks);
  static std::shared_ptr<SsTableCache> Of(Session& session);

  // The SSTable in that folder; opened if it is not here. Contexts T, S.
  arrow::Result<std::shared_ptr<const SsTable>> Get(const std::shared_ptr<ObjectStore>& store,
                                                    const std::string& folder);
  // Null if it is not here.
  std::shared_ptr<const SsTable> Find(const std::shared_ptr<ObjectStore>& store, const std::string& folder);

  // The key filter of the SSTable in that folder, in one request if it is not here. Null: there is none, or none of the
  // size that it has by the format, so that it says nothing. Contexts T, S.
  arrow::Result<std::shared_ptr<const index::BloomFilter>> GetFilter(const std::shared_ptr<ObjectStore>& store,
                                                                     const std::string& folder);

  // The primary key under which the SSTable in that folder was written, and so what its filter is of; one request if
  // that is not here. Errors as of SsTable::Open, without the folder. Contexts T, S.
  struct Key {
    std::vector<file::Field> fields;  // in key order
    uint64_t memory_bytes() const;
  };
  arrow::Result<std::shared_ptr<const Key>> GetKey(const std::shared_ptr<ObjectStore>& store,
                                                   const std::string& folder);

  // Of what is kept.
  uint64_t memory_bytes() const {
    return tables_.memory_bytes() + filters_.memory_bytes() + written_keys_.memory_bytes();
  }

 private:
  struct Filter {
    std::shared_ptr<const index::BloomFilter> bloom;
    uint64_t memory_bytes() const;
  };
  static arrow::Result<std::shared_ptr<const Filter>> ReadFilter(ObjectStore& store, const std::string& folder);

  const Resources resources_;
  const std::shared_ptr<BlockCache> blocks_;
  ObjectCache<const SsTable> tables_;
  ObjectCache<const Filter> filters_;
  ObjectCache<const Key> written_keys_;
};

}  // namespace javelin::memwal
