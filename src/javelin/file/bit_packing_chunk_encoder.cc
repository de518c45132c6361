#include "javelin/file/bit_packing.h"
#include "javelin/file/chunk_encoder_internal.h"

namespace javelin::file {

namespace {

// Packed chunks are larger than values as they are at most by this part of them, or they are not worth unpacking.
constexpr double kWorthwhile = 0.95;

template <typename T>
class PackedChunks : public ChunkEncoder {
 public:
  explicit PackedChunks(uint64_t num_values) : num_values_(num_values) {}
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

 protected:
  // Copies values to `unit`, null ones as zero.
  virtual void Load(uint64_t first, uint64_t count, T* unit) const = 0;

  // To be called once values can be loaded.
  void Measure() {
    T unit[kPackedUnit];
    for (uint64_t first = 0; first < num_values_; first += kPackedUnit) {
      const uint64_t count = std::min<uint64_t>(kPackedUnit, num_values_ - first);
      Load(first, count, unit);
      total_bytes_ += sizeof(T) + PackedBytes(WidthOf(unit, count));
    }
  }

 private:
  uint64_t num_values_;
  uint64_t total_bytes_ = 0;
};

template <typename T>
class PackedValues final : public PackedChunks<T> {
 public:
  explicit PackedValues(const LeafView& view) : PackedChunks<T>(view.length), view_(view) { this->Measure(); }

 private:
  void Load(uint64_t first, uint64_t count, T* unit) const override {
    std::memcpy(unit, view_.values + first * sizeof(T), count * sizeof(T));
    if (!view_.HasNulls()) return;
    for (uint64_t i = 0; i < count; ++i) {
      if (view_.IsNull(first + i)) unit[i] = 0;
    }
  }
  const LeafView& view_;
};

class PackedIndices final : public PackedChunks<uint32_t> {
 public:
  explicit PackedIndices(const std::vector<uint32_t>& indices) : PackedChunks(indices.size()), indices_(indices) {
    Measure();
  }

 private:
  void Load(uint64_t first, uint64_t count, uint32_t* unit) const override {
    std::memcpy(unit, indices_.data() + first, count * sizeof(uint32_t));
  }
  const std::vector<uint32_t>& indices_;
};

template <typename T>
ChunkEncoderPtr MakeIfSmaller(const LeafView& view) {
  auto packed = std::make_unique<PackedValues<T>>(view);
  if (static_cast<double>(packed->total_bytes()) > static_cast<double>(view.length * sizeof(T)) * kWorthwhile)
    return nullptr;
  return packed;
}

}  // namespace

ChunkEncoderPtr MakeBitPackedChunks(const LeafView& view, uint64_t bits) {
  switch (bits) {
    case 8: return MakeIfSmaller<uint8_t>(view);
    case 16: return MakeIfSmaller<uint16_t>(view);
    case 32: return MakeIfSmaller<uint32_t>(view);
    case 64: return MakeIfSmaller<uint64_t>(view);
    default: return nullptr;
  }
}

ChunkEncoderPtr MakeBitPackedIndices(const std::vector<uint32_t>& indices) {
  return std::make_unique<PackedIndices>(indices);
}

}  // namespace javelin::file
