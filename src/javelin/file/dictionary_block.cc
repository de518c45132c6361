#include "javelin/file/chunk_encoder_internal.h"
#include "javelin/file/packed_block_internal.h"

namespace javelin::file {

namespace {

using Codec = EncodingWishes::Codec;
using Kind = ValueShape::Kind;

// Width of the offsets, where the bytes start, the offsets from 0, the bytes.
void AppendStrings(std::span<const Bytes> items, unsigned width, DictionaryBlock& block) {
  block.encoding.mutable_variable()->mutable_offsets()->mutable_flat()->set_bits_per_value(width * 8);
  uint64_t total = 0;
  for (Bytes item : items) total += item.size();
  const uint64_t bytes_start = (items.size() + 3) * width;
  block.bytes.resize(bytes_start + total);
  auto store = [&](uint64_t word, uint64_t number) { std::memcpy(block.bytes.data() + word * width, &number, width); };
  store(0, width * 8);
  store(1, bytes_start);
  uint64_t word = 2;
  uint64_t at = 0;
  store(word++, 0);
  for (Bytes item : items) {
    if (!item.empty()) std::memcpy(block.bytes.data() + bytes_start + at, item.data(), item.size());
    at += item.size();
    store(word++, at);
  }
}

void AppendFixed(std::span<const Bytes> items, uint64_t bits, DictionaryBlock& block) {
  block.encoding.mutable_flat()->set_bits_per_value(bits);
  if (bits == 1) {  // a byte each so far
    block.bytes.resize(BytesForBits(items.size()));
    for (size_t i = 0; i < items.size(); ++i)
      block.bytes[i / 8] = static_cast<uint8_t>(block.bytes[i / 8] | items[i][0] << (i % 8));
    return;
  }
  for (Bytes item : items) block.bytes.insert(block.bytes.end(), item.begin(), item.end());
}

arrow::Status Compress(const EncodingWishes& wishes, DictionaryBlock& block) {
  const auto scheme = wishes.dictionary_codec == Codec::kZstd ? CompressionScheme::kZstd : CompressionScheme::kLz4;
  Compressor compressor;
  ByteVector compressed;
  ARROW_RETURN_NOT_OK(
      compressor.Compress(scheme, wishes.dictionary_level.value_or(kDefaultZstdLevel), block.bytes, compressed));
  if (compressed.size() >= block.bytes.size()) return arrow::Status::OK();
  pb::CompressiveEncoding inner;
  inner.Swap(&block.encoding);
  DescribeCompression(scheme, wishes.dictionary_level, *block.encoding.mutable_general()->mutable_compression());
  block.encoding.mutable_general()->mutable_values()->Swap(&inner);
  block.bytes = std::move(compressed);
  return arrow::Status::OK();
}

// Numbers of 64 bits, if they are smaller packed than `size`.
std::optional<DictionaryBlock> PackNumbers(std::span<const Bytes> items, uint64_t size) {
  std::vector<uint64_t> words;
  words.reserve(items.size());
  for (Bytes item : items) words.push_back(LoadAt<uint64_t>(item.data()));
  const unsigned width = std::max(1u, WidthOf(words.data(), words.size()));
  if (PackedBlockBytes<uint64_t>(words.size(), width) >= size) return std::nullopt;
  DictionaryBlock block{.num_items = items.size()};
  AppendPackedBlock<uint64_t>(words, width, block.bytes);
  auto* packed = block.encoding.mutable_out_of_line_bitpacking();
  packed->set_uncompressed_bits_per_value(64);
  packed->mutable_values()->mutable_flat()->set_bits_per_value(width);
  return block;
}

}  // namespace

arrow::Result<DictionaryBlock> EncodeDictionaryBlock(std::span<const Bytes> items, const ValueShape& shape,
                                                     const PageOptions& options) {
  DictionaryBlock block{.num_items = items.size()};
  if (shape.kind == Kind::kVariable) {
    AppendStrings(items, static_cast<unsigned>(shape.bytes()), block);
  } else {
    AppendFixed(items, shape.bits, block);
  }
  if (options.version >= FileVersion{2, 2} && options.wishes.dictionary_codec != Codec::kNone)
    ARROW_RETURN_NOT_OK(Compress(options.wishes, block));
  if (!shape.is_fixed(64)) return block;
  return PackNumbers(items, block.bytes.size()).value_or(std::move(block));
}

}  // namespace javelin::file
