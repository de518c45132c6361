// Comparisons and sets. Arrow's kernels where they have the order of sql_order.h, own ones for floats and nested
// values.
#include <arrow/compute/api.h>

#include "javelin/query/sql_kernels_internal.h"
#include "javelin/query/sql_order.h"
#include "javelin/query/sql_values.h"

namespace javelin::query {
namespace {

using arrow::compute::CallFunction;
using ArrayPtr = std::shared_ptr<arrow::Array>;

bool Holds(SqlCompare compare, int sign) {
  switch (compare) {
    case SqlCompare::kEqual: return sign == 0;
    case SqlCompare::kNotEqual: return sign != 0;
    case SqlCompare::kLess: return sign < 0;
    case SqlCompare::kLessEqual: return sign <= 0;
    case SqlCompare::kGreater: return sign > 0;
    case SqlCompare::kGreaterEqual: return sign >= 0;
  }
  return false;
}

const char* ArrowName(SqlCompare compare) {
  switch (compare) {
    case SqlCompare::kEqual: return "equal";
    case SqlCompare::kNotEqual: return "not_equal";
    case SqlCompare::kLess: return "less";
    case SqlCompare::kLessEqual: return "less_equal";
    case SqlCompare::kGreater: return "greater";
    case SqlCompare::kGreaterEqual: return "greater_equal";
  }
  return "";
}

bool NeedsOwnOrder(const arrow::DataType& type) {
  return IsFloat(type) || arrow::is_nested(type.id()) || type.id() == arrow::Type::DURATION;
}

// Floats as integers that sort like them.
template <typename FloatArray, typename Builder>
arrow::Result<ArrayPtr> Keys(const arrow::Array& values, arrow::MemoryPool* pool) {
  const auto& floats = static_cast<const FloatArray&>(values);
  Builder builder(pool);
  ARROW_RETURN_NOT_OK(builder.Reserve(values.length()));
  for (int64_t i = 0; i < values.length(); ++i) {
    if (floats.IsNull(i)) {
      builder.UnsafeAppendNull();
    } else {
      builder.UnsafeAppend(OrderKey(floats.Value(i)));
    }
  }
  return builder.Finish();
}

arrow::Result<arrow::Datum> OrderKeys(const arrow::Datum& value, const SqlEvaluation& evaluation) {
  return OverArrays({value}, evaluation, [&](const std::vector<ArrayPtr>& arrays, int64_t) {
    return arrays[0]->type_id() == arrow::Type::FLOAT
               ? Keys<arrow::FloatArray, arrow::Int32Builder>(*arrays[0], evaluation.pool())
               : Keys<arrow::DoubleArray, arrow::Int64Builder>(*arrays[0], evaluation.pool());
  });
}

}  // namespace

arrow::Result<arrow::Datum> CompareKernel(const BoundExpression& node, const Arguments& arguments,
                                          const SqlEvaluation& evaluation) {
  const arrow::DataType& type = *arguments[0].type();
  if (IsNull(type)) return arrow::Datum(arrow::MakeNullScalar(arrow::boolean()));
  if (IsFloat(type)) {
    ARROW_ASSIGN_OR_RAISE(const arrow::Datum left, OrderKeys(arguments[0], evaluation));
    ARROW_ASSIGN_OR_RAISE(const arrow::Datum right, OrderKeys(arguments[1], evaluation));
    return CallFunction(ArrowName(node.compare), {left, right}, evaluation.exec);
  }
  if (!NeedsOwnOrder(type)) return CallFunction(ArrowName(node.compare), arguments, evaluation.exec);
  return OverArrays(
      arguments, evaluation, [&](const std::vector<ArrayPtr>& arrays, int64_t rows) -> arrow::Result<ArrayPtr> {
        ARROW_ASSIGN_OR_RAISE(const RowOrder order, MakeRowOrder(*arrays[0], *arrays[1]));
        return BuildRows<arrow::BooleanBuilder>(arrow::boolean(), arrays, rows, evaluation.pool(),
                                                [&](arrow::BooleanBuilder& builder, int64_t row) {
                                                  return builder.Append(Holds(node.compare, order(row, row)));
                                                });
      });
}

arrow::Result<arrow::Datum> DistinctKernel(const BoundExpression& node, const Arguments& arguments,
                                           const SqlEvaluation& evaluation) {
  return OverArrays(arguments, evaluation,
                    [&](const std::vector<ArrayPtr>& arrays, int64_t rows) -> arrow::Result<ArrayPtr> {
                      ARROW_ASSIGN_OR_RAISE(const RowOrder order, MakeRowOrder(*arrays[0], *arrays[1]));
                      arrow::BooleanBuilder builder(evaluation.pool());
                      ARROW_RETURN_NOT_OK(builder.Reserve(rows));
                      for (int64_t row = 0; row < rows; ++row) {
                        const bool x = arrays[0]->IsNull(row), y = arrays[1]->IsNull(row);
                        const bool distinct = x || y ? x != y : order(row, row) != 0;
                        builder.UnsafeAppend(distinct != node.negated);
                      }
                      return builder.Finish();
                    });
}

// true: among the values; null: the value is null, or it is not among them and a null is; false: else.
arrow::Result<arrow::Datum> InKernel(const BoundExpression& node, const Arguments& arguments,
                                     const SqlEvaluation& evaluation) {
  arrow::Datum value = arguments[0], values = node.values;
  if (IsFloat(*value.type())) {
    ARROW_ASSIGN_OR_RAISE(value, OrderKeys(value, evaluation));
    ARROW_ASSIGN_OR_RAISE(values, OrderKeys(node.values, evaluation));
  }
  return OverArrays(
      {value}, evaluation, [&](const std::vector<ArrayPtr>& arrays, int64_t rows) -> arrow::Result<ArrayPtr> {
        const arrow::compute::SetLookupOptions options(values, arrow::compute::SetLookupOptions::SKIP);
        ARROW_ASSIGN_OR_RAISE(const arrow::Datum found, CallFunction("is_in", {arrays[0]}, &options, evaluation.exec));
        const auto in = std::static_pointer_cast<arrow::BooleanArray>(found.make_array());
        arrow::BooleanBuilder builder(evaluation.pool());
        ARROW_RETURN_NOT_OK(builder.Reserve(rows));
        for (int64_t row = 0; row < rows; ++row) {
          const bool there = in->IsValid(row) && in->Value(row);
          if (arrays[0]->IsNull(row) || (!there && node.null_among)) {
            builder.UnsafeAppendNull();
          } else {
            builder.UnsafeAppend(there != node.negated);
          }
        }
        return builder.Finish();
      });
}

}  // namespace javelin::query
