// The manifest that a transaction makes of the newest one (docs/format.md, "Tables: applying a transaction").
#pragma once

#include <arrow/result.h>

#include "javelin/table/manifest.h"
#include "javelin/table/row_rebase.h"
#include "javelin/table/transaction.h"

namespace javelin::table {

struct ApplyContext {
  const Manifest* head = nullptr;  // the version it lands on; nullptr = the table is created
  const Manifest* read = nullptr;  // the version it was built against; nullptr = the table is created
  int64_t now_ns = 0;
  Uuid system_index_uuid;               // for a system index entry that has to be rewritten
  const Manifest* source = nullptr;     // Restore, Clone: the version whose contents come
  const MergedMasks* merged = nullptr;  // masks of other commits that ours hold too; nullptr = none
  bool new_table_has_row_ids = false;   // a table that is created gets stable row ids
};

// What every manifest that we write names as its writer.
WriterVersion ThisWriter();

// The transaction must have passed Rebase against every version between `read` and `head`, and `head` the writer flags.
// RetryableConflict: it no longer fits the schema, fragments or indices of `head`; InvalidInput: it never did;
// NotSupported.
arrow::Result<Manifest> ApplyTransaction(const Transaction& transaction, const ApplyContext& context);

}  // namespace javelin::table
