// InlineBitpacking (one unit with its width in front) and OutOfLineBitpacking (units of one width, then a tail).
#include "javelin/base/error.h"
#include "javelin/file/bit_packing.h"
#include "javelin/file/encodings_internal.h"

namespace javelin::file {

namespace {

// Below this many wanted values of a unit, picking them one by one beats unpacking all 1024.
constexpr uint64_t kFewValues = 24;
constexpr uint64_t kMaxEmptyValues = 1u << 16;

// `target`: room for the slices.
template <typename T>
void UnpackSlices(const uint8_t* packed, unsigned width, std::span<const Slice> slices, uint8_t* target) {
  const uint64_t wanted = TotalCount(slices);
  if (wanted == kPackedUnit && reinterpret_cast<uintptr_t>(target) % sizeof(T) == 0)
    return UnpackUnit<T>(packed, width, reinterpret_cast<T*>(target));
  if (wanted <= kFewValues) {
    for (const Slice& slice : slices) {
      for (uint64_t i = slice.first; i < slice.end(); ++i, target += sizeof(T))
        StoreAt<T>(target, UnpackOne<T>(packed, width, i));
    }
    return;
  }
  T unit[kPackedUnit];
  UnpackUnit<T>(packed, width, unit);
  for (const Slice& slice : slices) {
    std::memcpy(target, unit + slice.first, slice.count * sizeof(T));
    target += slice.count * sizeof(T);
  }
}

template <typename T>
class InlineDecoder final : public MiniBlockDecoder, public BlockDecoder {
 public:
  uint64_t MostBytes(uint64_t) const override { return sizeof(T) + kPackedUnit * sizeof(T); }
  arrow::Status Decode(std::span<const Bytes> buffers, uint64_t num_values, std::span<const Slice> slices,
                       DecodeContext&, ValueSink& out) const override {
    const Bytes chunk = buffers[0];
    if (num_values > kPackedUnit)
      return Corruption("a bit-packed chunk claims {} values, at most 1024 fit", num_values);
    if (chunk.size() < sizeof(T))
      return Corruption("a bit-packed chunk of {} bytes has no room for its width", chunk.size());
    const uint64_t width = LoadAt<T>(chunk.data());
    if (width > sizeof(T) * 8 || chunk.size() != sizeof(T) + PackedBytes(static_cast<unsigned>(width))) {
      return Corruption("a bit-packed chunk of {} bytes claims {} bits per value of {}", chunk.size(), width,
                        sizeof(T) * 8);
    }
    ARROW_ASSIGN_OR_RAISE(uint8_t* target, out.AppendFixed(TotalCount(slices)));
    UnpackSlices<T>(chunk.data() + sizeof(T), static_cast<unsigned>(width), slices, target);
    return arrow::Status::OK();
  }

  arrow::Status Decode(Bytes block, uint64_t num_values, DecodeContext& context, ValueSink& out) const override {
    const Slice all{0, num_values};
    return Decode(std::span(&block, 1), num_values, std::span(&all, 1), context, out);
  }
};

template <typename T>
class OutOfLineDecoder final : public BlockDecoder {
 public:
  explicit OutOfLineDecoder(unsigned width) : width_(width) {}
  uint64_t MostBytes(uint64_t num_values) const override {
    const uint64_t tail = std::max<uint64_t>(PackedBytes(width_), num_values % kPackedUnit * sizeof(T));
    return SaturatedSum(SaturatedProduct(num_values / kPackedUnit, PackedBytes(width_)), tail);
  }

  arrow::Status Decode(Bytes block, uint64_t num_values, DecodeContext&, ValueSink& out) const override {
    // Units of no bytes at all must not multiply without end.
    if (width_ == 0 && num_values > kMaxEmptyValues) return WrongSize(block, num_values);
    const uint64_t units = num_values / kPackedUnit;
    const uint64_t tail = num_values % kPackedUnit;
    const uint64_t unit_bytes = PackedBytes(width_);
    if (units > 0 && unit_bytes > 0 && units > block.size() / unit_bytes) return WrongSize(block, num_values);
    const uint64_t rest = block.size() - units * unit_bytes;
    const bool plain_tail = rest == tail * sizeof(T);
    if (!plain_tail && (tail == 0 || rest != unit_bytes)) return WrongSize(block, num_values);
    // Once for all of them: there may be millions.
    ARROW_ASSIGN_OR_RAISE(uint8_t* target, out.AppendFixed(num_values));
    const uint8_t* packed = block.data();
    const Slice all{0, kPackedUnit};
    for (uint64_t unit = 0; unit < units; ++unit, packed += unit_bytes, target += kPackedUnit * sizeof(T))
      UnpackSlices<T>(packed, width_, std::span(&all, 1), target);
    const Slice part{0, tail};
    if (!plain_tail) {
      UnpackSlices<T>(packed, width_, std::span(&part, 1), target);
    } else if (rest > 0) {
      std::memcpy(target, packed, rest);
    }
    return arrow::Status::OK();
  }

 private:
  arrow::Status WrongSize(Bytes block, uint64_t num_values) const {
    return Corruption("a block of {} bytes does not hold {} values packed in {} bits", block.size(), num_values,
                      width_);
  }
  unsigned width_;
};

template <typename Base, template <typename> typename Decoder, typename... Args>
arrow::Result<std::unique_ptr<const Base>> MakeForBits(uint64_t bits, Args... args) {
  switch (bits) {
    case 8: return std::make_unique<Decoder<uint8_t>>(args...);
    case 16: return std::make_unique<Decoder<uint16_t>>(args...);
    case 32: return std::make_unique<Decoder<uint32_t>>(args...);
    case 64: return std::make_unique<Decoder<uint64_t>>(args...);
    default: return Corruption("bit packing of values of {} bits does not exist", bits);
  }
}

arrow::Status CheckInline(const pb::InlineBitpacking& encoding, const ValueShape& shape) {
  if (encoding.has_values()) return NotSupported("bit-packed values with a compression of their own are not readable");
  const uint64_t bits = encoding.uncompressed_bits_per_value();
  if (!shape.is_fixed(bits)) return DoesNotFit(fmt::format("InlineBitpacking({})", bits), shape);
  return arrow::Status::OK();
}

}  // namespace

arrow::Result<MiniBlockDecoderPtr> MakeInlineBitpackingMiniBlock(const pb::InlineBitpacking& encoding,
                                                                 const ValueShape& shape) {
  ARROW_RETURN_NOT_OK(CheckInline(encoding, shape));
  return MakeForBits<MiniBlockDecoder, InlineDecoder>(shape.bits);
}

arrow::Result<BlockDecoderPtr> MakeInlineBitpackingBlock(const pb::InlineBitpacking& encoding,
                                                         const ValueShape& shape) {
  ARROW_RETURN_NOT_OK(CheckInline(encoding, shape));
  return MakeForBits<BlockDecoder, InlineDecoder>(shape.bits);
}

arrow::Result<BlockDecoderPtr> MakeOutOfLineBitpackingBlock(const pb::OutOfLineBitpacking& encoding,
                                                            const ValueShape& shape) {
  const uint64_t bits = encoding.uncompressed_bits_per_value();
  if (!shape.is_fixed(bits)) return DoesNotFit(fmt::format("OutOfLineBitpacking({})", bits), shape);
  if (!encoding.values().has_flat() || encoding.values().flat().has_data()) {
    return NotSupported("OutOfLineBitpacking over {} is not readable", NameOf(encoding.values()));
  }
  const uint64_t width = encoding.values().flat().bits_per_value();
  if (width > bits) return Corruption("values of {} bits cannot be packed in {}", bits, width);
  return MakeForBits<BlockDecoder, OutOfLineDecoder>(bits, static_cast<unsigned>(width));
}

}  // namespace javelin::file
