// What a scan hands out, and how it is made of the columns that were read for it.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <arrow/result.h>
#include <arrow/type_fwd.h>

#include "javelin/dataset/dataset_state_internal.h"
#include "javelin/dataset/projection_internal.h"
#include "javelin/dataset/scanner.h"
#include "javelin/query/filter.h"

namespace javelin::internal {

class OutputColumns {
 public:
  // InvalidInput: unknown or repeated name, a value that does not bind; NotSupported: SQL that is not there.
  static arrow::Result<OutputColumns> Make(const DatasetState& table, const ScannerOptions& options);

  // What rows are sorted by, under made-up names; errors as above.
  static arrow::Result<OutputColumns> MakeKeys(const DatasetState& table, const std::vector<Ordering>& order);
  static OutputColumns OfAddress();
  // The columns of both, in that order.
  OutputColumns FollowedBy(const OutputColumns& others) const;

  const std::shared_ptr<arrow::Schema>& arrow_schema() const { return arrow_schema_; }
  // The columns for people: a name, or `name := value`.
  std::vector<std::string> Describe() const;
  // What has to be read, in the order of the result as far as that is plain columns.
  std::vector<ColumnPath> Paths() const;
  // The result is the columns of the projection as they are.
  bool IsJust(const Projection& projection) const;
  // The result of rows that have these columns by name. Memory from the pool for what is computed.
  arrow::Result<std::shared_ptr<arrow::RecordBatch>> Of(const std::shared_ptr<arrow::RecordBatch>& rows,
                                                        arrow::MemoryPool* pool) const;

 private:
  // Either a column, or a field inside one, as it is stored; or a value.
  struct Column {
    ColumnPath path;
    std::optional<query::Expression> computed;
  };
  class Maker;

  std::vector<Column> columns_;
  std::shared_ptr<arrow::Schema> arrow_schema_;
};

}  // namespace javelin::internal
