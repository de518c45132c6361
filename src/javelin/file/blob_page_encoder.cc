// Pages of blob columns v1: places of values, which are no struct to a reader (docs/format.md, "Blobs").
#include "javelin/file/page_encoder_internal.h"

#include <utility>

#include "javelin/base/error.h"
#include "javelin/file/blob_field.h"

namespace javelin::file {

namespace {

// What is null, or lies in a struct that is, says so by its place: the definition level, and no bytes. `packed`: rows
// of position and size.
arrow::Status PlaceNulls(const PageLevels& levels, arrow::ArrayData& packed, arrow::MemoryPool* pool) {
  if (levels.def.empty()) return arrow::Status::OK();
  constexpr size_t kRow = 2 * sizeof(uint64_t);
  const uint8_t* const stored = packed.buffers[1]->data() + static_cast<size_t>(packed.offset) * kRow;
  ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::Buffer> rows,
                        arrow::AllocateBuffer(static_cast<int64_t>(levels.num_values * kRow), pool));
  std::memcpy(rows->mutable_data(), stored, levels.num_values * kRow);
  for (uint64_t i = 0; i < levels.num_values; ++i) {
    if (levels.def[i] == 0) continue;
    StoreAt<uint64_t>(rows->mutable_data() + i * kRow, levels.def[i] * kNullBlob);
    StoreAt<uint64_t>(rows->mutable_data() + i * kRow + sizeof(uint64_t), 0);
  }
  packed.buffers[1] = std::move(rows);
  packed.offset = 0;
  return arrow::Status::OK();
}

}  // namespace

arrow::Result<std::vector<EncodedPage>> EncodeBlobPages(const PhysicalColumn& column, const LeafPieces& pieces,
                                                        bool only_page, const PageOptions& options) {
  ARROW_ASSIGN_OR_RAISE(const StructPacker packer, StructPacker::Make(column.path.leaf));
  ARROW_ASSIGN_OR_RAISE(const LeafRows rows, BuildLeafRows(column.path, pieces, options.pool));
  ARROW_ASSIGN_OR_RAISE(LeafPage leaf, CutPage(column.path, rows, {0, rows.def.size()}, 0, only_page, options.pool));
  const std::shared_ptr<arrow::ArrayData> places = leaf.values->Copy();
  ARROW_RETURN_NOT_OK(PlaceNulls(leaf.levels, *places, options.pool));
  // The page inside knows of no nulls.
  LeafPage inner{.levels = {.layers = {pb::ALL_VALID_ITEM}, .num_rows = rows.def.size(), .num_values = rows.def.size()},
                 .values = places};
  std::vector<EncodedPage> pages(1);
  pages[0].num_rows = rows.def.size();
  ARROW_ASSIGN_OR_RAISE(const bool done, EncodePackedStructPage(packer, inner, options, pages[0]));
  if (!done) return Internal("the places of blobs do not go into chunks");
  pb::PageLayout outer;
  outer.mutable_blob_layout()->mutable_inner_layout()->Swap(&pages[0].layout);
  for (const pb::RepDefLayer layer : leaf.levels.layers) outer.mutable_blob_layout()->add_layers(layer);
  pages[0].layout.Swap(&outer);
  return pages;
}

arrow::Result<EncodedPage> EncodeBlobPageV20(const PhysicalColumn& column, const LeafPieces& pieces,
                                             const PageOptions& options) {
  ARROW_ASSIGN_OR_RAISE(const StructPacker packer, StructPacker::Make(column.path.leaf));
  ARROW_ASSIGN_OR_RAISE(const LeafRows rows, BuildLeafRows(column.path, pieces, options.pool));
  EncodedPage page;
  page.num_rows = static_cast<uint64_t>(rows.values->length);
  page.buffers.emplace_back().pieces.push_back(rows.values->buffers[1]);
  packer.Describe(*page.array_v2_0.emplace().mutable_packed_struct());
  return page;
}

}  // namespace javelin::file
