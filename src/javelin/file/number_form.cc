// How numbers in chunks are stored: the one place where that is decided (dictionary indices are numbers too).
//
// A form that costs more to read must buy bytes. As they are and bit-packed, a row is found by arithmetic, run lengths
// are walked through, what is compressed is decompressed by the chunk: hence so many times smaller.
#include "javelin/file/chunk_encoder_internal.h"

namespace javelin::file {

namespace {

using Switch = EncodingWishes::Switch;

constexpr double kPackedRatio = 0.98;
constexpr double kRunsRatio = 0.98;
constexpr double kCompressedRatio = 0.5;
// A hundredth to a tenth larger than with Zstandard, and read several times faster.
constexpr CompressionScheme kScheme = CompressionScheme::kLz4;
// Less than this is not worth a frame, or a second buffer in each chunk.
constexpr uint64_t kMinBytes = 512;

// Takes `other` in place of `best` where it is so much smaller.
void TakeIfSmaller(ChunkEncoderPtr other, double ratio, ChunkEncoderPtr& best) {
  if (other == nullptr) return;
  if (static_cast<double>(other->total_bytes()) <= static_cast<double>(best->total_bytes()) * ratio)
    best = std::move(other);
}

ChunkEncoderPtr MakePlainChunks(const LeafView& view, uint64_t bits) {
  ChunkEncoderPtr best = MakeFlatChunks(view, bits);
  TakeIfSmaller(MakeBitPackedChunks(view, bits), kPackedRatio, best);
  return best;
}

}  // namespace

arrow::Result<ChunkEncoderPtr> MakeNumberChunks(const LeafView& view, uint64_t bits, const EncodingWishes& wishes) {
  if (wishes.codec == EncodingWishes::Codec::kNone) return MakeFlatChunks(view, bits);
  ChunkEncoderPtr best = MakePlainChunks(view, bits);
  if (best->total_bytes() < kMinBytes) return best;
  TakeIfSmaller(MakeRunChunks(view, bits, wishes.max_run_share), kRunsRatio, best);
  const std::optional<CompressionScheme> wished = wishes.compression();
  const double ratio = wished ? 1 : kCompressedRatio;
  ChunkEncoderPtr split = wishes.split == Switch::kOff ? nullptr : MakeSplitChunks(view, bits);
  ChunkEncoderPtr whole;
  // Of run lengths only the values would be compressed.
  if (wished && !(split != nullptr && wishes.split == Switch::kOn)) whole = MakePlainChunks(view, bits);
  for (ChunkEncoderPtr* inner : {&whole, &split}) {
    if (*inner == nullptr) continue;
    ARROW_ASSIGN_OR_RAISE(auto compressed, MakeGeneralChunks(std::move(*inner), view.length, wished.value_or(kScheme),
                                                             wished ? wishes.level : std::nullopt));
    TakeIfSmaller(std::move(compressed), ratio, best);
  }
  return best;
}

}  // namespace javelin::file
