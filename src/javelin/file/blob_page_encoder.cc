// Pages of blob columns v1: places of values, which are no struct to a reader (docs/format.md, "Blobs").
#include "javelin/file/page_encoder_internal.h"

#include <algorithm>

#include "javelin/file/blob_field.h"

namespace javelin::file {

namespace {

bool HasNulls(const LeafPieces& pieces) {
  return std::ranges::any_of(pieces, [](const auto& piece) {
    const uint64_t* const positions = piece->child_data[0]->template GetValues<uint64_t>(1) + piece->offset;
    const uint64_t* const sizes = piece->child_data[1]->template GetValues<uint64_t>(1) + piece->offset;
    for (int64_t row = 0; row < piece->length; ++row) {
      if (sizes[row] == 0 && positions[row] != 0) return true;
    }
    return false;
  });
}

}  // namespace

arrow::Result<std::vector<EncodedPage>> EncodeBlobPages(const PhysicalColumn& column, const LeafPieces& pieces,
                                                        bool only_page, const PageOptions& options) {
  ARROW_ASSIGN_OR_RAISE(auto pages, EncodeNestedPages(column.path, column.shape, pieces, only_page, options));
  const pb::RepDefLayer layer = HasNulls(pieces) ? pb::NULLABLE_ITEM : pb::ALL_VALID_ITEM;
  for (EncodedPage& page : pages) {
    pb::PageLayout outer;
    outer.mutable_blob_layout()->mutable_inner_layout()->Swap(&page.layout);
    outer.mutable_blob_layout()->add_layers(layer);
    page.layout.Swap(&outer);
  }
  return pages;
}

arrow::Result<EncodedPage> EncodeBlobPageV20(const PhysicalColumn& column, const LeafPieces& pieces,
                                             const PageOptions& options) {
  ARROW_ASSIGN_OR_RAISE(const StructPacker packer, StructPacker::Make(column.path.leaf));
  EncodedPage page;
  page.buffers.emplace_back();
  for (const auto& piece : pieces) {
    const Slice all{0, static_cast<uint64_t>(piece->length)};
    ARROW_ASSIGN_OR_RAISE(const auto rows, packer.Pack(*piece, {&all, 1}, options.pool));
    page.buffers[0].pieces.push_back(rows->buffers[1]);
    page.num_rows += all.count;
  }
  auto* packed = page.array_v2_0.emplace().mutable_packed_struct();
  packed->mutable_buffer();
  for (int i = 0; i < 2; ++i) {
    auto* part = packed->add_inner()->mutable_nullable()->mutable_no_nulls()->mutable_values()->mutable_flat();
    part->set_bits_per_value(64);
    part->mutable_buffer();
  }
  return page;
}

}  // namespace javelin::file
