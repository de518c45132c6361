// The SSTables that a session has open. They never change, so only memory limits how long they are kept.
#pragma once

#include <list>
#include <map>
#include <memory>
#include <string>

#include <arrow/result.h>

#include "javelin/dataset/session.h"
#include "javelin/memwal/sstable.h"

namespace javelin::memwal {

class SsTableCache final : public SessionPart {
 public:
  explicit SsTableCache(Resources resources)
      : resources_(std::move(resources)),
        limit_(static_cast<uint64_t>(resources_.memory->limit()) / 2),
        mutex_(*resources_.runtime) {}
  static std::shared_ptr<SsTableCache> Of(Session& session);

  // The SSTable in that folder; opened if it is not here. What was used longest ago goes first. Contexts T, S.
  arrow::Result<std::shared_ptr<const SsTable>> Get(const std::shared_ptr<ObjectStore>& store,
                                                    const std::string& folder);

 private:
  struct Entry {
    std::string name;  // as the store describes the folder
    std::weak_ptr<ObjectStore> store;
    std::shared_ptr<const SsTable> table;
  };
  std::shared_ptr<const SsTable> Find(const std::string& name, const std::shared_ptr<ObjectStore>& store);
  void Keep(Entry entry);

  const Resources resources_;
  const uint64_t limit_;  // bytes
  Mutex mutex_;
  std::list<Entry> entries_;                                   // last used first; guarded by mutex_
  std::map<std::string, std::list<Entry>::iterator> by_name_;  // guarded by mutex_
};

}  // namespace javelin::memwal
