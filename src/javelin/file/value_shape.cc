#include "javelin/file/value_shape_internal.h"

#include <limits>

#include <arrow/type.h>

#include "javelin/base/error.h"
#include "javelin/file/byte_span_internal.h"
#include "javelin/file/logical_type_internal.h"

namespace javelin::file {

using arrow::Type;

ValueShape FixedShape(uint64_t bits) { return {.kind = ValueShape::Kind::kFixed, .bits = bits}; }

bool operator==(const ValueShape& left, const ValueShape& right) {
  if (left.kind != right.kind || left.bits != right.bits || left.dimension != right.dimension ||
      left.in_dictionary != right.in_dictionary || left.fields != right.fields) {
    return false;
  }
  return left.kind != ValueShape::Kind::kList || *left.item == *right.item;
}

std::string ToString(const ValueShape& shape) {
  switch (shape.kind) {
    case ValueShape::Kind::kNull: return "nulls";
    case ValueShape::Kind::kFixed: return fmt::format("{}-bit values", shape.bits);
    case ValueShape::Kind::kVariable: return "values of any length";
    case ValueShape::Kind::kList: return fmt::format("lists of {} {}", shape.dimension, ToString(*shape.item));
    case ValueShape::Kind::kStruct: return fmt::format("structs of {} fields", shape.fields.size());
  }
  return "";
}

arrow::Result<ValueShape> ShapeOf(const arrow::DataType& type) {
  switch (type.id()) {
    case Type::NA: return ValueShape{};
    case Type::STRING:
    case Type::BINARY: return ValueShape{.kind = ValueShape::Kind::kVariable, .bits = 32};
    case Type::LARGE_STRING:
    case Type::LARGE_BINARY: return ValueShape{.kind = ValueShape::Kind::kVariable, .bits = 64};
    case Type::FIXED_SIZE_BINARY:  // Arrow's bit_width() is an int, which large ones overflow
      return FixedShape(static_cast<uint64_t>(static_cast<const arrow::FixedSizeBinaryType&>(type).byte_width()) * 8);
    case Type::FIXED_SIZE_LIST: {
      const auto& list = static_cast<const arrow::FixedSizeListType&>(type);
      ARROW_ASSIGN_OR_RAISE(ValueShape item, ShapeOf(*list.value_type()));
      if (item.kind == ValueShape::Kind::kVariable)
        return NotSupported("type {} is not one leaf column", type.ToString());
      if (item.is_fixed(0)) return NotSupported("lists of values without bytes ({}) are not readable", type.ToString());
      return ValueShape{.kind = ValueShape::Kind::kList,
                        .dimension = static_cast<uint64_t>(list.list_size()),
                        .item = std::make_shared<ValueShape>(std::move(item))};
    }
    default:
      if (!IsFixedWidthPrimitive(type)) return NotSupported("type {} is not one leaf column", type.ToString());
      return FixedShape(static_cast<uint64_t>(static_cast<const arrow::FixedWidthType&>(type).bit_width()));
  }
}

uint64_t FixedBytes(const ValueShape& shape) {
  switch (shape.kind) {
    case ValueShape::Kind::kNull:
    case ValueShape::Kind::kVariable: return 0;
    case ValueShape::Kind::kFixed: return shape.bytes();
    case ValueShape::Kind::kList: return SaturatedProduct(FixedBytes(*shape.item), shape.dimension);
    case ValueShape::Kind::kStruct: break;
  }
  uint64_t sum = 0;
  for (const ValueShape& field : shape.fields) {
    const uint64_t bytes = FixedBytes(field);
    if (bytes == 0) return 0;
    sum = SaturatedSum(sum, bytes);
  }
  return sum;
}

uint64_t MemoryBits(const ValueShape& shape) {
  if (shape.kind == ValueShape::Kind::kStruct) {
    uint64_t sum = 0;
    for (const ValueShape& field : shape.fields) sum = SaturatedSum(sum, MemoryBits(field));
    return sum;
  }
  if (shape.kind != ValueShape::Kind::kList) return shape.bits;
  const uint64_t item = MemoryBits(*shape.item) + 1;  // the item's place in a validity bitmap
  uint64_t product;
  if (__builtin_mul_overflow(item, shape.dimension, &product)) return std::numeric_limits<uint64_t>::max();
  return product;
}

}  // namespace javelin::file
