// Byte j of all values of a chunk together, for each j, so that compression finds more: where values differ in their
// low bytes only, as those of counters and clocks do, all other streams are runs.
#include "javelin/file/chunk_encoder_internal.h"

namespace javelin::file {

namespace {

// Reading a value decompresses its chunk: bytes of that many values.
constexpr uint64_t kChunkValues = 1024;

class SplitChunks final : public ChunkEncoder {
 public:
  SplitChunks(const LeafView& view, uint64_t width) : view_(view), width_(width) {}

  uint64_t chunk_values() const override { return kChunkValues; }
  uint64_t total_bytes() const override { return view_.length * width_; }

  arrow::Status Encode(uint64_t first, uint64_t count, std::vector<ByteVector>& buffers) override {
    ByteVector split(count * width_);
    for (uint64_t i = 0; i < count; ++i) {
      if (view_.IsNull(first + i)) continue;
      const uint8_t* value = view_.values + (first + i) * width_;
      for (uint64_t byte = 0; byte < width_; ++byte) split[byte * count + i] = value[byte];
    }
    buffers.push_back(std::move(split));
    return arrow::Status::OK();
  }

  void Describe(pb::CompressiveEncoding& encoding) const override {
    encoding.mutable_byte_stream_split()->mutable_values()->mutable_flat()->set_bits_per_value(width_ * 8);
  }

 private:
  const LeafView& view_;
  const uint64_t width_;
};

}  // namespace

ChunkEncoderPtr MakeSplitChunks(const LeafView& view, uint64_t bits) {
  if (bits != 32 && bits != 64) return nullptr;
  return std::make_unique<SplitChunks>(view, bits / 8);
}

}  // namespace javelin::file
