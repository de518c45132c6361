// Strings in chunks: offsets and bytes, the bytes perhaps FSST codes, the chunk perhaps compressed as a whole.
#include <bit>

#include "javelin/file/chunk_encoder_internal.h"
#include "javelin/file/string_form_internal.h"

namespace javelin::file {

namespace {

// A chunk is what a read of one row fetches, and in compressed form decodes: small, but for context to compress with.
constexpr uint64_t kChunkBytes = 8u << 10;
constexpr uint64_t kZstdChunkBytes = 32u << 10;
constexpr uint64_t kMaxChunkValues = 4096;
// Before 2.2 a chunk takes at most 32 KiB: room for levels, and in the first case for strings that FSST makes larger.
constexpr uint64_t kMaxSmallChunkBytes = 12u << 10;
constexpr uint64_t kMaxSmallZstdChunkBytes = 24u << 10;
// A form is tried on so many chunks.
constexpr uint64_t kSampleChunks = 3;
// Less than this is not worth a frame.
constexpr uint64_t kMinCompressBytes = 512;

class VariableChunks final : public ChunkEncoder {
 public:
  VariableChunks(const LeafView& view, const PageOptions& options)
      : view_(view), has_small_chunks_(options.version < FileVersion{2, 2}) {}

  // To be called first.
  arrow::Status Choose() {
    const uint64_t string_bytes = StringBytes(view_);
    const uint64_t offset_bytes = (view_.length + 1) * view_.offset_bytes;
    const uint64_t plain_bytes = string_bytes + offset_bytes;
    StringSizes sizes{.plain = plain_bytes};
    FsstTrial trial = TryFsst(view_, string_bytes);
    if (trial.encoder != nullptr) sizes.fsst = trial.bytes + offset_bytes + kFsstTableBytes;
    ARROW_ASSIGN_OR_RAISE(sizes.zstd, CompressedBytes(plain_bytes));
    form_ = ChooseStringForm(sizes, plain_bytes <= kChunkBytes ? ZstdUnit::kWholeSmallPage : ZstdUnit::kLargeChunk);
    switch (form_) {
      case StringForm::kPlain:
        total_bytes_ = plain_bytes;
        chunk_values_ = ValuesFor(kChunkBytes, plain_bytes);
        break;
      case StringForm::kFsst:
        fsst_ = std::move(trial.encoder);
        total_bytes_ = sizes.fsst;
        chunk_values_ = ValuesFor(kChunkBytes, trial.bytes + offset_bytes);
        break;
      case StringForm::kZstd:
        total_bytes_ = sizes.zstd;
        chunk_values_ = ValuesFor(kZstdChunkBytes, plain_bytes);
        break;
    }
    return arrow::Status::OK();
  }

  uint64_t chunk_values() const override { return chunk_values_; }
  uint64_t total_bytes() const override { return total_bytes_; }

  arrow::Status Encode(uint64_t first, uint64_t count, std::vector<ByteVector>& buffers) override {
    ByteVector plain = EncodeStrings(first, count);
    if (form_ != StringForm::kZstd) {
      buffers.push_back(std::move(plain));
      return arrow::Status::OK();
    }
    buffers.emplace_back();
    return compressor_.Compress(CompressionScheme::kZstd, kStringZstdLevel, plain, buffers.back());
  }

  void Describe(pb::CompressiveEncoding& encoding) const override {
    pb::CompressiveEncoding* next = &encoding;
    if (form_ == StringForm::kZstd) {
      next->mutable_general()->mutable_compression()->set_scheme(pb::ZSTD);
      next->mutable_general()->mutable_compression()->set_level(kStringZstdLevel);
      next = next->mutable_general()->mutable_values();
    }
    if (fsst_ != nullptr) {
      const auto table = fsst_->Table();
      next->mutable_fsst()->set_symbol_table(table.data(), table.size());
      next = next->mutable_fsst()->mutable_values();
    }
    next->mutable_variable()->mutable_offsets()->mutable_flat()->set_bits_per_value(view_.offset_bytes * 8);
  }

 private:
  // The power of two of values that come near a size from below, where all of them take `total_bytes`.
  uint64_t ValuesFor(uint64_t chunk_bytes, uint64_t total_bytes) const {
    const uint64_t mean = std::max<uint64_t>(total_bytes / view_.length, 1);
    uint64_t values = std::clamp<uint64_t>(std::bit_floor(chunk_bytes / mean), 2, kMaxChunkValues);
    const uint64_t limit = chunk_bytes == kZstdChunkBytes ? kMaxSmallZstdChunkBytes : kMaxSmallChunkBytes;
    while (has_small_chunks_ && values > 2 && LargestChunk(values) > limit) values /= 2;
    return values;
  }

  // Before encoding.
  uint64_t LargestChunk(uint64_t chunk_values) const {
    uint64_t largest = 0;
    for (uint64_t first = 0; first < view_.length; first += chunk_values) {
      const uint64_t end = std::min(first + chunk_values, view_.length);
      uint64_t bytes = (end - first + 1) * view_.offset_bytes;
      for (uint64_t i = first; i < end; ++i) bytes += view_.Value(i).size();
      largest = std::max(largest, bytes);
    }
    return largest;
  }

  // What the page would take in compressed chunks, by a sample of them; 0 if it is too small for that.
  arrow::Result<uint64_t> CompressedBytes(uint64_t plain_bytes) {
    if (plain_bytes < kMinCompressBytes) return 0;
    const uint64_t values = ValuesFor(kZstdChunkBytes, plain_bytes);
    const uint64_t num_chunks = (view_.length + values - 1) / values;
    const uint64_t step = std::max<uint64_t>(num_chunks / kSampleChunks, 1);
    uint64_t sampled = 0;
    ByteVector compressed;
    for (uint64_t chunk = 0; chunk < num_chunks; chunk += step) {
      const uint64_t first = chunk * values;
      const ByteVector plain = EncodeStrings(first, std::min(values, view_.length - first));
      sampled += plain.size();
      ARROW_RETURN_NOT_OK(compressor_.Compress(CompressionScheme::kZstd, kStringZstdLevel, plain, compressed));
    }
    return static_cast<uint64_t>(static_cast<double>(plain_bytes) * static_cast<double>(compressed.size()) /
                                 static_cast<double>(sampled));
  }

  // Offsets from the start of the buffer, bytes, padding to whole offsets.
  ByteVector EncodeStrings(uint64_t first, uint64_t count) const {
    const unsigned width = view_.offset_bytes;
    uint64_t size = 0;
    for (uint64_t i = first; i < first + count; ++i) size += view_.Value(i).size();
    uint64_t at = (count + 1) * width;
    ByteVector out(at + (fsst_ == nullptr ? size : FsstEncoder::Capacity(size)));
    for (uint64_t i = 0; i <= count; ++i) {
      std::memcpy(out.data() + i * width, &at, width);
      if (i == count) break;
      const Bytes value = view_.Value(first + i);
      if (fsst_ != nullptr) {
        at += fsst_->Encode(value, out.data() + at);
      } else {
        if (!value.empty()) std::memcpy(out.data() + at, value.data(), value.size());
        at += value.size();
      }
    }
    out.resize(at);
    out.resize(RoundUp(at, width));
    return out;
  }

  const LeafView& view_;
  const bool has_small_chunks_;
  StringForm form_ = StringForm::kPlain;
  std::unique_ptr<const FsstEncoder> fsst_;
  uint64_t total_bytes_ = 0;
  uint64_t chunk_values_ = 2;
  Compressor compressor_;
};

}  // namespace

arrow::Result<ChunkEncoderPtr> MakeVariableChunks(const LeafView& view, const PageOptions& options) {
  auto chunks = std::make_unique<VariableChunks>(view, options);
  ARROW_RETURN_NOT_OK(chunks->Choose());
  return chunks;
}

}  // namespace javelin::file
