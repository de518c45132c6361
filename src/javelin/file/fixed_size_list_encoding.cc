// FixedSizeList: the items of all lists as one run of values, with bitmaps where items may be null.
#include <limits>

#include "javelin/base/error.h"
#include "javelin/file/encodings_internal.h"

namespace javelin::file {

namespace {

using Kind = ValueShape::Kind;

arrow::Status CheckList(const pb::FixedSizeList& encoding, const ValueShape& shape) {
  if (shape.kind != Kind::kList) return DoesNotFit("FixedSizeList", shape);
  if (encoding.items_per_value() != shape.dimension) {
    return Corruption("encoding FixedSizeList of {} items does not fit a column of {}", encoding.items_per_value(),
                      ToString(shape));
  }
  return arrow::Status::OK();
}

// A leaf that may have no bytes: where all of it is null.
bool MayBeAllNull(const ValueShape& shape) { return shape.kind == Kind::kFixed || shape.kind == Kind::kNull; }

// The leaf of lists whose items are all null has no bytes.
class NoItems final : public MiniBlockDecoder, public FixedValueDecoder {
 public:
  size_t num_buffers() const override { return 0; }
  uint64_t MostBytes(uint64_t) const override { return 0; }
  arrow::Status Decode(std::span<const Bytes>, uint64_t, std::span<const Slice> slices, DecodeContext&,
                       ValueSink& out) const override {
    return out.AppendPlaceholders(TotalCount(slices));
  }
  uint64_t bytes() const override { return 0; }
  arrow::Status Decode(const uint8_t*, uint64_t, uint64_t count, ValueSink& out) const override {
    return out.AppendPlaceholders(count);
  }
};

// The leaf of nested lists lies behind all of their bitmaps; here it is the last of the chunk's buffers.
class ListDecoder final : public MiniBlockDecoder {
 public:
  ListDecoder(uint64_t dimension, bool has_validity, MiniBlockDecoderPtr items)
      : dimension_(dimension), has_validity_(has_validity), items_(std::move(items)) {}

  size_t num_buffers() const override { return items_->num_buffers() + has_validity_; }
  uint64_t MostBytes(uint64_t num_values) const override {
    const uint64_t num_items = SaturatedProduct(num_values, dimension_);
    return has_validity_ ? MostFlatBytes(num_items, 1) : items_->MostBytes(num_items);
  }

  arrow::Status Decode(std::span<const Bytes> buffers, uint64_t num_values, std::span<const Slice> slices,
                       DecodeContext& context, ValueSink& out) const override {
    uint64_t num_items;
    if (__builtin_mul_overflow(num_values, dimension_, &num_items))
      return Corruption("{} lists of {} items are too many", num_values, dimension_);
    std::vector<Slice> item_slices;
    for (const Slice& slice : slices) item_slices.push_back({slice.first * dimension_, slice.count * dimension_});
    if (has_validity_) {
      if (num_items > buffers[0].size() * 8) {
        return Corruption("a bitmap of {} bytes does not cover {} list items", buffers[0].size(), num_items);
      }
      for (const Slice& slice : item_slices) {
        ARROW_RETURN_NOT_OK(out.items().validity().AppendBits(buffers[0].data(), slice.first, slice.count));
      }
    } else {
      ARROW_RETURN_NOT_OK(out.items().validity().AppendValid(TotalCount(item_slices)));
    }
    ARROW_RETURN_NOT_OK(items_->Decode(buffers.subspan(has_validity_), num_items, item_slices, context, out.items()));
    out.CommitLists(TotalCount(slices));
    return arrow::Status::OK();
  }

 private:
  uint64_t dimension_;
  bool has_validity_;
  MiniBlockDecoderPtr items_;
};

arrow::Result<MiniBlockDecoderPtr> MakeItems(const pb::CompressiveEncoding& encoding, const ValueShape& shape) {
  if (encoding.has_constant()) {
    if (encoding.constant().has_value() || !MayBeAllNull(shape))
      return NotSupported("lists of a constant item are not readable");
    return std::make_unique<NoItems>();
  }
  return MakeMiniBlockDecoder(encoding, shape);
}

// One row of a full-zip page: for each level of lists the bitmap of its items if they may be null, then the leaf
// values.
class ListValue final : public FixedValueDecoder {
 public:
  struct Level {
    uint64_t items = 0;  // of one row
    bool has_validity = false;
  };

  ListValue(std::vector<Level> levels, FixedValueDecoderPtr leaf, uint64_t bitmap_bytes, uint64_t bytes)
      : levels_(std::move(levels)), leaf_(std::move(leaf)), bitmap_bytes_(bitmap_bytes), bytes_(bytes) {}

  uint64_t bytes() const override { return bytes_; }
  bool is_plain() const override { return bitmap_bytes_ == 0 && leaf_->is_plain(); }

  arrow::Status Decode(const uint8_t* values, uint64_t stride, uint64_t count, ValueSink& out) const override {
    const uint8_t* bitmaps = values;
    ValueSink* lists = &out;
    for (const Level& level : levels_) {
      ValueSink& items = lists->items();
      if (level.has_validity) {
        for (uint64_t i = 0; i < count; ++i)
          ARROW_RETURN_NOT_OK(items.validity().AppendBits(bitmaps + i * stride, 0, level.items));
        bitmaps += BytesForBits(level.items);
      } else {
        ARROW_RETURN_NOT_OK(items.validity().AppendValid(count * level.items));
      }
      lists = &items;
    }
    ARROW_RETURN_NOT_OK(DecodeLeaf(values + bitmap_bytes_, stride, count, *lists));
    uint64_t num_lists = count;
    lists = &out;
    for (const Level& level : levels_) {
      lists->CommitLists(num_lists);
      num_lists = count * level.items;
      lists = &lists->items();
    }
    return arrow::Status::OK();
  }

 private:
  arrow::Status DecodeLeaf(const uint8_t* values, uint64_t stride, uint64_t count, ValueSink& out) const {
    const uint64_t items = levels_.back().items;
    const uint64_t leaf_bytes = leaf_->bytes();
    if (stride == items * leaf_bytes) return leaf_->Decode(values, leaf_bytes, count * items, out);
    for (uint64_t i = 0; i < count; ++i)
      ARROW_RETURN_NOT_OK(leaf_->Decode(values + i * stride, leaf_bytes, items, out));
    return arrow::Status::OK();
  }

  std::vector<Level> levels_;
  FixedValueDecoderPtr leaf_;
  uint64_t bitmap_bytes_;
  uint64_t bytes_;
};

}  // namespace

arrow::Result<MiniBlockDecoderPtr> MakeFixedSizeListMiniBlock(const pb::FixedSizeList& encoding,
                                                              const ValueShape& shape) {
  ARROW_RETURN_NOT_OK(CheckList(encoding, shape));
  ARROW_ASSIGN_OR_RAISE(MiniBlockDecoderPtr items, MakeItems(encoding.values(), *shape.item));
  return std::make_unique<ListDecoder>(shape.dimension, encoding.has_validity(), std::move(items));
}

arrow::Result<FixedValueDecoderPtr> MakeFixedSizeListValue(const pb::FixedSizeList& encoding, const ValueShape& shape) {
  std::vector<ListValue::Level> levels;
  const pb::FixedSizeList* list = &encoding;
  const ValueShape* list_shape = &shape;
  uint64_t items = 1;
  uint64_t bitmap_bytes = 0;
  while (true) {
    ARROW_RETURN_NOT_OK(CheckList(*list, *list_shape));
    if (__builtin_mul_overflow(items, list_shape->dimension, &items) || items > std::numeric_limits<uint32_t>::max()) {
      return Corruption("a row of {} is too large", ToString(shape));
    }
    levels.push_back({items, list->has_validity()});
    if (list->has_validity()) bitmap_bytes += BytesForBits(items);
    list_shape = list_shape->item.get();
    if (!list->values().has_fixed_size_list()) break;
    list = &list->values().fixed_size_list();
  }
  FixedValueDecoderPtr leaf;
  if (list->values().has_constant()) {
    if (list->values().constant().has_value()) return NotSupported("lists of a constant item are not readable");
    leaf = std::make_unique<NoItems>();
  } else {
    ARROW_ASSIGN_OR_RAISE(leaf, MakeFixedValueDecoder(list->values(), *list_shape));
  }
  if (!MayBeAllNull(*list_shape)) return DoesNotFit("FixedSizeList", shape);
  const uint64_t bytes = bitmap_bytes + items * leaf->bytes();
  return std::make_unique<ListValue>(std::move(levels), std::move(leaf), bitmap_bytes, bytes);
}

}  // namespace javelin::file
