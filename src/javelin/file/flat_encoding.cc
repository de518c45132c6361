// Flat: values back to back; booleans as a bitmap.
#include "javelin/base/error.h"
#include "javelin/file/encodings_internal.h"

namespace javelin::file {

namespace {

arrow::Status CheckFlat(const pb::Flat& encoding, const ValueShape& shape) {
  if (encoding.has_data()) return NotSupported("Flat values with a compression of their own are not readable");
  if (shape.is_fixed(0)) return NotSupported("values without bytes are readable where all are alike only");
  if (!shape.is_fixed(encoding.bits_per_value()))
    return DoesNotFit(fmt::format("Flat({})", encoding.bits_per_value()), shape);
  return arrow::Status::OK();
}

class FlatDecoder final : public MiniBlockDecoder, public BlockDecoder {
 public:
  explicit FlatDecoder(uint64_t bits) : bits_(bits) {}
  uint64_t MostBytes(uint64_t num_values) const override { return MostFlatBytes(num_values, bits_); }

  arrow::Status Decode(std::span<const Bytes> buffers, uint64_t num_values, std::span<const Slice> slices,
                       DecodeContext&, ValueSink& out) const override {
    const Bytes values = buffers[0];
    ARROW_RETURN_NOT_OK(CheckSize(values, num_values));
    for (const Slice& slice : slices) {
      if (slice.count == 0) continue;  // an empty buffer may lie nowhere
      if (bits_ == 1) {
        ARROW_RETURN_NOT_OK(out.AppendBits(values.data(), slice.first, slice.count));
        continue;
      }
      ARROW_ASSIGN_OR_RAISE(uint8_t* target, out.AppendFixed(slice.count));
      std::memcpy(target, values.data() + slice.first * (bits_ / 8), slice.count * (bits_ / 8));
    }
    return arrow::Status::OK();
  }

  arrow::Status Decode(Bytes block, uint64_t num_values, DecodeContext& context, ValueSink& out) const override {
    const Slice all{0, num_values};
    return Decode(std::span(&block, 1), num_values, std::span(&all, 1), context, out);
  }

 private:
  arrow::Status CheckSize(Bytes values, uint64_t num_values) const {
    const uint64_t available = bits_ == 1 ? values.size() * 8 : values.size() / (bits_ / 8);
    if (num_values > available) {
      return Corruption("a buffer of {} bytes cannot hold {} values of {} bits", values.size(), num_values, bits_);
    }
    return arrow::Status::OK();
  }

  uint64_t bits_;
};

class FlatValueDecoder final : public FixedValueDecoder {
 public:
  explicit FlatValueDecoder(const ValueShape& shape) : bits_(shape.bits) {}
  // A boolean takes a whole byte here.
  uint64_t bytes() const override { return bits_ == 1 ? 1 : bits_ / 8; }
  bool is_plain() const override { return bits_ != 1; }

  arrow::Status Decode(const uint8_t* values, uint64_t stride, uint64_t count, ValueSink& out) const override {
    if (bits_ == 1) {
      for (uint64_t i = 0; i < count; ++i) ARROW_RETURN_NOT_OK(out.AppendBitRun(values[i * stride] & 1, 1));
      return arrow::Status::OK();
    }
    ARROW_ASSIGN_OR_RAISE(uint8_t* target, out.AppendFixed(count));
    if (stride == bytes()) {
      std::memcpy(target, values, count * stride);
      return arrow::Status::OK();
    }
    for (uint64_t i = 0; i < count; ++i) std::memcpy(target + i * bytes(), values + i * stride, bytes());
    return arrow::Status::OK();
  }

 private:
  uint64_t bits_;
};

}  // namespace

arrow::Result<MiniBlockDecoderPtr> MakeFlatMiniBlock(const pb::Flat& encoding, const ValueShape& shape) {
  ARROW_RETURN_NOT_OK(CheckFlat(encoding, shape));
  return std::make_unique<FlatDecoder>(shape.bits);
}

arrow::Result<BlockDecoderPtr> MakeFlatBlock(const pb::Flat& encoding, const ValueShape& shape) {
  ARROW_RETURN_NOT_OK(CheckFlat(encoding, shape));
  return std::make_unique<FlatDecoder>(shape.bits);
}

arrow::Result<FixedValueDecoderPtr> MakeFlatValue(const pb::Flat& encoding, const ValueShape& shape) {
  const bool widened_boolean = shape.is_fixed(1) && encoding.bits_per_value() == 8;
  if (!widened_boolean) ARROW_RETURN_NOT_OK(CheckFlat(encoding, shape));
  return std::make_unique<FlatValueDecoder>(shape);
}

}  // namespace javelin::file
