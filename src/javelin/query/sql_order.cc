#include "javelin/query/sql_order.h"

#include <arrow/util/decimal.h>

#include "javelin/base/error.h"
#include "javelin/query/sql_types.h"
#include "javelin/query/sql_values.h"

namespace javelin::query {
namespace {

template <typename T>
int Sign(const T& a, const T& b) {
  return a < b ? -1 : b < a ? 1 : 0;
}

template <typename ArrayType>
RowOrder OfValues(const arrow::Array& a, const arrow::Array& b) {
  const auto& x = static_cast<const ArrayType&>(a);
  const auto& y = static_cast<const ArrayType&>(b);
  return [&x, &y](int64_t i, int64_t j) { return Sign(x.Value(i), y.Value(j)); };
}

template <typename ArrayType>
RowOrder OfFloats(const arrow::Array& a, const arrow::Array& b) {
  const auto& x = static_cast<const ArrayType&>(a);
  const auto& y = static_cast<const ArrayType&>(b);
  return [&x, &y](int64_t i, int64_t j) { return Sign(OrderKey(x.Value(i)), OrderKey(y.Value(j))); };
}

template <typename Decimal, typename ArrayType>
RowOrder OfDecimals(const arrow::Array& a, const arrow::Array& b) {
  const auto& x = static_cast<const ArrayType&>(a);
  const auto& y = static_cast<const ArrayType&>(b);
  return [&x, &y](int64_t i, int64_t j) { return Sign(Decimal(x.GetValue(i)), Decimal(y.GetValue(j))); };
}

template <typename ArrayType>
RowOrder OfViews(const arrow::Array& a, const arrow::Array& b) {
  const auto& x = static_cast<const ArrayType&>(a);
  const auto& y = static_cast<const ArrayType&>(b);
  return
      [&x, &y](int64_t i, int64_t j) { return Sign(std::string_view(x.GetView(i)), std::string_view(y.GetView(j))); };
}

// A null is the least.
int WithNulls(const arrow::Array& a, const arrow::Array& b, const RowOrder& order, int64_t i, int64_t j) {
  const bool x = a.IsNull(i), y = b.IsNull(j);
  if (x || y) return x == y ? 0 : x ? -1 : 1;
  return order(i, j);
}

arrow::Result<RowOrder> OfLists(const arrow::Array& a, const arrow::Array& b) {
  const auto x = std::make_shared<Lists>(a), y = std::make_shared<Lists>(b);
  ARROW_ASSIGN_OR_RAISE(const RowOrder items, MakeRowOrder(*x->items(), *y->items()));
  return RowOrder([x, y, items](int64_t i, int64_t j) {
    const int64_t length = std::min(x->Length(i), y->Length(j));
    for (int64_t k = 0; k < length; ++k) {
      const int sign = WithNulls(*x->items(), *y->items(), items, x->Begin(i) + k, y->Begin(j) + k);
      if (sign != 0) return sign;
    }
    return Sign(x->Length(i), y->Length(j));
  });
}

arrow::Result<RowOrder> OfStructs(const arrow::Array& a, const arrow::Array& b) {
  struct Member {
    std::shared_ptr<arrow::Array> a, b;
    RowOrder order;
  };
  const auto members = std::make_shared<std::vector<Member>>();
  for (int k = 0; k < a.type()->num_fields(); ++k) {
    Member member{static_cast<const arrow::StructArray&>(a).field(k),
                  static_cast<const arrow::StructArray&>(b).field(k), nullptr};
    ARROW_ASSIGN_OR_RAISE(member.order, MakeRowOrder(*member.a, *member.b));
    members->push_back(std::move(member));
  }
  return RowOrder([members](int64_t i, int64_t j) {
    for (const Member& member : *members) {
      const int sign = WithNulls(*member.a, *member.b, member.order, i, j);
      if (sign != 0) return sign;
    }
    return 0;
  });
}

}  // namespace

bool HasOrder(const arrow::DataType& type) {
  using arrow::Type;
  switch (type.id()) {
    case Type::LIST:
    case Type::LARGE_LIST:
    case Type::FIXED_SIZE_LIST: return HasOrder(*type.field(0)->type());
    case Type::STRUCT:
      for (const auto& field : type.fields())
        if (!HasOrder(*field->type())) return false;
      return true;
    case Type::BOOL:
    case Type::NA:
    case Type::DURATION:
    case Type::FIXED_SIZE_BINARY: return true;
    default: return IsNumber(type) || IsText(type) || IsBinary(type) || arrow::is_temporal(type.id());
  }
}

arrow::Result<RowOrder> MakeRowOrder(const arrow::Array& a, const arrow::Array& b) {
  using arrow::Type;
  if (a.type_id() != b.type_id()) {
    return NotSupported("values of {} are not compared with {}", a.type()->ToString(), b.type()->ToString());
  }
  switch (a.type_id()) {
    case Type::NA: return RowOrder([](int64_t, int64_t) { return 0; });
    case Type::BOOL: return OfValues<arrow::BooleanArray>(a, b);
    case Type::INT8: return OfValues<arrow::Int8Array>(a, b);
    case Type::INT16: return OfValues<arrow::Int16Array>(a, b);
    case Type::INT32: return OfValues<arrow::Int32Array>(a, b);
    case Type::INT64: return OfValues<arrow::Int64Array>(a, b);
    case Type::DATE32: return OfValues<arrow::Date32Array>(a, b);
    case Type::DATE64: return OfValues<arrow::Date64Array>(a, b);
    case Type::TIME32: return OfValues<arrow::Time32Array>(a, b);
    case Type::TIME64: return OfValues<arrow::Time64Array>(a, b);
    case Type::TIMESTAMP: return OfValues<arrow::TimestampArray>(a, b);
    case Type::DURATION: return OfValues<arrow::DurationArray>(a, b);
    case Type::UINT8: return OfValues<arrow::UInt8Array>(a, b);
    case Type::UINT16: return OfValues<arrow::UInt16Array>(a, b);
    case Type::UINT32: return OfValues<arrow::UInt32Array>(a, b);
    case Type::UINT64: return OfValues<arrow::UInt64Array>(a, b);
    case Type::FLOAT: return OfFloats<arrow::FloatArray>(a, b);
    case Type::DOUBLE: return OfFloats<arrow::DoubleArray>(a, b);
    case Type::DECIMAL128: return OfDecimals<arrow::Decimal128, arrow::Decimal128Array>(a, b);
    case Type::DECIMAL256: return OfDecimals<arrow::Decimal256, arrow::Decimal256Array>(a, b);
    case Type::STRING:
    case Type::BINARY: return OfViews<arrow::BinaryArray>(a, b);
    case Type::LARGE_STRING:
    case Type::LARGE_BINARY: return OfViews<arrow::LargeBinaryArray>(a, b);
    case Type::FIXED_SIZE_BINARY: return OfViews<arrow::FixedSizeBinaryArray>(a, b);
    case Type::LIST:
    case Type::LARGE_LIST:
    case Type::FIXED_SIZE_LIST: return OfLists(a, b);
    case Type::STRUCT: return OfStructs(a, b);
    default: return NotSupported("values of {} cannot be compared", a.type()->ToString());
  }
}

}  // namespace javelin::query
