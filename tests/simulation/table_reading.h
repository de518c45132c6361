// Everything that a view or a version of the table shows, as the model knows it.
#pragma once

#include <vector>

#include <arrow/result.h>

#include "javelin/memwal/fresh_view.h"
#include "rows.h"

namespace javelin::simulation {

// Reads to the end. Invalid as AddRows, and the errors of the reader. Blocks; context T.
arrow::Result<TableState> ReadAll(arrow::RecordBatchReader& reader);
arrow::Result<TableState> ScanAll(const memwal::FreshView& view);
// Looks the keys up in one call. Invalid as AddRows.
arrow::Result<TableState> LookUp(const memwal::FreshView& view, const std::vector<int64_t>& keys);

}  // namespace javelin::simulation
