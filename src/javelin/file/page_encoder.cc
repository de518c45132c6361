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

arrow::Result<std::shared_ptr<arrow::ArrayData>> JoinPieces(const LeafPieces& pieces, arrow::MemoryPool* pool) {
  if (pieces.size() == 1) return pieces[0];
  arrow::ArrayVector arrays;
  for (const auto& piece : pieces) arrays.push_back(arrow::MakeArray(piece));
  ARROW_ASSIGN_OR_RAISE(auto joined, arrow::Concatenate(arrays, pool));
  return joined->data();
}

arrow::Result<EncodedPage> EncodePage(const ValueShape& shape, const LeafPieces& pieces, const PageOptions& options) {
  EncodedPage page;
  for (const auto& piece : pieces) page.num_rows += static_cast<uint64_t>(piece->length);
  if (IsLargeFixed(shape) && !AllNull(pieces)) {
    std::vector<LeafView> views;
    for (const auto& piece : pieces) views.push_back(ViewLeaf(*piece, shape));
    ARROW_RETURN_NOT_OK(EncodeFullZipFixed(shape, pieces, views, FlatLevels(views), page));
    return page;
  }
  ARROW_ASSIGN_OR_RAISE(auto data, JoinPieces(pieces, options.pool));
  const LeafView view = ViewLeaf(*data, shape);
  const PageLevels levels = FlatLevels({&view, 1});
  ARROW_ASSIGN_OR_RAISE(const bool done, EncodeValues(view, data, shape, levels, options, page));
  if (!done) ARROW_RETURN_NOT_OK(EncodeOneByOne(view, data, shape, levels, page));
  return page;
}

arrow::Result<bool> EncodeValues(const LeafView& view, const std::shared_ptr<arrow::ArrayData>& owner,
                                 const ValueShape& shape, const PageLevels& levels, const PageOptions& options,
                                 EncodedPage& page) {
  if (view.null_count == view.length) {
    EncodeNoValues(levels, options, page);
    return true;
  }
  if (options.version >= FileVersion{2, 2} && EncodeOneValue(view, shape, levels, page)) return true;
  if (!IsLargeFixed(shape) && !(shape.kind == Kind::kVariable && HasLargeValue(view)))
    return EncodeMiniBlock(view, shape, levels, options, page);
  ARROW_RETURN_NOT_OK(EncodeOneByOne(view, owner, shape, levels, page));
  return true;
}

arrow::Status EncodeOneByOne(const LeafView& view, const std::shared_ptr<arrow::ArrayData>& owner,
                             const ValueShape& shape, const PageLevels& levels, EncodedPage& page) {
  if (shape.kind == Kind::kVariable) return EncodeFullZipVariable(view, levels, page);
  return EncodeFullZipFixed(shape, {owner}, {&view, 1}, levels, page);
}

}  // namespace javelin::file
