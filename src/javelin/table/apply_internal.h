// Parts of applying a transaction that several operations share. `next` starts as a copy of the version that the commit
// lands on, flags included.
#pragma once

#include <vector>

#include <arrow/status.h>

#include "javelin/table/apply.h"

namespace javelin::table {

uint64_t NextFragmentId(const Manifest& manifest);

// RetryableConflict: the schema changed so that the new rows no longer fit; InvalidInput: they never did.
arrow::Status CheckNewRows(const std::vector<Fragment>& fragments, const ApplyContext& context);

// Gives new fragments their ids, from `first_id`, and on tables that have them their rows' ids.
arrow::Status AddFragments(std::vector<Fragment> fragments, uint64_t first_id, Manifest& next);

arrow::Status ApplyUpdate(const Update& update, const ApplyContext& context, Manifest& next);

}  // namespace javelin::table
