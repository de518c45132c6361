// The MemWAL system index entry of a table: sharding, maintained indexes, compaction progress, writer defaults
// (docs/format.md, "MemWAL: table metadata").
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <arrow/result.h>

#include "javelin/base/ids.h"
#include "javelin/table/manifest.h"
#include "javelin/table/uuid.h"

namespace javelin::table {

struct CompactedSsTable {
  Uuid shard_id;
  Generation generation;
  friend bool operator==(const CompactedSsTable&, const CompactedSsTable&) = default;
};

struct ShardingField {
  std::string field_id;
  std::vector<int32_t> source_ids;
  std::optional<std::string> transform;
  std::optional<std::string> expression;
  std::string result_type;
  std::map<std::string, std::string> parameters;
  friend bool operator==(const ShardingField&, const ShardingField&) = default;
};

struct ShardingSpec {
  uint32_t spec_id = 0;
  std::vector<ShardingField> fields;
  friend bool operator==(const ShardingSpec&, const ShardingSpec&) = default;
};

struct IndexCatchup {
  std::string index_name;
  std::vector<CompactedSsTable> caught_up;
  friend bool operator==(const IndexCatchup&, const IndexCatchup&) = default;
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
  friend bool operator==(const MemWalDetails&, const MemWalDetails&) = default;

  // Highest generation of the shard that is wholly in the base table; 0 = none.
  Generation CompactedThrough(const Uuid& shard) const;
};

// The details message alone. Corruption if it does not decode or a shard id is not a UUID.
arrow::Result<MemWalDetails> DecodeMemWalDetails(std::string_view bytes);
std::string EncodeMemWalDetails(const MemWalDetails& details);

// The table's MemWAL details; nullopt if MemWAL is not initialized. Corruption if the entry does not decode.
arrow::Result<std::optional<MemWalDetails>> ReadMemWalDetails(const Manifest& manifest);

// A fresh index entry (new UUID) with these details.
IndexEntry MakeMemWalIndexEntry(const MemWalDetails& details, const Uuid& uuid, uint64_t dataset_version,
                                int64_t created_at_ms);

}  // namespace javelin::table
