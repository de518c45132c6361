// The values of blob columns on their way into a data file and its sidecars. They are written as they come, from the
// memory that they were given in (small ones many together), and not held: what goes on to pages is where they lie
// (docs/format.md, "Blobs").
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include <arrow/result.h>
#include <arrow/type_fwd.h>

#include "javelin/file/blob_arrays.h"
#include "javelin/file/blob_input.h"
#include "javelin/file/container_writer_internal.h"
#include "javelin/file/data_file_writer.h"
#include "javelin/file/schema.h"
#include "javelin/store/object_store.h"

namespace javelin::file {

// Not thread-safe.
class BlobWriter {
 public:
  BlobWriter(ContainerWriter& container, FileVersion version, SidecarOpener open_sidecar, arrow::MemoryPool* pool)
      : container_(container), version_(version), open_sidecar_(std::move(open_sidecar)), pool_(pool) {}

  // Values of types of BlobInputField, checked, become the rows of StoreBlobs(field).
  arrow::Result<std::shared_ptr<arrow::ArrayData>> Write(const Field& field, const arrow::ArrayData& values);
  // Finishes the sidecars.
  arrow::Status Finish();

 private:
  struct Place {
    bool is_null = false;
    uint8_t kind = 0;
    uint64_t position = 0;
    uint64_t size = 0;
    uint32_t blob_id = 0;
  };

  // The same of a blob field alone. What is in no row is null.
  arrow::Result<ArrayOfField> WriteBlobs(const Field& field, const ArrayOfField& given, const BlobRows& rows);
  arrow::Result<Place> WriteV1(BufferPtr value);
  arrow::Result<Place> WriteV2(BufferPtr value, const BlobSizes& sizes);
  arrow::Result<std::shared_ptr<arrow::Array>> DescribeV1(const std::vector<Place>& places) const;
  arrow::Result<std::shared_ptr<arrow::Array>> DescribeV2(const std::vector<Place>& places) const;
  // All of a place but the size.
  arrow::Result<Place> WriteShared(BufferPtr value, uint64_t sidecar_most);
  arrow::Result<Place> WriteAlone(BufferPtr value);
  arrow::Result<std::unique_ptr<ObjectWriter>> OpenSidecar();

  ContainerWriter& container_;
  const FileVersion version_;
  const SidecarOpener open_sidecar_;
  arrow::MemoryPool* const pool_;
  uint32_t last_id_ = 0;                  // of the sidecars
  std::unique_ptr<ObjectWriter> shared_;  // the one that values are added to; null: none
  uint32_t shared_id_ = 0;
  uint64_t shared_most_ = 0;  // columns that differ in it do not share
  uint64_t shared_end_ = 0;
};

}  // namespace javelin::file
