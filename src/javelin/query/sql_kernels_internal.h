// What the operators do to whole columns. Arguments have the types that the binder gave them.
#pragma once

#include <vector>

#include <arrow/datum.h>
#include <arrow/result.h>

#include "javelin/query/sql_bound.h"

namespace javelin::query {

using Arguments = std::vector<arrow::Datum>;

arrow::Result<arrow::Datum> CompareKernel(const BoundExpression& node, const Arguments& arguments,
                                          const SqlEvaluation& evaluation);
arrow::Result<arrow::Datum> DistinctKernel(const BoundExpression& node, const Arguments& arguments,
                                           const SqlEvaluation& evaluation);
arrow::Result<arrow::Datum> InKernel(const BoundExpression& node, const Arguments& arguments,
                                     const SqlEvaluation& evaluation);
arrow::Result<arrow::Datum> LikeKernel(const BoundExpression& node, const Arguments& arguments,
                                       const SqlEvaluation& evaluation);
arrow::Result<arrow::Datum> ArithmeticKernel(const BoundExpression& node, const Arguments& arguments,
                                             const SqlEvaluation& evaluation);
arrow::Result<arrow::Datum> NegateKernel(const BoundExpression& node, const Arguments& arguments,
                                         const SqlEvaluation& evaluation);
arrow::Result<arrow::Datum> ElementKernel(const BoundExpression& node, const Arguments& arguments,
                                          const SqlEvaluation& evaluation);
arrow::Result<arrow::Datum> FieldKernel(const BoundExpression& node, const Arguments& arguments,
                                        const SqlEvaluation& evaluation);

// The type of a op b for decimals; null if its digits do not fit.
std::shared_ptr<arrow::DataType> DecimalResult(char op, const arrow::DataType& a, const arrow::DataType& b);

}  // namespace javelin::query
