// Turns MemWAL on for a table: one commit of the system index entry.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <arrow/result.h>

#include "javelin/dataset/dataset.h"
#include "javelin/memwal/writer_options.h"

namespace javelin::table {
struct MemWalDetails;
}

namespace javelin::memwal {

struct InitializeOptions {
  // Absent = maintain all indexes; empty = none.
  std::optional<std::vector<std::string>> maintained_indexes;
  // At most one of the three modes; none = manual shards (no spec).
  bool unsharded = false;
  std::optional<std::string> bucket_column;
  std::optional<uint32_t> num_buckets;
  std::optional<std::string> identity_column;
  // Takes over what shards list that were there before: MemWAL was taken off the table, or it was overwritten. Their
  // rows then count as newer than the table's.
  bool adopt_sstables = false;
  // Stored as the table's writer defaults, all of them, as soon as one is given.
  WriterOptions writer_defaults;
};

// The table never gives the id of a dropped column to another one from here on (table/field_ids.h): rows of its shards
// are matched to columns by id.
//
// InvalidInput: already initialised, no such column or index, unusable type, two modes, half of bucket, num_buckets
// outside [1, 1024], a key type that cannot be hashed, a column named `_tombstone`, SSTables of before without
// `adopt_sstables`, or of other columns. NotSupported: a column or a version of data files that cannot be written;
// writers without MemTables by default. Nothing was changed.
arrow::Result<std::shared_ptr<Dataset>> Initialize(const Dataset& dataset, const InitializeOptions& options);

// What the table says of its shards. NotFound: MemWAL is not initialized. No request.
arrow::Result<table::MemWalDetails> DetailsOf(const Dataset& dataset);

// Could rows that shards take move on into the table? NotSupported: its columns or its data files are of a kind that is
// not written.
arrow::Status CheckRowsCanMove(const Dataset& dataset);

// The same promise for a table that another library initialised: a commit that changes nothing else, or nothing where
// the newest version has made it. What was dropped before it is not covered. Errors as Dataset::Commit.
arrow::Status KeepFieldIds(const Dataset& dataset);

}  // namespace javelin::memwal
