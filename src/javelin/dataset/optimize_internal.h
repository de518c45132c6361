// What the steps of an optimize share.
#pragma once

#include <map>
#include <string>
#include <vector>

#include <arrow/result.h>

#include "javelin/dataset/dataset_state_internal.h"
#include "javelin/dataset/optimize.h"

namespace javelin::internal {

// `options` with what is not given filled in from the table's config and the defaults. InvalidInput, NotSupported: an
// option.
arrow::Result<OptimizeOptions> ResolveOptimizeOptions(const OptimizeOptions& options,
                                                      const std::map<std::string, std::string>& config);

// NotSupported: the rows of these fragments cannot move, because an index covers them.
arrow::Status CheckIndexesLetMove(const DatasetState& table, const std::vector<FragmentId>& fragments);

}  // namespace javelin::internal
