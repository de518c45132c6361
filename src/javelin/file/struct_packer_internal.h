// Packed structs on their way to a file: one value per struct (docs/format.md, "Compressive encodings").
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include <arrow/array/data.h>
#include <arrow/result.h>

#include "lanceproto/encodings_v2_0.pb.h"
#include "lanceproto/encodings_v2_1.pb.h"

#include "javelin/file/decoder_internal.h"
#include "javelin/file/schema.h"
#include "javelin/file/value_shape_internal.h"

namespace javelin::file {

namespace pb = lance::encodings21;

class StructPacker {
 public:
  // NotSupported naming a field that has no place in a packed struct, or all of them.
  static arrow::Result<StructPacker> Make(const Field& field);

  // Rows of one width go into chunks; with strings or fixed-size lists each row stands alone.
  bool is_fixed() const { return is_fixed_; }
  // Of a packed row: kFixed, or kVariable with 32-bit offsets.
  ValueShape shape() const;
  void Describe(pb::CompressiveEncoding& encoding) const;

  // What a packed struct of version 2.0 is made of: every row has the same length.
  bool has_strings() const;
  // The bytes of one value of each field; of a string its length's.
  std::vector<uint64_t> widths() const;
  // In one buffer, the first of the page.
  void Describe(lance::encodings::PackedStruct& encoding) const;

  // The rows of runs of a struct array, without their validity. Its fields must not be null where the rows are not.
  arrow::Result<std::shared_ptr<arrow::ArrayData>> Pack(const arrow::ArrayData& structs, std::span<const Slice> runs,
                                                        arrow::MemoryPool* pool) const;
  // Bytes of rows [first, first + count).
  uint64_t PackedBytes(const arrow::ArrayData& structs, uint64_t first, uint64_t count) const;

 private:
  arrow::Result<std::shared_ptr<arrow::ArrayData>> PackVariable(const arrow::ArrayData& structs,
                                                                std::span<const Slice> runs,
                                                                arrow::MemoryPool* pool) const;

  std::vector<ValueShape> fields_;
  bool is_fixed_ = true;
  uint64_t fixed_bytes_ = 0;  // of a row: values of one width, and the lengths of the others
};

}  // namespace javelin::file
