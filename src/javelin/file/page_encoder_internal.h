// Rows of one column -> pages (docs/format.md, "Data files: what we write").
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include <arrow/array/data.h>
#include <arrow/result.h>

#include "lanceproto/encodings_v2_0.pb.h"
#include "lanceproto/encodings_v2_1.pb.h"

#include "javelin/file/chunk_encoder_internal.h"
#include "javelin/file/leaf_view_internal.h"
#include "javelin/file/level_builder_internal.h"
#include "javelin/file/page_levels_internal.h"
#include "javelin/file/page_options_internal.h"
#include "javelin/file/string_value_encoder_internal.h"
#include "javelin/file/struct_packer_internal.h"
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
  std::optional<lance::encodings::ArrayEncoding> array_v2_0;  // instead of `layout`: the page is one of version 2.0
  std::vector<EncodedBuffer> buffers;
  uint64_t num_rows = 0;
  uint64_t items_per_row = 1;  // pages of a fixed-size list of structs count its items
};

using LeafPieces = std::vector<std::shared_ptr<arrow::ArrayData>>;
arrow::Result<std::shared_ptr<arrow::ArrayData>> JoinPieces(const LeafPieces& pieces, arrow::MemoryPool* pool);

enum class ColumnKind {
  kLeaf,    // values, one for each row or item of the lists around it
  kLists,   // where the items of each list end
  kStruct,  // nothing but its length
};

// A column of a file. From 2.1 on these are the leaves; in 2.0 every field, a page then has rows of its own level.
struct PhysicalColumn {
  ColumnKind kind = ColumnKind::kLeaf;
  LeafPath path;     // to the column's field, which is a leaf or in 2.0 also what lies around one
  ValueShape shape;  // of the values that memory is counted by: an offset for a list, nothing for a struct
};

// The choice of layout and encodings is made here, page by page. `pieces` hold at least one row.
arrow::Result<EncodedPage> EncodePage(const ValueShape& shape, const LeafPieces& pieces, const PageOptions& options);

// Rows of a leaf with structs and lists around it: `pieces` are arrays of the whole field. One page, or more where
// lists are too sparse for one. `only_page`: the column has no other rows.
arrow::Result<std::vector<EncodedPage>> EncodeNestedPages(const LeafPath& path, const ValueShape& shape,
                                                          const LeafPieces& pieces, bool only_page,
                                                          const PageOptions& options);

// blob_page_encoder.cc: places of v1, as struct arrays of StoredBlob.
arrow::Result<std::vector<EncodedPage>> EncodeBlobPages(const PhysicalColumn& column, const LeafPieces& pieces,
                                                        bool only_page, const PageOptions& options);
arrow::Result<EncodedPage> EncodeBlobPageV20(const PhysicalColumn& column, const LeafPieces& pieces,
                                             const PageOptions& options);

// False, and the page as it was, if it does not go into chunks as it is: lists are too sparse for them, or values
// differ too much in size for the chunks of 2.1. It must be split, or go through EncodeOneByOne. `owner`: what keeps
// the view's memory alive.
arrow::Result<bool> EncodeValues(const LeafView& view, const std::shared_ptr<arrow::ArrayData>& owner,
                                 const ValueShape& shape, const PageLevels& levels, const PageOptions& options,
                                 EncodedPage& page);

// Each value by itself, whatever its size.
arrow::Status EncodeOneByOne(const LeafView& view, const std::shared_ptr<arrow::ArrayData>& owner,
                             const ValueShape& shape, const PageLevels& levels, const PageOptions& options,
                             EncodedPage& page);

// ---- the layouts ----

// constant_page_encoder.cc: no value at all, but nulls and empty lists.
void EncodeNoValues(const PageLevels& levels, const PageOptions& options, EncodedPage& page);
// False if the page is not constant.
bool EncodeOneValue(const LeafView& view, const ValueShape& shape, const PageLevels& levels, EncodedPage& page);

// mini_block_page_encoder.cc: false, and the page as it was, if lists are too sparse for it, or values are too large
// for the chunks of the version.
arrow::Result<bool> EncodeMiniBlock(const PageLevels& levels, ChunkEncoder& values, const PageOptions& options,
                                    EncodedPage& page);
arrow::Result<bool> EncodeMiniBlock(const PageLevels& levels, ChunkEncoder& indices, DictionaryBlock dictionary,
                                    const PageOptions& options, EncodedPage& page);

// packed_struct_page_encoder.cc: false, and the page as it was, if lists are too sparse for its chunks, or rows too
// wide for those of the version.
arrow::Result<bool> EncodePackedStructPage(const StructPacker& packer, const LeafPage& leaf, const PageOptions& options,
                                           EncodedPage& page);

// True if every item of a list that is not null is null itself; of lists of plain values only.
bool HasNoItems(const LeafView& view, const ValueShape& shape);
// full_zip_page_encoder.cc: NotSupported for lists of booleans.
arrow::Status EncodeFullZipVariable(const LeafView& view, const PageLevels& levels, StringValueEncoder& values,
                                    EncodedPage& page);
arrow::Status EncodeFullZipFixed(const ValueShape& shape, const LeafPieces& owners, std::span<const LeafView> views,
                                 const PageLevels& levels, EncodedPage& page);

}  // namespace javelin::file
