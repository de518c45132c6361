// The order of values, the same in comparisons, sets, lists and functions: NaN is over every number and equal to
// itself, -0.0 is 0.0; in lists and structs a null is under every value and equal to a null.
#pragma once

#include <bit>
#include <cstdint>
#include <functional>

#include <arrow/array.h>
#include <arrow/result.h>

namespace javelin::query {

// Floats as integers in that order. (A NaN with a sign is under every number, as in the peer.)
inline int64_t OrderKey(double value) {
  if (value == 0) return 0;
  const auto bits = std::bit_cast<int64_t>(value);
  return bits < 0 ? bits ^ INT64_MAX : bits;
}
inline int32_t OrderKey(float value) {
  if (value == 0) return 0;
  const auto bits = std::bit_cast<int32_t>(value);
  return bits < 0 ? bits ^ INT32_MAX : bits;
}

// Row i of one array against row j of another of the same type, neither null: below, at or above 0. The arrays must
// outlive it. NotSupported: a type without an order (maps, extension types, ...).
using RowOrder = std::function<int(int64_t, int64_t)>;
arrow::Result<RowOrder> MakeRowOrder(const arrow::Array& a, const arrow::Array& b);

// Whether MakeRowOrder knows the type.
bool HasOrder(const arrow::DataType& type);

}  // namespace javelin::query
