#include <bit>

#include "javelin/file/bit_packing.h"
#include "javelin/file/chunk_encoder_internal.h"

namespace javelin::file {

namespace {

using Kind = ValueShape::Kind;

constexpr uint64_t kMinValues = 100;
constexpr uint64_t kMaxItems = 1u << 16;
constexpr uint64_t kMaxBytes = 1u << 20;
// A sample with more distinct values than this part of it rules a dictionary out without looking at the rest.
constexpr uint64_t kSampleValues = 2048;
constexpr double kSampleRatio = 0.5;
// Indices cost a step when reading; the page must shrink to this part of its size without them.
constexpr double kWorthwhile = 0.8;
constexpr uint64_t kMinCompressBytes = 256;

uint64_t HashOf(Bytes value) {
  uint64_t hash = 0x9E3779B97F4A7C15u ^ value.size();
  auto mix = [&](uint64_t word) {
    hash = (hash ^ word) * 0xD6E8FEB86659FD93u;
    hash ^= hash >> 32;
  };
  size_t at = 0;
  for (; at + 8 <= value.size(); at += 8) mix(LoadAt<uint64_t>(value.data() + at));
  uint64_t rest = 0;
  if (at < value.size()) std::memcpy(&rest, value.data() + at, value.size() - at);
  mix(rest);
  return hash;
}

// Values seen so far, numbered in the order of their first appearance. Open addressing.
class DistinctValues {
 public:
  DistinctValues() : slots_(1024, kEmpty) {}

  uint32_t Add(Bytes value) {
    if (items_.size() * 2 >= slots_.size()) Rehash();
    uint64_t slot = HashOf(value) & (slots_.size() - 1);
    while (slots_[slot] != kEmpty) {
      const Bytes item = items_[slots_[slot]];
      if (item.size() == value.size() && (value.empty() || std::memcmp(item.data(), value.data(), value.size()) == 0))
        return slots_[slot];
      slot = (slot + 1) & (slots_.size() - 1);
    }
    slots_[slot] = static_cast<uint32_t>(items_.size());
    items_.push_back(value);
    total_bytes_ += value.size();
    return slots_[slot];
  }

  const std::vector<Bytes>& items() const { return items_; }
  uint64_t total_bytes() const { return total_bytes_; }

 private:
  static constexpr uint32_t kEmpty = ~uint32_t{0};

  void Rehash() {
    slots_.assign(slots_.size() * 2, kEmpty);
    for (uint32_t i = 0; i < items_.size(); ++i) {
      uint64_t slot = HashOf(items_[i]) & (slots_.size() - 1);
      while (slots_[slot] != kEmpty) slot = (slot + 1) & (slots_.size() - 1);
      slots_[slot] = i;
    }
  }

  std::vector<uint32_t> slots_;
  std::vector<Bytes> items_;
  uint64_t total_bytes_ = 0;
};

class Builder {
 public:
  Builder(const LeafView& view, const ValueShape& shape) : view_(view), shape_(shape) {}

  bool SampleAllows() const {
    const uint64_t step = std::max<uint64_t>(view_.length / kSampleValues, 1);
    DistinctValues sample;
    uint64_t seen = 0;
    for (uint64_t i = 0; i < view_.length; i += step) {
      if (view_.IsNull(i)) continue;
      sample.Add(Value(i));
      ++seen;
    }
    return static_cast<double>(sample.items().size()) <= static_cast<double>(seen) * kSampleRatio;
  }

  // False if there are too many distinct values.
  bool Build(DictionaryEncoding& out) {
    out.indices.assign(view_.length, 0);
    for (uint64_t i = 0; i < view_.length; ++i) {
      if (view_.IsNull(i)) continue;
      out.indices[i] = distinct_.Add(Value(i));
      if (distinct_.items().size() > kMaxItems || distinct_.total_bytes() > kMaxBytes) return false;
    }
    out.num_items = distinct_.items().size();
    return true;
  }

  arrow::Status EncodeItems(DictionaryEncoding& out) const {
    ByteVector plain =
        shape_.kind == Kind::kVariable ? StringBlock(out.block_encoding) : FixedBlock(out.block_encoding);
    if (plain.size() >= kMinCompressBytes) {
      Compressor compressor;
      ByteVector compressed;
      ARROW_RETURN_NOT_OK(compressor.Compress(CompressionScheme::kLz4, 0, plain, compressed));
      if (compressed.size() < plain.size()) {
        pb::CompressiveEncoding inner;
        inner.Swap(&out.block_encoding);
        out.block_encoding.mutable_general()->mutable_compression()->set_scheme(pb::LZ4);
        out.block_encoding.mutable_general()->mutable_values()->Swap(&inner);
        plain = std::move(compressed);
      }
    }
    out.block = std::move(plain);
    return arrow::Status::OK();
  }

 private:
  Bytes Value(uint64_t index) const {
    return shape_.kind == Kind::kVariable ? view_.Value(index)
                                          : Bytes(view_.values + index * shape_.bytes(), shape_.bytes());
  }

  // Width of the offsets, where the bytes start, the offsets from 0, the bytes.
  ByteVector StringBlock(pb::CompressiveEncoding& encoding) const {
    const unsigned width = view_.offset_bytes;
    encoding.mutable_variable()->mutable_offsets()->mutable_flat()->set_bits_per_value(width * 8);
    const uint64_t bytes_start = (distinct_.items().size() + 3) * width;
    ByteVector block(bytes_start + distinct_.total_bytes());
    auto store = [&](uint64_t word, uint64_t number) { std::memcpy(block.data() + word * width, &number, width); };
    store(0, width * 8);
    store(1, bytes_start);
    uint64_t word = 2;
    uint64_t at = 0;
    store(word++, 0);
    for (Bytes item : distinct_.items()) {
      if (!item.empty()) std::memcpy(block.data() + bytes_start + at, item.data(), item.size());
      at += item.size();
      store(word++, at);
    }
    return block;
  }

  ByteVector FixedBlock(pb::CompressiveEncoding& encoding) const {
    encoding.mutable_flat()->set_bits_per_value(shape_.bits);
    ByteVector block;
    for (Bytes item : distinct_.items()) block.insert(block.end(), item.begin(), item.end());
    return block;
  }

  const LeafView& view_;
  const ValueShape& shape_;
  DistinctValues distinct_;
};

}  // namespace

arrow::Result<std::optional<DictionaryEncoding>> EncodeDictionary(const LeafView& view, const ValueShape& shape,
                                                                  uint64_t alternative_bytes) {
  const bool fits = shape.kind == Kind::kVariable || shape.is_fixed(64) || shape.is_fixed(128);
  if (!fits || view.length < kMinValues) return std::nullopt;
  Builder builder(view, shape);
  DictionaryEncoding encoding;
  if (!builder.SampleAllows() || !builder.Build(encoding)) return std::nullopt;
  ARROW_RETURN_NOT_OK(builder.EncodeItems(encoding));
  const ChunkEncoderPtr indices = MakeBitPackedIndices(encoding.indices);
  const uint64_t bytes = encoding.block.size() + indices->total_bytes();
  if (static_cast<double>(bytes) > static_cast<double>(alternative_bytes) * kWorthwhile) return std::nullopt;
  return encoding;
}

}  // namespace javelin::file
