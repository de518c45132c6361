#include "javelin/file/string_form_internal.h"

#include "javelin/file/compression_internal.h"

namespace javelin::file {

namespace {

// A symbol table must save several times its own size before it is worth the time to learn it.
constexpr uint64_t kMinFsstBytes = 4 * kFsstTableBytes;
constexpr double kFsstRatio = 5.0 / 6;
constexpr double kLargeChunkRatio = 1.0 / 3;
constexpr double kSmallPageRatio = 0.8;
constexpr double kSingleValueRatio = 0.75;

constexpr uint64_t kSamplePieces = 64;
constexpr uint64_t kPieceBytes = FsstEncoder::kMaxSampleBytes / kSamplePieces;

constexpr uint64_t kZstdSampleValues = 16;
// More of one value is not looked at.
constexpr uint64_t kZstdSampleBytes = 256u << 10;

using Sample = std::vector<Bytes>;

// The row that holds the byte at `position` of the page's bytes.
uint64_t RowAt(const LeafView& view, uint64_t position) {
  uint64_t low = 0;
  uint64_t high = view.length - 1;
  while (low < high) {
    const uint64_t middle = low + (high - low + 1) / 2;
    if (view.Offset(middle) <= position) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  return low;
}

// Whole strings from `position` on, or the part of a long one. Bytes may lie under nulls; too many of them end the
// piece.
void AddPiece(const LeafView& view, uint64_t position, Sample& sample) {
  uint64_t room = kPieceBytes;
  const uint64_t end = position + 8 * kPieceBytes;
  for (uint64_t row = RowAt(view, position); row < view.length && view.Offset(row) < end && room > 0; ++row) {
    Bytes value = view.Value(row);
    if (value.size() > kPieceBytes && position > view.Offset(row)) value = value.subspan(position - view.Offset(row));
    sample.push_back(value.first(std::min<uint64_t>(value.size(), room)));
    room -= sample.back().size();
  }
}

// Pieces at even distances; two samples of different `phase` (0 or 1) lie between each other.
Sample TakeSample(const LeafView& view, uint64_t phase) {
  Sample sample;
  const uint64_t begin = view.Offset(0);
  const uint64_t size = view.Offset(view.length) - begin;
  if (size <= FsstEncoder::kMaxSampleBytes) {
    for (uint64_t row = 0; row < view.length; ++row) sample.push_back(view.Value(row));
    return sample;
  }
  const uint64_t step = size / kSamplePieces;
  for (uint64_t piece = 0; piece < kSamplePieces; ++piece)
    AddPiece(view, begin + piece * step + phase * step / 2, sample);
  return sample;
}

bool Pays(uint64_t bytes, uint64_t other, double ratio) {
  return bytes > 0 && static_cast<double>(bytes) <= static_cast<double>(other) * ratio;
}

}  // namespace

uint64_t StringBytes(const LeafView& view) {
  if (!view.HasNulls()) return view.Offset(view.length) - view.Offset(0);
  uint64_t bytes = 0;
  for (uint64_t i = 0; i < view.length; ++i) bytes += view.Value(i).size();
  return bytes;
}

std::unique_ptr<const FsstEncoder> LearnFsst(const LeafView& view) {
  return std::make_unique<const FsstEncoder>(TakeSample(view, 0));
}

void DescribeStrings(const FsstEncoder* fsst, unsigned offset_bytes,
                     lance::encodings21::CompressiveEncoding& encoding) {
  lance::encodings21::CompressiveEncoding* strings = &encoding;
  if (fsst != nullptr) {
    const auto table = fsst->Table();
    strings->mutable_fsst()->set_symbol_table(table.data(), table.size());
    strings = strings->mutable_fsst()->mutable_values();
  }
  strings->mutable_variable()->mutable_offsets()->mutable_flat()->set_bits_per_value(offset_bytes * 8);
}

FsstTrial TryFsst(const LeafView& view, uint64_t string_bytes) {
  FsstTrial trial;
  if (string_bytes < kMinFsstBytes) return trial;
  trial.encoder = LearnFsst(view);
  uint64_t plain = 0;
  uint64_t encoded = 0;
  std::vector<uint8_t> scratch;
  for (Bytes string : TakeSample(view, 1)) {
    scratch.resize(std::max(scratch.size(), FsstEncoder::Capacity(string.size())));
    plain += string.size();
    encoded += trial.encoder->Encode(string, scratch.data());
  }
  if (plain < kPieceBytes) return {};  // next to nothing was seen
  const double ratio = static_cast<double>(encoded) / static_cast<double>(plain);
  trial.bytes = static_cast<uint64_t>(static_cast<double>(string_bytes) * ratio);
  return trial;
}

// Values at even distances in bytes, so that each counts as much as it takes.
arrow::Result<uint64_t> TryZstdValues(const LeafView& view, uint64_t string_bytes) {
  if (string_bytes == 0) return 0;
  const uint64_t begin = view.Offset(0);
  const uint64_t size = view.Offset(view.length) - begin;
  Compressor compressor;
  std::vector<uint8_t> compressed;
  double ratio = 0;
  double ratios = 0;
  unsigned sampled = 0;
  uint64_t last_row = view.length;
  for (uint64_t i = 0; i < kZstdSampleValues; ++i) {
    const uint64_t row = RowAt(view, begin + size / kZstdSampleValues * i);
    const Bytes value = view.Value(row).first(std::min<uint64_t>(view.Value(row).size(), kZstdSampleBytes));
    if (value.empty()) continue;
    if (row != last_row) {
      compressed.clear();
      ARROW_RETURN_NOT_OK(compressor.Compress(CompressionScheme::kZstd, kDefaultZstdLevel, value, compressed));
      ratio = static_cast<double>(compressed.size()) / static_cast<double>(value.size());
    }
    last_row = row;
    ratios += ratio;
    ++sampled;
  }
  if (sampled == 0) return 0;
  return static_cast<uint64_t>(static_cast<double>(string_bytes) * ratios / sampled);
}

StringForm ChooseStringForm(const StringSizes& sizes, ZstdUnit unit) {
  StringForm form = StringForm::kPlain;
  uint64_t bytes = sizes.plain;
  if (Pays(sizes.fsst, bytes, kFsstRatio)) {
    form = StringForm::kFsst;
    bytes = sizes.fsst;
  }
  const double zstd_ratio = unit == ZstdUnit::kLargeChunk       ? kLargeChunkRatio
                            : unit == ZstdUnit::kWholeSmallPage ? kSmallPageRatio
                                                                : kSingleValueRatio;
  return Pays(sizes.zstd, bytes, zstd_ratio) ? StringForm::kZstd : form;
}

}  // namespace javelin::file
