// Single rows of a table, by position in a full scan or by address.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <arrow/result.h>
#include <arrow/type_fwd.h>

#include "javelin/base/ids.h"
#include "javelin/dataset/dataset_state_internal.h"
#include "javelin/dataset/projection_internal.h"

namespace javelin::internal {

// The addresses of the n-th rows of a full scan, in the order asked. InvalidInput: past the end.
arrow::Result<std::vector<RowAddress>> AddressesOf(const DatasetState& table, std::span<const uint64_t> rows);

// In the order asked, repeats allowed. InvalidInput: no such fragment, past its end, or deleted.
arrow::Result<std::shared_ptr<arrow::RecordBatch>> TakeRows(const std::shared_ptr<const DatasetState>& table,
                                                            std::span<const RowAddress> addresses,
                                                            const std::optional<std::vector<std::string>>& columns);
arrow::Result<std::shared_ptr<arrow::RecordBatch>> TakeRows(const std::shared_ptr<const DatasetState>& table,
                                                            std::span<const RowAddress> addresses,
                                                            const Projection& projection);

}  // namespace javelin::internal
