// What may be given for the values of blob columns (docs/format.md, "Blobs").
#pragma once

#include <cstdint>
#include <memory>

#include <arrow/result.h>
#include <arrow/type_fwd.h>

#include "javelin/file/schema.h"

namespace javelin::file {

// How large values of a v2 column may be to lie in the data file, and in a sidecar that they share, and such a sidecar
// itself: what the field's metadata says, else what the released writer takes.
struct BlobSizes {
  uint64_t inline_most = uint64_t{64} << 10;
  uint64_t shared_most = uint64_t{4} << 20;
  uint64_t sidecar_most = uint64_t{1} << 30;

  // InvalidInput: metadata that is no such number.
  static arrow::Result<BlobSizes> Of(const Field& field);
};

// The type under which values of type `given` are taken for a blob field: large_binary, and for v2 also binary,
// struct<data: large_binary, uri: string> or the same with position and size, both uint64. InvalidInput: any other.
arrow::Result<std::shared_ptr<arrow::DataType>> BlobInputType(const Field& field, const arrow::DataType& given);
// A field in Arrow, with such types for its blob fields, at any depth.
arrow::Result<std::shared_ptr<arrow::Field>> BlobInputField(const Field& field, const arrow::DataType& given);

// A field whose blobs, at any depth, can be written. InvalidInput: the type of one is no such type, nor that of v1 or a
// struct of v2, or its metadata is none of BlobSizes.
arrow::Status CheckBlobFields(const Field& field);

// Values of such a field. InvalidInput: not exactly one of `data` and `uri`, half a range, or one without `uri`.
// NotSupported: a `uri`; what lies outside of the table cannot be referred to.
arrow::Status CheckBlobs(const Field& field, const arrow::ArrayData& values);

// InvalidInput: `given`, a column that is to be appended to the blob column `table`, is of another form, or wishes for
// other sizes.
arrow::Status CheckBlobMayFollow(const Field& given, const Field& table);

// The columns of a new table: in one of `has_v2` data files v1 is no more, and such fields become v2 ones.
// InvalidInput: a v1 field of a type that has no such form, or one that is called both.
arrow::Result<std::shared_ptr<arrow::Schema>> BlobColumnsOfNewTable(const arrow::Schema& given, bool has_v2);
// The schema of such columns as the released package has it, which names a list by the items it was given with.
Schema NameListsAsGiven(const Schema& columns, const arrow::Schema& given);

}  // namespace javelin::file
