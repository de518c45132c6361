// Full-zip pages: vectors, and strings with at least one large value.
#include <bit>
#include <limits>

#include "javelin/base/error.h"
#include "javelin/file/page_encoder_internal.h"

namespace javelin::file {

namespace {

using Kind = ValueShape::Kind;

void SetLevels(bool has_nulls, uint64_t num_rows, pb::FullZipLayout& layout) {
  layout.set_bits_def(has_nulls ? 1 : 0);
  layout.set_num_items(static_cast<uint32_t>(num_rows));
  layout.set_num_visible_items(static_cast<uint32_t>(num_rows));
  layout.add_layers(has_nulls ? pb::NULLABLE_ITEM : pb::ALL_VALID_ITEM);
}

// ---- strings ----

// Compression of single values: worth its time from this mean size on, and if a sample shrinks to this part.
constexpr uint64_t kCompressMeanBytes = 512;
constexpr double kCompressRatio = 0.85;
constexpr uint64_t kSampleValues = 16;
constexpr int kZstdLevel = 1;

arrow::Result<bool> CompressionPays(const LeafView& view) {
  const uint64_t step = std::max<uint64_t>(view.length / kSampleValues, 1);
  uint64_t sampled = 0;
  uint64_t plain = 0;
  std::vector<uint8_t> compressed;
  Compressor compressor;
  for (uint64_t i = 0; i < view.length; i += step) {
    const Bytes value = view.Value(i);
    if (value.empty()) continue;
    ++sampled;
    plain += value.size();
    ARROW_RETURN_NOT_OK(compressor.Compress(CompressionScheme::kZstd, kZstdLevel, value, compressed));
  }
  return plain >= sampled * kCompressMeanBytes &&
         static_cast<double>(compressed.size()) < static_cast<double>(plain) * kCompressRatio;
}

EncodedBuffer OffsetIndex(const std::vector<uint64_t>& starts) {
  const unsigned width = starts.back() <= std::numeric_limits<uint32_t>::max() ? 4 : 8;
  std::vector<uint8_t> index(starts.size() * width);
  for (size_t i = 0; i < starts.size(); ++i) std::memcpy(index.data() + i * width, &starts[i], width);
  return OneBuffer(std::move(index));
}

// ---- vectors and wide values of one width ----

// One level of lists of a page: whether any item that can be seen is null.
struct ListLevel {
  uint64_t dimension = 0;
  uint64_t items_per_row = 0;
  bool has_validity = false;
};

// True if an item inside a row that is not null itself is null.
bool HasVisibleNull(const LeafView& rows, const LeafView& items, uint64_t items_per_row) {
  if (!items.HasNulls()) return false;
  for (uint64_t row = 0; row < rows.length; ++row) {
    if (rows.IsNull(row)) continue;
    for (uint64_t i = row * items_per_row; i < (row + 1) * items_per_row; ++i) {
      if (items.IsNull(i)) return true;
    }
  }
  return false;
}

std::vector<ListLevel> LevelsOf(const ValueShape& shape, const std::vector<LeafView>& views) {
  std::vector<ListLevel> levels;
  std::vector<const LeafView*> items;
  for (const LeafView& view : views) items.push_back(&view);
  uint64_t items_per_row = 1;
  for (const ValueShape* list = &shape; list->kind == Kind::kList; list = list->item.get()) {
    items_per_row *= list->dimension;
    ListLevel level{.dimension = list->dimension, .items_per_row = items_per_row};
    for (size_t i = 0; i < views.size(); ++i) {
      items[i] = items[i]->items.get();
      level.has_validity |= HasVisibleNull(views[i], *items[i], items_per_row);
    }
    levels.push_back(level);
  }
  return levels;
}

void SetFixedEncoding(const std::vector<ListLevel>& levels, uint64_t leaf_bits, pb::CompressiveEncoding& encoding) {
  pb::CompressiveEncoding* next = &encoding;
  for (const ListLevel& level : levels) {
    pb::FixedSizeList* list = next->mutable_fixed_size_list();
    list->set_items_per_value(level.dimension);
    list->set_has_validity(level.has_validity);
    next = list->mutable_values();
  }
  next->mutable_flat()->set_bits_per_value(leaf_bits);
}

struct RowForm {
  bool has_nulls = false;
  std::vector<ListLevel> levels;
  uint64_t leaf_bytes = 0;  // of all values of a row
  uint64_t bitmap_bytes = 0;
  uint64_t stride() const { return has_nulls + bitmap_bytes + leaf_bytes; }
};

void AppendRow(const LeafView& view, uint64_t row, const RowForm& form, uint8_t* target) {
  if (form.has_nulls) *target++ = view.IsNull(row);
  if (view.IsNull(row)) return;  // the bytes of null rows stay zero
  const LeafView* items = &view;
  for (const ListLevel& level : form.levels) {
    items = items->items.get();
    if (!level.has_validity) continue;
    for (uint64_t i = 0; i < level.items_per_row; ++i) {
      target[i / 8] =
          static_cast<uint8_t>(target[i / 8] | (items->IsNull(row * level.items_per_row + i) ? 0 : 1) << (i % 8));
    }
    target += BytesForBits(level.items_per_row);
  }
  std::memcpy(target, items->values + row * form.leaf_bytes, form.leaf_bytes);
}

const LeafView& Innermost(const LeafView& view) { return view.items == nullptr ? view : Innermost(*view.items); }

// Keeps the array alive that the bytes belong to.
class BorrowedBuffer final : public arrow::Buffer {
 public:
  BorrowedBuffer(const uint8_t* data, uint64_t size, std::shared_ptr<arrow::ArrayData> owner)
      : arrow::Buffer(data, static_cast<int64_t>(size)), owner_(std::move(owner)) {}

 private:
  std::shared_ptr<arrow::ArrayData> owner_;
};

}  // namespace

arrow::Status EncodeFullZipVariable(const LeafView& view, EncodedPage& page) {
  pb::FullZipLayout* layout = page.layout.mutable_full_zip_layout();
  SetLevels(view.HasNulls(), view.length, *layout);
  layout->set_bits_per_offset(view.offset_bytes * 8);
  ARROW_ASSIGN_OR_RAISE(bool compress, CompressionPays(view));
  pb::CompressiveEncoding* encoding = layout->mutable_value_compression();
  if (compress) {
    encoding->mutable_general()->mutable_compression()->set_scheme(pb::ZSTD);
    encoding = encoding->mutable_general()->mutable_values();
  }
  encoding->mutable_variable()->mutable_offsets()->mutable_flat()->set_bits_per_value(view.offset_bytes * 8);
  std::vector<uint8_t> bytes;
  std::vector<uint64_t> starts;
  Compressor compressor;
  for (uint64_t row = 0; row < view.length; ++row) {
    starts.push_back(bytes.size());
    if (view.HasNulls()) bytes.push_back(view.IsNull(row));
    if (view.IsNull(row)) continue;
    const Bytes value = view.Value(row);
    const size_t length_at = bytes.size();
    bytes.resize(length_at + view.offset_bytes);
    if (compress) {
      ARROW_RETURN_NOT_OK(compressor.Compress(CompressionScheme::kZstd, kZstdLevel, value, bytes));
    } else {
      bytes.insert(bytes.end(), value.begin(), value.end());
    }
    const uint64_t length = bytes.size() - length_at - view.offset_bytes;
    if (view.offset_bytes == 4 && length > std::numeric_limits<uint32_t>::max())
      return InvalidInput("a value is larger than 4 GiB");
    std::memcpy(bytes.data() + length_at, &length, view.offset_bytes);
  }
  starts.push_back(bytes.size());
  page.buffers.push_back(OneBuffer(std::move(bytes)));
  page.buffers.push_back(OffsetIndex(starts));
  return arrow::Status::OK();
}

arrow::Status EncodeFullZipFixed(const ValueShape& shape, const LeafPieces& pieces, EncodedPage& page) {
  std::vector<LeafView> views;
  RowForm form;
  for (const auto& piece : pieces) {
    views.push_back(ViewLeaf(*piece, shape));
    form.has_nulls |= views.back().HasNulls();
  }
  const ValueShape* leaf = &shape;
  while (leaf->kind == Kind::kList) leaf = leaf->item.get();
  form.levels = LevelsOf(shape, views);
  form.leaf_bytes = (form.levels.empty() ? 1 : form.levels.back().items_per_row) * leaf->bytes();
  for (const ListLevel& level : form.levels)
    form.bitmap_bytes += level.has_validity ? BytesForBits(level.items_per_row) : 0;
  pb::FullZipLayout* layout = page.layout.mutable_full_zip_layout();
  SetLevels(form.has_nulls, page.num_rows, *layout);
  SetFixedEncoding(form.levels, leaf->bits, *layout->mutable_value_compression());
  layout->set_bits_per_value(static_cast<uint32_t>((form.bitmap_bytes + form.leaf_bytes) * 8));
  EncodedBuffer values;
  if (form.stride() == form.leaf_bytes) {
    // The page is the callers' memory as it stands.
    for (size_t i = 0; i < pieces.size(); ++i) {
      values.pieces.push_back(
          std::make_shared<BorrowedBuffer>(Innermost(views[i]).values, views[i].length * form.leaf_bytes, pieces[i]));
    }
  } else {
    std::vector<uint8_t> rows(page.num_rows * form.stride());
    uint8_t* target = rows.data();
    for (const LeafView& view : views) {
      for (uint64_t row = 0; row < view.length; ++row, target += form.stride()) AppendRow(view, row, form, target);
    }
    values = OneBuffer(std::move(rows));
  }
  page.buffers.push_back(std::move(values));
  return arrow::Status::OK();
}

}  // namespace javelin::file
