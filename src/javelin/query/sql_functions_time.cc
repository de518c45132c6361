// Functions of moments. Parts and truncation are local where the moment has a time zone.
#include <arrow/compute/api_scalar.h>

#include "javelin/query/sql_cast.h"
#include "javelin/query/sql_functions_internal.h"
#include "javelin/query/sql_parser_internal.h"
#include "javelin/query/sql_time.h"
#include "javelin/query/sql_types.h"

namespace javelin::query {
namespace {

using Node = const BoundExpression&;
using Evaluation = const SqlEvaluation&;

arrow::Result<arrow::Datum> Cast(const arrow::Datum& value, const std::shared_ptr<arrow::DataType>& type,
                                 Evaluation evaluation) {
  return SqlCast(value, type, false, evaluation);
}

// Dates as midnights, so that every kernel takes them.
arrow::Result<arrow::Datum> AsTimestamp(const arrow::Datum& value, Evaluation evaluation) {
  if (!IsDate(*value.type())) return value;
  return Cast(value, arrow::timestamp(arrow::TimeUnit::MICRO), evaluation);
}

arrow::Result<arrow::Datum> Scaled(const char* kernel, const arrow::Datum& left, int64_t by, Evaluation evaluation) {
  return CallFunction(kernel, {left, arrow::Datum(by)}, evaluation.exec);
}

// Seconds of the minute and their fraction in units of 1/`per_second`.
arrow::Result<arrow::Datum> FineSeconds(const arrow::Datum& moment, int64_t per_second, Evaluation evaluation) {
  ARROW_ASSIGN_OR_RAISE(arrow::Datum total, CallFunction("second", {moment}, evaluation.exec));
  ARROW_ASSIGN_OR_RAISE(total, Scaled("multiply", total, per_second, evaluation));
  const char* kernels[] = {"millisecond", "microsecond", "nanosecond"};
  int64_t unit = 1000;
  for (int i = 0; i < 3 && unit <= per_second; ++i, unit *= 1000) {
    ARROW_ASSIGN_OR_RAISE(arrow::Datum part, CallFunction(kernels[i], {moment}, evaluation.exec));
    ARROW_ASSIGN_OR_RAISE(part, Scaled("multiply", part, per_second / unit, evaluation));
    ARROW_ASSIGN_OR_RAISE(total, CallFunction("add", {total, part}, evaluation.exec));
  }
  return total;
}

arrow::Result<arrow::Datum> Epoch(const arrow::Datum& moment, Evaluation evaluation) {
  const auto unit = static_cast<const arrow::TimestampType&>(*moment.type()).unit();
  ARROW_ASSIGN_OR_RAISE(const arrow::Datum units, Cast(moment, arrow::int64(), evaluation));
  ARROW_ASSIGN_OR_RAISE(const arrow::Datum number, Cast(units, arrow::float64(), evaluation));
  return CallFunction("divide", {number, arrow::Datum(static_cast<double>(UnitsPerSecond(unit)))}, evaluation.exec);
}

arrow::Result<arrow::Datum> DatePart(Node node, const Arguments& arguments, Evaluation evaluation) {
  ARROW_ASSIGN_OR_RAISE(const std::string given, ConstantText(arguments, 0, "the part of date_part"));
  const std::string part = LowerAscii(given);
  ARROW_ASSIGN_OR_RAISE(const arrow::Datum moment, AsTimestamp(arguments[1], evaluation));
  static constexpr std::pair<std::string_view, const char*> kKernels[] = {
      {"year", "year"},     {"quarter", "quarter"}, {"month", "month"}, {"week", "iso_week"},
      {"day", "day"},       {"doy", "day_of_year"}, {"hour", "hour"},   {"minute", "minute"},
      {"second", "second"}, {"isoyear", "iso_year"}};
  arrow::Datum value;
  if (part == "dow" || part == "isodow") {
    // dow: Sunday is 0; isodow: Monday is 1
    const bool iso = part == "isodow";
    const arrow::compute::DayOfWeekOptions options(/*count_from_zero=*/!iso, /*week_start=*/iso ? 1 : 7);
    ARROW_ASSIGN_OR_RAISE(value, CallFunction("day_of_week", {moment}, &options, evaluation.exec));
  } else if (part == "millisecond" || part == "microsecond" || part == "nanosecond") {
    const int64_t per_second = part == "millisecond" ? 1000 : part == "microsecond" ? 1'000'000 : 1'000'000'000;
    ARROW_ASSIGN_OR_RAISE(value, FineSeconds(moment, per_second, evaluation));
  } else if (part == "epoch") {
    ARROW_ASSIGN_OR_RAISE(value, Epoch(moment, evaluation));
  } else {
    const auto* found =
        std::find_if(std::begin(kKernels), std::end(kKernels), [&](const auto& entry) { return entry.first == part; });
    if (found == std::end(kKernels)) {
      return arrow::Status::Invalid(fmt::format(
          "there is no part '{}' of a moment: it is year, isoyear, quarter, month, week, day, doy, dow, isodow, hour, "
          "minute, second, millisecond, microsecond, nanosecond or epoch",
          given));
    }
    ARROW_ASSIGN_OR_RAISE(value, CallFunction(found->second, {moment}, evaluation.exec));
  }
  return Cast(value, node.type, evaluation);
}

arrow::Result<arrow::Datum> DateTrunc(Node node, const Arguments& arguments, Evaluation evaluation) {
  ARROW_ASSIGN_OR_RAISE(const std::string given, ConstantText(arguments, 0, "the unit of date_trunc"));
  using arrow::compute::CalendarUnit;
  static constexpr std::pair<std::string_view, CalendarUnit> kUnits[] = {{"year", CalendarUnit::YEAR},
                                                                         {"quarter", CalendarUnit::QUARTER},
                                                                         {"month", CalendarUnit::MONTH},
                                                                         {"week", CalendarUnit::WEEK},
                                                                         {"day", CalendarUnit::DAY},
                                                                         {"hour", CalendarUnit::HOUR},
                                                                         {"minute", CalendarUnit::MINUTE},
                                                                         {"second", CalendarUnit::SECOND},
                                                                         {"millisecond", CalendarUnit::MILLISECOND},
                                                                         {"microsecond", CalendarUnit::MICROSECOND}};
  ARROW_ASSIGN_OR_RAISE(const arrow::Datum moment, Cast(arguments[1], node.type, evaluation));
  for (const auto& [name, unit] : kUnits) {
    if (name != LowerAscii(given)) continue;
    const arrow::compute::RoundTemporalOptions options(1, unit);
    return CallFunction("floor_temporal", {moment}, &options, evaluation.exec);
  }
  return arrow::Status::Invalid(
      fmt::format("there is no unit '{}': it is year, quarter, month, week, day, hour, minute, second, millisecond or "
                  "microsecond",
                  given));
}

arrow::Result<arrow::Datum> ToDate(Node node, const Arguments& arguments, Evaluation evaluation) {
  return Cast(arguments[0], node.type, evaluation);
}

// Numbers count units of the given kind since 1970; fractions too.
template <int64_t kNanoseconds>
arrow::Result<arrow::Datum> ToTimestamp(Node node, const Arguments& arguments, Evaluation evaluation) {
  const arrow::DataType& type = *arguments[0].type();
  if (!IsNumber(type)) return Cast(arguments[0], node.type, evaluation);
  if (arrow::is_integer(type.id())) {
    ARROW_ASSIGN_OR_RAISE(const arrow::Datum whole, Cast(arguments[0], arrow::int64(), evaluation));
    ARROW_ASSIGN_OR_RAISE(const arrow::Datum units, Scaled("multiply_checked", whole, kNanoseconds, evaluation));
    return Cast(units, node.type, evaluation);
  }
  ARROW_ASSIGN_OR_RAISE(arrow::Datum number, Cast(arguments[0], arrow::float64(), evaluation));
  ARROW_ASSIGN_OR_RAISE(
      number, CallFunction("multiply", {number, arrow::Datum(static_cast<double>(kNanoseconds))}, evaluation.exec));
  ARROW_ASSIGN_OR_RAISE(const arrow::Datum units, Cast(number, arrow::int64(), evaluation));
  return Cast(units, node.type, evaluation);
}

arrow::Result<arrow::Datum> ToUnixTime(Node, const Arguments& arguments, Evaluation evaluation) {
  ARROW_ASSIGN_OR_RAISE(const arrow::Datum moment, AsTimestamp(arguments[0], evaluation));
  const auto unit = static_cast<const arrow::TimestampType&>(*moment.type()).unit();
  ARROW_ASSIGN_OR_RAISE(const arrow::Datum units, Cast(moment, arrow::int64(), evaluation));
  return Scaled("divide", units, UnitsPerSecond(unit), evaluation);
}

arrow::Result<arrow::Datum> MakeDate(Node node, const Arguments& arguments, Evaluation evaluation) {
  return OverArrays(arguments, evaluation, [&](const std::vector<ArrayPtr>& arrays, int64_t rows) {
    const auto part = [&](size_t i, int64_t row) {
      return static_cast<const arrow::Int64Array&>(*arrays[i]).Value(row);
    };
    return BuildRows<arrow::Date32Builder>(
        node.type, arrays, rows, evaluation.pool(), [&](arrow::Date32Builder& builder, int64_t row) {
          const int64_t year = part(0, row), month = part(1, row), day = part(2, row);
          const bool range = year >= -200'000 && year <= 200'000 && month >= 1 && month <= 12 && day >= 1 && day <= 31;
          const int64_t days = range ? DaysOfCivil({year, static_cast<int>(month), static_cast<int>(day)}) : 0;
          if (!range || CivilOfDays(days).day != day) {
            return arrow::Status::Invalid(fmt::format("there is no day {} of month {} in {}", day, month, year));
          }
          return builder.Append(static_cast<int32_t>(days));
        });
  });
}

constexpr SqlFunction kFunctions[] = {
    {"date_part", "td", 'P', DatePart},
    {"datepart", "td", 'P', DatePart},
    {"date_trunc", "td", 'M', DateTrunc},
    {"datetrunc", "td", 'M', DateTrunc},
    {"to_date", "a", 'D', ToDate},
    {"to_timestamp", "a", 'S', ToTimestamp<1'000'000'000>},
    {"to_timestamp_seconds", "a", 'S', ToTimestamp<1'000'000'000>},
    {"to_timestamp_millis", "a", 'S', ToTimestamp<1'000'000>},
    {"to_timestamp_micros", "a", 'S', ToTimestamp<1000>},
    {"to_timestamp_nanos", "a", 'S', ToTimestamp<1>},
    {"from_unixtime", "i", 'S', ToTimestamp<1'000'000'000>},
    {"to_unixtime", "d", 'I', ToUnixTime},
    {"make_date", "iii", 'D', MakeDate},
};

}  // namespace

std::span<const SqlFunction> TimeFunctions() { return kFunctions; }

}  // namespace javelin::query
