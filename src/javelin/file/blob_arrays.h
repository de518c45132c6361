// Fields and arrays that have blobs inside: columns of them, and structs and lists around such.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include <arrow/array.h>
#include <arrow/result.h>
#include <arrow/type_fwd.h>

#include "javelin/file/schema.h"

namespace javelin::file {

// A field with its blob fields, at any depth, as StoredBlob.
Field StoreBlobs(const Field& field);
// A field as the schema of a file says it: its columns of v2 are what is stored of them.
Field FieldOfFile(const Field& field);

// A field in Arrow with its blob fields, at any depth, as BlobBytesField.
std::shared_ptr<arrow::Field> FieldOfBlobBytes(const Field& field);

// Of each value of an array, the row of the batch that it belongs to.
using BlobRows = std::vector<int64_t>;
inline constexpr int64_t kNoRow = -1;  // of what lies under a null struct or list

// Rows 0, 1, ...
BlobRows AllRows(int64_t count);

// An array with the field that it is of.
struct ArrayOfField {
  std::shared_ptr<arrow::Field> field;
  std::shared_ptr<arrow::Array> array;
};

// Calls `visit` for the arrays of the blob fields in an array of `field`, in pre-order. NotSupported: blobs inside
// anything but structs and lists.
using VisitBlobArray =
    std::function<arrow::Status(const Field& field, const arrow::Array& array, const BlobRows& rows)>;
arrow::Status VisitBlobArrays(const Field& field, const arrow::Array& array, const BlobRows& rows,
                              const VisitBlobArray& visit);

// The same array with what `replace` makes of these arrays in their places; the structs and lists around them are made
// anew, without values that no list has.
using ReplaceBlobArray =
    std::function<arrow::Result<ArrayOfField>(const Field& field, const ArrayOfField& given, const BlobRows& rows)>;
arrow::Result<ArrayOfField> ReplaceBlobArrays(const Field& field, const ArrayOfField& given, const BlobRows& rows,
                                              const ReplaceBlobArray& replace, arrow::MemoryPool* pool);

}  // namespace javelin::file
