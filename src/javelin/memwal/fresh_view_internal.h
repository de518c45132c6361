// The inside of a FreshView: what it is made of, the tiers of each shard, and what they fold into.
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "javelin/index/key_encoding.h"
#include "javelin/memwal/fresh_view.h"
#include "javelin/memwal/sstables_ahead_internal.h"
#include "javelin/memwal/writer_state.h"
#include "javelin/query/fold.h"
#include "javelin/table/mem_wal_details.h"

namespace javelin::memwal {

struct FreshView::Impl {
  std::shared_ptr<Dataset> base;
  std::optional<index::KeyEncoder> keys;  // of the base table's primary key; absent without one that can be looked up
  std::vector<std::string> key_names;     // in key order, by their names in the base schema
  std::unique_ptr<const query::Fold> fold;
  std::vector<std::string> tiers;  // of the fold, for people
  std::set<std::string> sstables;  // their folders
  std::shared_ptr<const SsTablesAhead> ahead;
  bool only_base = false;  // nothing lies above it

  // What the view holds of the logs of the table's shards.
  struct Logs {
    std::set<Uuid> in_memory;                     // all of it: a writer of this session showed what it has
    std::map<Uuid, WalPosition> covered_through;  // up to here, by SSTables; nothing of a shard that is in neither
  };
  std::optional<Logs> logs;  // absent where the view is not one of all shards

  // The base columns with these names, in this order; all if none are given. InvalidInput names an unknown one.
  arrow::Result<file::Schema> Project(const std::optional<std::vector<std::string>>& columns) const;
  // One encoded key per row of `keys`, which must hold every key column with the table's type and without nulls.
  arrow::Result<std::vector<std::string>> EncodeKeys(const arrow::RecordBatch& keys) const;
};

// What one shard holds in memory, newest generation first; each MemTable bounded to what was visible when the view was
// made.
struct ShardMemory {
  Uuid shard;
  std::shared_ptr<WriterState> writer;
  std::vector<MemTableView> tables;
};

// What a view is made of, in the order in which it was read: memory, shard manifests, base.
struct ViewParts {
  std::vector<ShardMemory> memory;
  std::vector<ShardManifest> manifests;
  std::shared_ptr<Dataset> base;
  std::optional<table::MemWalDetails> details;  // of the base

  // Null without a writer of the shard.
  const ShardMemory* FindMemory(const Uuid& shard) const {
    const auto found =
        std::find_if(memory.begin(), memory.end(), [&](const auto& held) { return held.shard == shard; });
    return found == memory.end() ? nullptr : &*found;
  }
  // What the base says it holds of the shard.
  Generation CompactedThrough(const Uuid& shard) const {
    return details.has_value() ? details->CompactedThrough(shard) : Generation(0);
  }
};

// Memory first, then the manifests, then the base. Errors as of FreshView::Open and FreshView::OpenForWriter.
arrow::Result<ViewParts> ReadAllShards(const Dataset& dataset, const FreshOptions& options);
arrow::Result<ViewParts> ReadShardOf(const Dataset& dataset, const std::shared_ptr<WriterState>& writer);

// Puts the tiers of each shard in order: MemTables, then SSTables that memory does not hold any more and the base does
// not hold yet. `others`: shards that are not among the manifests. Asks the store nothing.
arrow::Result<std::shared_ptr<FreshView::Impl>> Assemble(const ViewParts& parts,
                                                         const std::vector<ShardSnapshot>& others = {});

}  // namespace javelin::memwal
