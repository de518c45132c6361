// What dictionaries are made of: their types and items.
#pragma once

#include <cstdint>
#include <memory>

#include <arrow/type.h>

#include "javelin/file/leaf_view_internal.h"

namespace javelin::file {

inline unsigned IndexBytes(const arrow::DictionaryType& type) {
  return static_cast<unsigned>(static_cast<const arrow::FixedWidthType&>(*type.index_type()).bit_width()) / 8;
}

// How many items indices of the type can tell apart; more than 2^32 - 1 are not counted.
inline uint64_t MaxItems(const arrow::DictionaryType& type) {
  const unsigned bits = IndexBytes(type) * 8 - (arrow::is_signed_integer(type.index_type()->id()) ? 1 : 0);
  return bits >= 32 ? ~uint32_t{0} : uint64_t{1} << bits;
}

// A type that holds items of such a shape, kFixed or kVariable, whatever they mean.
inline std::shared_ptr<arrow::DataType> StorageTypeOf(const ValueShape& shape) {
  if (shape.kind == ValueShape::Kind::kVariable) return shape.bits == 32 ? arrow::binary() : arrow::large_binary();
  return shape.bits == 1 ? arrow::boolean() : arrow::fixed_size_binary(static_cast<int32_t>(shape.bytes()));
}

// The bytes of an item, kFixed or kVariable; a bit is a byte of its own.
inline Bytes ItemAt(const LeafView& items, const ValueShape& shape, uint64_t index) {
  static constexpr uint8_t kBits[] = {0, 1};
  if (shape.kind == ValueShape::Kind::kVariable) return items.Value(index);
  if (shape.bits == 1) return {&kBits[items.Bit(index)], 1};
  return {items.values + index * shape.bytes(), shape.bytes()};
}

}  // namespace javelin::file
