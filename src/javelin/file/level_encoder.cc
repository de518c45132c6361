#include <algorithm>
#include <bit>

#include "javelin/file/chunk_encoder_internal.h"
#include "javelin/file/packed_block_internal.h"

namespace javelin::file {

namespace {

constexpr uint64_t kRunBytes = 3;
constexpr uint64_t kMaxRun = 255;

// Calls back with each run of equal levels, at most kMaxRun long.
template <typename Visit>
void VisitRuns(std::span<const uint16_t> levels, const Visit& visit) {
  for (size_t i = 0; i < levels.size();) {
    size_t end = i + 1;
    while (end < levels.size() && end - i < kMaxRun && levels[end] == levels[i]) ++end;
    visit(levels[i], end - i);
    i = end;
  }
}

}  // namespace

LevelEncoder::LevelEncoder(std::span<const uint16_t> levels, std::span<const Slice> chunks, uint16_t max_level)
    : levels_(levels), width_(static_cast<unsigned>(std::bit_width(max_level))) {
  uint64_t packed = 0;
  uint64_t runs = 0;
  uint64_t most_packed = 0;
  uint64_t most_runs = 0;
  for (const Slice& chunk : chunks) {
    const uint64_t chunk_packed = PackedBlockBytes<uint16_t>(chunk.count, width_);
    uint64_t chunk_runs = sizeof(uint64_t);
    VisitRuns(levels.subspan(chunk.first, chunk.count), [&](uint16_t, uint64_t) { chunk_runs += kRunBytes; });
    packed += chunk_packed;
    runs += chunk_runs;
    most_packed = std::max(most_packed, chunk_packed);
    most_runs = std::max(most_runs, chunk_runs);
  }
  const bool packed_fits = most_packed <= kMaxChunkLevelBytes;
  const bool runs_fit = most_runs <= kMaxChunkLevelBytes;
  runs_ = packed_fits == runs_fit ? runs < packed : runs_fit;
  fits_ = packed_fits || runs_fit;
}

void LevelEncoder::Encode(const Slice& chunk, ByteVector& out) const {
  const std::span<const uint16_t> levels = levels_.subspan(chunk.first, chunk.count);
  if (runs_) {
    ByteVector values;
    ByteVector lengths;
    VisitRuns(levels, [&](uint16_t level, uint64_t length) {
      values.push_back(static_cast<uint8_t>(level));
      values.push_back(static_cast<uint8_t>(level >> 8));
      lengths.push_back(static_cast<uint8_t>(length));
    });
    const uint64_t size = values.size();
    out.resize(sizeof(size));
    std::memcpy(out.data(), &size, sizeof(size));
    out.insert(out.end(), values.begin(), values.end());
    out.insert(out.end(), lengths.begin(), lengths.end());
    return;
  }
  AppendPackedBlock(levels, width_, out);
}

void LevelEncoder::Describe(pb::CompressiveEncoding& encoding) const {
  if (runs_) {
    encoding.mutable_rle()->mutable_values()->mutable_flat()->set_bits_per_value(16);
    encoding.mutable_rle()->mutable_run_lengths()->mutable_flat()->set_bits_per_value(8);
    return;
  }
  encoding.mutable_out_of_line_bitpacking()->set_uncompressed_bits_per_value(16);
  encoding.mutable_out_of_line_bitpacking()->mutable_values()->mutable_flat()->set_bits_per_value(width_);
}

}  // namespace javelin::file
