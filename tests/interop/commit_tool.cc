// Commits transactions that were recorded elsewhere, for the interop tests.
//
//   commit_tool URI VERSION TRANSACTION...    each of the files, in order, as built against that version of the table
//
// Prints the last version as JSON. Failures print one JSON line {"kind": ..., "message": ...} to stderr and exit 2.
#include <fstream>
#include <iostream>

#include <nlohmann/json.hpp>

#include "javelin/base/error.h"
#include "javelin/base/resources.h"
#include "javelin/base/runtime.h"
#include "javelin/table/commit.h"
#include "javelin/table/deletion_vector.h"

namespace {

using namespace javelin;
using nlohmann::json;

arrow::Result<table::OffsetSet> Deleted(const StoreLocation& location, const table::Fragment& fragment) {
  if (!fragment.deletion_file) return table::OffsetSet();
  const std::string name = table::DeletionFileName(fragment.id, *fragment.deletion_file);
  ARROW_ASSIGN_OR_RAISE(const auto bytes, location.store->Get(table::TableKey(location, "_deletions/" + name)));
  return table::DecodeDeletionFile(*fragment.deletion_file, bytes, fragment.physical_rows);
}

// The rows that the operation masks: what its deletion files have and those of the version read have not.
arrow::Result<table::RowsByFragment> AffectedRows(const StoreLocation& location, const table::Manifest& read,
                                                  const std::vector<table::Fragment>& updated) {
  table::RowsByFragment rows;
  for (const table::Fragment& fragment : updated) {
    ARROW_ASSIGN_OR_RAISE(const table::OffsetSet now, Deleted(location, fragment));
    for (const table::Fragment& before : read.fragments) {
      if (before.id != fragment.id) continue;
      ARROW_ASSIGN_OR_RAISE(const table::OffsetSet then, Deleted(location, before));
      rows[fragment.id] = now.Without(then);
    }
  }
  return rows;
}

arrow::Result<table::Transaction> Recorded(const std::string& path, const StoreLocation& location,
                                           const table::Manifest& read) {
  std::ifstream in(path, std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  ARROW_ASSIGN_OR_RAISE(table::Transaction transaction, table::DecodeTransaction(bytes));
  transaction.uuid.clear();
  if (const auto* deletion = std::get_if<table::Delete>(&transaction.operation)) {
    ARROW_ASSIGN_OR_RAISE(transaction.affected_rows, AffectedRows(location, read, deletion->updated_fragments));
  } else if (const auto* update = std::get_if<table::Update>(&transaction.operation)) {
    ARROW_ASSIGN_OR_RAISE(transaction.affected_rows, AffectedRows(location, read, update->updated_fragments));
  }
  return transaction;
}

// Ids that were free where the rewrite was recorded may be taken here; these were reserved for it.
void Renumber(uint64_t first_id, table::Operation& operation) {
  auto* rewrite = std::get_if<table::Rewrite>(&operation);
  if (rewrite == nullptr) return;
  for (table::Rewrite::Group& group : rewrite->groups) {
    for (table::Fragment& fragment : group.new_fragments) fragment.id = FragmentId(first_id++);
  }
}

arrow::Status Run(const std::vector<std::string>& arguments) {
  if (arguments.size() < 3) return InvalidInput("commit_tool URI VERSION TRANSACTION...");
  const Resources resources = MakeResources(MakeThreadRuntime());
  StoreRegistry stores(resources);
  ARROW_ASSIGN_OR_RAISE(const StoreLocation location, stores.Resolve(arguments[0]));
  ARROW_ASSIGN_OR_RAISE(const table::LoadedManifest read,
                        table::LoadVersion(location, TableVersion(std::stoull(arguments[1]))));
  uint64_t version = 0, reserved = 0;
  for (size_t i = 2; i < arguments.size(); ++i) {
    ARROW_ASSIGN_OR_RAISE(table::Transaction transaction, Recorded(arguments[i], location, *read.manifest));
    Renumber(reserved, transaction.operation);
    const auto* reserve = std::get_if<table::ReserveFragments>(&transaction.operation);
    const uint64_t count = reserve == nullptr ? 0 : reserve->num_fragments;
    ARROW_ASSIGN_OR_RAISE(const table::LoadedManifest made,
                          table::CommitTransaction(resources, location, &read, std::move(transaction)));
    if (count > 0) reserved = *made.manifest->max_fragment_id + uint64_t{1} - count;
    version = made.manifest->version.value();
  }
  std::cout << json{{"version", version}}.dump() << "\n";
  return arrow::Status::OK();
}

}  // namespace

int main(int argc, char** argv) {
  const arrow::Status status = Run({argv + 1, argv + argc});
  if (status.ok()) return 0;
  std::cerr << json{{"kind", std::string(ToString(KindOf(status)))}, {"message", status.message()}}.dump() << "\n";
  return 2;
}
