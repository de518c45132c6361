#include "javelin/file/page_encoder_internal.h"

#include <arrow/array/concatenate.h>
#include <arrow/array/util.h>

#include "javelin/base/error.h"

namespace javelin::file {

namespace {

// Values from this size on are stored one by one instead of in chunks: each can then be read alone.
constexpr uint64_t kLargeValueBytes = 256;

using Kind = ValueShape::Kind;

// Lists of booleans stay in chunks, where an item is one bit.
bool IsLargeFixed(const ValueShape& shape) {
  uint64_t items = 1;
  const ValueShape* leaf = &shape;
  for (; leaf->kind == Kind::kList; leaf = leaf->item.get()) items *= leaf->dimension;
  return leaf->kind == Kind::kFixed && leaf->bits != 1 && items * leaf->bytes() >= kLargeValueBytes;
}

bool HasLargeValue(const LeafView& view) {
  for (uint64_t i = 0; i < view.length; ++i) {
    if (view.Value(i).size() >= kLargeValueBytes) return true;
  }
  return false;
}

arrow::Result<std::shared_ptr<arrow::ArrayData>> Join(const LeafPieces& pieces, arrow::MemoryPool* pool) {
  if (pieces.size() == 1) return pieces[0];
  arrow::ArrayVector arrays;
  for (const auto& piece : pieces) arrays.push_back(arrow::MakeArray(piece));
  ARROW_ASSIGN_OR_RAISE(auto joined, arrow::Concatenate(arrays, pool));
  return joined->data();
}

bool AllNull(const LeafPieces& pieces) {
  for (const auto& piece : pieces) {
    if (piece->GetNullCount() != piece->length) return false;
  }
  return true;
}

}  // namespace

uint64_t EncodedBuffer::size() const {
  uint64_t total = 0;
  for (const BufferPtr& piece : pieces) total += static_cast<uint64_t>(piece->size());
  return total;
}

EncodedBuffer OneBuffer(std::vector<uint8_t> bytes) { return {{arrow::Buffer::FromVector(std::move(bytes))}}; }

arrow::Result<EncodedPage> EncodePage(const ValueShape& shape, const LeafPieces& pieces, arrow::MemoryPool* pool) {
  EncodedPage page;
  for (const auto& piece : pieces) page.num_rows += static_cast<uint64_t>(piece->length);
  if (IsLargeFixed(shape) && !AllNull(pieces)) {
    std::vector<LeafView> views;
    for (const auto& piece : pieces) views.push_back(ViewLeaf(*piece, shape));
    ARROW_RETURN_NOT_OK(EncodeFullZipFixed(shape, pieces, views, FlatLevels(views), page));
    return page;
  }
  ARROW_ASSIGN_OR_RAISE(auto data, Join(pieces, pool));
  const LeafView view = ViewLeaf(*data, shape);
  ARROW_ASSIGN_OR_RAISE(const bool done, EncodeValues(view, data, shape, FlatLevels({&view, 1}), page));
  if (!done) return Internal("a page without lists has too many levels for its chunks");
  return page;
}

arrow::Result<bool> EncodeValues(const LeafView& view, const std::shared_ptr<arrow::ArrayData>& owner,
                                 const ValueShape& shape, const PageLevels& levels, EncodedPage& page) {
  if (view.null_count == view.length) {
    EncodeNoValues(levels, page);
    return true;
  }
  if (EncodeOneValue(view, shape, levels, page)) return true;
  if (IsLargeFixed(shape)) {
    ARROW_RETURN_NOT_OK(EncodeFullZipFixed(shape, {owner}, {&view, 1}, levels, page));
    return true;
  }
  if (shape.kind == Kind::kVariable && HasLargeValue(view)) {
    ARROW_RETURN_NOT_OK(EncodeFullZipVariable(view, levels, page));
    return true;
  }
  return EncodeMiniBlock(view, shape, levels, page);
}

}  // namespace javelin::file
