// Functions of numbers.
#include <cmath>

#include "javelin/query/sql_functions_internal.h"
#include "javelin/query/sql_types.h"

namespace javelin::query {
namespace {

using Node = const BoundExpression&;
using Evaluation = const SqlEvaluation&;

template <double (*Of)(double)>
arrow::Result<arrow::Datum> Mapped(Node node, const Arguments& arguments, Evaluation evaluation) {
  return OverArrays(arguments, evaluation, [&](const std::vector<ArrayPtr>& arrays, int64_t rows) {
    const auto& values = static_cast<const arrow::DoubleArray&>(*arrays[0]);
    return BuildRows<arrow::DoubleBuilder>(
        node.type, arrays, rows, evaluation.pool(),
        [&](arrow::DoubleBuilder& builder, int64_t row) { return builder.Append(Of(values.Value(row))); });
  });
}

template <double (*Of)(double, double)>
arrow::Result<arrow::Datum> Mapped2(Node node, const Arguments& arguments, Evaluation evaluation) {
  return OverArrays(arguments, evaluation, [&](const std::vector<ArrayPtr>& arrays, int64_t rows) {
    const auto& left = static_cast<const arrow::DoubleArray&>(*arrays[0]);
    const auto& right = static_cast<const arrow::DoubleArray&>(*arrays[1]);
    return BuildRows<arrow::DoubleBuilder>(node.type, arrays, rows, evaluation.pool(),
                                           [&](arrow::DoubleBuilder& builder, int64_t row) {
                                             return builder.Append(Of(left.Value(row), right.Value(row)));
                                           });
  });
}

double SignOf(double value) { return value > 0 ? 1 : value < 0 ? -1 : value; }
double LogOf(double base, double value) { return std::log(value) / std::log(base); }
double NanOr(double value, double other) { return std::isnan(value) ? other : value; }

template <bool (*Of)(double)>
arrow::Result<arrow::Datum> Tested(Node, const Arguments& arguments, Evaluation evaluation) {
  return OverArrays(arguments, evaluation, [&](const std::vector<ArrayPtr>& arrays, int64_t rows) {
    const auto& values = static_cast<const arrow::DoubleArray&>(*arrays[0]);
    return BuildRows<arrow::BooleanBuilder>(
        arrow::boolean(), arrays, rows, evaluation.pool(),
        [&](arrow::BooleanBuilder& builder, int64_t row) { return builder.Append(Of(values.Value(row))); });
  });
}
bool IsNan(double value) { return std::isnan(value); }
bool IsZero(double value) { return value == 0; }

// One base, then the value; with one argument the base is 10.
arrow::Result<arrow::Datum> Log(Node node, const Arguments& arguments, Evaluation evaluation) {
  if (arguments.size() == 1) return Mapped<std::log10>(node, arguments, evaluation);
  return Mapped2<LogOf>(node, arguments, evaluation);
}

arrow::Result<arrow::Datum> Abs(Node, const Arguments& arguments, Evaluation evaluation) {
  const bool checked = arrow::is_integer(arguments[0].type()->id());
  return CallFunction(checked ? "abs_checked" : "abs", arguments, evaluation.exec);
}

double RoundTo(double value, double digits) {
  const double factor = std::pow(10.0, digits);
  const double scaled = value * factor;
  return std::isfinite(scaled) && factor != 0 ? std::round(scaled) / factor : value;
}
double TruncateTo(double value, double digits) {
  const double factor = std::pow(10.0, digits);
  const double scaled = value * factor;
  return std::isfinite(scaled) && factor != 0 ? std::trunc(scaled) / factor : value;
}

arrow::Result<arrow::Datum> Round(Node node, const Arguments& arguments, Evaluation evaluation) {
  if (arguments.size() == 1) return Mapped<std::round>(node, arguments, evaluation);
  return Mapped2<RoundTo>(node, arguments, evaluation);
}
arrow::Result<arrow::Datum> Truncate(Node node, const Arguments& arguments, Evaluation evaluation) {
  if (arguments.size() == 1) return Mapped<std::trunc>(node, arguments, evaluation);
  return Mapped2<TruncateTo>(node, arguments, evaluation);
}

constexpr SqlFunction kFunctions[] = {
    {"abs", "n", '0', Abs},
    {"round", "f?f", 'F', Round},
    {"trunc", "f?f", 'F', Truncate},
    {"sqrt", "f", 'F', Mapped<std::sqrt>},
    {"cbrt", "f", 'F', Mapped<std::cbrt>},
    {"exp", "f", 'F', Mapped<std::exp>},
    {"ln", "f", 'F', Mapped<std::log>},
    {"log2", "f", 'F', Mapped<std::log2>},
    {"log10", "f", 'F', Mapped<std::log10>},
    {"log", "f?f", 'F', Log},
    {"power", "ff", 'F', Mapped2<std::pow>},
    {"pow", "ff", 'F', Mapped2<std::pow>},
    {"signum", "f", 'F', Mapped<SignOf>},
    {"sin", "f", 'F', Mapped<std::sin>},
    {"cos", "f", 'F', Mapped<std::cos>},
    {"tan", "f", 'F', Mapped<std::tan>},
    {"asin", "f", 'F', Mapped<std::asin>},
    {"acos", "f", 'F', Mapped<std::acos>},
    {"atan", "f", 'F', Mapped<std::atan>},
    {"atan2", "ff", 'F', Mapped2<std::atan2>},
    {"isnan", "f", 'B', Tested<IsNan>},
    {"iszero", "f", 'B', Tested<IsZero>},
    {"nanvl", "ff", 'F', Mapped2<NanOr>},
};

}  // namespace

std::span<const SqlFunction> NumberFunctions() { return kFunctions; }

}  // namespace javelin::query
