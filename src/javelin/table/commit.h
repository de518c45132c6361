// Makes the next version of a table: conflict check, rebase, put-if-absent, retry (docs/format.md, "Tables: commits").
#pragma once

#include <memory>

#include <arrow/result.h>

#include "javelin/base/resources.h"
#include "javelin/store/stores.h"
#include "javelin/table/transaction.h"
#include "javelin/table/versions.h"

namespace javelin::table {

struct CommitOptions {
  int max_retries = 20;  // lost races; 0 with Overwrite also refuses any version committed since
  NamingScheme scheme_of_new_table = NamingScheme::kV2;
};

// Commits `transaction`, built against `read` (nullptr = create the table), and returns the new version. Blocks.
//
// Errors, after which the table has no trace of it but unreferenced files: AlreadyExists (create),
// IncompatibleConflict, RetryableConflict, InvalidInput, NotSupported, Corruption (of the newest version), any store
// error of a read. OutcomeUnknown: the manifest was sent, the answer was lost and reading could not tell; it may still
// appear.
arrow::Result<LoadedManifest> CommitTransaction(const Resources& resources, const StoreLocation& table,
                                                const LoadedManifest* read, Transaction transaction,
                                                const CommitOptions& options = {});

}  // namespace javelin::table
