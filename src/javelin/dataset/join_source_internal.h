// The side of a join that is held in memory: its rows, and which of them have a key.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <arrow/result.h>
#include <arrow/type_fwd.h>

#include "javelin/base/resources.h"
#include "javelin/file/schema.h"
#include "javelin/index/key_index.h"

namespace javelin::internal {

// Immutable once read.
class JoinSource {
 public:
  // All rows of `rows`, brought to `columns` (ColumnsGiven), with their keys: the columns `on`, of types that are
  // joinable. Memory from the budget for as long as this lives. OutOfMemory: they do not fit; InvalidInput: a row that
  // the columns do not allow, or what the reader says.
  static arrow::Result<JoinSource> Read(arrow::RecordBatchReader& rows, const file::Schema& columns,
                                        const std::vector<std::string>& on, const Resources& resources);

  const std::shared_ptr<arrow::Schema>& schema() const { return schema_; }
  uint64_t num_rows() const { return first_rows_.back(); }
  uint64_t bytes_per_row() const { return bytes_ / std::max<uint64_t>(1, num_rows()); }

  // One row with that key; none: there is no row.
  std::optional<uint64_t> FindOne(const index::HashedKey& key) const { return keys_->FindNewest(key, num_rows()); }
  // All rows with that key, ascending.
  std::vector<uint64_t> FindAll(const index::HashedKey& key) const;

  // Those rows, in the order asked, repeats allowed: all columns, or those of the names.
  arrow::Result<std::shared_ptr<arrow::RecordBatch>> Pick(std::span<const uint64_t> rows) const;
  arrow::Result<std::shared_ptr<arrow::RecordBatch>> Pick(std::span<const uint64_t> rows,
                                                          const std::vector<std::string>& names) const;

 private:
  explicit JoinSource(const Resources& resources) : resources_(resources) {}
  arrow::Status Add(std::shared_ptr<arrow::RecordBatch> batch, const std::vector<std::string>& on);
  arrow::Status Reserve(uint64_t bytes);
  arrow::Result<std::shared_ptr<arrow::RecordBatch>> PickColumns(std::span<const uint64_t> rows,
                                                                 const std::vector<int>& columns,
                                                                 const std::shared_ptr<arrow::Schema>& schema) const;

  Resources resources_;
  std::shared_ptr<arrow::Schema> schema_;
  std::vector<std::shared_ptr<arrow::RecordBatch>> batches_;  // none empty
  std::vector<uint64_t> first_rows_ = {0};                    // of each batch, and behind the last
  std::unique_ptr<index::KeyIndex> keys_ = std::make_unique<index::KeyIndex>();
  uint64_t key_bytes_ = 0;  // reserved for them
  uint64_t bytes_ = 0;      // of the batches
  std::vector<MemoryReservation> memory_;
};

}  // namespace javelin::internal
