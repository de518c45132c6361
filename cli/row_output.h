// Writes record batches to standard output in one of the row formats.
#pragma once

#include <arrow/status.h>
#include <arrow/type_fwd.h>

#include "cli/commands.h"

namespace javelin::cli {

// All batches of `reader`, one after the other. InvalidInput: Arrow bytes to a terminal.
arrow::Status PrintRows(arrow::RecordBatchReader& reader, RowFormat format);

}  // namespace javelin::cli
