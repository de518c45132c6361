// What each version of data files cannot hold of what the later ones can.
#pragma once

#include <vector>

#include <arrow/status.h>

#include "javelin/file/data_file_reader.h"
#include "javelin/file/level_builder_internal.h"
#include "javelin/file/schema.h"

namespace javelin::file {

// NotSupported naming the column and what to do: a version that is not written, or a kind of column that came later.
arrow::Status CheckVersionHolds(const Schema& schema, FileVersion version);
// NotSupported likewise: columns of 2.1 and later that released readers cannot read beside the others. `leaves`: those
// of the schema in file order.
arrow::Status CheckGoTogether(const Schema& schema, const std::vector<const LeafPath*>& leaves);

}  // namespace javelin::file
