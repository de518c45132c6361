// CAST as the peer has it: numbers lose what is behind the point and never wrap, text is read strictly, moments without
// a time zone are local in the one that they get.
#pragma once

#include <memory>

#include <arrow/datum.h>
#include <arrow/result.h>
#include <arrow/type.h>

#include "javelin/query/sql_bound.h"

namespace javelin::query {

// Whether CAST leads from one type to the other (for some values at least).
bool CanSqlCast(const arrow::DataType& from, const arrow::DataType& to);

// Each value under the type. Invalid: a value that the type cannot hold; with `try_cast` that is null instead.
arrow::Result<arrow::Datum> SqlCast(const arrow::Datum& value, const std::shared_ptr<arrow::DataType>& to,
                                    bool try_cast, const SqlEvaluation& evaluation);

}  // namespace javelin::query
