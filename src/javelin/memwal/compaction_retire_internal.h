// Letting go of SSTables that the base table holds: first unlisted, later their folders.
#pragma once

#include <string>
#include <vector>

#include <arrow/result.h>

#include "javelin/dataset/dataset.h"
#include "javelin/memwal/shard_manifest_store.h"

namespace javelin::memwal {

// The SSTables of the shard up to this generation are needed by no query on this version of the base: it holds their
// rows, and every index that a query may use has caught up.
arrow::Result<Generation> DroppableThrough(const Dataset& base, const Uuid& shard);

struct Unlisted {
  std::vector<Generation> generations;  // that this call took out
  Generation droppable;                 // as it was known at the last attempt
};

// The manifest without entries up to `droppable`, committed with the epoch that the shard has: nobody is fenced.
// First makes sure that the rows of `base` survive a loss of power: nothing else holds them afterwards. Whenever a
// commit is lost, the newest version of the base is asked whether they are droppable still. Errors as CommitUpdate and
// of reading the base; what somebody else took out is no error.
arrow::Result<Unlisted> Unlist(const Dataset& base, const std::shared_ptr<ShardManifestStore>& manifests,
                               Generation droppable);

// Folders below the shard that no version of the manifest has listed for `grace`, and that none ever will. One that
// none has ever listed is left alone until it is 24 h old, unless `grace` is zero.
arrow::Result<std::vector<std::string>> FindRetiredFolders(const Dataset& dataset, ShardManifestStore& manifests,
                                                           Duration grace);

// Everything below it, the manifest of the SSTable first, so that what a crash leaves cannot be opened.
arrow::Status DeleteSsTableFolder(ObjectStore& store, const std::string& folder);

}  // namespace javelin::memwal
