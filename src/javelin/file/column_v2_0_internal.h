// The columns of data files of version 2.0 on their way to pages: every field is one, not only leaves (docs/format.md,
// "Version 2.0").
#pragma once

#include <memory>
#include <vector>

#include <arrow/result.h>

#include "javelin/file/dictionary_column_internal.h"
#include "javelin/file/level_builder_internal.h"
#include "javelin/file/page_encoder_internal.h"

namespace javelin::file {

// The columns of a field in file order. NotSupported: a kind of nesting that is not written.
arrow::Result<std::vector<PhysicalColumn>> ColumnsV20Of(const Field& field);

// `pieces`: arrays of the whole top-level field. A page has rows of its own level. For a struct, one without buffers;
// more than one only of a dictionary whose indices cannot count all items that occur.
arrow::Result<std::vector<EncodedPage>> EncodePagesV20(const PhysicalColumn& column, const LeafPieces& pieces,
                                                       const PageOptions& options);

// InvalidInput naming the column: a struct of the top-level field `data` is null, which the version has no place for.
arrow::Status CheckNoNullStructs(const arrow::ArrayData& data, const std::vector<PhysicalColumn>& columns);

// page_encoder_v2_0.cc: the values of a leaf.
arrow::Result<EncodedPage> EncodeLeafV20(const LeafView& view, const ValueShape& shape, bool is_text,
                                         const EncodingWishes& wishes);
// Of a packed struct without strings; no row is null.
EncodedPage EncodePackedV20(const LeafView& rows, const StructPacker& packer);
// Of an Arrow dictionary, with an item for null. `index`, `item`: the shapes of both.
EncodedPage EncodeDictionaryV20(const IndexedPage& indexed, const ValueShape& index, const ValueShape& item);
// The ends of lists or strings; null ones are larger by `null_adjustment`, which is more than any end.
void EncodeEnds(const std::vector<uint64_t>& ends, lance::encodings::ArrayEncoding& encoding, EncodedPage& page);

}  // namespace javelin::file
