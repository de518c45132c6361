// The MemWAL system index entry of a table: sharding, maintained indexes, compaction progress, writer defaults
// (docs/format.md, "MemWAL: table metadata").
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <arrow/result.h>

#include "javelin/base/ids.h"
#include "javelin/table/manifest.h"
#include "javelin/table/uuid.h"

namespace javelin::table {

struct CompactedSsTable {
  Uuid shard_id;
  Generation generation;
};

struct ShardingField {
  std::string field_id;
  std::vector<int32_t> source_ids;
  std::optional<std::string> transform;
  std::optional<std::string> expression;
  std::string result_type;
  std::map<std::string, std::string> parameters;
};

struct ShardingSpec {
  uint32_t spec_id = 0;
  std::vector<ShardingField> fields;
};

struct IndexCatchup {
  std::string index_name;
  std::vector<CompactedSsTable> caught_up;
};

struct MemWalDetails {
  int64_t snapshot_ts_millis = 0;
  uint32_t num_shards = 0;
  std::vector<ShardingSpec> sharding_specs;
  std::vector<std::string> maintained_indexes;
  std::optional<bool> maintain_all_indexes;
  std::vector<CompactedSsTable> compacted_sstables;
  std::vector<IndexCatchup> index_catchup;
  std::map<std::string, std::string> writer_config_defaults;
  std::string encoded;  // as read; unknown fields are kept when it is encoded again

  // Highest generation of the shard that is wholly in the base table; 0 = none.
  Generation CompactedThrough(const Uuid& shard) const;
};

// The table's MemWAL details; nullopt if MemWAL is not initialised. Corruption if the entry does not decode.
arrow::Result<std::optional<MemWalDetails>> ReadMemWalDetails(const Manifest& manifest);

// A fresh index entry (new UUID) with these details.
IndexEntry MakeMemWalIndexEntry(const MemWalDetails& details, const Uuid& uuid, uint64_t dataset_version, int64_t created_at_ms);

}  // namespace javelin::table
