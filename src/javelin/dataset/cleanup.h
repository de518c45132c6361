// Removes old versions of a table and the files that only they needed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <arrow/result.h>

#include "javelin/base/ids.h"
#include "javelin/base/runtime.h"
#include "javelin/dataset/dataset.h"

namespace javelin {

// How long a file that no version names may still be that of a commit under way.
inline constexpr Duration kUnverifiedGrace = std::chrono::hours(7 * 24);

// A version goes if all that is given here says so. With none of the first three every version does that may.
struct CleanupOptions {
  std::optional<Duration> older_than;                 // committed longer ago than this, by the clock of this process
  std::optional<uint64_t> retain_versions;            // not among the newest so many; > 0
  std::optional<std::vector<TableVersion>> versions;  // one of these; not empty
  // Files that no version names go whatever their age. Only while nobody writes to the table: the files of a commit
  // under way are such files.
  bool delete_unverified = false;
  // InvalidInput if a version with a tag would go, instead of leaving it there.
  bool error_if_tagged_old_versions = true;
  std::optional<uint64_t> delete_rate_limit;  // requests a second, at most; > 0
};

enum class CleanupFileKind { kData, kDeletion, kIndex, kTransaction, kManifest };
std::string_view ToString(CleanupFileKind kind);  // "data", "deletion", ...

struct CleanupFile {
  std::string path;  // below the table
  CleanupFileKind kind = CleanupFileKind::kData;
  bool unverified = false;  // no version names it
  uint64_t bytes = 0;
};

struct CleanupStats {
  uint64_t bytes_removed = 0;
  uint64_t old_versions = 0;
  uint64_t data_files_removed = 0;  // sidecars of blobs too
  uint64_t transaction_files_removed = 0;
  uint64_t index_files_removed = 0;
  uint64_t deletion_files_removed = 0;
  uint64_t failed_deletes = 0;  // files that are still there; a later clean-up takes them
  friend bool operator==(const CleanupStats&, const CleanupStats&) = default;
};

struct CleanupPlan {
  struct Branch {
    std::string name;
    TableVersion version;  // of this table, where the branch starts
  };
  TableVersion read_version;
  std::vector<CleanupFile> files;  // in the order in which they go: manifests last, oldest first
  CleanupStats stats;              // as if every file went
  std::vector<Branch> branches;    // because of which a version stays that would go
};

// What Cleanup would remove. Stays: the version of `dataset` and all newer ones; what a tag names, or where a branch
// starts; detached versions; files that one of these names; files that nobody names and that are younger than
// kUnverifiedGrace; everything outside of `data`, `_deletions`, `_indices`, `_transactions` and `_versions`, and names
// there that are none of the format. Tables that were cloned from this one elsewhere are not known here: they break.
//
// Reads every manifest and lists these folders: one request for each page, tag, branch and version. InvalidInput: an
// option, or a tag (above). NotSupported: the table cannot be written here. Corruption: a manifest does not decode,
// so that nobody knows which files it needs. Blocks; thread-safe.
arrow::Result<CleanupPlan> PlanCleanup(const Dataset& dataset, const CleanupOptions& options = {});

// Removes it. A file that cannot be removed is counted and left for another time. If the process ends in the middle,
// versions that were going may lack files; run it again. The version that stays is made durable first.
arrow::Result<CleanupStats> Cleanup(const Dataset& dataset, const CleanupOptions& options = {});

}  // namespace javelin
