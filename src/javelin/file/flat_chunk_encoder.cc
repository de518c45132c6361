#include <bit>

#include "javelin/file/chunk_encoder_internal.h"

namespace javelin::file {

namespace {

constexpr uint64_t kChunkBytes = 4096;
constexpr uint64_t kMaxChunkValues = 4096;

class BitChunks final : public ChunkEncoder {
 public:
  explicit BitChunks(const LeafView& view) : view_(view) {}
  uint64_t chunk_values() const override { return kMaxChunkValues; }
  uint64_t total_bytes() const override { return BytesForBits(view_.length); }

  arrow::Status Encode(uint64_t first, uint64_t count, std::vector<ByteVector>& buffers) override {
    ByteVector bits(BytesForBits(count));
    for (uint64_t i = 0; i < count; ++i) {
      const bool bit = !view_.IsNull(first + i) && view_.Bit(first + i);
      bits[i / 8] = static_cast<uint8_t>(bits[i / 8] | bit << (i % 8));
    }
    buffers.push_back(std::move(bits));
    return arrow::Status::OK();
  }

  void Describe(pb::CompressiveEncoding& encoding) const override { encoding.mutable_flat()->set_bits_per_value(1); }

 private:
  const LeafView& view_;
};

class ByteChunks final : public ChunkEncoder {
 public:
  ByteChunks(const LeafView& view, uint64_t width) : view_(view), width_(width) {}
  uint64_t chunk_values() const override {
    return std::clamp<uint64_t>(std::bit_floor(kChunkBytes / width_), 2, kMaxChunkValues);
  }
  uint64_t total_bytes() const override { return view_.length * width_; }

  arrow::Status Encode(uint64_t first, uint64_t count, std::vector<ByteVector>& buffers) override {
    const uint8_t* source = view_.values + first * width_;
    ByteVector values(source, source + count * width_);
    if (view_.HasNulls()) {
      for (uint64_t i = 0; i < count; ++i) {
        if (view_.IsNull(first + i)) std::memset(values.data() + i * width_, 0, width_);
      }
    }
    buffers.push_back(std::move(values));
    return arrow::Status::OK();
  }

  void Describe(pb::CompressiveEncoding& encoding) const override {
    encoding.mutable_flat()->set_bits_per_value(width_ * 8);
  }

 private:
  const LeafView& view_;
  uint64_t width_;
};

}  // namespace

ChunkEncoderPtr MakeFlatChunks(const LeafView& view, uint64_t bits) {
  if (bits == 1) return std::make_unique<BitChunks>(view);
  return std::make_unique<ByteChunks>(view, bits / 8);
}

}  // namespace javelin::file
