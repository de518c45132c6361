// What a read runs over: one tier of a table, fixed at the moment of a snapshot. A base table, an SSTable and a
// MemTable each are a source; a fresh view is a fold over them (query/fold.h).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include <arrow/result.h>
#include <arrow/type_fwd.h>

#include "javelin/file/schema.h"
#include "javelin/index/key_index.h"

namespace javelin::query {

class Source;

// Newer sources whose keys hide the rows of an older one: whatever a source holds of a key, a deletion too, is newer
// than all that lies below it.
class BlockList {
 public:
  // Newest first: what the first ones hide is not asked of the others.
  explicit BlockList(std::vector<const Source*> newer = {}) : newer_(std::move(newer)) {}
  bool empty() const { return newer_.empty(); }
  // Clears `keep[i]` where a newer source holds `keys[i]`; asks only for those that are still set.
  arrow::Status Apply(std::span<const index::HashedKey> keys, std::vector<bool>* keep) const;

 private:
  std::vector<const Source*> newer_;
};

struct SourceScan {
  // Columns of the result by field id; what the source does not have is null.
  file::Schema columns;
  const BlockList* newer = nullptr;  // lives as long as the scan; null = nothing is hidden
  uint64_t offset = 0;               // live rows to leave out first
  std::optional<uint64_t> limit;     // live rows at most
  uint64_t batch_rows = 8192;        // at most this many rows a batch
  uint64_t batch_bytes = 16u << 20;  // aim for at most this many bytes a batch
  bool with_row_id = false;          // appends `_rowid` and `_rowaddr` uint64; null where the source has none
  bool with_row_address = false;

  // The schema of the batches.
  std::shared_ptr<arrow::Schema> OutputSchema() const;
};

// The newest version of a key in a source.
struct FoundRow {
  bool deleted = false;
  uint64_t position = 0;  // for Take of the same source
};

// Immutable; safe to use from several threads. Reads may block.
class Source {
 public:
  virtual ~Source() = default;

  // The live rows: of each key the newest version, unless it is a deletion or hidden; without a primary key every row.
  // In the source's own order, the same each time. The source must outlive the reader.
  virtual arrow::Result<std::shared_ptr<arrow::RecordBatchReader>> Scan(const SourceScan& scan) const = 0;

  // For every key whose entry in `found` is empty: its newest version, if the source holds one. Only with a primary
  // key.
  virtual arrow::Status Find(std::span<const index::HashedKey> keys,
                             std::vector<std::optional<FoundRow>>* found) const = 0;

  // Rows by position, in the order asked. Positions come from Find and are not deleted.
  virtual arrow::Result<std::shared_ptr<arrow::RecordBatch>> Take(std::span<const uint64_t> positions,
                                                                  const file::Schema& columns) const = 0;

  // Which generation of its shard the rows are of; 0 for a base table.
  virtual uint64_t generation() const { return 0; }

  // Number of live rows while nothing hides any of them, where no row must be read for it; nullopt otherwise.
  virtual arrow::Result<std::optional<uint64_t>> KnownRows() const { return std::nullopt; }
};

// Yields what `next` yields, without its first `offset` rows, at most `limit` rows, cut into batches of at most
// `batch_rows`. `next` returns null at the end; a batch may be empty.
using NextBatch = std::function<arrow::Result<std::shared_ptr<arrow::RecordBatch>>()>;
std::shared_ptr<arrow::RecordBatchReader> MakeWindowReader(std::shared_ptr<arrow::Schema> schema, NextBatch next,
                                                           uint64_t offset, std::optional<uint64_t> limit,
                                                           uint64_t batch_rows);

// The rows of the batch with `keep[i]`; the batch itself if that is all of them.
arrow::Result<std::shared_ptr<arrow::RecordBatch>> KeepRows(const std::shared_ptr<arrow::RecordBatch>& batch,
                                                            const std::vector<bool>& keep);

// The columns of the batch under `schema`, which has more at its end: nulls there. NotSupported: a null in a column
// that must not be null, which a change of the table made so after the row was written.
arrow::Result<std::shared_ptr<arrow::RecordBatch>> WithNullColumns(const arrow::RecordBatch& batch,
                                                                   const std::shared_ptr<arrow::Schema>& schema);

}  // namespace javelin::query
