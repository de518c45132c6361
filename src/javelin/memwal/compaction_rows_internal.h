// What a pass of compaction takes out of SSTables of one shard: the newest row of every key.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include <arrow/result.h>
#include <arrow/type_fwd.h>

#include "javelin/dataset/dataset.h"
#include "javelin/index/key_index.h"
#include "javelin/memwal/sstable.h"

namespace javelin::memwal {

class CompactionRows {
 public:
  // Oldest first; `key`: the primary key of the base, empty without one. Reads the key columns.
  static arrow::Result<CompactionRows> Collect(std::vector<std::shared_ptr<const SsTable>> tables,
                                               std::vector<file::Field> key);

  // Looks for the keys in the base, whose key columns are streamed once; not without keys to look for.
  arrow::Status FindInBase(const Dataset& base);

  uint64_t num_read() const;  // rows that the SSTables hold
  uint64_t num_upserts() const { return upserts_; }
  uint64_t num_deletions() const { return rows_.size() - upserts_; }

  // Base rows that go. Of a key that the base holds twice the last row counts, here as in every read.
  const std::vector<RowAddress>& masked() const { return masked_; }
  // Base rows whose next versions are the first rows of Read, in this order.
  std::vector<RowAddress> Replaced() const;
  // The upserts: those of Replaced, then the others, each by generation and row. Columns of the base table by field id;
  // what an SSTable does not have is null. This must outlive the reader, which reads in batches.
  std::shared_ptr<arrow::RecordBatchReader> Read(const file::Schema& columns) const;

 private:
  struct Row {
    size_t table;
    uint64_t row;
    bool deleted;
    std::optional<RowAddress> in_base;
  };

  arrow::Status CollectByKey();
  void CollectAll();

  std::vector<std::shared_ptr<const SsTable>> tables_;
  std::vector<file::Field> key_;
  std::vector<Row> rows_;  // ascending by table and row
  // The keys of rows_ in its reverse order.
  std::unique_ptr<index::KeyIndex> newest_ = std::make_unique<index::KeyIndex>();
  std::vector<RowAddress> masked_;
  uint64_t upserts_ = 0;
};

}  // namespace javelin::memwal
