#include "javelin/query/sql_coerce.h"

#include <arrow/array.h>
#include <arrow/builder.h>
#include <arrow/compute/api.h>
#include <arrow/util/decimal.h>

#include "javelin/query/sql_types.h"

namespace javelin::query {
namespace {

using TypePtr = std::shared_ptr<arrow::DataType>;
using ScalarPtr = std::shared_ptr<arrow::Scalar>;

ScalarPtr Made(arrow::Result<ScalarPtr> result) { return result.ok() ? *result : nullptr; }

// As decimal, so that one path serves signed and unsigned ones.
arrow::Decimal128 IntegerOf(const arrow::Scalar& literal) {
  return literal.type->id() == arrow::Type::UINT64
             ? arrow::Decimal128(0, static_cast<const arrow::UInt64Scalar&>(literal).value)
             : arrow::Decimal128(static_cast<const arrow::Int64Scalar&>(literal).value);
}

ScalarPtr CoerceInteger(const ScalarPtr& literal, const TypePtr& type) {
  if (arrow::is_integer(type->id())) {
    const auto cast = arrow::compute::Cast(literal, arrow::compute::CastOptions::Safe(type));
    return cast.ok() ? cast->scalar() : nullptr;
  }
  const arrow::Decimal128 value = IntegerOf(*literal);
  if (type->id() == arrow::Type::FLOAT) return std::make_shared<arrow::FloatScalar>(value.ToFloat(0));
  if (type->id() == arrow::Type::DOUBLE) return std::make_shared<arrow::DoubleScalar>(value.ToDouble(0));
  if (!IsDecimal(*type)) return nullptr;
  const auto& decimal = static_cast<const arrow::DecimalType&>(*type);
  auto scaled = arrow::Decimal256(value).Rescale(0, decimal.scale());
  if (!scaled.ok() || !scaled->FitsInPrecision(decimal.precision())) return nullptr;
  if (type->id() == arrow::Type::DECIMAL256) return std::make_shared<arrow::Decimal256Scalar>(*scaled, type);
  const auto words = scaled->little_endian_array();
  return std::make_shared<arrow::Decimal128Scalar>(arrow::Decimal128(static_cast<int64_t>(words[1]), words[0]), type);
}

ScalarPtr CoerceFloat(double value, const TypePtr& type) {
  if (type->id() == arrow::Type::FLOAT) return std::make_shared<arrow::FloatScalar>(static_cast<float>(value));
  if (type->id() == arrow::Type::DOUBLE) return std::make_shared<arrow::DoubleScalar>(value);
  return nullptr;
}

ScalarPtr CoerceBytes(const arrow::BaseBinaryScalar& literal, const TypePtr& type) {
  if (type->id() == arrow::Type::FIXED_SIZE_BINARY) {
    const int width = static_cast<const arrow::FixedSizeBinaryType&>(*type).byte_width();
    if (IsText(*literal.type) || literal.value->size() != width) return nullptr;
    return std::make_shared<arrow::FixedSizeBinaryScalar>(literal.value, type);
  }
  if (IsText(*literal.type) ? !IsText(*type) : !IsBinary(*type)) return nullptr;
  return Made(arrow::MakeScalar(type, literal.value));
}

ScalarPtr CoerceList(const arrow::BaseListScalar& literal, const TypePtr& type) {
  if (!IsList(*type)) return nullptr;
  const TypePtr item_type = type->field(0)->type();
  if (type->id() == arrow::Type::FIXED_SIZE_LIST &&
      static_cast<const arrow::FixedSizeListType&>(*type).list_size() != literal.value->length()) {
    return nullptr;
  }
  arrow::Result<std::unique_ptr<arrow::ArrayBuilder>> builder = arrow::MakeBuilder(SqlTypeOf(item_type));
  if (!builder.ok() || !SqlTypeOf(item_type)->Equals(*item_type)) return nullptr;
  for (int64_t i = 0; i < literal.value->length(); ++i) {
    const auto item = literal.value->GetScalar(i);
    const ScalarPtr coerced = item.ok() ? CoerceLiteral(*item, item_type) : nullptr;
    if (coerced == nullptr || !(*builder)->AppendScalar(*coerced).ok()) return nullptr;
  }
  std::shared_ptr<arrow::Array> items;
  if (!(*builder)->Finish(&items).ok()) return nullptr;
  switch (type->id()) {
    case arrow::Type::LARGE_LIST: return std::make_shared<arrow::LargeListScalar>(items, type);
    case arrow::Type::FIXED_SIZE_LIST: return std::make_shared<arrow::FixedSizeListScalar>(items, type);
    default: return std::make_shared<arrow::ListScalar>(items, type);
  }
}

int DigitsOf(arrow::Type::type integer) {
  switch (integer) {
    case arrow::Type::INT8:
    case arrow::Type::UINT8: return 3;
    case arrow::Type::INT16:
    case arrow::Type::UINT16: return 5;
    case arrow::Type::INT32:
    case arrow::Type::UINT32: return 10;
    default: return 20;
  }
}

TypePtr CommonInteger(const TypePtr& a, const TypePtr& b) {
  const bool a_signed = arrow::is_signed_integer(a->id()), b_signed = arrow::is_signed_integer(b->id());
  const int a_bits = a->bit_width(), b_bits = b->bit_width();
  if (a_signed == b_signed) return a_bits >= b_bits ? a : b;
  const int signed_bits = a_signed ? a_bits : b_bits, unsigned_bits = a_signed ? b_bits : a_bits;
  if (unsigned_bits >= 64) return arrow::decimal128(20, 0);
  const int bits = std::max(signed_bits, unsigned_bits * 2);
  return bits <= 16 ? arrow::int16() : bits <= 32 ? arrow::int32() : arrow::int64();
}

TypePtr CommonDecimal(const TypePtr& a, const TypePtr& b) {
  const auto& x = static_cast<const arrow::DecimalType&>(*a);
  const auto& y = static_cast<const arrow::DecimalType&>(*b);
  const int scale = std::max(x.scale(), y.scale());
  const int whole = std::max(x.precision() - x.scale(), y.precision() - y.scale());
  const bool wide = a->id() == arrow::Type::DECIMAL256 || b->id() == arrow::Type::DECIMAL256 || whole + scale > 38;
  return wide ? arrow::decimal256(std::min(76, whole + scale), scale) : arrow::decimal128(whole + scale, scale);
}

// Numbers: `for_comparison` says what a decimal meets a float in.
TypePtr CommonOfNumbers(const TypePtr& a, const TypePtr& b, bool for_comparison) {
  if (!IsNumber(*a) || !IsNumber(*b)) return nullptr;
  if (arrow::is_integer(a->id()) && arrow::is_integer(b->id())) return CommonInteger(a, b);
  if (IsDecimal(*a) || IsDecimal(*b)) {
    if (IsFloat(*a) || IsFloat(*b)) {
      if (!for_comparison) return arrow::float64();
      const bool single = a->id() == arrow::Type::FLOAT || b->id() == arrow::Type::FLOAT;
      const TypePtr of_float = single ? arrow::decimal128(14, 7) : arrow::decimal128(30, 15);
      return CommonDecimal(IsDecimal(*a) ? a : of_float, IsDecimal(*b) ? b : of_float);
    }
    return CommonDecimal(IsDecimal(*a) ? a : DecimalOfInteger(*a), IsDecimal(*b) ? b : DecimalOfInteger(*b));
  }
  const bool wide = a->id() == arrow::Type::DOUBLE || b->id() == arrow::Type::DOUBLE;
  return wide ? arrow::float64() : arrow::float32();
}

// Both are dates or timestamps, not of one type. The coarser unit, as in the peer: finer digits do not count.
TypePtr CommonMoment(const TypePtr& a, const TypePtr& b) {
  if (IsDate(*a) && IsDate(*b)) return arrow::date64();
  if (IsDate(*a)) return b;
  if (IsDate(*b)) return a;
  const auto& x = static_cast<const arrow::TimestampType&>(*a);
  const auto& y = static_cast<const arrow::TimestampType&>(*b);
  return arrow::timestamp(std::min(x.unit(), y.unit()), x.timezone().empty() ? y.timezone() : x.timezone());
}

bool IsMoment(const arrow::DataType& type) { return IsDate(type) || type.id() == arrow::Type::TIMESTAMP; }

TypePtr CommonList(const TypePtr& a, const TypePtr& b) {
  const TypePtr items = CommonType(SqlTypeOf(a->field(0)->type()), SqlTypeOf(b->field(0)->type()));
  if (items == nullptr) return nullptr;
  const bool large = a->id() == arrow::Type::LARGE_LIST || b->id() == arrow::Type::LARGE_LIST;
  return large ? arrow::large_list(items) : arrow::list(items);
}

}  // namespace

TypePtr DecimalOfInteger(const arrow::DataType& type) { return arrow::decimal128(DigitsOf(type.id()), 0); }

ScalarPtr CoerceLiteral(const ScalarPtr& literal, const TypePtr& type) {
  if (!literal->is_valid) return arrow::MakeNullScalar(type);
  if (literal->type->Equals(*type)) return literal;
  if (arrow::is_integer(literal->type->id()) && arrow::is_integer(type->id())) return CoerceInteger(literal, type);
  switch (literal->type->id()) {
    case arrow::Type::INT64:
    case arrow::Type::UINT64: return CoerceInteger(literal, type);
    case arrow::Type::DOUBLE: return CoerceFloat(static_cast<const arrow::DoubleScalar&>(*literal).value, type);
    case arrow::Type::STRING:
    case arrow::Type::LARGE_STRING:
    case arrow::Type::BINARY:
    case arrow::Type::LARGE_BINARY: return CoerceBytes(static_cast<const arrow::BaseBinaryScalar&>(*literal), type);
    case arrow::Type::LIST: return CoerceList(static_cast<const arrow::BaseListScalar&>(*literal), type);
    default: return nullptr;
  }
}

TypePtr CommonNumber(const TypePtr& a, const TypePtr& b) {
  if (IsNull(*a) && IsNumber(*b)) return b;
  if (IsNull(*b) && IsNumber(*a)) return a;
  return CommonOfNumbers(a, b, false);
}

TypePtr CommonType(const TypePtr& a, const TypePtr& b) {
  if (a->Equals(*b)) return a;
  if (IsNull(*a)) return b;
  if (IsNull(*b)) return a;
  if (const TypePtr number = CommonOfNumbers(a, b, true)) return number;
  if (IsText(*a) && IsText(*b)) return arrow::large_utf8();
  const auto any_binary = [](const arrow::DataType& type) {
    return IsBinary(type) || type.id() == arrow::Type::FIXED_SIZE_BINARY;
  };
  if (any_binary(*a) && any_binary(*b)) return arrow::large_binary();
  if (IsMoment(*a) && IsMoment(*b)) return CommonMoment(a, b);
  if (a->id() == arrow::Type::DURATION && b->id() == arrow::Type::DURATION) {
    return arrow::duration(std::min(static_cast<const arrow::DurationType&>(*a).unit(),
                                    static_cast<const arrow::DurationType&>(*b).unit()));
  }
  if (IsList(*a) && IsList(*b)) return CommonList(a, b);
  return nullptr;
}

}  // namespace javelin::query
