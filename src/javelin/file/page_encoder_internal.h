// Rows of one leaf column -> one page of version 2.2 (docs/format.md, "Data files: what we write").
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include <arrow/array/data.h>
#include <arrow/result.h>

#include "lanceproto/encodings_v2_1.pb.h"

#include "javelin/file/compression_internal.h"
#include "javelin/file/leaf_view_internal.h"
#include "javelin/file/level_builder_internal.h"
#include "javelin/file/page_levels_internal.h"
#include "javelin/file/page_options_internal.h"
#include "javelin/store/object_store.h"

namespace javelin::file {

namespace pb = lance::encodings21;

// One buffer of a page, in pieces so that callers' memory can be written without a copy.
struct EncodedBuffer {
  std::vector<BufferPtr> pieces;
  uint64_t size() const;
};
EncodedBuffer OneBuffer(std::vector<uint8_t> bytes);

struct EncodedPage {
  pb::PageLayout layout;
  std::vector<EncodedBuffer> buffers;
  uint64_t num_rows = 0;
};

using LeafPieces = std::vector<std::shared_ptr<arrow::ArrayData>>;

// The choice of layout and encodings is made here, page by page. `pieces` hold at least one row.
arrow::Result<EncodedPage> EncodePage(const ValueShape& shape, const LeafPieces& pieces, const PageOptions& options);

// Rows of a leaf with structs and lists around it: `pieces` are arrays of the whole field. One page, or more where
// lists are too sparse for one. `only_page`: the column has no other rows.
arrow::Result<std::vector<EncodedPage>> EncodeNestedPages(const LeafPath& path, const ValueShape& shape,
                                                          const LeafPieces& pieces, bool only_page,
                                                          const PageOptions& options);

// False, and the page as it was, if it does not go into chunks as it is: lists are too sparse for them, or values
// differ too much in size for the chunks of 2.1. It must be split, or go through EncodeOneByOne. `owner`: what keeps
// the view's memory alive.
arrow::Result<bool> EncodeValues(const LeafView& view, const std::shared_ptr<arrow::ArrayData>& owner,
                                 const ValueShape& shape, const PageLevels& levels, const PageOptions& options,
                                 EncodedPage& page);

// Each value by itself, whatever its size.
arrow::Status EncodeOneByOne(const LeafView& view, const std::shared_ptr<arrow::ArrayData>& owner,
                             const ValueShape& shape, const PageLevels& levels, EncodedPage& page);

// ---- the layouts ----

// constant_page_encoder.cc: no value at all, but nulls and empty lists.
void EncodeNoValues(const PageLevels& levels, const PageOptions& options, EncodedPage& page);
// False if the page is not constant.
bool EncodeOneValue(const LeafView& view, const ValueShape& shape, const PageLevels& levels, EncodedPage& page);

// mini_block_page_encoder.cc: false, and the page as it was, if lists are too sparse for it, or values are too large
// for the chunks of the version.
arrow::Result<bool> EncodeMiniBlock(const LeafView& view, const ValueShape& shape, const PageLevels& levels,
                                    const PageOptions& options, EncodedPage& page);

// full_zip_page_encoder.cc: NotSupported for lists of booleans.
arrow::Status EncodeFullZipVariable(const LeafView& view, const PageLevels& levels, EncodedPage& page);
arrow::Status EncodeFullZipFixed(const ValueShape& shape, const LeafPieces& owners, std::span<const LeafView> views,
                                 const PageLevels& levels, EncodedPage& page);

}  // namespace javelin::file
