// Rows by the name that a caller knows them by.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include <arrow/result.h>

#include "javelin/base/ids.h"
#include "javelin/dataset/blobs.h"
#include "javelin/dataset/dataset_state_internal.h"

namespace javelin::internal {

// Their addresses, in the order asked, repeats allowed. InvalidInput: a position past the end, or a stable row id that
// no row has. An address, which a row id is too on tables without stable ones, is not looked up.
arrow::Result<std::vector<RowAddress>> SelectRows(const std::shared_ptr<const DatasetState>& table,
                                                  RowSelector selector, std::span<const uint64_t> rows);

}  // namespace javelin::internal
