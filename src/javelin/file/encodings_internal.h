// The decoder of each encoding, by position. Called by the switches in decoder.cc and by encodings that hold another.
#pragma once

#include "lanceproto/encodings_v2_1.pb.h"

#include "javelin/file/decoder_internal.h"

namespace javelin::file {

namespace pb = lance::encodings21;

// flat_encoding.cc
arrow::Result<MiniBlockDecoderPtr> MakeFlatMiniBlock(const pb::Flat& encoding, const ValueShape& shape);
arrow::Result<BlockDecoderPtr> MakeFlatBlock(const pb::Flat& encoding, const ValueShape& shape);
arrow::Result<FixedValueDecoderPtr> MakeFlatValue(const pb::Flat& encoding, const ValueShape& shape);

// bit_packing_encoding.cc
arrow::Result<MiniBlockDecoderPtr> MakeInlineBitpackingMiniBlock(const pb::InlineBitpacking& encoding,
                                                                 const ValueShape& shape);
arrow::Result<BlockDecoderPtr> MakeInlineBitpackingBlock(const pb::InlineBitpacking& encoding, const ValueShape& shape);
arrow::Result<BlockDecoderPtr> MakeOutOfLineBitpackingBlock(const pb::OutOfLineBitpacking& encoding,
                                                            const ValueShape& shape);

// run_length_encoding.cc
arrow::Result<MiniBlockDecoderPtr> MakeRleMiniBlock(const pb::Rle& encoding, const ValueShape& shape);
arrow::Result<BlockDecoderPtr> MakeRleBlock(const pb::Rle& encoding, const ValueShape& shape);

// variable_encoding.cc
arrow::Result<MiniBlockDecoderPtr> MakeVariableMiniBlock(const pb::Variable& encoding, const ValueShape& shape);
arrow::Result<BlockDecoderPtr> MakeVariableBlock(const pb::Variable& encoding, const ValueShape& shape);
arrow::Result<VariableValueDecoderPtr> MakeVariableValue(const pb::Variable& encoding, const ValueShape& shape);

// fsst_encoding.cc
arrow::Result<MiniBlockDecoderPtr> MakeFsstMiniBlock(const pb::Fsst& encoding, const ValueShape& shape);
arrow::Result<VariableValueDecoderPtr> MakeFsstValue(const pb::Fsst& encoding, const ValueShape& shape);

// general_encoding.cc
arrow::Result<MiniBlockDecoderPtr> MakeGeneralMiniBlock(const pb::General& encoding, const ValueShape& shape);
arrow::Result<BlockDecoderPtr> MakeGeneralBlock(const pb::General& encoding, const ValueShape& shape);
arrow::Result<VariableValueDecoderPtr> MakeGeneralValue(const pb::General& encoding, const ValueShape& shape);

// byte_stream_split_encoding.cc
arrow::Result<MiniBlockDecoderPtr> MakeByteStreamSplitMiniBlock(const pb::ByteStreamSplit& encoding,
                                                                const ValueShape& shape);

// fixed_size_list_encoding.cc
arrow::Result<MiniBlockDecoderPtr> MakeFixedSizeListMiniBlock(const pb::FixedSizeList& encoding,
                                                              const ValueShape& shape);
arrow::Result<FixedValueDecoderPtr> MakeFixedSizeListValue(const pb::FixedSizeList& encoding, const ValueShape& shape);

// packed_struct_encoding.cc
arrow::Result<MiniBlockDecoderPtr> MakePackedStructMiniBlock(const pb::PackedStruct& encoding, const ValueShape& shape);
arrow::Result<FixedValueDecoderPtr> MakePackedStructValue(const pb::PackedStruct& encoding, const ValueShape& shape);
arrow::Result<VariableValueDecoderPtr> MakeVariablePackedStructValue(const pb::VariablePackedStruct& encoding,
                                                                     const ValueShape& shape);

// ---- shared by several encodings ----

// Of values back to back. A writer may pad its buffers, as Arrow does.
inline uint64_t MostFlatBytes(uint64_t num_values, uint64_t bits) {
  constexpr uint64_t kPadding = 63;
  const uint64_t bytes = bits == 1 ? BytesForBits(num_values) : SaturatedProduct(num_values, bits / 8);
  return SaturatedSum(bytes, kPadding);
}

// Offsets of values inside a mini-block buffer. Those of the values that are wanted were checked: they ascend, and lie
// inside the buffer.
struct VariableView {
  const uint8_t* offsets = nullptr;  // one more than values, of `width` bytes, relative to `bytes`
  unsigned width = 4;
  Bytes bytes;
  uint64_t offset(uint64_t index) const { return LoadUnsigned(offsets + index * width, width); }
  Bytes value(uint64_t index) const { return bytes.subspan(offset(index), offset(index + 1) - offset(index)); }
};
// The width in bytes of the offsets of a Variable encoding.
arrow::Result<unsigned> OffsetBytes(const pb::Variable& encoding);
// Checks the offsets of the wanted values only: a chunk of many may be read for one.
arrow::Result<VariableView> ViewMiniBlock(Bytes buffer, unsigned width, uint64_t num_values,
                                          std::span<const Slice> wanted);
// Appends the values as they are.
arrow::Status AppendSlice(const VariableView& view, const Slice& slice, ValueSink& out);

// A name for messages: "Flat", "General", ...
std::string NameOf(const pb::CompressiveEncoding& encoding);
arrow::Status DoesNotFit(std::string_view encoding, const ValueShape& shape);

}  // namespace javelin::file
