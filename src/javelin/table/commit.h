// Makes the next version of a table: conflict check, rebase, put-if-absent, retry (docs/format.md, "Tables: commits").
#pragma once

#include <functional>
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
  bool row_ids_of_new_table = false;  // stable row ids, for good
  // Asked before every attempt whether the change may follow this version, the newest; what it answers ends the commit.
  std::function<arrow::Status(const Manifest& head)> may_follow{};
};

// A Delete or Update that says which rows it affects is merged with rows that others masked meanwhile in the same
// fragments; deletion files that this writes are removed again if it fails, and so are those that they replace if it
// succeeds. Restore reads the version that it names.
//
// Commits `transaction`, built against `read` (nullptr = create the table), and returns the new version. Blocks.
//
// Errors, after which the table has no trace of it but unreferenced files: AlreadyExists (create),
// IncompatibleConflict, RetryableConflict, InvalidInput, NotSupported, Corruption (of the newest version), any store
// error of a read. OutcomeUnknown: the manifest was sent, the answer was lost and reading could not tell; it may still
// appear.
arrow::Result<LoadedManifest> CommitTransaction(const Resources& resources, const StoreLocation& table,
                                                const LoadedManifest* read, Transaction transaction,
                                                const CommitOptions& options = {});

// Creates the table `target` as a clone of `source` with the same version number. `clone` names the source; nothing of
// it is copied. Blocks. Errors as for CommitTransaction.
arrow::Result<LoadedManifest> CommitClone(const Resources& resources, const StoreLocation& target,
                                          const LoadedManifest& source, Clone clone);

// Commits `transaction` as a version beside the history of the table: it follows `read`, whatever was committed since,
// is never the latest, has a random number, and nothing can follow it. Blocks. Errors as for CommitTransaction, without
// conflicts.
arrow::Result<LoadedManifest> CommitDetached(const Resources& resources, const StoreLocation& table,
                                             const LoadedManifest& read, Transaction transaction);

}  // namespace javelin::table
