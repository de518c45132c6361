// Merges the masked rows of our Delete or Update with those that others masked in the same fragments since
// (docs/format.md, "Tables: commits").
#pragma once

#include <map>
#include <optional>

#include <arrow/result.h>

#include "javelin/table/manifest.h"
#include "javelin/table/offset_set.h"
#include "javelin/table/transaction.h"

namespace javelin::table {

// The deletion files of one table, as a commit reaches them.
class DeletionFiles {
 public:
  virtual ~DeletionFiles() = default;
  // The deleted rows of a fragment that has a deletion file.
  virtual arrow::Result<OffsetSet> Read(const Fragment& fragment) = 0;
  // Stores all deleted rows of a fragment of `head` and returns what its entry says.
  virtual arrow::Result<DeletionFile> Write(FragmentId fragment, const OffsetSet& deleted, const Manifest& head) = 0;
};

// By fragment, the deletion file of another commit whose rows our deletion file holds too; nullopt: there was none.
using MergedMasks = std::map<FragmentId, std::optional<DeletionFile>>;

// Makes the masks of `ours`, built against `read`, follow those of `head`, which Rebase has passed. Fragments that
// `merged` says are followed already are left alone; it is brought up to date. A fragment without any row left moves to
// the removed ones. Does nothing to other operations, and nothing without affected rows. RetryableConflict: a row of
// ours is gone already; any error of `files`.
arrow::Status RebaseMasks(Transaction& ours, const Manifest& read, const Manifest& head, DeletionFiles& files,
                          MergedMasks& merged);

}  // namespace javelin::table
