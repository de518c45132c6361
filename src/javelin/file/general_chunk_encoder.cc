// Chunks of another encoding, the first buffer of each compressed.
#include "javelin/file/chunk_encoder_internal.h"

namespace javelin::file {

namespace {

constexpr uint64_t kSampleChunks = 3;

uint64_t TotalSize(const std::vector<ByteVector>& buffers) {
  uint64_t size = 0;
  for (const ByteVector& buffer : buffers) size += buffer.size();
  return size;
}

class GeneralChunks final : public ChunkEncoder {
 public:
  GeneralChunks(ChunkEncoderPtr inner, CompressionScheme scheme, std::optional<int> level)
      : inner_(std::move(inner)), scheme_(scheme), level_(level) {}

  uint64_t chunk_values() const override { return inner_->chunk_values(); }
  uint64_t total_bytes() const override { return total_bytes_; }

  // By a sample of chunks.
  arrow::Status Measure(uint64_t num_values) {
    const uint64_t num_chunks = (num_values + chunk_values() - 1) / chunk_values();
    const uint64_t step = std::max<uint64_t>(num_chunks / kSampleChunks, 1);
    uint64_t plain = 0;
    uint64_t compressed = 0;
    for (uint64_t chunk = 0; chunk < num_chunks; chunk += step) {
      const uint64_t first = chunk * chunk_values();
      const uint64_t count = std::min(chunk_values(), num_values - first);
      std::vector<ByteVector> buffers;
      ARROW_RETURN_NOT_OK(inner_->Encode(first, count, buffers));
      plain += TotalSize(buffers);
      ARROW_RETURN_NOT_OK(Compress(buffers[0]));
      compressed += TotalSize(buffers);
    }
    total_bytes_ = static_cast<uint64_t>(static_cast<double>(inner_->total_bytes()) * static_cast<double>(compressed) /
                                         static_cast<double>(plain));
    return arrow::Status::OK();
  }

  arrow::Status Encode(uint64_t first, uint64_t count, std::vector<ByteVector>& buffers) override {
    const size_t buffer = buffers.size();
    ARROW_RETURN_NOT_OK(inner_->Encode(first, count, buffers));
    return Compress(buffers[buffer]);
  }

  void Describe(pb::CompressiveEncoding& encoding) const override {
    DescribeCompression(scheme_, level_, *encoding.mutable_general()->mutable_compression());
    inner_->Describe(*encoding.mutable_general()->mutable_values());
  }

 private:
  arrow::Status Compress(ByteVector& buffer) {
    const ByteVector plain = std::exchange(buffer, {});
    return compressor_.Compress(scheme_, level_.value_or(kDefaultZstdLevel), plain, buffer);
  }

  const ChunkEncoderPtr inner_;
  const CompressionScheme scheme_;
  const std::optional<int> level_;
  uint64_t total_bytes_ = 0;
  Compressor compressor_;
};

}  // namespace

void DescribeCompression(CompressionScheme scheme, std::optional<int> level, pb::BufferCompression& compression) {
  compression.set_scheme(scheme == CompressionScheme::kLz4 ? pb::LZ4 : pb::ZSTD);
  if (level) compression.set_level(*level);
}

arrow::Result<ChunkEncoderPtr> MakeGeneralChunks(ChunkEncoderPtr inner, uint64_t num_values, CompressionScheme scheme,
                                                 std::optional<int> level) {
  auto chunks = std::make_unique<GeneralChunks>(std::move(inner), scheme, level);
  ARROW_RETURN_NOT_OK(chunks->Measure(num_values));
  return chunks;
}

}  // namespace javelin::file
