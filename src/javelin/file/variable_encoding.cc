// Variable: values of any length behind their offsets; in full-zip pages the bare bytes of one value.
#include "javelin/base/error.h"
#include "javelin/file/encodings_internal.h"

namespace javelin::file {

namespace {

// The offsets of those values must ascend and lie from `least` to `most`. One pass, no branch per value.
template <typename Offset>
bool AscendBetween(const uint8_t* offsets, std::span<const Slice> values, uint64_t least, uint64_t most) {
  bool wrong = false;
  for (const Slice& slice : values) {
    for (uint64_t i = slice.first; i < slice.end(); ++i)
      wrong |= LoadElement<Offset>(offsets, i) > LoadElement<Offset>(offsets, i + 1);
    wrong |= LoadElement<Offset>(offsets, slice.first) < least || LoadElement<Offset>(offsets, slice.end()) > most;
  }
  return !wrong;
}

bool Ascend(const uint8_t* offsets, unsigned width, std::span<const Slice> values, uint64_t least, uint64_t most) {
  return width == 4 ? AscendBetween<uint32_t>(offsets, values, least, most)
                    : AscendBetween<uint64_t>(offsets, values, least, most);
}

arrow::Status CheckVariable(const pb::Variable& encoding, const ValueShape& shape) {
  if (encoding.has_values()) return NotSupported("Variable values with a compression of their own are not readable");
  if (shape.kind != ValueShape::Kind::kVariable) return DoesNotFit("Variable", shape);
  return arrow::Status::OK();
}

class VariableDecoder final : public MiniBlockDecoder {
 public:
  explicit VariableDecoder(unsigned width) : width_(width) {}
  uint64_t MostBytes(uint64_t) const override { return kAnySize; }

  arrow::Status Decode(std::span<const Bytes> buffers, uint64_t num_values, std::span<const Slice> slices,
                       DecodeContext&, ValueSink& out) const override {
    ARROW_ASSIGN_OR_RAISE(VariableView view, ViewMiniBlock(buffers[0], width_, num_values, slices));
    for (const Slice& slice : slices) ARROW_RETURN_NOT_OK(AppendSlice(view, slice, out));
    return arrow::Status::OK();
  }

 private:
  unsigned width_;
};

// Width of the offsets, where the bytes start, offsets from 0, bytes.
class VariableBlockDecoder final : public BlockDecoder {
 public:
  uint64_t MostBytes(uint64_t) const override { return kAnySize; }
  arrow::Status Decode(Bytes block, uint64_t num_values, DecodeContext&, ValueSink& out) const override {
    if (block.size() < 4) return Corruption("a block of strings of {} bytes has no header", block.size());
    const uint32_t bits = LoadAt<uint32_t>(block.data());
    if (bits > 0xFF) return NotSupported("a block of strings in the form of older writers is not readable");
    if (bits != 32 && bits != 64) return Corruption("a block of strings has offsets of {} bits", bits);
    const unsigned width = bits / 8;
    if (block.size() < 2 * width) return Corruption("a block of strings of {} bytes has no header", block.size());
    const uint64_t bytes_start = LoadUnsigned(block.data() + width, width);
    const uint64_t available = block.size() / width;
    if (available < 3 || num_values > available - 3 || bytes_start > block.size() ||
        bytes_start < (num_values + 3) * width) {
      return Corruption("a block of strings of {} bytes does not hold {} values", block.size(), num_values);
    }
    const VariableView view{block.data() + 2 * width, width, block.subspan(bytes_start)};
    const Slice all{0, num_values};
    if (!Ascend(view.offsets, width, {&all, 1}, 0, view.bytes.size()))
      return Corruption("the offsets of a block of strings do not ascend");
    return AppendSlice(view, all, out);
  }
};

class VariableValue final : public VariableValueDecoder {
 public:
  arrow::Status Decode(Bytes value, DecodeContext&, ValueSink& out) const override { return out.AppendValue(value); }
};

}  // namespace

arrow::Status AppendSlice(const VariableView& view, const Slice& slice, ValueSink& out) {
  const uint8_t* offsets = view.offsets + slice.first * view.width;
  return view.width == 4 ? out.AppendValues<uint32_t>(offsets, slice.count, view.bytes)
                         : out.AppendValues<uint64_t>(offsets, slice.count, view.bytes);
}

arrow::Result<unsigned> OffsetBytes(const pb::Variable& encoding) {
  if (!encoding.offsets().has_flat() || encoding.offsets().flat().has_data()) {
    return NotSupported("Variable with offsets in encoding {} is not readable", NameOf(encoding.offsets()));
  }
  const uint64_t bits = encoding.offsets().flat().bits_per_value();
  if (bits != 32 && bits != 64) return Corruption("Variable has offsets of {} bits", bits);
  return static_cast<unsigned>(bits / 8);
}

arrow::Result<VariableView> ViewMiniBlock(Bytes buffer, unsigned width, uint64_t num_values,
                                          std::span<const Slice> wanted) {
  const uint64_t words = buffer.size() / width;
  if (words < 1 || num_values > words - 1)
    return Corruption("a chunk of {} bytes does not hold {} offsets", buffer.size(), num_values + 1);
  const VariableView view{buffer.data(), width, buffer};
  if (!Ascend(view.offsets, width, wanted, (num_values + 1) * width, buffer.size())) {
    return Corruption("the offsets of a chunk of {} bytes do not ascend from behind themselves", buffer.size());
  }
  return view;
}

arrow::Result<MiniBlockDecoderPtr> MakeVariableMiniBlock(const pb::Variable& encoding, const ValueShape& shape) {
  ARROW_RETURN_NOT_OK(CheckVariable(encoding, shape));
  ARROW_ASSIGN_OR_RAISE(unsigned width, OffsetBytes(encoding));
  return std::make_unique<VariableDecoder>(width);
}

arrow::Result<BlockDecoderPtr> MakeVariableBlock(const pb::Variable& encoding, const ValueShape& shape) {
  ARROW_RETURN_NOT_OK(CheckVariable(encoding, shape));
  return std::make_unique<VariableBlockDecoder>();
}

arrow::Result<VariableValueDecoderPtr> MakeVariableValue(const pb::Variable& encoding, const ValueShape& shape) {
  ARROW_RETURN_NOT_OK(CheckVariable(encoding, shape));
  return std::make_unique<VariableValue>();
}

}  // namespace javelin::file
