// Goes back to an older version.
#pragma once

#include <functional>
#include <memory>

#include <arrow/result.h>

#include "javelin/dataset/dataset.h"

namespace javelin {

// Commits what `dataset` holds as the newest version of its table, whatever was committed since, and returns it.
// `may_follow`, if given, is asked before every attempt with the version that is the newest then; its failure ends the
// restore, and nothing was changed. Blocks. Requests: LIST + GET for the newest version, GET of this one, and those of
// a commit.
//
// InvalidInput: the newest version has MemWAL or stable row ids and this one has not. IncompatibleConflict: somebody
// changed the schema's metadata or the progress of a shard at the same moment. NotFound: this version was cleaned up.
arrow::Result<std::shared_ptr<Dataset>> RestoreVersion(
    const Dataset& dataset, const std::function<arrow::Status(const table::Manifest& newest)>& may_follow = {});

}  // namespace javelin
