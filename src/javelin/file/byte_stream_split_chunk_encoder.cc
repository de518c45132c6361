// Numbers that go on regularly: byte j of all values of a chunk together, for each j, and compressed. Where values
// differ in their low bytes only, as those of counters and clocks do, all other streams are runs.
#include "javelin/base/error.h"
#include "javelin/file/chunk_encoder_internal.h"

namespace javelin::file {

namespace {

// Reading a value decompresses its chunk: bytes of that many values, and only for half of the bytes otherwise.
constexpr uint64_t kChunkValues = 1024;
constexpr double kWorthwhile = 0.5;
constexpr uint64_t kSampleChunks = 3;
// Less than this is not worth a frame.
constexpr uint64_t kMinBytes = 512;
// A hundredth to a tenth larger than with Zstandard, and read several times faster.
constexpr CompressionScheme kScheme = CompressionScheme::kLz4;

// Values of `width` bytes back to back.
struct Numbers {
  const uint8_t* values = nullptr;
  uint64_t width = 0;
  uint64_t count = 0;
  const LeafView* nulls = nullptr;  // whose null rows are zero; may be null
};

class SplitChunks final : public ChunkEncoder {
 public:
  explicit SplitChunks(const Numbers& numbers) : numbers_(numbers) {}

  uint64_t chunk_values() const override { return kChunkValues; }
  uint64_t total_bytes() const override { return total_bytes_; }

  // By a sample of chunks.
  arrow::Status Measure() {
    const uint64_t num_chunks = (numbers_.count + kChunkValues - 1) / kChunkValues;
    const uint64_t step = std::max<uint64_t>(num_chunks / kSampleChunks, 1);
    uint64_t sampled = 0;
    std::vector<ByteVector> buffers;
    for (uint64_t chunk = 0; chunk < num_chunks; chunk += step) {
      const uint64_t first = chunk * kChunkValues;
      const uint64_t count = std::min(kChunkValues, numbers_.count - first);
      ARROW_RETURN_NOT_OK(Encode(first, count, buffers));
      sampled += count;
    }
    uint64_t bytes = 0;
    for (const ByteVector& buffer : buffers) bytes += buffer.size();
    total_bytes_ = static_cast<uint64_t>(static_cast<double>(bytes) * static_cast<double>(numbers_.count) /
                                         static_cast<double>(sampled));
    return arrow::Status::OK();
  }

  arrow::Status Encode(uint64_t first, uint64_t count, std::vector<ByteVector>& buffers) override {
    const uint64_t width = numbers_.width;
    ByteVector split(count * width);
    for (uint64_t i = 0; i < count; ++i) {
      if (numbers_.nulls != nullptr && numbers_.nulls->IsNull(first + i)) continue;
      const uint8_t* value = numbers_.values + (first + i) * width;
      for (uint64_t byte = 0; byte < width; ++byte) split[byte * count + i] = value[byte];
    }
    buffers.emplace_back();
    return compressor_.Compress(kScheme, 0, split, buffers.back());
  }

  void Describe(pb::CompressiveEncoding& encoding) const override {
    encoding.mutable_general()->mutable_compression()->set_scheme(pb::LZ4);
    pb::CompressiveEncoding* split = encoding.mutable_general()->mutable_values();
    split->mutable_byte_stream_split()->mutable_values()->mutable_flat()->set_bits_per_value(numbers_.width * 8);
  }

 private:
  const Numbers numbers_;
  uint64_t total_bytes_ = 0;
  Compressor compressor_;
};

arrow::Result<ChunkEncoderPtr> MakeIfSmaller(const Numbers& numbers, uint64_t alternative_bytes) {
  if (alternative_bytes < kMinBytes) return nullptr;
  auto chunks = std::make_unique<SplitChunks>(numbers);
  ARROW_RETURN_NOT_OK(chunks->Measure());
  if (static_cast<double>(chunks->total_bytes()) > static_cast<double>(alternative_bytes) * kWorthwhile) return nullptr;
  return chunks;
}

}  // namespace

arrow::Result<ChunkEncoderPtr> MakeSplitChunks(const LeafView& view, uint64_t bits, uint64_t alternative_bytes) {
  if (bits != 32 && bits != 64) return nullptr;
  return MakeIfSmaller({view.values, bits / 8, view.length, view.HasNulls() ? &view : nullptr}, alternative_bytes);
}

arrow::Result<ChunkEncoderPtr> MakeSplitIndices(const std::vector<uint32_t>& indices, uint64_t alternative_bytes) {
  const auto* values = reinterpret_cast<const uint8_t*>(indices.data());
  return MakeIfSmaller({values, sizeof(uint32_t), indices.size(), nullptr}, alternative_bytes);
}

}  // namespace javelin::file
