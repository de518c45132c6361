// What shard a row belongs to: the sharding spec of a table, evaluated over its rows (docs/format.md, "Sharding").
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <arrow/result.h>
#include <arrow/type_fwd.h>

#include "javelin/file/schema.h"
#include "javelin/table/mem_wal_details.h"

namespace javelin::memwal {

// One column per field of the spec, in its order and named by its field id. `schema` turns the source ids of the spec
// into column names; the batch may hold more columns than the spec reads. InvalidInput: a transform other than
// `unsharded`, `identity` and `bucket`; an expression; not exactly one source; a source that the schema or the batch
// does not have; a type that the transform does not take; `num_buckets` missing or outside [1, 2^31 - 1]; no field, or
// a field id twice. Reads memory only; any context.
arrow::Result<std::shared_ptr<arrow::RecordBatch>> EvaluateShardingSpec(const table::ShardingSpec& spec,
                                                                        const file::Schema& schema,
                                                                        const arrow::RecordBatch& batch);

// The value of a sharding field: the raw little-endian bytes that a shard manifest keeps (ShardManifest::shard_fields),
// a boolean as one byte; nullopt = null.
using ShardValue = std::optional<std::string>;

struct ShardRows {
  std::map<std::string, ShardValue> values;  // by field id
  std::shared_ptr<arrow::RecordBatch> rows;  // in the order of the batch
};

// The rows of each shard that the batch has rows of, in order of first appearance. Errors of EvaluateShardingSpec.
arrow::Result<std::vector<ShardRows>> RouteRows(const table::ShardingSpec& spec, const file::Schema& schema,
                                                const std::shared_ptr<arrow::RecordBatch>& batch);

// What the wire calls the types that rows can be sharded by as they are; empty = not one of them.
std::string_view IdentityTypeName(const arrow::DataType& type);

}  // namespace javelin::memwal
