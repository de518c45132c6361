// Blob columns: values beside the pages of a file, or in files of their own, of which the pages say where they lie
// (docs/format.md, "Blobs").
#pragma once

#include <memory>

#include <arrow/type_fwd.h>

#include "javelin/file/schema.h"

namespace javelin::file {

// Blob v1: `large_binary` with metadata `lance-encoding:blob`. Blob v2: extension `lance.blob.v2`.
enum class BlobKind { kNone, kV1, kV2 };
BlobKind BlobKindOf(const Field& field);

// What a read returns of a blob column: where each value lies.
// v1: struct<position: uint64, size: uint64>, in the data file; a null is null, but in files of 2.0 {1, 0}.
// v2: struct<kind: uint8, position: uint64, size: uint64, blob_id: uint32, blob_uri: string>, its fields not null.
const std::shared_ptr<arrow::DataType>& BlobDescriptionType(BlobKind kind);
// A blob field as its description, with the id and name of the field; other fields as they are.
Field DescribeBlob(const Field& field);
Schema DescribeBlobs(const Schema& schema);  // at the top level
bool IsBlobDescription(const Field& field);

}  // namespace javelin::file
