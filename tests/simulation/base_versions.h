// What the base table held at each of its versions: the record of what compaction did.
#pragma once

#include <cstdint>
#include <vector>

#include <arrow/result.h>

#include "javelin/dataset/dataset.h"
#include "javelin/table/uuid.h"
#include "rows.h"

namespace javelin::simulation {

struct BaseVersion {
  TableVersion version;
  int64_t written_ns = 0;        // when its manifest arrived in the store
  Generation compacted_through;  // 0 = nothing yet
  TableState rows;
};

// All versions, oldest first. Errors of the store, and Invalid if a key comes twice. Blocks; context T.
arrow::Result<std::vector<BaseVersion>> LoadBaseVersions(const Dataset& dataset, const table::Uuid& shard);

}  // namespace javelin::simulation
