// A leaf array as an encoder sees it: plain pointers, slices already applied.
#pragma once

#include <cstdint>
#include <memory>

#include <arrow/array/data.h>

#include "javelin/file/byte_span_internal.h"
#include "javelin/file/value_shape_internal.h"

namespace javelin::file {

struct LeafView {
  uint64_t length = 0;
  uint64_t null_count = 0;
  const uint8_t* validity = nullptr;  // bitmap, null = all valid
  uint64_t validity_offset = 0;       // bits
  const uint8_t* values = nullptr;  // kFixed: value 0 (1 bit: the bitmap); kVariable: the bytes that offsets point into
  uint64_t bit_offset = 0;          // kFixed of 1 bit: position of value 0
  const uint8_t* offsets = nullptr;  // kVariable: of value 0
  unsigned offset_bytes = 4;
  std::unique_ptr<LeafView> items;  // kList

  bool IsNull(uint64_t index) const { return validity != nullptr && !GetBit(validity, validity_offset + index); }
  bool HasNulls() const { return null_count > 0; }
  bool Bit(uint64_t index) const { return GetBit(values, bit_offset + index); }
  uint64_t Offset(uint64_t index) const { return LoadUnsigned(offsets + index * offset_bytes, offset_bytes); }
  // kVariable; empty for null.
  Bytes Value(uint64_t index) const {
    if (IsNull(index)) return {};
    const uint64_t begin = Offset(index);
    return {values + begin, Offset(index + 1) - begin};
  }
};

// The array must have the shape; it must outlive the view.
LeafView ViewLeaf(const arrow::ArrayData& data, const ValueShape& shape);

}  // namespace javelin::file
