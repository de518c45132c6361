// Writes the container of a data file around pages as they come.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <arrow/result.h>

#include "javelin/file/page_encoder_internal.h"
#include "javelin/file/schema.h"
#include "javelin/store/object_store.h"

namespace lance::file::v2 {
class ColumnMetadata;
}

namespace javelin::file {

class ContainerWriter {
 public:
  ContainerWriter(std::unique_ptr<ObjectWriter> sink, FileVersion version, size_t num_columns);
  ~ContainerWriter();

  // Before the pages of a blob column of 2.0.
  void MarkBlobs(size_t column);
  // Bytes that belong to no page, at the position returned.
  arrow::Result<uint64_t> WriteBlob(BufferPtr bytes);
  // Pages of one column in row order.
  arrow::Status WritePage(size_t column, const EncodedPage& page);
  // Descriptor, column metadata, tables, footer; finishes the sink. Every column must have `num_rows` rows
  // (from 2.1 on).
  arrow::Status Finish(const Schema& schema, uint64_t num_rows);
  uint64_t position() const { return position_; }

 private:
  arrow::Status Put(BufferPtr bytes);
  arrow::Status Put(std::string bytes);
  arrow::Status Align();
  arrow::Status Flush();  // what is gathered

  std::unique_ptr<ObjectWriter> sink_;
  const FileVersion version_;
  std::vector<lance::file::v2::ColumnMetadata> columns_;
  std::vector<uint64_t> column_rows_;
  uint64_t position_ = 0;
  std::string gathered_;  // the last bytes before position_, not yet handed on
};

}  // namespace javelin::file
