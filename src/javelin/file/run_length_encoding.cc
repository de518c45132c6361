// Rle: values and how often each repeats (at most 255 times).
#include "javelin/base/error.h"
#include "javelin/file/encodings_internal.h"

namespace javelin::file {

namespace {

template <typename T>
class RleDecoder final : public MiniBlockDecoder, public BlockDecoder {
 public:
  size_t num_buffers() const override { return 2; }
  // A run of its own for each value, and the size in front that a block has.
  uint64_t MostBytes(uint64_t num_values) const override {
    return SaturatedSum(SaturatedProduct(num_values, sizeof(T) + 1), sizeof(uint64_t));
  }

  arrow::Status Decode(std::span<const Bytes> buffers, uint64_t num_values, std::span<const Slice> slices,
                       DecodeContext&, ValueSink& out) const override {
    const Bytes values = buffers[0];
    const Bytes lengths = buffers[1];
    if (values.size() != lengths.size() * sizeof(T)) {
      return Corruption("{} bytes of run values do not match {} run lengths", values.size(), lengths.size());
    }
    uint64_t total = 0;
    for (uint8_t length : lengths) total += length;
    if (total != num_values) return Corruption("run lengths add up to {} values instead of {}", total, num_values);
    uint64_t run = 0;
    uint64_t run_end = lengths.empty() ? 0 : lengths[0];
    for (const Slice& slice : slices) {
      ARROW_ASSIGN_OR_RAISE(uint8_t* target, out.AppendFixed(slice.count));
      for (uint64_t position = slice.first; position < slice.end();) {
        while (run_end <= position) run_end += lengths[++run];
        const T value = LoadElement<T>(values.data(), run);
        for (const uint64_t end = std::min(run_end, slice.end()); position < end; ++position, target += sizeof(T))
          StoreAt<T>(target, value);
      }
    }
    return arrow::Status::OK();
  }

  // A block is one buffer: the size of the values, the values, the lengths.
  arrow::Status Decode(Bytes block, uint64_t num_values, DecodeContext& context, ValueSink& out) const override {
    if (block.size() < sizeof(uint64_t))
      return Corruption("a run-length block of {} bytes has no room for its size", block.size());
    const uint64_t size = LoadAt<uint64_t>(block.data());
    const Bytes rest = block.subspan(sizeof(uint64_t));
    if (size > rest.size())
      return Corruption("a run-length block of {} bytes claims {} bytes of values", block.size(), size);
    const Bytes buffers[] = {rest.first(size), rest.subspan(size)};
    const Slice all{0, num_values};
    return Decode(buffers, num_values, std::span(&all, 1), context, out);
  }
};

arrow::Status CheckRle(const pb::Rle& encoding, const ValueShape& shape) {
  const bool flat = encoding.values().has_flat() && !encoding.values().flat().has_data();
  const bool flat_lengths = encoding.run_lengths().has_flat() && !encoding.run_lengths().flat().has_data() &&
                            encoding.run_lengths().flat().bits_per_value() == 8;
  if (!flat || !flat_lengths) {
    return NotSupported("Rle over {} and {} is not readable", NameOf(encoding.values()),
                        NameOf(encoding.run_lengths()));
  }
  const uint64_t bits = encoding.values().flat().bits_per_value();
  if (!shape.is_fixed(bits)) return DoesNotFit(fmt::format("Rle({})", bits), shape);
  return arrow::Status::OK();
}

template <typename Base>
arrow::Result<std::unique_ptr<const Base>> MakeRle(const pb::Rle& encoding, const ValueShape& shape) {
  ARROW_RETURN_NOT_OK(CheckRle(encoding, shape));
  switch (shape.bits) {
    case 8: return std::make_unique<RleDecoder<uint8_t>>();
    case 16: return std::make_unique<RleDecoder<uint16_t>>();
    case 32: return std::make_unique<RleDecoder<uint32_t>>();
    case 64: return std::make_unique<RleDecoder<uint64_t>>();
    default: return Corruption("run-length encoding of values of {} bits does not exist", shape.bits);
  }
}

}  // namespace

arrow::Result<MiniBlockDecoderPtr> MakeRleMiniBlock(const pb::Rle& encoding, const ValueShape& shape) {
  return MakeRle<MiniBlockDecoder>(encoding, shape);
}

arrow::Result<BlockDecoderPtr> MakeRleBlock(const pb::Rle& encoding, const ValueShape& shape) {
  return MakeRle<BlockDecoder>(encoding, shape);
}

}  // namespace javelin::file
