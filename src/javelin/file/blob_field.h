// Blob columns: values beside the pages of a file, or in files of their own, of which the pages say where they lie
// (docs/format.md, "Blobs").
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include <arrow/type_fwd.h>

#include "javelin/file/schema.h"

namespace javelin::file {

// Blob v1: `large_binary` with metadata `lance-encoding:blob`. Blob v2: extension `lance.blob.v2`.
enum class BlobKind { kNone, kV1, kV2 };
BlobKind BlobKindOf(const Field& field);

// Where a value of v2 lies, as the `kind` of its description says; more kinds are outside of the table too.
enum class BlobPlace : uint8_t {
  kInline = 0,    // in the data file
  kShared = 1,    // in a sidecar, behind others
  kAlone = 2,     // the whole of a sidecar
  kExternal = 3,  // at a URI
};

// The position of a null of v1 without bytes, as data files are written; in 2.0 also as it is read.
inline constexpr uint64_t kNullBlob = uint64_t{1} << 16;  // its definition level, above the repetition level
inline constexpr uint64_t kNullBlobV20 = 1;

// What a read returns of a blob column: where each value lies.
// v1: struct<position: uint64, size: uint64>, in the data file; a null is null, but in files of 2.0 {1, 0}.
// v2: struct<kind: uint8, position: uint64, size: uint64, blob_id: uint32, blob_uri: string>, its fields not null.
const std::shared_ptr<arrow::DataType>& BlobDescriptionType(BlobKind kind);
// The field is one of blobs, or has one inside.
bool HoldsBlobs(const Field& field);
// A field with its blob fields, at any depth, as their descriptions, which have the id and name of the field.
Field DescribeBlob(const Field& field);
Schema DescribeBlobs(const Schema& schema);
bool IsBlobDescription(const Field& field);
// A blob field as its bytes alone, as they may be appended to it.
std::shared_ptr<arrow::Field> BlobBytesField(const Field& field);
// The same of a blob field, with the fields of the description as children, which have no ids: as files are written.
Field StoredBlob(const Field& field);

// The key of an object beside the data file at `data_key`, with the suffix of its name, that holds blobs of it.
std::string BlobSidecarKey(const std::string& data_key, uint32_t blob_id);

}  // namespace javelin::file
