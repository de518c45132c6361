#include <bit>

#include "javelin/file/chunk_encoder_internal.h"

namespace javelin::file {

namespace {

// A chunk is what a read of one row must decode: small where strings are plain, larger where compression needs context.
constexpr uint64_t kPlainChunkBytes = 8u << 10;
constexpr uint64_t kCompressedChunkBytes = 32u << 10;
constexpr uint64_t kMaxChunkValues = 4096;
constexpr int kZstdLevel = 3;
// Sampled chunks must shrink to this part, or strings stay plain and cheap to read.
constexpr double kCompressRatio = 0.8;
constexpr uint64_t kSampleChunks = 3;
// Less than this is not worth a frame.
constexpr uint64_t kMinCompressBytes = 512;

uint64_t VisibleBytes(const LeafView& view) {
  uint64_t bytes = 0;
  for (uint64_t i = 0; i < view.length; ++i) bytes += view.Value(i).size();
  return bytes;
}

// The power of two of values that come near a size.
uint64_t ValuesFor(uint64_t chunk_bytes, uint64_t total_bytes, uint64_t num_values) {
  const uint64_t mean = std::max<uint64_t>(total_bytes / num_values, 1);
  return std::clamp<uint64_t>(std::bit_floor(chunk_bytes / mean), 2, kMaxChunkValues);
}

class VariableChunks final : public ChunkEncoder {
 public:
  explicit VariableChunks(const LeafView& view) : view_(view) {
    total_bytes_ = VisibleBytes(view) + (view.length + 1) * view.offset_bytes;
    chunk_values_ = ValuesFor(kPlainChunkBytes, total_bytes_, view.length);
  }

  // Switches to compressed chunks if that pays.
  arrow::Status ConsiderCompression() {
    if (total_bytes_ < kMinCompressBytes) return arrow::Status::OK();
    const uint64_t values = ValuesFor(kCompressedChunkBytes, total_bytes_, view_.length);
    const uint64_t num_chunks = (view_.length + values - 1) / values;
    const uint64_t step = std::max<uint64_t>(num_chunks / kSampleChunks, 1);
    uint64_t plain_bytes = 0;
    ByteVector compressed;
    for (uint64_t chunk = 0; chunk < num_chunks; chunk += step) {
      const uint64_t first = chunk * values;
      const ByteVector plain = EncodePlain(first, std::min(values, view_.length - first));
      plain_bytes += plain.size();
      ARROW_RETURN_NOT_OK(compressor_.Compress(CompressionScheme::kZstd, kZstdLevel, plain, compressed));
    }
    if (static_cast<double>(compressed.size()) > static_cast<double>(plain_bytes) * kCompressRatio)
      return arrow::Status::OK();
    compress_ = true;
    chunk_values_ = values;
    return arrow::Status::OK();
  }

  uint64_t chunk_values() const override { return chunk_values_; }
  uint64_t total_bytes() const override { return total_bytes_; }

  arrow::Status Encode(uint64_t first, uint64_t count, std::vector<ByteVector>& buffers) override {
    ByteVector plain = EncodePlain(first, count);
    if (!compress_) {
      buffers.push_back(std::move(plain));
      return arrow::Status::OK();
    }
    buffers.emplace_back();
    return compressor_.Compress(CompressionScheme::kZstd, kZstdLevel, plain, buffers.back());
  }

  void Describe(pb::CompressiveEncoding& encoding) const override {
    pb::CompressiveEncoding* next = &encoding;
    if (compress_) {
      next->mutable_general()->mutable_compression()->set_scheme(pb::ZSTD);
      next->mutable_general()->mutable_compression()->set_level(kZstdLevel);
      next = next->mutable_general()->mutable_values();
    }
    next->mutable_variable()->mutable_offsets()->mutable_flat()->set_bits_per_value(view_.offset_bytes * 8);
  }

 private:
  // Offsets from the start of the buffer, bytes, padding to whole offsets.
  ByteVector EncodePlain(uint64_t first, uint64_t count) const {
    const unsigned width = view_.offset_bytes;
    uint64_t size = (count + 1) * width;
    for (uint64_t i = first; i < first + count; ++i) size += view_.Value(i).size();
    ByteVector out(RoundUp(size, width));
    uint64_t at = (count + 1) * width;
    for (uint64_t i = 0; i <= count; ++i) {
      std::memcpy(out.data() + i * width, &at, width);
      if (i == count) break;
      const Bytes value = view_.Value(first + i);
      if (!value.empty()) std::memcpy(out.data() + at, value.data(), value.size());
      at += value.size();
    }
    return out;
  }

  const LeafView& view_;
  uint64_t total_bytes_ = 0;
  uint64_t chunk_values_ = 2;
  bool compress_ = false;
  Compressor compressor_;
};

}  // namespace

arrow::Result<ChunkEncoderPtr> MakeVariableChunks(const LeafView& view) {
  auto chunks = std::make_unique<VariableChunks>(view);
  ARROW_RETURN_NOT_OK(chunks->ConsiderCompression());
  return chunks;
}

}  // namespace javelin::file
