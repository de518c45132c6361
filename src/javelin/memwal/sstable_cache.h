// The SSTables that a session has open. They never change, so only memory limits how long they are kept.
#pragma once

#include <memory>
#include <string>

#include <arrow/result.h>

#include "javelin/dataset/session.h"
#include "javelin/memwal/sstable.h"
#include "javelin/store/object_cache.h"

namespace javelin::memwal {

class SsTableCache final : public SessionPart {
 public:
  explicit SsTableCache(Resources resources)
      : resources_(std::move(resources)),
        tables_(*resources_.runtime, static_cast<uint64_t>(resources_.memory->limit()) / 2) {}
  static std::shared_ptr<SsTableCache> Of(Session& session);

  // The SSTable in that folder; opened if it is not here. Contexts T, S.
  arrow::Result<std::shared_ptr<const SsTable>> Get(const std::shared_ptr<ObjectStore>& store,
                                                    const std::string& folder);

 private:
  const Resources resources_;
  ObjectCache<const SsTable> tables_;
};

}  // namespace javelin::memwal
