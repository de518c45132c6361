// Brings the batches a caller gives to the columns of a table.
#pragma once

#include <memory>
#include <vector>

#include <arrow/result.h>
#include <arrow/type_fwd.h>

#include "javelin/file/schema.h"

namespace javelin::internal {

// The columns of `table` that `given` has, in the table's order. InvalidInput, naming the column: it is not in the
// table, given twice, or of another type.
arrow::Result<file::Schema> ColumnsGiven(const arrow::Schema& given, const file::Schema& table);
// InvalidInput: a column of the table that must not be null is not among those.
arrow::Status CheckNoneMissing(const file::Schema& columns, const file::Schema& table);
// Both.
arrow::Result<file::Schema> ColumnsOfAppend(const arrow::Schema& given, const file::Schema& table);

class IncomingRows {
 public:
  // `target`: columns that `given` has. Types come out as the format stores them; those of blobs as BlobInputType says.
  static arrow::Result<IncomingRows> Make(const arrow::Schema& given, const file::Schema& target);
  // Of what Shape returns.
  const std::shared_ptr<arrow::Schema>& schema() const { return target_; }
  // Without copying values (views excepted). InvalidInput: a null where the table forbids one.
  arrow::Result<std::shared_ptr<arrow::RecordBatch>> Shape(const arrow::RecordBatch& batch) const;

 private:
  std::shared_ptr<arrow::Schema> target_;
  std::vector<int> places_;  // of the target's columns in a batch given
};

}  // namespace javelin::internal
