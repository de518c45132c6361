// What the values of a leaf column look like to an encoding, without their meaning.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <arrow/result.h>
#include <arrow/type_fwd.h>

namespace javelin::file {

struct ValueShape {
  enum class Kind {
    kNull,      // no bytes at all
    kFixed,     // `bits` per value: 1 or a multiple of 8
    kVariable,  // bytes of any length; `bits` = width of Arrow's offsets, 32 or 64
    kList,      // `dimension` items of shape `item`, which may be null
    kStruct,    // a packed struct: one value of each of `fields`, none of which is null
  };
  Kind kind = Kind::kNull;
  uint64_t bits = 0;
  uint64_t dimension = 0;
  std::shared_ptr<const ValueShape> item;
  std::vector<ValueShape> fields;
  // The column's type is a dictionary of such values; 2.0 counts the indices of one from 0, of others from 1.
  bool in_dictionary = false;

  bool is_fixed(uint64_t width) const { return kind == Kind::kFixed && bits == width; }
  // Bytes of one fixed value; bits must be a multiple of 8.
  uint64_t bytes() const { return bits / 8; }
};

ValueShape FixedShape(uint64_t bits);
bool operator==(const ValueShape& left, const ValueShape& right);
// "32-bit values", "a list of 4 ...": for messages.
std::string ToString(const ValueShape& shape);

// The shape of a type that is one leaf column: fixed width, variable width, or a fixed-size list of fixed width.
// NotSupported for others.
arrow::Result<ValueShape> ShapeOf(const arrow::DataType& type);

// Bytes of one value where all values have as many, without validity; 0 where they have not, or are bits.
uint64_t FixedBytes(const ValueShape& shape);

// Bits of memory that one value takes (offset included, bytes of variable values not). Saturates.
uint64_t MemoryBits(const ValueShape& shape);

}  // namespace javelin::file
