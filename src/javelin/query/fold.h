// One table out of several sources: newest wins, key by key.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include <arrow/result.h>
#include <arrow/type_fwd.h>

#include "javelin/index/key_encoding.h"
#include "javelin/query/source.h"

namespace javelin::query {

// The tiers of one shard above the base table, newest first. All rows of a key are in one shard.
using Shard = std::vector<std::shared_ptr<const Source>>;

// Immutable; safe to use from several threads.
class Fold {
 public:
  // `keyed`: the table has a primary key; without one nothing hides anything and every row counts.
  Fold(std::vector<Shard> shards, std::shared_ptr<const Source> base, bool keyed);
  Fold(const Fold&) = delete;

  // Rows shard by shard, newest source first, the base last. Opens a source when its turn comes. Options as in
  // SourceScan; its `newer` is set by the fold. `with_generation` appends `_memtable_gen` uint64, what the source of a
  // row says of itself. The fold must outlive the reader.
  arrow::Result<std::shared_ptr<arrow::RecordBatchReader>> Scan(SourceScan scan, bool with_generation = false) const;

  arrow::Result<uint64_t> CountRows() const;

  // The rows of the distinct keys that exist, in the order of `keys`; a key that comes twice answers once. Only with a
  // primary key. Older sources are asked only for what the newer ones did not decide.
  arrow::Result<std::shared_ptr<arrow::RecordBatch>> Get(const std::vector<std::string>& keys,
                                                         const file::Schema& columns) const;

 private:
  // A source and what hides its rows.
  struct Arm {
    const Source* source;
    BlockList newer;
  };

  std::vector<Shard> shards_;
  std::shared_ptr<const Source> base_;
  std::vector<Arm> arms_;  // in order of reading; the base last
};

}  // namespace javelin::query
