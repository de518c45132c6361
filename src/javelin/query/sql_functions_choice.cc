// Functions that choose among their arguments.
#include "javelin/query/sql_functions_internal.h"
#include "javelin/query/sql_order.h"

namespace javelin::query {
namespace {

using Node = const BoundExpression&;
using Evaluation = const SqlEvaluation&;

arrow::Result<arrow::Datum> Coalesce(Node, const Arguments& arguments, Evaluation evaluation) {
  if (arguments.size() == 1) return arguments[0];
  return CallFunction("coalesce", arguments, evaluation.exec);
}

// The first unless both are equal.
arrow::Result<arrow::Datum> NullIf(Node node, const Arguments& arguments, Evaluation evaluation) {
  ARROW_ASSIGN_OR_RAISE(const arrow::Datum equal, CompareKernel(node, arguments, evaluation));
  ARROW_ASSIGN_OR_RAISE(const arrow::Datum known,
                        CallFunction("coalesce", {equal, arrow::Datum(false)}, evaluation.exec));
  return CallFunction("if_else", {known, arrow::Datum(arrow::MakeNullScalar(node.type)), arguments[0]},
                      evaluation.exec);
}

// Nulls are passed over.
template <int kSign>
arrow::Result<arrow::Datum> Extreme(Node, const Arguments& arguments, Evaluation evaluation) {
  return OverArrays(arguments, evaluation,
                    [&](const std::vector<ArrayPtr>& arrays, int64_t rows) -> arrow::Result<ArrayPtr> {
                      std::vector<std::vector<RowOrder>> orders(arrays.size());
                      for (size_t i = 0; i < arrays.size(); ++i) {
                        for (size_t j = 0; j < i; ++j) {
                          ARROW_ASSIGN_OR_RAISE(orders[i].emplace_back(), MakeRowOrder(*arrays[i], *arrays[j]));
                        }
                      }
                      arrow::Int64Builder builder(evaluation.pool());
                      ARROW_RETURN_NOT_OK(builder.Reserve(rows));
                      for (int64_t row = 0; row < rows; ++row) {
                        size_t best = 0;
                        for (size_t i = 1; i < arrays.size(); ++i) {
                          if (arrays[i]->IsNull(row)) continue;
                          if (arrays[best]->IsNull(row) || orders[i][best](row, row) * kSign > 0) best = i;
                        }
                        builder.UnsafeAppend(static_cast<int64_t>(best));
                      }
                      ARROW_ASSIGN_OR_RAISE(const ArrayPtr which, builder.Finish());
                      Arguments all = {which};
                      all.insert(all.end(), arrays.begin(), arrays.end());
                      ARROW_ASSIGN_OR_RAISE(const arrow::Datum chosen, CallFunction("choose", all, evaluation.exec));
                      return chosen.make_array();
                    });
}

constexpr SqlFunction kFunctions[] = {
    {"coalesce", "ss*", '0', Coalesce}, {"nvl", "ss", '0', Coalesce},         {"ifnull", "ss", '0', Coalesce},
    {"nullif", "ss", '0', NullIf},      {"greatest", "ss*", '0', Extreme<1>}, {"least", "ss*", '0', Extreme<-1>},
};

}  // namespace

std::span<const SqlFunction> ChoiceFunctions() { return kFunctions; }

}  // namespace javelin::query
