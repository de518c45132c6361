#include "javelin/file/bit_packing.h"
#include "javelin/file/chunk_encoder_internal.h"

namespace javelin::file {

namespace {

template <typename T>
class PackedChunks final : public ChunkEncoder {
 public:
  explicit PackedChunks(const LeafView& view) : view_(view) {
    T unit[kPackedUnit];
    for (uint64_t first = 0; first < view.length; first += kPackedUnit) {
      const uint64_t count = std::min<uint64_t>(kPackedUnit, view.length - first);
      Load(first, count, unit);
      total_bytes_ += sizeof(T) + PackedBytes(WidthOf(unit, count));
    }
  }

  uint64_t chunk_values() const override { return kPackedUnit; }
  uint64_t total_bytes() const override { return total_bytes_; }

  arrow::Status Encode(uint64_t first, uint64_t count, std::vector<ByteVector>& buffers) override {
    T unit[kPackedUnit] = {};
    Load(first, count, unit);
    const unsigned width = WidthOf(unit, count);
    ByteVector packed(sizeof(T) + PackedBytes(width));
    StoreAt<T>(packed.data(), static_cast<T>(width));
    PackUnit<T>(unit, width, packed.data() + sizeof(T));
    buffers.push_back(std::move(packed));
    return arrow::Status::OK();
  }

  void Describe(pb::CompressiveEncoding& encoding) const override {
    encoding.mutable_inline_bitpacking()->set_uncompressed_bits_per_value(sizeof(T) * 8);
  }

 private:
  // Copies values to `unit`, null ones as zero.
  void Load(uint64_t first, uint64_t count, T* unit) const {
    std::memcpy(unit, view_.values + first * sizeof(T), count * sizeof(T));
    if (!view_.HasNulls()) return;
    for (uint64_t i = 0; i < count; ++i) {
      if (view_.IsNull(first + i)) unit[i] = 0;
    }
  }

  const LeafView& view_;
  uint64_t total_bytes_ = 0;
};

}  // namespace

ChunkEncoderPtr MakeBitPackedChunks(const LeafView& view, uint64_t bits) {
  switch (bits) {
    case 8: return std::make_unique<PackedChunks<uint8_t>>(view);
    case 16: return std::make_unique<PackedChunks<uint16_t>>(view);
    case 32: return std::make_unique<PackedChunks<uint32_t>>(view);
    case 64: return std::make_unique<PackedChunks<uint64_t>>(view);
    default: return nullptr;
  }
}

}  // namespace javelin::file
