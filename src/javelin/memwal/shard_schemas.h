// The schemas of a shard's rows and how caller input is brought into them (docs/format.md, "MemWAL: schemas").
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <arrow/result.h>
#include <arrow/type_fwd.h>

#include "javelin/file/data_file_reader.h"
#include "javelin/file/schema.h"

namespace javelin::memwal {

inline constexpr std::string_view kTombstoneColumn = "_tombstone";

// OK if shards of the table can hold its rows. NotSupported: a type that is not written, a dictionary of narrow
// indices, a struct without fields.
arrow::Status CheckStorable(const file::Schema& table, file::FileVersion version);

class ShardSchemas {
 public:
  // InvalidInput: unusable key type, a column named `_tombstone`.
  static arrow::Result<ShardSchemas> Make(const file::Schema& table_schema);

  const std::shared_ptr<arrow::Schema>& logical() const { return logical_; }  // what callers give and get
  const std::shared_ptr<arrow::Schema>& storage() const {
    return storage_;
  }  // + field ids + `_tombstone`; non-key columns nullable
  const file::Schema& storage_fields() const { return storage_fields_; }  // storage by field id; `_tombstone` has id -1
  const std::vector<int>& key_columns() const {
    return key_columns_;
  }  // positions in storage, in key order; empty = no key
  bool has_key() const { return !key_columns_.empty(); }

  // Made from the same table schema: ids, names, types, nullability, metadata.
  friend bool operator==(const ShardSchemas&, const ShardSchemas&);
  // OK if rows of these schemas can go on under `next`, the schema of a later version of the same table. InvalidInput:
  // another primary key, no column left, a column with another type, one that must not be null where rows here may have
  // none.
  arrow::Status CheckSuccessor(const ShardSchemas& next) const;

  // Same columns in the same order with the same types and no null where the table forbids it; InvalidInput names the
  // column. Adds `_tombstone` = false.
  arrow::Result<std::shared_ptr<arrow::RecordBatch>> ShapePut(const arrow::RecordBatch& batch) const;
  // One tombstone row per row of `keys`, which must hold every key column (others are ignored). InvalidInput: no key on
  // the table, missing column, other type, null.
  arrow::Result<std::shared_ptr<arrow::RecordBatch>> ShapeDelete(const arrow::RecordBatch& keys) const;

 private:
  std::shared_ptr<arrow::Schema> logical_;
  std::shared_ptr<arrow::Schema> storage_;
  file::Schema storage_fields_;
  std::vector<int> key_columns_;
};

}  // namespace javelin::memwal
