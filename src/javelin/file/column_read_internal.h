// Reading rows of columns as planned: their bytes in rounds, decoding, and one array for each field.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include <arrow/result.h>
#include <arrow/type_fwd.h>

#include "javelin/file/leaf_sink_internal.h"
#include "javelin/file/open_file_internal.h"
#include "javelin/file/page_reader_internal.h"
#include "javelin/file/schema.h"

namespace javelin::file {

// One column of one read: a leaf.
struct ColumnRead {
  const Field* field = nullptr;  // the leaf's
  uint32_t column = 0;
  struct Part {
    size_t page = 0;
    std::shared_ptr<const PageReader> reader;  // keeps alive what the scan uses
    std::unique_ptr<PageScan> scan;
    size_t num_wanted = 0;  // ranges asked for in this round
    uint64_t supplied = 0;  // bytes
  };
  std::vector<Part> parts;
  uint64_t num_rows = 0;
  bool hands_on_bytes = true;  // all its parts do
  std::unique_ptr<SinkMemory> memory;
  std::unique_ptr<LeafSink> sink;
  uint64_t work = 0;     // see MeasureWork
  arrow::Status status;  // of decoding

  // About how much there is to decode: what comes out where that is known, but at least what goes in.
  void MeasureWork();
};

// One field of one read. Leaves without a column in the file are null, both here and in AssembleField.
struct FieldRead {
  const Field* field = nullptr;
  std::vector<std::unique_ptr<ColumnRead>> leaves;
};

// Rounds over all columns together, so that each round is one call. `held`: memory of the bytes that the reads got.
arrow::Status FetchColumns(const OpenFile& file, std::span<ColumnRead* const> reads, BlockCache::Access access,
                           std::vector<MemoryReservation>& held);
// Side by side where that is worth it. What went wrong is in the status of each.
void DecodeColumns(const OpenFile& file, std::vector<ColumnRead*> reads);
// The array of a field whose columns are decoded; uses them up.
arrow::Result<std::shared_ptr<arrow::Array>> Assemble(const OpenFile& file, FieldRead& read, uint64_t num_rows,
                                                      SinkMemory& memory);

}  // namespace javelin::file
