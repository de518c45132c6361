#include "javelin/file/decoder_internal.h"

#include "javelin/base/error.h"
#include "javelin/file/encodings_internal.h"

namespace javelin::file {

namespace {

using Encoding = pb::CompressiveEncoding;

// How deep encodings may hold others: General(Fsst(Variable)) is 3; lists of lists add one each.
constexpr int kMaxEncodingDepth = 40;

// Encodings are messages inside messages, so a hostile one can be as deep as it likes; every maker descends by one.
const Encoding* InnerOf(const Encoding& encoding) {
  switch (encoding.compression_case()) {
    case Encoding::kGeneral: return &encoding.general().values();
    case Encoding::kFsst: return &encoding.fsst().values();
    case Encoding::kFixedSizeList: return &encoding.fixed_size_list().values();
    case Encoding::kOutOfLineBitpacking: return &encoding.out_of_line_bitpacking().values();
    case Encoding::kPackedStruct: return &encoding.packed_struct().values();
    default: return nullptr;
  }
}

arrow::Status CheckDepth(const Encoding& encoding) {
  int depth = 0;
  for (const Encoding* inner = &encoding; inner != nullptr; inner = InnerOf(*inner)) {
    if (++depth > kMaxEncodingDepth) return Corruption("encodings are nested deeper than {} levels", kMaxEncodingDepth);
  }
  return arrow::Status::OK();
}

arrow::Status NotHere(const Encoding& encoding, std::string_view position) {
  if (encoding.compression_case() == Encoding::COMPRESSION_NOT_SET) {
    return NotSupported("{} have an encoding that this version does not know", position);
  }
  return NotSupported("{} in encoding {} are not readable", position, NameOf(encoding));
}

}  // namespace

std::string NameOf(const Encoding& encoding) {
  switch (encoding.compression_case()) {
    case Encoding::kFlat: return "Flat";
    case Encoding::kVariable: return "Variable";
    case Encoding::kConstant: return "Constant";
    case Encoding::kOutOfLineBitpacking: return "OutOfLineBitpacking";
    case Encoding::kInlineBitpacking: return "InlineBitpacking";
    case Encoding::kFsst: return "Fsst";
    case Encoding::kDictionary: return "Dictionary";
    case Encoding::kRle: return "Rle";
    case Encoding::kByteStreamSplit: return "ByteStreamSplit";
    case Encoding::kGeneral: return "General";
    case Encoding::kFixedSizeList: return "FixedSizeList";
    case Encoding::kPackedStruct: return "PackedStruct";
    case Encoding::kVariablePackedStruct: return "VariablePackedStruct";
    case Encoding::COMPRESSION_NOT_SET: return "unknown";
  }
  return "unknown";
}

arrow::Status DoesNotFit(std::string_view encoding, const ValueShape& shape) {
  return Corruption("encoding {} does not fit a column of {}", encoding, ToString(shape));
}

arrow::Result<MiniBlockDecoderPtr> MakeMiniBlockDecoder(const Encoding& encoding, const ValueShape& shape) {
  ARROW_RETURN_NOT_OK(CheckDepth(encoding));
  switch (encoding.compression_case()) {
    case Encoding::kFlat: return MakeFlatMiniBlock(encoding.flat(), shape);
    case Encoding::kVariable: return MakeVariableMiniBlock(encoding.variable(), shape);
    case Encoding::kInlineBitpacking: return MakeInlineBitpackingMiniBlock(encoding.inline_bitpacking(), shape);
    case Encoding::kFsst: return MakeFsstMiniBlock(encoding.fsst(), shape);
    case Encoding::kRle: return MakeRleMiniBlock(encoding.rle(), shape);
    case Encoding::kByteStreamSplit: return MakeByteStreamSplitMiniBlock(encoding.byte_stream_split(), shape);
    case Encoding::kGeneral: return MakeGeneralMiniBlock(encoding.general(), shape);
    case Encoding::kFixedSizeList: return MakeFixedSizeListMiniBlock(encoding.fixed_size_list(), shape);
    case Encoding::kPackedStruct: return MakePackedStructMiniBlock(encoding.packed_struct(), shape);
    default: return NotHere(encoding, "mini-block values");
  }
}

arrow::Result<BlockDecoderPtr> MakeBlockDecoder(const Encoding& encoding, const ValueShape& shape) {
  ARROW_RETURN_NOT_OK(CheckDepth(encoding));
  switch (encoding.compression_case()) {
    case Encoding::kFlat: return MakeFlatBlock(encoding.flat(), shape);
    case Encoding::kVariable: return MakeVariableBlock(encoding.variable(), shape);
    case Encoding::kInlineBitpacking: return MakeInlineBitpackingBlock(encoding.inline_bitpacking(), shape);
    case Encoding::kOutOfLineBitpacking: return MakeOutOfLineBitpackingBlock(encoding.out_of_line_bitpacking(), shape);
    case Encoding::kRle: return MakeRleBlock(encoding.rle(), shape);
    case Encoding::kGeneral: return MakeGeneralBlock(encoding.general(), shape);
    default: return NotHere(encoding, "levels or dictionary items");
  }
}

arrow::Result<FixedValueDecoderPtr> MakeFixedValueDecoder(const Encoding& encoding, const ValueShape& shape) {
  ARROW_RETURN_NOT_OK(CheckDepth(encoding));
  switch (encoding.compression_case()) {
    case Encoding::kFlat: return MakeFlatValue(encoding.flat(), shape);
    case Encoding::kFixedSizeList: return MakeFixedSizeListValue(encoding.fixed_size_list(), shape);
    case Encoding::kPackedStruct: return MakePackedStructValue(encoding.packed_struct(), shape);
    default: return NotHere(encoding, "full-zip values of fixed width");
  }
}

arrow::Result<VariableValueDecoderPtr> MakeVariableValueDecoder(const Encoding& encoding, const ValueShape& shape) {
  ARROW_RETURN_NOT_OK(CheckDepth(encoding));
  switch (encoding.compression_case()) {
    case Encoding::kVariable: return MakeVariableValue(encoding.variable(), shape);
    case Encoding::kFsst: return MakeFsstValue(encoding.fsst(), shape);
    case Encoding::kGeneral: return MakeGeneralValue(encoding.general(), shape);
    case Encoding::kVariablePackedStruct:
      return MakeVariablePackedStructValue(encoding.variable_packed_struct(), shape);
    default: return NotHere(encoding, "full-zip values of variable width");
  }
}

}  // namespace javelin::file
