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
#include "javelin/memwal/shard_manifest.h"

namespace javelin::memwal {

class ShardWriter;

// The SSTables of one shard as somebody listed them.
struct ShardSnapshot {
  Uuid shard;
  std::vector<SsTableEntry> sstables;  // any order; generations from 1, each once
};

// Entries in the log of a shard whose rows a view does not hold.
struct UnseenLog {
  Uuid shard;
  uint64_t entries = 0;  // that hold rows or deletes; the sentinels that claims of the shard leave are none of them
};

struct FreshOptions {
  // A view over all shards that this session took at most that long ago will do, and costs no request; while a writer
  // of the table is open in the session a new one is made all the same. Absent: always a new one.
  std::optional<Duration> max_staleness;
};

// A view is one moment. It is taken when it is made, and opens no SSTable before it is read, so one may be compacted,
// retired and collected in between. A view that has answered nothing yet is then taken anew, three times at most, and
// has the moment of its first answer: rows, a count, `tiers()`, `base()` or `UnseenLogs()`. After that, or if the table
// has other columns by then, reading what is gone is NotFound: take a new view. Immutable for whoever reads it; safe to
// use from several threads, context T.
class FreshView {
 public:
  // Memory first, then shard manifests, then the latest base version (the order in which rows move). Sees the SSTables
  // of all shards and the live writers of this session; rows that lie only in the log of another process are not seen.
  // Fenced: a writer of this session was overtaken. Opens no SSTable yet.
  static arrow::Result<std::shared_ptr<FreshView>> Open(const Dataset& dataset, const FreshOptions& options = {});
  // The same with just one writer's shard on top of the base, and what others listed of further shards. A snapshot of
  // the writer's own shard counts for nothing: the writer knows better. InvalidInput as in OfSnapshots.
  static arrow::Result<std::shared_ptr<FreshView>> OpenForWriter(const ShardWriter& writer,
                                                                 const std::vector<ShardSnapshot>& others = {});
  // This version of the base with these SSTables on top, without memory. Those that the base holds already count no
  // more. InvalidInput: a generation of 0 or twice, a shard twice, a path that is no folder name. No request.
  static arrow::Result<std::shared_ptr<FreshView>> OfSnapshots(std::shared_ptr<Dataset> base,
                                                               const std::vector<ShardSnapshot>& snapshots);

  // Newest row of every key over all sources, deleted ones left out; without a primary key every row. Columns:
  // top-level names or none = all. NotFound from the reader: an SSTable is gone, see above; for a view of snapshots:
  // list the shards again. `with_generation` appends `_memtable_gen` uint64: the generation of each row within its
  // shard, 0 in the base.
  arrow::Result<std::shared_ptr<arrow::RecordBatchReader>> Scan(const ScanOptions& options = {},
                                                                bool with_generation = false) const;
  // Rows of the keys that exist, in the order asked, one each (a key asked twice answers once). `keys` holds the key
  // columns by name. InvalidInput: no primary key, missing column, other type, null.
  arrow::Result<std::shared_ptr<arrow::RecordBatch>> Get(
      const arrow::RecordBatch& keys, const std::optional<std::vector<std::string>>& columns = {}) const;
  arrow::Result<uint64_t> CountRows() const;

  // What lies now only in logs: of writers of other processes, or of writers that ended before they flushed. By shard,
  // in ascending order, those with an entry at least; a shard with a writer of this session is left out, its writer
  // shows it. Asks the store (context T). InvalidInput on a view that is not one of all shards, as Open makes it.
  arrow::Result<std::vector<UnseenLog>> UnseenLogs() const;

  // What is read, one line each, newest first, the base last.
  const std::vector<std::string>& tiers() const;
  const Dataset& base() const;
  // Of the rows, and the names of the key's columns in key order. The same whenever the view was taken.
  std::shared_ptr<arrow::Schema> arrow_schema() const;
  std::vector<std::string> key_columns() const;

  struct Impl;
  class Moment;

 private:
  explicit FreshView(std::shared_ptr<Moment> moment) : moment_(std::move(moment)) {}
  const std::shared_ptr<Moment> moment_;
};

}  // namespace javelin::memwal
