// The inside of a FreshView: the tiers of each shard, and what they fold into.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "javelin/index/key_encoding.h"
#include "javelin/memwal/fresh_view.h"
#include "javelin/query/fold.h"

namespace javelin::memwal {

struct FreshView::Impl {
  std::shared_ptr<Dataset> base;
  std::optional<index::KeyEncoder> keys;  // of the base table's primary key; absent without one that can be looked up
  std::vector<std::string> key_names;     // in key order, by their names in the base schema
  std::unique_ptr<const query::Fold> fold;
  std::vector<std::string> tiers;  // of the fold, for people
  bool only_base = false;          // nothing lies above it

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

}  // namespace javelin::memwal
