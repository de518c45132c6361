// Branches: tables below the root that start as a shallow clone of one of its versions (docs/format.md, "Tables: tags
// and branches").
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include <arrow/result.h>

#include "javelin/base/resources.h"
#include "javelin/store/stores.h"
#include "javelin/table/versions.h"

namespace javelin::table {

struct Branch {
  std::optional<std::string> parent_branch;  // nullopt = main
  TableVersion parent_version;
  std::vector<std::pair<TableVersion, std::string>> version_mapping;  // of all ancestors: version and 32 hex digits
  int64_t created_at_s = 0;                                           // since the Unix epoch
  uint64_t manifest_size = 0;
  std::map<std::string, std::string> metadata;
  friend bool operator==(const Branch&, const Branch&) = default;
};

// InvalidInput unless words of letters, digits, '.', '_' and '-' with '/' between them; not "main", no "..", no word
// ending in ".lock".
arrow::Status CheckBranchName(std::string_view name);
// `{root}/tree/{name}`: a table like any other.
StoreLocation BranchLocation(const StoreLocation& root, std::string_view name);

// All functions block. Errors beside those named: of the store, and Corruption of a file.
arrow::Result<std::map<std::string, Branch>> ListBranches(const StoreLocation& root);
// NotFound: no such branch (names the nearest).
arrow::Result<Branch> LoadBranch(const StoreLocation& root, std::string_view name);
// Starts a branch at `source`, a version of main or of the branch `source_branch`, and returns its first version.
// `source_path` is what other programs open that table by. InvalidInput: the name; AlreadyExists: the branch, or files
// of one that was not created or deleted in full (delete it, then create it again).
arrow::Result<LoadedManifest> CreateBranch(const Resources& resources, const StoreLocation& root, std::string_view name,
                                           const LoadedManifest& source,
                                           const std::optional<std::string>& source_branch,
                                           const std::string& source_path);
// All of its metadata anew. NotFound: no such branch.
arrow::Result<Branch> ReplaceBranchMetadata(const StoreLocation& root, std::string_view name,
                                            std::map<std::string, std::string> metadata);
// Removes it with all its files, also what is left of one that was not created or deleted in full. NotFound: there is
// neither. InvalidInput: another branch started from it, or tags name versions of it.
arrow::Status DeleteBranch(const StoreLocation& root, std::string_view name);

}  // namespace javelin::table
