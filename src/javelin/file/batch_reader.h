// What scans ask of a data file: neighbouring rows in several batches at once, their bytes first.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include <arrow/record_batch.h>
#include <arrow/result.h>

#include "javelin/file/data_file_reader.h"

namespace javelin::file {

// Batches of which all bytes are here. The reader that they are from and the projection must live as long.
class FetchedBatches {
 public:
  virtual ~FetchedBatches() = default;
  // Once. Their columns are decoded side by side.
  virtual arrow::Result<arrow::RecordBatchVector> Decode() = 0;
};

// Every DataFileReader is one. Thread-safe. Arguments, errors and results as there.
class BatchReader {
 public:
  static BatchReader& Of(DataFileReader& reader) { return dynamic_cast<BatchReader&>(reader); }
  virtual ~BatchReader() = default;

  // Rows from `first_row` on; `ends`: the row behind each batch, ascending. All are asked for together.
  virtual arrow::Result<std::unique_ptr<FetchedBatches>> Fetch(const Schema& projection, const ColumnOfField& columns,
                                                               uint64_t first_row, std::span<const uint64_t> ends) = 0;
  // Where batches of the rows [first_row, end) had best end, ascending: there ends a page whose bytes become the values
  // of a column as they are; a batch that reaches over it is put together from copies. Or a page whose dictionary has
  // indices of 8 or 16 bits, which may not tell the items of two pages apart.
  virtual std::vector<uint64_t> PageEnds(const Schema& projection, const ColumnOfField& columns, uint64_t first_row,
                                         uint64_t end) = 0;
};

}  // namespace javelin::file
