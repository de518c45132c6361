// The blocks of data files that a session has read.
#pragma once

#include <memory>

#include "javelin/dataset/session.h"
#include "javelin/store/block_cache.h"

namespace javelin {

// One cache for all readers of the session, of the base table and of SSTables: an eighth of its memory limit.
std::shared_ptr<BlockCache> FileBlocks(Session& session);

}  // namespace javelin
