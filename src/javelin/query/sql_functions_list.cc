// Functions of lists. In them a null equals a null.
#include <limits>

#include <arrow/array/concatenate.h>

#include "javelin/query/sql_functions_internal.h"
#include "javelin/query/sql_order.h"
#include "javelin/query/sql_types.h"

namespace javelin::query {
namespace {

using Node = const BoundExpression&;
using Evaluation = const SqlEvaluation&;

arrow::Result<arrow::Datum> Length(Node node, const Arguments& arguments, Evaluation evaluation) {
  return OverArrays(arguments, evaluation, [&](const std::vector<ArrayPtr>& arrays, int64_t rows) {
    const Lists lists(*arrays[0]);
    return BuildRows<arrow::UInt64Builder>(node.type, arrays, rows, evaluation.pool(),
                                           [&](arrow::UInt64Builder& builder, int64_t row) {
                                             return builder.Append(static_cast<uint64_t>(lists.Length(row)));
                                           });
  });
}

arrow::Result<arrow::Datum> Empty(Node node, const Arguments& arguments, Evaluation evaluation) {
  return OverArrays(arguments, evaluation, [&](const std::vector<ArrayPtr>& arrays, int64_t rows) {
    const Lists lists(*arrays[0]);
    return BuildRows<arrow::BooleanBuilder>(
        node.type, arrays, rows, evaluation.pool(),
        [&](arrow::BooleanBuilder& builder, int64_t row) { return builder.Append(lists.Length(row) == 0); });
  });
}

// Where in the list of a row the value is, from 0; -1 if it is not there.
int64_t Find(const Lists& lists, int64_t row, const RowOrder& order, const arrow::Array& values, int64_t value) {
  const bool null = values.IsNull(value);
  for (int64_t i = 0; i < lists.Length(row); ++i) {
    const int64_t item = lists.Begin(row) + i;
    if (lists.items()->IsNull(item) ? null : !null && order(item, value) == 0) return i;
  }
  return -1;
}

arrow::Result<arrow::Datum> Has(Node node, const Arguments& arguments, Evaluation evaluation) {
  return OverArrays(arguments, evaluation,
                    [&](const std::vector<ArrayPtr>& arrays, int64_t rows) -> arrow::Result<ArrayPtr> {
                      const Lists lists(*arrays[0]);
                      ARROW_ASSIGN_OR_RAISE(const RowOrder order, MakeRowOrder(*lists.items(), *arrays[1]));
                      return BuildRows<arrow::BooleanBuilder>(
                          node.type, arrays, rows, evaluation.pool(), [&](arrow::BooleanBuilder& builder, int64_t row) {
                            return builder.Append(Find(lists, row, order, *arrays[1], row) >= 0);
                          });
                    });
}

arrow::Result<arrow::Datum> Position(Node node, const Arguments& arguments, Evaluation evaluation) {
  return OverArrays(
      arguments, evaluation, [&](const std::vector<ArrayPtr>& arrays, int64_t rows) -> arrow::Result<ArrayPtr> {
        const Lists lists(*arrays[0]);
        ARROW_ASSIGN_OR_RAISE(const RowOrder order, MakeRowOrder(*lists.items(), *arrays[1]));
        return BuildRows<arrow::UInt64Builder>(
            node.type, {arrays[0]}, rows, evaluation.pool(), [&](arrow::UInt64Builder& builder, int64_t row) {
              const int64_t at = Find(lists, row, order, *arrays[1], row);
              return at < 0 ? builder.AppendNull() : builder.Append(static_cast<uint64_t>(at) + 1);
            });
      });
}

// Whether any / all of the second list are in the first.
template <bool kAll>
arrow::Result<arrow::Datum> HasMany(Node node, const Arguments& arguments, Evaluation evaluation) {
  return OverArrays(arguments, evaluation,
                    [&](const std::vector<ArrayPtr>& arrays, int64_t rows) -> arrow::Result<ArrayPtr> {
                      const Lists lists(*arrays[0]), wanted(*arrays[1]);
                      ARROW_ASSIGN_OR_RAISE(const RowOrder order, MakeRowOrder(*lists.items(), *wanted.items()));
                      return BuildRows<arrow::BooleanBuilder>(
                          node.type, arrays, rows, evaluation.pool(), [&](arrow::BooleanBuilder& builder, int64_t row) {
                            for (int64_t i = 0; i < wanted.Length(row); ++i) {
                              const bool there = Find(lists, row, order, *wanted.items(), wanted.Begin(row) + i) >= 0;
                              if (there != kAll) return builder.Append(there);
                            }
                            return builder.Append(kAll);
                          });
                    });
}

template <int kSign>
arrow::Result<arrow::Datum> Extreme(Node, const Arguments& arguments, Evaluation evaluation) {
  return OverArrays(
      arguments, evaluation, [&](const std::vector<ArrayPtr>& arrays, int64_t rows) -> arrow::Result<ArrayPtr> {
        const Lists lists(*arrays[0]);
        const arrow::Array& items = *lists.items();
        ARROW_ASSIGN_OR_RAISE(const RowOrder order, MakeRowOrder(items, items));
        ARROW_ASSIGN_OR_RAISE(const ArrayPtr best,
                              BuildRows<arrow::Int64Builder>(arrow::int64(), arrays, rows, evaluation.pool(),
                                                             [&](arrow::Int64Builder& builder, int64_t row) {
                                                               int64_t found = -1;
                                                               for (int64_t i = 0; i < lists.Length(row); ++i) {
                                                                 const int64_t item = lists.Begin(row) + i;
                                                                 if (items.IsNull(item)) continue;
                                                                 if (found < 0 || order(item, found) * kSign > 0)
                                                                   found = item;
                                                               }
                                                               return found < 0 ? builder.AppendNull()
                                                                                : builder.Append(found);
                                                             }));
        ARROW_ASSIGN_OR_RAISE(
            const arrow::Datum taken,
            arrow::compute::Take(lists.items(), best, arrow::compute::TakeOptions::NoBoundsCheck(), evaluation.exec));
        return taken.make_array();
      });
}

// Row by row the arguments: their arrays end to end, then taken crosswise.
arrow::Result<arrow::Datum> Make(Node node, const Arguments& arguments, Evaluation evaluation) {
  if (arguments.empty()) {
    ARROW_ASSIGN_OR_RAISE(const ArrayPtr none, arrow::MakeArrayOfNull(arrow::null(), 0, evaluation.pool()));
    return arrow::Datum(std::make_shared<arrow::ListScalar>(none, node.type));
  }
  return OverArrays(
      arguments, evaluation, [&](const std::vector<ArrayPtr>& arrays, int64_t rows) -> arrow::Result<ArrayPtr> {
        const auto width = static_cast<int64_t>(arrays.size());
        ARROW_ASSIGN_OR_RAISE(const ArrayPtr all, arrow::Concatenate(arrays, evaluation.pool()));
        arrow::Int64Builder order(evaluation.pool());
        arrow::Int32Builder offsets(evaluation.pool());
        if (rows * width > std::numeric_limits<int32_t>::max())
          return arrow::Status::Invalid("too many elements in a batch");
        for (int64_t row = 0; row < rows; ++row) {
          ARROW_RETURN_NOT_OK(offsets.Append(static_cast<int32_t>(row * width)));
          for (int64_t i = 0; i < width; ++i) ARROW_RETURN_NOT_OK(order.Append(i * rows + row));
        }
        ARROW_RETURN_NOT_OK(offsets.Append(static_cast<int32_t>(rows * width)));
        ARROW_ASSIGN_OR_RAISE(const ArrayPtr crosswise, order.Finish());
        ARROW_ASSIGN_OR_RAISE(const ArrayPtr bounds, offsets.Finish());
        ARROW_ASSIGN_OR_RAISE(
            const arrow::Datum items,
            arrow::compute::Take(all, crosswise, arrow::compute::TakeOptions::NoBoundsCheck(), evaluation.exec));
        return arrow::ListArray::FromArrays(node.type, *bounds, *items.make_array(), evaluation.pool());
      });
}

constexpr SqlFunction kFunctions[] = {
    {"array_length", "l", 'U', Length},
    {"list_length", "l", 'U', Length},
    {"cardinality", "l", 'U', Length},
    {"empty", "l", 'B', Empty},
    {"array_has", "le", 'B', Has},
    {"array_contains", "le", 'B', Has},
    {"list_has", "le", 'B', Has},
    {"list_contains", "le", 'B', Has},
    {"array_has_any", "lm", 'B', HasMany<false>},
    {"list_has_any", "lm", 'B', HasMany<false>},
    {"arrays_overlap", "lm", 'B', HasMany<false>},
    {"array_has_all", "lm", 'B', HasMany<true>},
    {"list_has_all", "lm", 'B', HasMany<true>},
    {"array_position", "le", 'U', Position},
    {"list_position", "le", 'U', Position},
    {"array_max", "l", 'E', Extreme<1>},
    {"array_min", "l", 'E', Extreme<-1>},
    {"make_array", "?ss*", 'L', Make},
    {"make_list", "?ss*", 'L', Make},
};

}  // namespace

std::span<const SqlFunction> ListFunctions() { return kFunctions; }

}  // namespace javelin::query
