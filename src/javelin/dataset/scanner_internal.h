// What a Scanner holds.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "javelin/dataset/dataset_state_internal.h"
#include "javelin/dataset/output_columns_internal.h"
#include "javelin/dataset/scanner.h"
#include "javelin/query/filter.h"

namespace javelin {

struct Scanner::Plan {
  std::shared_ptr<const internal::DatasetState> table;
  ScannerOptions options;
  std::vector<const table::Fragment*> fragments;  // of the table; none where the condition is never true
  internal::OutputColumns output;
  std::optional<query::Filter> filter;  // where it says something
  internal::OutputColumns keys;         // of options.order_by
};

}  // namespace javelin
