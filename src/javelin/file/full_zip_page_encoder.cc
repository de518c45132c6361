// Full-zip pages: vectors, and strings with at least one large value.
#include <algorithm>
#include <bit>
#include <limits>

#include "javelin/base/error.h"
#include "javelin/file/page_encoder_internal.h"

namespace javelin::file {

namespace {

using Kind = ValueShape::Kind;

// The levels of an entry, in front of its value.
class ControlWords {
 public:
  explicit ControlWords(const PageLevels& levels)
      : levels_(levels),
        bits_rep_(levels.rep.empty() ? 0 : static_cast<unsigned>(std::bit_width(levels.max_rep))),
        bits_def_(static_cast<unsigned>(std::bit_width(levels.max_def))) {
    const unsigned bits = bits_rep_ + bits_def_;
    bytes_ = bits == 0 ? 0 : bits <= 8 ? 1 : bits <= 16 ? 2 : 4;
  }

  size_t bytes() const { return bytes_; }
  uint8_t* Store(uint64_t entry, uint8_t* target) const {
    const uint32_t rep = levels_.rep.empty() ? 0 : levels_.rep[entry];
    const uint32_t word = rep << bits_def_ | (levels_.def.empty() ? 0u : levels_.def[entry]);
    if (bytes_ > 0) std::memcpy(target, &word, bytes_);
    return target + bytes_;
  }
  void Append(uint64_t entry, std::vector<uint8_t>& out) const {
    out.resize(out.size() + bytes_);
    Store(entry, out.data() + out.size() - bytes_);
  }
  void Describe(pb::FullZipLayout& layout) const {
    layout.set_bits_rep(bits_rep_);
    layout.set_bits_def(bits_def_);
    layout.set_num_items(static_cast<uint32_t>(levels_.num_entries()));
    layout.set_num_visible_items(static_cast<uint32_t>(levels_.num_values));
    for (pb::RepDefLayer layer : levels_.layers) layout.add_layers(layer);
  }

 private:
  const PageLevels& levels_;
  unsigned bits_rep_;
  unsigned bits_def_;
  size_t bytes_;
};

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
  bool is_null = false;  // its items are nulls by their type
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

std::vector<ListLevel> LevelsOf(const ValueShape& shape, std::span<const LeafView> views) {
  std::vector<ListLevel> levels;
  std::vector<const LeafView*> items;
  for (const LeafView& view : views) items.push_back(&view);
  uint64_t items_per_row = 1;
  for (const ValueShape* list = &shape; list->kind == Kind::kList; list = list->item.get()) {
    items_per_row *= list->dimension;
    const bool is_null = list->item->kind == Kind::kNull;
    ListLevel level{list->dimension, items_per_row, /*has_validity=*/is_null, is_null};
    for (size_t i = 0; i < views.size(); ++i) {
      items[i] = items[i]->items.get();
      level.has_validity |= HasVisibleNull(views[i], *items[i], items_per_row);
    }
    levels.push_back(level);
  }
  return levels;
}

// Without `leaf_bits` there is no item that is not null.
void SetFixedEncoding(const std::vector<ListLevel>& levels, uint64_t leaf_bits, pb::CompressiveEncoding& encoding) {
  pb::CompressiveEncoding* next = &encoding;
  for (const ListLevel& level : levels) {
    pb::FixedSizeList* list = next->mutable_fixed_size_list();
    list->set_items_per_value(level.dimension);
    list->set_has_validity(level.has_validity);
    next = list->mutable_values();
  }
  if (leaf_bits == 0) {
    next->mutable_constant();
  } else {
    next->mutable_flat()->set_bits_per_value(leaf_bits);
  }
}

struct RowForm {
  std::vector<ListLevel> levels;
  uint64_t leaf_bytes = 0;  // of all values of a row
  uint64_t bitmap_bytes = 0;
  bool is_bit = false;  // takes a byte here
  uint64_t value_bytes() const { return bitmap_bytes + leaf_bytes; }
};

void StoreValue(const LeafView& view, uint64_t row, const RowForm& form, uint8_t* target) {
  if (view.IsNull(row)) return;  // the bytes of null rows stay zero
  const LeafView* items = &view;
  for (const ListLevel& level : form.levels) {
    items = items->items.get();
    if (!level.has_validity) continue;
    for (uint64_t i = 0; i < level.items_per_row && !level.is_null; ++i) {
      target[i / 8] =
          static_cast<uint8_t>(target[i / 8] | (items->IsNull(row * level.items_per_row + i) ? 0 : 1) << (i % 8));
    }
    target += BytesForBits(level.items_per_row);
  }
  if (form.is_bit) {
    *target = view.Bit(row);
  } else if (form.leaf_bytes > 0) {
    std::memcpy(target, items->values + row * form.leaf_bytes, form.leaf_bytes);
  }
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

void ZipFixed(std::span<const LeafView> views, const RowForm& form, const ControlWords& control,
              const PageLevels& levels, EncodedPage& page) {
  std::vector<uint8_t> bytes(levels.num_entries() * control.bytes() + levels.num_values * form.value_bytes());
  std::vector<uint64_t> starts;
  uint8_t* target = bytes.data();
  size_t piece = 0;
  uint64_t row = 0;
  for (uint64_t entry = 0; entry < levels.num_entries(); ++entry) {
    if (!levels.rep.empty() && levels.BeginsRow(entry)) starts.push_back(static_cast<uint64_t>(target - bytes.data()));
    target = control.Store(entry, target);
    if (!levels.IsVisible(entry)) continue;
    for (; row == views[piece].length; row = 0) ++piece;
    StoreValue(views[piece], row++, form, target);
    target += form.value_bytes();
  }
  starts.push_back(bytes.size());
  page.buffers.push_back(OneBuffer(std::move(bytes)));
  if (!levels.rep.empty()) page.buffers.push_back(OffsetIndex(starts));
}

}  // namespace

arrow::Status EncodeFullZipVariable(const LeafView& view, const PageLevels& levels, StringValueEncoder& values,
                                    EncodedPage& page) {
  pb::FullZipLayout* layout = page.layout.mutable_full_zip_layout();
  const ControlWords control(levels);
  control.Describe(*layout);
  layout->set_bits_per_offset(view.offset_bytes * 8);
  values.Describe(*layout->mutable_value_compression());
  std::vector<uint8_t> bytes;
  std::vector<uint64_t> starts;
  uint64_t next = 0;
  for (uint64_t entry = 0; entry < levels.num_entries(); ++entry) {
    if (levels.BeginsRow(entry)) starts.push_back(bytes.size());
    control.Append(entry, bytes);
    if (!levels.IsVisible(entry)) continue;
    const uint64_t index = next++;
    if (view.IsNull(index)) continue;
    const Bytes value = view.Value(index);
    const size_t length_at = bytes.size();
    bytes.resize(length_at + view.offset_bytes);
    ARROW_RETURN_NOT_OK(values.Append(value, bytes));
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

bool HasNoItems(const LeafView& view, const ValueShape& shape) {
  if (shape.kind != Kind::kList || shape.item->kind != Kind::kFixed || !view.items->HasNulls()) return false;
  for (uint64_t row = 0; row < view.length; ++row) {
    if (view.IsNull(row)) continue;
    for (uint64_t i = row * shape.dimension; i < (row + 1) * shape.dimension; ++i) {
      if (!view.items->IsNull(i)) return false;
    }
  }
  return true;
}

arrow::Status EncodeFullZipFixed(const ValueShape& shape, const LeafPieces& owners, std::span<const LeafView> views,
                                 const PageLevels& levels, EncodedPage& page) {
  RowForm form;
  const ValueShape* leaf = &shape;
  while (leaf->kind == Kind::kList) leaf = leaf->item.get();
  form.levels = LevelsOf(shape, views);
  form.is_bit = leaf->bits == 1;
  if (form.is_bit && !form.levels.empty())
    return NotSupported("lists of so many lists without items around {} cannot be written", ToString(shape));
  const bool no_items = std::ranges::all_of(views, [&](const LeafView& view) { return HasNoItems(view, shape); });
  const uint64_t leaf_bits = no_items ? 0 : form.is_bit ? 8 : leaf->bits;
  form.leaf_bytes = (form.levels.empty() ? 1 : form.levels.back().items_per_row) * leaf_bits / 8;
  for (const ListLevel& level : form.levels)
    form.bitmap_bytes += level.has_validity ? BytesForBits(level.items_per_row) : 0;
  pb::FullZipLayout* layout = page.layout.mutable_full_zip_layout();
  const ControlWords control(levels);
  control.Describe(*layout);
  SetFixedEncoding(form.levels, leaf_bits, *layout->mutable_value_compression());
  layout->set_bits_per_value(static_cast<uint32_t>(form.value_bytes() * 8));
  if (control.bytes() > 0 || form.bitmap_bytes > 0 || form.is_bit) {
    ZipFixed(views, form, control, levels, page);
    return arrow::Status::OK();
  }
  // The page is the callers' memory as it stands.
  EncodedBuffer values;
  for (size_t i = 0; i < owners.size(); ++i) {
    values.pieces.push_back(
        std::make_shared<BorrowedBuffer>(Innermost(views[i]).values, views[i].length * form.leaf_bytes, owners[i]));
  }
  page.buffers.push_back(std::move(values));
  return arrow::Status::OK();
}

}  // namespace javelin::file
