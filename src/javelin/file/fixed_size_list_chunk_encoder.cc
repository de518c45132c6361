#include <bit>

#include "javelin/file/chunk_encoder_internal.h"

namespace javelin::file {

namespace {

using Kind = ValueShape::Kind;

constexpr uint64_t kChunkBytes = 4096;
constexpr uint64_t kMaxChunkValues = 4096;

struct Level {
  const LeafView* items = nullptr;
  uint64_t dimension = 0;
  uint64_t items_per_row = 0;
  bool has_validity = false;
};

class ListChunks final : public ChunkEncoder {
 public:
  ListChunks(const LeafView& view, const ValueShape& shape) : view_(view) {
    const ValueShape* list = &shape;
    const LeafView* lists = &view;
    uint64_t items_per_row = 1;
    for (; list->kind == Kind::kList; list = list->item.get()) {
      lists = lists->items.get();
      items_per_row *= list->dimension;
      levels_.push_back({lists, list->dimension, items_per_row, HasVisibleNull(*lists, items_per_row)});
    }
    leaf_ = lists;
    leaf_bits_ = list->bits;
  }

  uint64_t chunk_values() const override {
    return std::clamp<uint64_t>(std::bit_floor(kChunkBytes * 8 / row_bits()), 2, kMaxChunkValues);
  }
  uint64_t total_bytes() const override { return BytesForBits(view_.length * row_bits()); }

  arrow::Status Encode(uint64_t first, uint64_t count, std::vector<ByteVector>& buffers) override {
    for (const Level& level : levels_) {
      if (level.has_validity) buffers.push_back(Bitmap(level, first, count));
    }
    buffers.push_back(leaf_bits_ == 1 ? LeafBits(first, count) : LeafBytes(first, count));
    return arrow::Status::OK();
  }

  void Describe(pb::CompressiveEncoding& encoding) const override {
    pb::CompressiveEncoding* next = &encoding;
    for (const Level& level : levels_) {
      pb::FixedSizeList* list = next->mutable_fixed_size_list();
      list->set_items_per_value(level.dimension);
      list->set_has_validity(level.has_validity);
      next = list->mutable_values();
    }
    next->mutable_flat()->set_bits_per_value(leaf_bits_);
  }

 private:
  uint64_t items_per_row() const { return levels_.back().items_per_row; }
  uint64_t row_bits() const { return items_per_row() * leaf_bits_; }

  // Nulls under null rows are in the rows' levels already.
  bool HasVisibleNull(const LeafView& items, uint64_t per_row) const {
    if (!items.HasNulls()) return false;
    for (uint64_t i = 0; i < items.length; ++i) {
      if (items.IsNull(i) && !view_.IsNull(i / per_row)) return true;
    }
    return false;
  }

  ByteVector Bitmap(const Level& level, uint64_t first, uint64_t count) const {
    const uint64_t num_items = count * level.items_per_row;
    ByteVector bits(BytesForBits(num_items));
    for (uint64_t i = 0; i < num_items; ++i) {
      const bool valid = !level.items->IsNull(first * level.items_per_row + i);
      bits[i / 8] = static_cast<uint8_t>(bits[i / 8] | valid << (i % 8));
    }
    return bits;
  }

  ByteVector LeafBits(uint64_t first, uint64_t count) const {
    const uint64_t num_items = count * items_per_row();
    ByteVector bits(BytesForBits(num_items));
    for (uint64_t i = 0; i < num_items; ++i) {
      const uint64_t item = first * items_per_row() + i;
      const bool bit = !view_.IsNull(first + i / items_per_row()) && leaf_->Bit(item);
      bits[i / 8] = static_cast<uint8_t>(bits[i / 8] | bit << (i % 8));
    }
    return bits;
  }

  ByteVector LeafBytes(uint64_t first, uint64_t count) const {
    const uint64_t row_bytes = items_per_row() * leaf_bits_ / 8;
    const uint8_t* source = leaf_->values + first * row_bytes;
    ByteVector values(source, source + count * row_bytes);
    if (view_.HasNulls()) {
      for (uint64_t i = 0; i < count; ++i) {
        if (view_.IsNull(first + i)) std::memset(values.data() + i * row_bytes, 0, row_bytes);
      }
    }
    return values;
  }

  const LeafView& view_;
  std::vector<Level> levels_;  // outer first
  const LeafView* leaf_ = nullptr;
  uint64_t leaf_bits_ = 0;
};

}  // namespace

ChunkEncoderPtr MakeListChunks(const LeafView& view, const ValueShape& shape) {
  return std::make_unique<ListChunks>(view, shape);
}

}  // namespace javelin::file
