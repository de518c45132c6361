// Runs a bound tree over rows.
#pragma once

#include <functional>
#include <string_view>

#include <arrow/datum.h>
#include <arrow/result.h>

#include "javelin/query/sql_bound.h"

namespace javelin::query {

// A top-level column by relation and name; null if the rows do not have it.
using SqlColumnLookup =
    std::function<std::shared_ptr<arrow::Array>(const std::string& relation, const std::string& name)>;

// One value a row, or a scalar where it is the same for all. What goes wrong in a value is InvalidInput with the place
// in `text`.
arrow::Result<arrow::Datum> EvaluateSql(const BoundExpression& root, std::string_view text, int64_t rows,
                                        const SqlColumnLookup& columns, arrow::MemoryPool* pool);

}  // namespace javelin::query
