#include "javelin/query/sql_cast.h"

#include <cmath>

#include <arrow/array/concatenate.h>
#include <arrow/compute/api.h>

#include "javelin/query/sql_coerce.h"
#include "javelin/query/sql_time.h"
#include "javelin/query/sql_types.h"
#include "javelin/query/sql_values.h"

namespace javelin::query {
namespace {

using arrow::compute::CallFunction;
using ArrayPtr = std::shared_ptr<arrow::Array>;
using TypePtr = std::shared_ptr<arrow::DataType>;

arrow::Result<arrow::Datum> ArrowCast(const arrow::Datum& value, const TypePtr& to, const SqlEvaluation& evaluation) {
  arrow::compute::CastOptions options = arrow::compute::CastOptions::Safe(to);
  options.allow_time_truncate = true;
  // Decimals lose what is behind the point only on the way to whole numbers.
  options.allow_decimal_truncate = IsDecimal(*value.type()) && arrow::is_integer(to->id());
  options.allow_float_truncate = arrow::is_integer(value.type()->id());  // large integers become the nearest float
  return arrow::compute::Cast(value, options, evaluation.exec);
}

// Whole numbers from floats: what is behind the point goes; what does not fit is an error, which Arrow does not see.
template <typename Float, typename Integer>
arrow::Result<ArrayPtr> Truncate(const arrow::Array& values, arrow::MemoryPool* pool) {
  using IntegerType = typename arrow::CTypeTraits<Integer>::ArrowType;
  const auto& floats = static_cast<const arrow::NumericArray<typename arrow::CTypeTraits<Float>::ArrowType>&>(values);
  arrow::NumericBuilder<IntegerType> builder(pool);
  ARROW_RETURN_NOT_OK(builder.Reserve(values.length()));
  const double low = static_cast<double>(std::numeric_limits<Integer>::min());
  const double end = std::ldexp(1.0, std::numeric_limits<Integer>::digits);
  for (int64_t i = 0; i < values.length(); ++i) {
    if (floats.IsNull(i)) {
      builder.UnsafeAppendNull();
      continue;
    }
    const double whole = std::trunc(static_cast<double>(floats.Value(i)));
    if (!(whole >= low && whole < end)) {
      return arrow::Status::Invalid(fmt::format("{} is no value of {}", floats.Value(i), IntegerType().ToString()));
    }
    builder.UnsafeAppend(static_cast<Integer>(whole));
  }
  return builder.Finish();
}

template <typename Float>
arrow::Result<ArrayPtr> TruncateTo(const arrow::Array& values, const arrow::DataType& to, arrow::MemoryPool* pool) {
  switch (to.id()) {
    case arrow::Type::INT8: return Truncate<Float, int8_t>(values, pool);
    case arrow::Type::INT16: return Truncate<Float, int16_t>(values, pool);
    case arrow::Type::INT32: return Truncate<Float, int32_t>(values, pool);
    case arrow::Type::INT64: return Truncate<Float, int64_t>(values, pool);
    case arrow::Type::UINT8: return Truncate<Float, uint8_t>(values, pool);
    case arrow::Type::UINT16: return Truncate<Float, uint16_t>(values, pool);
    case arrow::Type::UINT32: return Truncate<Float, uint32_t>(values, pool);
    default: return Truncate<Float, uint64_t>(values, pool);
  }
}

template <typename Float>
std::string FloatText(Float value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  std::string text = fmt::format("{}", value);
  const size_t exponent = text.find('e');
  if (exponent == std::string::npos) return text.find('.') == std::string::npos ? text + ".0" : text;
  // 1e+16 -> 1e16, 1.5e-07 -> 1.5e-7; the fifth place behind the point is still written out, as in the peer.
  std::string digits = text.substr(exponent + 1);
  const bool small = digits[0] == '-';
  digits.erase(0, digits.find_first_not_of("+-0"));
  const std::string mantissa = text.substr(0, exponent);
  if (!small || digits != "5") return mantissa + (small ? "e-" : "e") + digits;
  const bool negative = mantissa[0] == '-';
  std::string places = mantissa.substr(negative ? 1 : 0);
  std::erase(places, '.');
  return (negative ? "-0.0000" : "0.0000") + places;
}

arrow::Result<ArrayPtr> ToText(const arrow::Array& values, const TypePtr& to, arrow::MemoryPool* pool) {
  arrow::StringBuilder builder(pool);
  for (int64_t i = 0; i < values.length(); ++i) {
    if (values.IsNull(i)) {
      ARROW_RETURN_NOT_OK(builder.AppendNull());
    } else if (values.type_id() == arrow::Type::FLOAT) {
      ARROW_RETURN_NOT_OK(builder.Append(FloatText(static_cast<const arrow::FloatArray&>(values).Value(i))));
    } else if (values.type_id() == arrow::Type::DOUBLE) {
      ARROW_RETURN_NOT_OK(builder.Append(FloatText(static_cast<const arrow::DoubleArray&>(values).Value(i))));
    } else {
      const auto& type = static_cast<const arrow::TimestampType&>(*values.type());
      std::string text = FormatTimestamp(static_cast<const arrow::TimestampArray&>(values).Value(i), type.unit());
      ARROW_RETURN_NOT_OK(builder.Append(type.timezone().empty() ? text : text + "Z"));
    }
  }
  ARROW_ASSIGN_OR_RAISE(ArrayPtr text, builder.Finish());
  if (to->id() == arrow::Type::STRING) return text;
  return arrow::compute::Cast(*text, to);
}

arrow::Result<ArrayPtr> ToTimestamp(const arrow::Array& values, const TypePtr& to, arrow::MemoryPool* pool) {
  const Bytes texts(values);
  const auto unit = static_cast<const arrow::TimestampType&>(*to).unit();
  arrow::TimestampBuilder builder(to, pool);
  ARROW_RETURN_NOT_OK(builder.Reserve(values.length()));
  for (int64_t i = 0; i < values.length(); ++i) {
    if (texts.IsNull(i)) {
      builder.UnsafeAppendNull();
      continue;
    }
    const auto value = ParseTimestamp(texts[i], unit);
    if (!value) return arrow::Status::Invalid(fmt::format("'{}' is no {}", texts[i], to->ToString()));
    builder.UnsafeAppend(*value);
  }
  return builder.Finish();
}

arrow::Result<ArrayPtr> ToDate(const arrow::Array& values, arrow::MemoryPool* pool) {
  const Bytes texts(values);
  arrow::Date32Builder builder(pool);
  for (int64_t i = 0; i < values.length(); ++i) {
    if (texts.IsNull(i)) {
      ARROW_RETURN_NOT_OK(builder.AppendNull());
      continue;
    }
    const auto days = ParseTimestamp(texts[i], arrow::TimeUnit::SECOND);
    if (!days) return arrow::Status::Invalid(fmt::format("'{}' is no date", texts[i]));
    const int64_t floor = *days >= 0 ? *days / 86'400 : -((86'399 - *days) / 86'400);
    ARROW_RETURN_NOT_OK(builder.Append(static_cast<int32_t>(floor)));
  }
  return builder.Finish();
}

// A moment without a zone is local in the zone that it gets; one that loses its zone is what it was in Greenwich. Both
// sides have one unit.
arrow::Result<arrow::Datum> ChangeZone(const arrow::Datum& value, const arrow::TimestampType& from,
                                       const arrow::TimestampType& to, const SqlEvaluation& evaluation) {
  if (from.timezone().empty() && !to.timezone().empty()) {
    if (to.timezone() == "UTC") return ArrowCast(value, arrow::timestamp(to.unit(), "UTC"), evaluation);
    return CallFunction("assume_timezone", {value},
                        std::make_unique<arrow::compute::AssumeTimezoneOptions>(to.timezone()).get(), evaluation.exec);
  }
  return ArrowCast(value, arrow::timestamp(to.unit(), to.timezone()), evaluation);
}

arrow::Result<arrow::Datum> RoundDecimal(const arrow::Datum& value, const TypePtr& to,
                                         const SqlEvaluation& evaluation) {
  const auto& target = static_cast<const arrow::DecimalType&>(*to);
  const auto& source = static_cast<const arrow::DecimalType&>(*value.type());
  arrow::Datum rounded = value;
  if (target.scale() < source.scale()) {
    // One digit more in front: 9.99 -> 10.0.
    const int precision = std::min(source.precision() + 1, source.id() == arrow::Type::DECIMAL256 ? 76 : 38);
    const TypePtr room = source.id() == arrow::Type::DECIMAL256 ? arrow::decimal256(precision, source.scale())
                                                                : arrow::decimal128(precision, source.scale());
    ARROW_ASSIGN_OR_RAISE(rounded, ArrowCast(value, room, evaluation));
    const arrow::compute::RoundOptions options(target.scale(), arrow::compute::RoundMode::HALF_TOWARDS_INFINITY);
    ARROW_ASSIGN_OR_RAISE(rounded, CallFunction("round", {rounded}, &options, evaluation.exec));
  }
  return ArrowCast(rounded, to, evaluation);
}

arrow::Result<arrow::Datum> OwnArrays(const arrow::Datum& value, const SqlEvaluation& evaluation,
                                      const std::function<arrow::Result<ArrayPtr>(const arrow::Array&)>& body) {
  return OverArrays({value}, evaluation,
                    [&](const std::vector<ArrayPtr>& arrays, int64_t) { return body(*arrays[0]); });
}

arrow::Result<arrow::Datum> Once(const arrow::Datum& value, const TypePtr& to, const SqlEvaluation& evaluation) {
  const TypePtr from = value.type();
  arrow::MemoryPool* pool = evaluation.pool();
  if (from->Equals(*to)) return value;
  if (IsFloat(*from) && arrow::is_integer(to->id())) {
    return OwnArrays(value, evaluation, [&](const arrow::Array& array) {
      return from->id() == arrow::Type::FLOAT ? TruncateTo<float>(array, *to, pool)
                                              : TruncateTo<double>(array, *to, pool);
    });
  }
  if (IsText(*to) && (IsFloat(*from) || from->id() == arrow::Type::TIMESTAMP)) {
    return OwnArrays(value, evaluation, [&](const arrow::Array& array) { return ToText(array, to, pool); });
  }
  if (IsText(*from) && to->id() == arrow::Type::TIMESTAMP) {
    return OwnArrays(value, evaluation, [&](const arrow::Array& array) { return ToTimestamp(array, to, pool); });
  }
  if (IsText(*from) && IsDate(*to)) {
    ARROW_ASSIGN_OR_RAISE(const arrow::Datum days,
                          OwnArrays(value, evaluation, [&](const arrow::Array& array) { return ToDate(array, pool); }));
    return ArrowCast(days, to, evaluation);
  }
  if (from->id() == arrow::Type::TIMESTAMP && to->id() == arrow::Type::TIMESTAMP) {
    const auto& source = static_cast<const arrow::TimestampType&>(*from);
    const auto& target = static_cast<const arrow::TimestampType&>(*to);
    if (source.timezone() == target.timezone()) return ArrowCast(value, to, evaluation);
    ARROW_ASSIGN_OR_RAISE(const arrow::Datum same_unit,
                          ArrowCast(value, arrow::timestamp(target.unit(), source.timezone()), evaluation));
    return ChangeZone(same_unit, source, target, evaluation);
  }
  if (IsDate(*from) && to->id() == arrow::Type::TIMESTAMP) {
    const auto& target = static_cast<const arrow::TimestampType&>(*to);
    // Midnight in Greenwich, whatever the zone: so has it the peer.
    ARROW_ASSIGN_OR_RAISE(const arrow::Datum midnight, ArrowCast(value, arrow::timestamp(target.unit()), evaluation));
    return target.timezone().empty() ? arrow::Result<arrow::Datum>(midnight) : ArrowCast(midnight, to, evaluation);
  }
  if (IsDecimal(*from) && IsDecimal(*to)) return RoundDecimal(value, to, evaluation);
  if (arrow::is_integer(from->id()) && IsDecimal(*to)) {
    ARROW_ASSIGN_OR_RAISE(const arrow::Datum whole, ArrowCast(value, DecimalOfInteger(*from), evaluation));
    return RoundDecimal(whole, to, evaluation);
  }
  if (from->id() == arrow::Type::BOOL && to->id() == arrow::Type::BOOL) return value;
  if (IsDate(*to) && arrow::is_integer(from->id())) {
    ARROW_ASSIGN_OR_RAISE(const arrow::Datum days, ArrowCast(value, arrow::int32(), evaluation));
    ARROW_ASSIGN_OR_RAISE(const arrow::Datum dates, ArrowCast(days, arrow::date32(), evaluation));
    return ArrowCast(dates, to, evaluation);
  }
  if (to->id() == arrow::Type::TIME32 && arrow::is_integer(from->id()) && from->id() != arrow::Type::INT32) {
    ARROW_ASSIGN_OR_RAISE(const arrow::Datum narrow, ArrowCast(value, arrow::int32(), evaluation));
    return ArrowCast(narrow, to, evaluation);
  }
  if ((to->id() == arrow::Type::TIMESTAMP || to->id() == arrow::Type::TIME64) && arrow::is_integer(from->id()) &&
      from->id() != arrow::Type::INT64) {
    ARROW_ASSIGN_OR_RAISE(const arrow::Datum wide, ArrowCast(value, arrow::int64(), evaluation));
    return ArrowCast(wide, to, evaluation);
  }
  if (to->id() == arrow::Type::DURATION || from->id() == arrow::Type::DURATION) {
    if (to->id() == from->id()) return ArrowCast(value, to, evaluation);
    // The same 64 bits under another type.
    const bool reads = from->id() == arrow::Type::DURATION;
    arrow::Datum wide = value;
    if (!reads) {
      ARROW_ASSIGN_OR_RAISE(wide, ArrowCast(value, arrow::int64(), evaluation));
    }
    ARROW_ASSIGN_OR_RAISE(const arrow::Datum viewed, OwnArrays(wide, evaluation, [&](const arrow::Array& array) {
                            return array.View(reads ? arrow::int64() : to);
                          }));
    return reads ? ArrowCast(viewed, to, evaluation) : arrow::Result<arrow::Datum>(viewed);
  }
  return ArrowCast(value, to, evaluation);
}

// Halves what fails until single rows fail alone: those are null.
arrow::Result<ArrayPtr> Bisect(const ArrayPtr& values, const TypePtr& to, const SqlEvaluation& evaluation) {
  const SqlEvaluation part{values->length(), evaluation.exec};
  const auto whole = Once(values, to, part);
  if (whole.ok()) return AsArray(*whole, values->length(), evaluation.pool());
  if (!whole.status().IsInvalid()) return whole.status();
  if (values->length() <= 1) return arrow::MakeArrayOfNull(to, values->length(), evaluation.pool());
  const int64_t middle = values->length() / 2;
  ARROW_ASSIGN_OR_RAISE(const ArrayPtr left, Bisect(values->Slice(0, middle), to, evaluation));
  ARROW_ASSIGN_OR_RAISE(const ArrayPtr right, Bisect(values->Slice(middle), to, evaluation));
  return arrow::Concatenate({left, right}, evaluation.pool());
}

}  // namespace

bool CanSqlCast(const arrow::DataType& from, const arrow::DataType& to) {
  using arrow::Type;
  if (from.Equals(to) || IsNull(from)) return true;
  const auto timed = [](const arrow::DataType& type) {
    return arrow::is_temporal(type.id()) || type.id() == Type::DURATION;
  };
  const auto plain = [&](const arrow::DataType& type) {
    return IsNumber(type) || IsText(type) || type.id() == Type::BOOL || timed(type) || IsBinary(type) ||
           type.id() == Type::FIXED_SIZE_BINARY;
  };
  if (IsList(from) && IsList(to)) return CanSqlCast(*from.field(0)->type(), *to.field(0)->type());
  if (!plain(from) || !plain(to)) return false;
  if (IsText(to) && from.id() == Type::TIMESTAMP) {
    const std::string& zone = static_cast<const arrow::TimestampType&>(from).timezone();
    return zone.empty() || zone == "UTC";
  }
  const bool bytes = IsBinary(from) || from.id() == Type::FIXED_SIZE_BINARY;
  if (bytes) return IsBinary(to) || IsText(to) || to.id() == Type::FIXED_SIZE_BINARY;
  if (to.id() == Type::FIXED_SIZE_BINARY) return false;
  if (IsBinary(to)) return IsText(from);
  if (IsText(from) || IsText(to)) return true;
  if (from.id() == Type::BOOL || to.id() == Type::BOOL) {
    const arrow::DataType& other = from.id() == Type::BOOL ? to : from;
    return arrow::is_integer(other.id()) || IsFloat(other) || other.id() == Type::BOOL;
  }
  if (IsNumber(from) && IsNumber(to)) return true;
  if (arrow::is_temporal(from.id()) && arrow::is_temporal(to.id())) {
    const auto moment = [](const arrow::DataType& type) { return IsDate(type) || type.id() == Type::TIMESTAMP; };
    if (moment(from) && moment(to)) return true;
    return from.id() == to.id() || (arrow::is_time(from.id()) && arrow::is_time(to.id()));
  }
  if (from.id() == Type::DURATION && to.id() == Type::DURATION) return true;
  // A moment as the whole number behind it.
  const bool to_number = arrow::is_integer(to.id()), from_number = arrow::is_integer(from.id());
  return (from_number && timed(to)) || (to_number && timed(from));
}

arrow::Result<arrow::Datum> SqlCast(const arrow::Datum& value, const TypePtr& to, bool try_cast,
                                    const SqlEvaluation& evaluation) {
  if (IsNull(*value.type())) return arrow::Datum(arrow::MakeNullScalar(to));
  if (!try_cast) return Once(value, to, evaluation);
  return OwnArrays(value, evaluation,
                   [&](const arrow::Array& array) { return Bisect(array.Slice(0), to, evaluation); });
}

}  // namespace javelin::query
