// Strings in chunks: offsets and bytes, the bytes perhaps FSST codes, the chunk perhaps compressed as a whole.
#include <bit>

#include "javelin/file/chunk_encoder_internal.h"
#include "javelin/file/string_form_internal.h"

namespace javelin::file {

namespace {

using Codec = EncodingWishes::Codec;

// A chunk is what a read of one row fetches, and in compressed form decodes: small, but for context to compress with.
constexpr uint64_t kChunkBytes = 8u << 10;
constexpr uint64_t kCompressedChunkBytes = 32u << 10;
constexpr uint64_t kMaxChunkValues = 4096;
// Before 2.2 a chunk takes at most 32 KiB: room for levels, and in the first case for strings that FSST makes larger.
constexpr uint64_t kMaxSmallChunkBytes = 12u << 10;
constexpr uint64_t kMaxSmallCompressedChunkBytes = 24u << 10;
constexpr uint64_t kSmallChunkLimit = 32u << 10;
// Less than this is not worth a frame.
constexpr uint64_t kMinCompressBytes = 512;

class VariableChunks final : public ChunkEncoder {
 public:
  // Without `fsst` the bytes as they are.
  VariableChunks(const LeafView& view, uint64_t chunk_values, uint64_t total_bytes,
                 std::unique_ptr<const FsstEncoder> fsst)
      : view_(view), chunk_values_(chunk_values), total_bytes_(total_bytes), fsst_(std::move(fsst)) {}

  uint64_t chunk_values() const override { return chunk_values_; }
  uint64_t total_bytes() const override { return total_bytes_; }

  // Offsets from the start of the buffer, bytes, padding to whole offsets.
  arrow::Status Encode(uint64_t first, uint64_t count, std::vector<ByteVector>& buffers) override {
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
    buffers.push_back(std::move(out));
    return arrow::Status::OK();
  }

  void Describe(pb::CompressiveEncoding& encoding) const override {
    DescribeStrings(fsst_.get(), view_.offset_bytes, encoding);
  }

 private:
  const LeafView& view_;
  const uint64_t chunk_values_;
  const uint64_t total_bytes_;
  const std::unique_ptr<const FsstEncoder> fsst_;
};

class Chooser {
 public:
  Chooser(const LeafView& view, const PageOptions& options)
      : view_(view),
        wishes_(options.wishes),
        has_small_chunks_(options.version < FileVersion{2, 2}),
        string_bytes_(StringBytes(view)),
        offset_bytes_((view.length + 1) * view.offset_bytes) {}

  arrow::Result<ChunkEncoderPtr> Choose() const {
    if (wishes_.codec == Codec::kNone || string_bytes_ == 0) return Plain(kChunkBytes);
    if (wishes_.codec == Codec::kFsst) return WithFsst({LearnFsst(view_), string_bytes_});
    if (const auto scheme = wishes_.compression()) {
      ARROW_ASSIGN_OR_RAISE(auto compressed, Compressed(*scheme));
      return compressed->total_bytes() < plain_bytes() ? std::move(compressed) : Plain(kChunkBytes);
    }
    StringSizes sizes{.plain = plain_bytes()};
    FsstTrial trial = TryFsst(view_, string_bytes_);
    if (trial.encoder != nullptr) sizes.fsst = trial.bytes + offset_bytes_ + kFsstTableBytes;
    ChunkEncoderPtr compressed;
    if (plain_bytes() >= kMinCompressBytes) {
      ARROW_ASSIGN_OR_RAISE(compressed, Compressed(CompressionScheme::kZstd));
      sizes.zstd = compressed->total_bytes();
    }
    const auto unit = plain_bytes() <= kChunkBytes ? ZstdUnit::kWholeSmallPage : ZstdUnit::kLargeChunk;
    switch (ChooseStringForm(sizes, unit)) {
      case StringForm::kFsst: return WithFsst(std::move(trial));
      case StringForm::kZstd: return compressed;
      case StringForm::kPlain: break;
    }
    return Plain(kChunkBytes);
  }

 private:
  uint64_t plain_bytes() const { return string_bytes_ + offset_bytes_; }

  ChunkEncoderPtr Plain(uint64_t chunk_bytes) const {
    return std::make_unique<VariableChunks>(view_, ValuesFor(chunk_bytes, plain_bytes()), plain_bytes(), nullptr);
  }
  ChunkEncoderPtr WithFsst(FsstTrial trial) const {
    const uint64_t bytes = trial.bytes + offset_bytes_;
    return std::make_unique<VariableChunks>(view_, ValuesFor(kChunkBytes, bytes), bytes + kFsstTableBytes,
                                            std::move(trial.encoder));
  }
  arrow::Result<ChunkEncoderPtr> Compressed(CompressionScheme scheme) const {
    return MakeGeneralChunks(Plain(kCompressedChunkBytes), view_.length, scheme, wishes_.level);
  }

  // The power of two of values that come near a size from below, where all of them take `total_bytes`.
  uint64_t ValuesFor(uint64_t chunk_bytes, uint64_t total_bytes) const {
    const uint64_t limit = chunk_bytes == kCompressedChunkBytes ? kMaxSmallCompressedChunkBytes : kMaxSmallChunkBytes;
    if (wishes_.chunk_bytes && !(has_small_chunks_ && *wishes_.chunk_bytes >= kSmallChunkLimit))
      chunk_bytes = *wishes_.chunk_bytes;
    const uint64_t mean = std::max<uint64_t>(total_bytes / view_.length, 1);
    uint64_t values = std::clamp<uint64_t>(std::bit_floor(chunk_bytes / mean), 2, kMaxChunkValues);
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

  const LeafView& view_;
  const EncodingWishes& wishes_;
  const bool has_small_chunks_;
  const uint64_t string_bytes_;
  const uint64_t offset_bytes_;
};

}  // namespace

arrow::Result<ChunkEncoderPtr> MakeVariableChunks(const LeafView& view, const PageOptions& options) {
  return Chooser(view, options).Choose();
}

}  // namespace javelin::file
