// Create, append, overwrite: check the schema, write data files, commit.
#pragma once

#include <memory>

#include <arrow/result.h>
#include <arrow/type_fwd.h>

#include "javelin/dataset/dataset_state_internal.h"

namespace javelin::internal {

// `table.loaded.manifest` null = the table does not exist. Returns the new version.
arrow::Result<table::LoadedManifest> WriteRows(const DatasetState& table, arrow::RecordBatchReader& data,
                                               const WriteOptions& options);

}  // namespace javelin::internal
