// + - * / % and ||. Integers wrap, except that a division fails where there is no result; floats never fail.
#include <cmath>

#include <arrow/compute/api.h>
#include <arrow/util/decimal.h>

#include "javelin/query/sql_kernels_internal.h"
#include "javelin/query/sql_values.h"

namespace javelin::query {
namespace {

using arrow::compute::CallFunction;
using ArrayPtr = std::shared_ptr<arrow::Array>;

template <typename Type>
arrow::Result<ArrayPtr> Remainders(const std::vector<ArrayPtr>& arrays, int64_t rows, arrow::MemoryPool* pool) {
  using Array = typename arrow::TypeTraits<Type>::ArrayType;
  using Builder = typename arrow::TypeTraits<Type>::BuilderType;
  const auto& left = static_cast<const Array&>(*arrays[0]);
  const auto& right = static_cast<const Array&>(*arrays[1]);
  return BuildRows<Builder>(arrays[0]->type(), arrays, rows, pool, [&](Builder& builder, int64_t row) {
    if constexpr (arrow::is_floating_type<Type>::value) {
      return builder.Append(std::fmod(left.Value(row), right.Value(row)));
    } else {
      if (right.Value(row) == 0) return arrow::Status::Invalid("division by zero");
      // The least number by -1 has no quotient, but it has a remainder.
      if constexpr (arrow::is_signed_integer_type<Type>::value) {
        if (right.Value(row) == -1) return builder.Append(0);
      }
      return builder.Append(static_cast<typename Type::c_type>(left.Value(row) % right.Value(row)));
    }
  });
}

arrow::Result<ArrayPtr> Remainder(const std::vector<ArrayPtr>& arrays, int64_t rows, arrow::MemoryPool* pool) {
  switch (arrays[0]->type_id()) {
    case arrow::Type::INT8: return Remainders<arrow::Int8Type>(arrays, rows, pool);
    case arrow::Type::INT16: return Remainders<arrow::Int16Type>(arrays, rows, pool);
    case arrow::Type::INT32: return Remainders<arrow::Int32Type>(arrays, rows, pool);
    case arrow::Type::INT64: return Remainders<arrow::Int64Type>(arrays, rows, pool);
    case arrow::Type::UINT8: return Remainders<arrow::UInt8Type>(arrays, rows, pool);
    case arrow::Type::UINT16: return Remainders<arrow::UInt16Type>(arrays, rows, pool);
    case arrow::Type::UINT32: return Remainders<arrow::UInt32Type>(arrays, rows, pool);
    case arrow::Type::UINT64: return Remainders<arrow::UInt64Type>(arrays, rows, pool);
    case arrow::Type::FLOAT: return Remainders<arrow::FloatType>(arrays, rows, pool);
    default: return Remainders<arrow::DoubleType>(arrays, rows, pool);
  }
}

// Twice as wide inside, so that only the result can be too large.
arrow::Result<arrow::Decimal256> DecimalOf(char op, arrow::Decimal256 left, int left_scale, arrow::Decimal256 right,
                                           int right_scale, int result_scale) {
  const auto raise = [](const arrow::Decimal256& value, int digits) { return value.IncreaseScaleBy(digits); };
  if (op == '*') return left * right;
  if (op == '/') {
    if (right == arrow::Decimal256(0)) return arrow::Status::Invalid("division by zero");
    const int shift = result_scale - left_scale + right_scale;
    if (shift >= 0) left = raise(left, shift);
    if (shift < 0) right = raise(right, -shift);
    ARROW_ASSIGN_OR_RAISE(const auto divided, left.Divide(right));
    return divided.first;
  }
  const int scale = std::max(left_scale, right_scale);
  left = raise(left, scale - left_scale);
  right = raise(right, scale - right_scale);
  if (op == '+') return left + right;
  if (op == '-') return left + right.Negate();
  if (right == arrow::Decimal256(0)) return arrow::Status::Invalid("division by zero");
  ARROW_ASSIGN_OR_RAISE(const auto divided, left.Divide(right));
  return divided.second;
}

arrow::Result<ArrayPtr> Decimals(char op, const std::shared_ptr<arrow::DataType>& type,
                                 const std::vector<ArrayPtr>& arrays, int64_t rows, arrow::MemoryPool* pool) {
  const auto& left = static_cast<const arrow::Decimal128Array&>(*arrays[0]);
  const auto& right = static_cast<const arrow::Decimal128Array&>(*arrays[1]);
  const int left_scale = static_cast<const arrow::DecimalType&>(*left.type()).scale();
  const int right_scale = static_cast<const arrow::DecimalType&>(*right.type()).scale();
  const auto& result = static_cast<const arrow::DecimalType&>(*type);
  return BuildRows<arrow::Decimal128Builder>(
      type, arrays, rows, pool, [&](arrow::Decimal128Builder& builder, int64_t row) {
        ARROW_ASSIGN_OR_RAISE(
            const arrow::Decimal256 value,
            DecimalOf(op, arrow::Decimal256(arrow::Decimal128(left.GetValue(row))), left_scale,
                      arrow::Decimal256(arrow::Decimal128(right.GetValue(row))), right_scale, result.scale()));
        if (!value.FitsInPrecision(38)) return arrow::Status::Invalid("a decimal has more than 38 digits");
        const auto words = value.little_endian_array();
        return builder.Append(arrow::Decimal128(static_cast<int64_t>(words[1]), words[0]));
      });
}

arrow::Result<arrow::Datum> Joined(const Arguments& arguments, const std::shared_ptr<arrow::DataType>& type,
                                   const SqlEvaluation& evaluation) {
  ARROW_ASSIGN_OR_RAISE(const auto separator, arrow::MakeScalar(type, arrow::Buffer::FromString("")));
  Arguments all = arguments;
  all.emplace_back(separator);
  const arrow::compute::JoinOptions options(arrow::compute::JoinOptions::EMIT_NULL);
  return CallFunction("binary_join_element_wise", all, &options, evaluation.exec);
}

}  // namespace

std::shared_ptr<arrow::DataType> DecimalResult(char op, const arrow::DataType& a, const arrow::DataType& b) {
  const auto& x = static_cast<const arrow::DecimalType&>(a);
  const auto& y = static_cast<const arrow::DecimalType&>(b);
  int scale = std::max(x.scale(), y.scale());
  int precision = scale + std::max(x.precision() - x.scale(), y.precision() - y.scale()) + 1;
  if (op == '*') {
    scale = x.scale() + y.scale();
    precision = x.precision() + y.precision() + 1;
  } else if (op == '/') {
    scale = std::min(38, x.scale() + 4);
    precision = scale - x.scale() + y.scale() + x.precision();
  } else if (op == '%') {
    precision = scale + std::min(x.precision() - x.scale(), y.precision() - y.scale());
  }
  if (scale > 38) return nullptr;
  return arrow::decimal128(std::clamp(precision, std::max(1, scale), 38), scale);
}

arrow::Result<arrow::Datum> ArithmeticKernel(const BoundExpression& node, const Arguments& arguments,
                                             const SqlEvaluation& evaluation) {
  if (node.text == "||") return Joined(arguments, node.type, evaluation);
  const char op = node.text[0];
  const arrow::DataType& type = *arguments[0].type();
  if (IsNull(type)) return arrow::Datum(arrow::MakeNullScalar(node.type));
  if (IsDecimal(type)) {
    return OverArrays(arguments, evaluation, [&](const std::vector<ArrayPtr>& arrays, int64_t rows) {
      return Decimals(op, node.type, arrays, rows, evaluation.pool());
    });
  }
  switch (op) {
    case '+': return CallFunction("add", arguments, evaluation.exec);
    case '-': return CallFunction("subtract", arguments, evaluation.exec);
    case '*': return CallFunction("multiply", arguments, evaluation.exec);
    case '/': return CallFunction(IsFloat(type) ? "divide" : "divide_checked", arguments, evaluation.exec);
    default: break;
  }
  return OverArrays(arguments, evaluation, [&](const std::vector<ArrayPtr>& arrays, int64_t rows) {
    return Remainder(arrays, rows, evaluation.pool());
  });
}

arrow::Result<arrow::Datum> NegateKernel(const BoundExpression& node, const Arguments& arguments,
                                         const SqlEvaluation& evaluation) {
  if (IsNull(*arguments[0].type())) return arguments[0];
  return CallFunction("negate", arguments, evaluation.exec);
}

}  // namespace javelin::query
