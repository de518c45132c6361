// Writes Lance data files of versions 2.0, 2.1 and 2.2 (docs/format.md, "Data files: what we write").
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <arrow/result.h>
#include <arrow/type_fwd.h>

#include "javelin/base/resources.h"
#include "javelin/file/data_file_reader.h"
#include "javelin/file/schema.h"
#include "javelin/store/object_store.h"

namespace javelin::file {

// Makes the object beside a data file that BlobSidecarKey names. Ids of a file count from 1.
using SidecarOpener = std::function<arrow::Result<std::unique_ptr<ObjectWriter>>(uint32_t blob_id)>;

struct DataFileWriteOptions {
  FileVersion version{2, 2};       // 2.0 to 2.2; others are NotSupported
  uint64_t page_bytes = 8u << 20;  // a column becomes a page when it has buffered this much Arrow memory
  SidecarOpener open_sidecar;      // needed by columns of blobs v2, whose larger values go there
};

// What a manifest's DataFile entry needs.
struct DataFileSummary {
  FileVersion version;
  uint64_t num_rows = 0;
  uint64_t size_bytes = 0;
  std::vector<FieldId> fields;  // one per physical column
  std::vector<int32_t> column_indices;
};

// NotSupported / InvalidInput, naming the column, for a schema that has no data file of ours in a version. For callers
// that must know before they change anything.
arrow::Status CheckWritable(const Schema& schema, FileVersion version);

// InvalidInput naming the field and the key: metadata that no new table should have, since released readers then do not
// find the field's values. Fields of tables that have it are written as if they had not.
arrow::Status CheckNewSchema(const Schema& schema);

// InvalidInput naming the column: rows of such a schema that no data file of the version holds, though others of the
// schema can be written. In 2.0 no struct can be null.
arrow::Status CheckRowsFit(const arrow::RecordBatch& batch, const Schema& schema, FileVersion version);

class DataFileWriter {
 public:
  // InvalidInput / NotSupported for a schema or version we cannot write, before the first byte.
  static arrow::Result<std::unique_ptr<DataFileWriter>> Make(const Resources& resources,
                                                             std::unique_ptr<ObjectWriter> sink, const Schema& schema,
                                                             DataFileWriteOptions options = {});
  virtual ~DataFileWriter() = default;
  // The batch must have schema.ToArrow()'s columns in order (types equal, nulls only where nullable) and rows that fit
  // the version: InvalidInput otherwise. Blob columns take what BlobInputType says (blob_input.h); their values are
  // written at once, the larger ones from the memory that they are in.
  virtual arrow::Status Write(const arrow::RecordBatch& batch) = 0;
  // Writes what is buffered, the metadata and the footer, and finishes the sink.
  virtual arrow::Result<DataFileSummary> Finish() = 0;
  virtual uint64_t num_rows() const = 0;
  // Bytes handed to the sink so far plus bytes buffered: what the file would have at least, sidecars left out.
  virtual uint64_t estimated_bytes() const = 0;
};

}  // namespace javelin::file
