// Create, append, overwrite: check the schema, write data files, commit.
#pragma once

#include <memory>

#include <arrow/result.h>
#include <arrow/type_fwd.h>

#include "javelin/dataset/data_files_internal.h"
#include "javelin/dataset/dataset_state_internal.h"

namespace javelin::internal {

// `table.loaded.manifest` null = the table does not exist. Returns the new version.
arrow::Result<table::LoadedManifest> WriteRows(const DatasetState& table, arrow::RecordBatchReader& data,
                                               const WriteOptions& options);

// ---- for other changes that bring rows ----

arrow::Status CheckWriteOptions(const WriteOptions& options);
// NotSupported: the version cannot be followed by one of ours.
arrow::Status CheckCanFollow(const DatasetState& table);
// The same, and the version that new data files of such columns get: what is asked for, or the table's own.
// NotSupported: they cannot be written in it.
arrow::Result<file::FileVersion> CheckAppendable(const DatasetState& table, const file::Schema& columns,
                                                 const WriteOptions& options);
// All rows of `data`, brought to the columns `target` (ColumnsOfAppend), as fragments without ids.
arrow::Result<std::vector<table::Fragment>> WriteFiles(arrow::RecordBatchReader& data, const file::Schema& target,
                                                       DataFilesWriter& writer);

}  // namespace javelin::internal
