#include "javelin/file/chunk_encoder_internal.h"

namespace javelin::file {

namespace {

using Kind = ValueShape::Kind;

constexpr uint64_t kMinCompressBytes = 256;

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
  for (Bytes item : items) block.bytes.insert(block.bytes.end(), item.begin(), item.end());
}

arrow::Status Compress(DictionaryBlock& block) {
  if (block.bytes.size() < kMinCompressBytes) return arrow::Status::OK();
  Compressor compressor;
  ByteVector compressed;
  ARROW_RETURN_NOT_OK(compressor.Compress(CompressionScheme::kLz4, 0, block.bytes, compressed));
  if (compressed.size() >= block.bytes.size()) return arrow::Status::OK();
  pb::CompressiveEncoding inner;
  inner.Swap(&block.encoding);
  block.encoding.mutable_general()->mutable_compression()->set_scheme(pb::LZ4);
  block.encoding.mutable_general()->mutable_values()->Swap(&inner);
  block.bytes = std::move(compressed);
  return arrow::Status::OK();
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
  if (options.version >= FileVersion{2, 2}) ARROW_RETURN_NOT_OK(Compress(block));
  return block;
}

}  // namespace javelin::file
