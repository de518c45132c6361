// ByteStreamSplit: byte j of all values of a chunk together, for each j.
#include "javelin/base/error.h"
#include "javelin/file/encodings_internal.h"

namespace javelin::file {

namespace {

class ByteStreamSplitDecoder final : public MiniBlockDecoder {
 public:
  explicit ByteStreamSplitDecoder(uint64_t width) : width_(width) {}
  uint64_t MostBytes(uint64_t num_values) const override { return SaturatedProduct(num_values, width_); }

  arrow::Status Decode(std::span<const Bytes> buffers, uint64_t num_values, std::span<const Slice> slices,
                       DecodeContext&, ValueSink& out) const override {
    const Bytes bytes = buffers[0];
    if (bytes.size() % width_ != 0 || bytes.size() / width_ != num_values) {
      return Corruption("a chunk of {} bytes does not hold {} split values of {} bytes", bytes.size(), num_values,
                        width_);
    }
    for (const Slice& slice : slices) {
      ARROW_ASSIGN_OR_RAISE(uint8_t* target, out.AppendFixed(slice.count));
      for (uint64_t byte = 0; byte < width_; ++byte) {
        const uint8_t* stream = bytes.data() + byte * num_values + slice.first;
        for (uint64_t i = 0; i < slice.count; ++i) target[i * width_ + byte] = stream[i];
      }
    }
    return arrow::Status::OK();
  }

 private:
  uint64_t width_;
};

}  // namespace

arrow::Result<MiniBlockDecoderPtr> MakeByteStreamSplitMiniBlock(const pb::ByteStreamSplit& encoding,
                                                                const ValueShape& shape) {
  if (!encoding.values().has_flat() || encoding.values().flat().has_data()) {
    return NotSupported("ByteStreamSplit over {} is not readable", NameOf(encoding.values()));
  }
  const uint64_t bits = encoding.values().flat().bits_per_value();
  if (!shape.is_fixed(bits) || (bits != 32 && bits != 64))
    return DoesNotFit(fmt::format("ByteStreamSplit({})", bits), shape);
  return std::make_unique<ByteStreamSplitDecoder>(bits / 8);
}

}  // namespace javelin::file
