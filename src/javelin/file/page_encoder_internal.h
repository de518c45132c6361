// Rows of one leaf column -> one page of version 2.2 (docs/format.md, "Data files: what we write").
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include <arrow/array/data.h>
#include <arrow/result.h>

#include "lanceproto/encodings_v2_1.pb.h"

#include "javelin/file/compression_internal.h"
#include "javelin/file/leaf_view_internal.h"
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
arrow::Result<EncodedPage> EncodePage(const ValueShape& shape, const LeafPieces& pieces, arrow::MemoryPool* pool);

// ---- the layouts ----

// constant_page_encoder.cc: false if the page is not constant.
bool EncodeAllNull(const LeafView& view, EncodedPage& page);
bool EncodeOneValue(const LeafView& view, const ValueShape& shape, EncodedPage& page);

// mini_block_page_encoder.cc
arrow::Status EncodeMiniBlock(const LeafView& view, const ValueShape& shape, EncodedPage& page);

// full_zip_page_encoder.cc
arrow::Status EncodeFullZipVariable(const LeafView& view, EncodedPage& page);
arrow::Status EncodeFullZipFixed(const ValueShape& shape, const LeafPieces& pieces, EncodedPage& page);

}  // namespace javelin::file
