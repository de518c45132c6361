// Lineage of rows whose values were replaced where they lie. Not for use outside module table.
#pragma once

#include <string>

#include <arrow/result.h>

#include "javelin/table/manifest.h"
#include "javelin/table/offset_set.h"

namespace javelin::table {

// The lineage of `fragment` after these rows (nullptr = all) were updated in `version`. NotSupported: only some, and
// the versions of the others lie in a data file.
arrow::Result<std::string> LineageOfUpdatedRows(const Fragment& fragment, const OffsetSet* updated,
                                                TableVersion version);

}  // namespace javelin::table
