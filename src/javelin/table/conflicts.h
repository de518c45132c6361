// May a transaction still be committed after another one was (docs/format.md, "Tables: conflicts")?
#pragma once

#include <arrow/status.h>

#include "javelin/base/ids.h"
#include "javelin/table/transaction.h"

namespace javelin::table {

// `other` was committed as `other_version` after the version that `ours` was built against. OK: ours still means what
// it meant, and is changed where that takes it (index coverage). IncompatibleConflict: it makes no sense any more.
// RetryableConflict: run the operation again on the newest version. NotSupported: ours is Clone, DataOverlay or
// unknown. A Delete or Update that says which rows it affects is fine with other masks of the same fragments: it is to
// be merged with them (row_rebase.h).
arrow::Status Rebase(Transaction& ours, const Transaction& other, TableVersion other_version);

}  // namespace javelin::table
