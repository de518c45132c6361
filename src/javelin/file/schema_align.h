// The one place that brings a batch of one schema to another: by field id first, by name where the source has no id.
//
// Used alike for WAL entries, SSTables and scans. Rules (docs/format.md, "MemWAL: schemas"): a target field that the
// source lacks becomes nulls; a source field that the target lacks is dropped; an id match claims its source column and
// a name match may not take a claimed one; ids inside structs, lists and maps match the same way; a changed type or a
// missing key column is an error.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>

#include <arrow/result.h>
#include <arrow/type_fwd.h>

#include "javelin/file/schema.h"

namespace javelin::file {

// The id that a field carries in its metadata; nullopt: none, or not a number of an id.
std::optional<FieldId> FieldIdOf(const arrow::Field& field);

struct AlignOptions {
  // Values for target columns that the source lacks, by name, in place of nulls (e.g. `_tombstone` = false).
  std::map<std::string, std::shared_ptr<arrow::Scalar>> defaults;
};

// How to bring batches of one source schema to one target; made once per source schema, applied to many batches.
class SchemaAlignment {
 public:
  // `source`: an Arrow schema whose fields may carry kFieldIdMetadata. `target`: fields by id; columns with id -1 match
  // by name only. InvalidInput: a non-nullable target column without source or default, or a type change (names both).
  static arrow::Result<SchemaAlignment> Make(const arrow::Schema& source, const Schema& target,
                                             AlignOptions options = {});
  // Zero copy for columns that are there. The result has exactly target.ToArrow()'s columns, in its order.
  arrow::Result<std::shared_ptr<arrow::RecordBatch>> Apply(const arrow::RecordBatch& batch) const;
  bool identity() const { return identity_; }

 private:
  struct Step;
  std::shared_ptr<const Step> root_;
  std::shared_ptr<arrow::Schema> target_;
  bool identity_ = false;
};

}  // namespace javelin::file
