#include "javelin/file/page_encoder_internal.h"

#include <arrow/array/concatenate.h>
#include <arrow/array/util.h>

#include "javelin/base/error.h"

namespace javelin::file {

namespace {

// Values from this size on are stored one by one instead of in chunks: each can then be read alone.
constexpr uint64_t kLargeValueBytes = 256;

using Kind = ValueShape::Kind;

const ValueShape& Innermost(const ValueShape& shape) { return shape.item == nullptr ? shape : Innermost(*shape.item); }

uint64_t ItemsOf(const ValueShape& shape) {
  return shape.kind == Kind::kList ? shape.dimension * ItemsOf(*shape.item) : 1;
}

bool IsListOfBits(const ValueShape& shape) { return shape.kind == Kind::kList && Innermost(shape).bits == 1; }

bool IsLargeFixed(const ValueShape& shape) {
  const ValueShape& item = Innermost(shape);
  return item.kind == Kind::kFixed && item.bits != 1 && ItemsOf(shape) * item.bytes() >= kLargeValueBytes;
}

bool HasLargeValue(const LeafView& view) {
  for (uint64_t i = 0; i < view.length; ++i) {
    if (view.Value(i).size() >= kLargeValueBytes) return true;
  }
  return false;
}

// Whether values that get no dictionary are stored one by one instead of in chunks.
bool AreOneByOne(const LeafView& view, const ValueShape& shape, const EncodingWishes& wishes) {
  if (IsListOfBits(shape)) return false;  // in chunks an item is one bit
  if (Innermost(shape).kind == Kind::kNull) return true;
  if (wishes.structure) return *wishes.structure == EncodingWishes::Structure::kOneByOne;
  return shape.kind == Kind::kVariable ? HasLargeValue(view) : IsLargeFixed(shape) || HasNoItems(view, shape);
}

arrow::Result<ChunkEncoderPtr> MakeValueChunks(const LeafView& view, const ValueShape& shape,
                                               const PageOptions& options) {
  switch (shape.kind) {
    case Kind::kVariable: return MakeVariableChunks(view, options);
    case Kind::kList: return MakeListChunks(view, shape);
    default: return MakeNumberChunks(view, shape.bits, options.wishes);
  }
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
  if (IsLargeFixed(shape) && options.wishes.structure != EncodingWishes::Structure::kChunks && !AllNull(pieces)) {
    std::vector<LeafView> views;
    for (const auto& piece : pieces) views.push_back(ViewLeaf(*piece, shape));
    ARROW_RETURN_NOT_OK(EncodeFullZipFixed(shape, pieces, views, FlatLevels(views), page));
    return page;
  }
  ARROW_ASSIGN_OR_RAISE(auto data, JoinPieces(pieces, options.pool));
  const LeafView view = ViewLeaf(*data, shape);
  const PageLevels levels = FlatLevels({&view, 1});
  ARROW_ASSIGN_OR_RAISE(const bool done, EncodeValues(view, data, shape, levels, options, page));
  if (!done) ARROW_RETURN_NOT_OK(EncodeOneByOne(view, data, shape, levels, options, page));
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
  ChunkEncoderPtr chunks;
  std::optional<StringValueEncoder> strings;
  uint64_t bytes = shape.kind == Kind::kFixed ? BytesForBits(view.length * shape.bits) : 0;
  if (!AreOneByOne(view, shape, options.wishes)) {
    ARROW_ASSIGN_OR_RAISE(chunks, MakeValueChunks(view, shape, options));
    bytes = chunks->total_bytes();
  } else if (shape.kind == Kind::kVariable) {
    ARROW_ASSIGN_OR_RAISE(strings, StringValueEncoder::Make(view, options.wishes));
    bytes = strings->total_bytes();
  }
  ARROW_ASSIGN_OR_RAISE(const auto dictionary, EncodeDictionary(view, shape, bytes, options));
  if (dictionary != nullptr) {
    ARROW_ASSIGN_OR_RAISE(const bool done,
                          EncodeMiniBlock(levels, *dictionary->chunks, std::move(dictionary->block), options, page));
    if (done || chunks != nullptr) return done;
  }
  if (chunks != nullptr) return EncodeMiniBlock(levels, *chunks, options, page);
  if (strings) {
    ARROW_RETURN_NOT_OK(EncodeFullZipVariable(view, levels, *strings, page));
  } else {
    ARROW_RETURN_NOT_OK(EncodeFullZipFixed(shape, {owner}, {&view, 1}, levels, page));
  }
  return true;
}

arrow::Status EncodeOneByOne(const LeafView& view, const std::shared_ptr<arrow::ArrayData>& owner,
                             const ValueShape& shape, const PageLevels& levels, const PageOptions& options,
                             EncodedPage& page) {
  if (shape.kind != Kind::kVariable) return EncodeFullZipFixed(shape, {owner}, {&view, 1}, levels, page);
  ARROW_ASSIGN_OR_RAISE(StringValueEncoder values, StringValueEncoder::Make(view, options.wishes));
  return EncodeFullZipVariable(view, levels, values, page);
}

}  // namespace javelin::file
