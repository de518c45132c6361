// One immutable view over the base table and what the shards hold above it (docs/architecture.md, "Reading").
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <arrow/result.h>
#include <arrow/type_fwd.h>

#include "javelin/dataset/dataset.h"

namespace javelin::memwal {

class ShardWriter;

class FreshView {
 public:
  // Memory first, then shard manifests, then the latest base version (the order in which rows move). Sees the live
  // writers of this session. NotSupported if a shard lists an SSTable above the compaction watermark that no live
  // MemTable holds: never read in part.
  static arrow::Result<std::shared_ptr<FreshView>> Open(const Dataset& dataset);
  // The same with just one writer's shard on top of the base.
  static arrow::Result<std::shared_ptr<FreshView>> OpenForWriter(const ShardWriter& writer);

  // Newest row of every key over all sources, deleted ones left out; without a primary key every row. Columns:
  // top-level names or none = all.
  arrow::Result<std::shared_ptr<arrow::RecordBatchReader>> Scan(const ScanOptions& options = {}) const;
  // Rows of the keys that exist, in the order asked, one each (a key asked twice answers once). `keys` holds the key
  // columns by name. InvalidInput: no primary key, missing column, other type, null.
  arrow::Result<std::shared_ptr<arrow::RecordBatch>> Get(
      const arrow::RecordBatch& keys, const std::optional<std::vector<std::string>>& columns = {}) const;
  arrow::Result<uint64_t> CountRows() const;

  const Dataset& base() const;
  std::shared_ptr<arrow::Schema> arrow_schema() const;

  struct Impl;

 private:
  explicit FreshView(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}
  std::shared_ptr<const Impl> impl_;
};

}  // namespace javelin::memwal
