// For tests: tables as other programs make them.
#pragma once

#include <string>
#include <utility>

#include "javelin/dataset/session.h"
#include "javelin/table/commit.h"

namespace javelin::memwal {

// An empty table that we may not be able to write to.
inline arrow::Status WriteForeignTable(Session& session, const std::string& uri, const arrow::Schema& schema,
                                       const std::string& version = "2.2") {
  ARROW_ASSIGN_OR_RAISE(const StoreLocation location, session.stores().Resolve(uri));
  table::Overwrite overwrite;
  ARROW_ASSIGN_OR_RAISE(overwrite.schema, file::Schema::FromArrow(schema));
  overwrite.data_format_version = version;
  table::Transaction transaction;
  transaction.operation = std::move(overwrite);
  return table::CommitTransaction(session.resources(), location, /*read=*/nullptr, std::move(transaction)).status();
}

}  // namespace javelin::memwal
