// What names a version of a table besides its number - tags, branches, a time - and tables that start at one.
//
// Tags and branches lie in the root table. A branch is a table of its own below it, whose versions go their own way; a
// dataset of a branch knows its root, so every function here may be called through either.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>

#include <arrow/result.h>

#include "javelin/dataset/dataset.h"
#include "javelin/table/tags.h"

namespace javelin {

struct OnBranch {
  std::optional<std::string> branch;    // none or "main" = the root table
  std::optional<TableVersion> version;  // none = the newest
};
// A version of the dataset's own branch, the name of a tag, or a version of any branch.
using VersionReference = std::variant<TableVersion, std::string, OnBranch>;

// The table in which the dataset's tags and branches lie: itself, unless it is one of them.
StoreLocation RootOf(const Dataset& dataset);
// What an open handle is a version of; nullopt = main.
const std::optional<std::string>& BranchOf(const Dataset& dataset);

// All functions block. NotFound: no such tag or branch (names the nearest), or version; InvalidInput: a name that none
// can have.

// Requests: one GET for a version, one more for a tag; for the newest of a branch LIST + GET.
arrow::Result<std::shared_ptr<Dataset>> Checkout(const Dataset& dataset, const VersionReference& reference);
// The same where nothing is open yet; `uri` may be that of a branch.
arrow::Result<std::shared_ptr<Dataset>> OpenReference(std::shared_ptr<Session> session, const std::string& uri,
                                                      const VersionReference& reference,
                                                      const std::map<std::string, std::string>& storage_options = {});
// The newest version that was committed at or before this time, in nanoseconds since the Unix epoch. One LIST, and a
// GET for each halving of the versions. NotFound: all are newer.
arrow::Result<std::shared_ptr<Dataset>> OpenAsOf(std::shared_ptr<Session> session, const std::string& uri,
                                                 int64_t time_ns,
                                                 const std::map<std::string, std::string>& storage_options = {});

// Without a reference: the version of the dataset itself. Errors as table::CreateTag and UpdateTag.
arrow::Result<table::Tag> CreateTag(const Dataset& dataset, const std::string& name,
                                    const std::optional<VersionReference>& reference = {});
arrow::Result<table::Tag> UpdateTag(const Dataset& dataset, const std::string& name,
                                    const std::optional<VersionReference>& reference = {});

// Starts a branch and returns its first version, which has the number of the one that it starts at. Nothing is copied.
// Errors as table::CreateBranch.
arrow::Result<std::shared_ptr<Dataset>> CreateBranch(const Dataset& dataset, const std::string& name,
                                                     const std::optional<VersionReference>& reference = {});
// A table of its own at `target_uri` that begins with the referenced version, whose files stay where they are: cleaning
// them up there breaks the clone. AlreadyExists: there is a table.
arrow::Result<std::shared_ptr<Dataset>> ShallowClone(
    const Dataset& dataset, const std::string& target_uri, const std::optional<VersionReference>& reference = {},
    const std::optional<std::map<std::string, std::string>>& storage_options = {});

}  // namespace javelin
