// Elements of lists and fields of structs.
#include <arrow/compute/api.h>

#include "javelin/query/sql_kernels_internal.h"
#include "javelin/query/sql_values.h"

namespace javelin::query {

using ArrayPtr = std::shared_ptr<arrow::Array>;

arrow::Result<arrow::Datum> ElementKernel(const BoundExpression& node, const Arguments& arguments,
                                          const SqlEvaluation& evaluation) {
  return OverArrays(
      arguments, evaluation, [&](const std::vector<ArrayPtr>& arrays, int64_t rows) -> arrow::Result<ArrayPtr> {
        const Lists lists(*arrays[0]);
        const auto& positions = static_cast<const arrow::Int64Array&>(*arrays[1]);
        arrow::Int64Builder builder(evaluation.pool());
        ARROW_RETURN_NOT_OK(builder.Reserve(rows));
        for (int64_t row = 0; row < rows; ++row) {
          if (lists.IsNull(row) || positions.IsNull(row)) {
            builder.UnsafeAppendNull();
            continue;
          }
          const int64_t position = positions.Value(row), length = lists.Length(row);
          const int64_t offset = position > 0 ? position - 1 : position < 0 ? length + position : -1;
          if (offset < 0 || offset >= length) {
            builder.UnsafeAppendNull();
          } else {
            builder.UnsafeAppend(lists.Begin(row) + offset);
          }
        }
        ARROW_ASSIGN_OR_RAISE(const ArrayPtr indices, builder.Finish());
        ARROW_ASSIGN_OR_RAISE(const arrow::Datum taken,
                              arrow::compute::Take(lists.items(), indices, arrow::compute::TakeOptions::NoBoundsCheck(),
                                                   evaluation.exec));
        return taken.make_array();
      });
}

arrow::Result<arrow::Datum> FieldKernel(const BoundExpression& node, const Arguments& arguments,
                                        const SqlEvaluation& evaluation) {
  return OverArrays(
      arguments, evaluation, [&](const std::vector<ArrayPtr>& arrays, int64_t) -> arrow::Result<ArrayPtr> {
        const auto& structs = static_cast<const arrow::StructArray&>(*arrays[0]);
        return structs.GetFlattenedField(structs.struct_type()->GetFieldIndex(node.text), evaluation.pool());
      });
}

}  // namespace javelin::query
