// A scan of the rows that a condition holds for.
#pragma once

#include <memory>
#include <vector>

#include <arrow/record_batch.h>
#include <arrow/result.h>

#include "javelin/dataset/dataset_state_internal.h"
#include "javelin/dataset/output_columns_internal.h"
#include "javelin/query/filter.h"

namespace javelin::internal {

// What a scan with a condition reads.
struct FilteredColumns {
  Projection conditions;  // what the condition needs, and what costs nothing to read
  Projection rest;        // what only the result needs; empty = nothing
  Projection all;         // both
};
arrow::Result<FilteredColumns> ColumnsOfFiltered(const file::Schema& schema, const query::Filter& filter,
                                                 const OutputColumns& output);

// The columns of the condition are read of all rows. The others too, in the same pass, or only of those that pass, as
// options.late_columns says: adaptively it is decided anew for each run of rows, by how many passed in those before.
arrow::Result<std::shared_ptr<arrow::RecordBatchReader>> MakeFilteredScan(std::shared_ptr<const DatasetState> table,
                                                                          OutputColumns output, query::Filter filter,
                                                                          std::vector<const table::Fragment*> fragments,
                                                                          const ScannerOptions& options);

}  // namespace javelin::internal
