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

namespace javelin::memwal {

struct InitializeOptions {
  // Absent = maintain all indexes; empty = none.
  std::optional<std::vector<std::string>> maintained_indexes;
  // At most one of the three modes; none = manual shards (no spec).
  bool unsharded = false;
  std::optional<std::string> bucket_column;
  std::optional<uint32_t> num_buckets;
  std::optional<std::string> identity_column;
  // Stored as the table's writer defaults, all of them, as soon as one is given.
  WriterOptions writer_defaults;
};

// InvalidInput: already initialised, no such column or index, unusable type, two modes, half of bucket, num_buckets
// outside [1, 1024], a key type that cannot be hashed, a column named `_tombstone`. NotSupported: a column that cannot
// be written.
arrow::Result<std::shared_ptr<Dataset>> Initialize(const Dataset& dataset, const InitializeOptions& options);

}  // namespace javelin::memwal
