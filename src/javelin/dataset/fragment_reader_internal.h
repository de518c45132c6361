// Reads rows of one fragment: finds the file of each column, fills in what no file has.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include <arrow/result.h>
#include <arrow/type_fwd.h>

#include "javelin/dataset/dataset_state_internal.h"
#include "javelin/dataset/fragment_rows_internal.h"
#include "javelin/dataset/projection_internal.h"
#include "javelin/file/batch_reader.h"
#include "javelin/file/data_file_reader.h"
#include "javelin/table/row_lineage.h"

namespace javelin::internal {

class FragmentReader {
 public:
  // Reads the deletion file and opens the data files that are needed. `projection` must outlive the reader.
  // NotSupported: a column whose parts lie in several files; Corruption: a column that must not be null is nowhere.
  static arrow::Result<std::unique_ptr<FragmentReader>> Open(std::shared_ptr<const DatasetState> table,
                                                             const table::Fragment& fragment,
                                                             const Projection& projection);

  const FragmentRows& rows() const { return rows_; }
  // Stored bytes per row of the files that the projection needs; 0 = unknown.
  uint64_t StoredBytesPerRow() const;

  // Where batches of the rows [first, end) had best end, ascending (file::BatchReader::PageEnds).
  std::vector<uint64_t> PageEnds(uint64_t first, uint64_t end) const;
  // Rows from `first` on in batches, deleted ones included, of which all bytes are here.
  struct Fetched {
    uint64_t first = 0;
    std::vector<uint64_t> ends;  // the row behind each, ascending
    std::vector<std::unique_ptr<file::FetchedBatches>> of_sources;
  };
  // Thread-safe.
  arrow::Result<std::shared_ptr<Fetched>> Fetch(uint64_t first, std::vector<uint64_t> ends) const;
  // Once for each. Thread-safe.
  arrow::Result<arrow::RecordBatchVector> Decode(Fetched& fetched) const;
  // These rows, any order, repeats allowed; each must exist. Thread-safe.
  arrow::Result<std::shared_ptr<arrow::RecordBatch>> Take(std::span<const uint64_t> offsets) const;

 private:
  // One data file and what is read from it.
  struct Source {
    table::DataFile file;
    file::ColumnOfField columns;
    std::vector<file::Field> fields;
    std::vector<size_t> positions;  // of the fields in the output
    file::Schema projection;
    std::shared_ptr<file::DataFileReader> reader;
  };
  struct Planner;

  FragmentReader(std::shared_ptr<const DatasetState> table, const Projection& projection)
      : table_(std::move(table)), projection_(projection) {}
  arrow::Status OpenSource(Source& source);
  // A system column of the rows from `first` on, where no file has it.
  void FillSystemColumn(ColumnKind kind, uint64_t first, std::span<uint64_t> values) const;
  // Memory for the columns that no file of the fragment has.
  arrow::Result<MemoryReservation> ReserveNulls(uint64_t rows) const;
  // `stored`: the stored columns, of each source; `fill(kind, values)` gives a system column.
  template <typename Fill>
  arrow::Result<std::shared_ptr<arrow::RecordBatch>> Assemble(
      size_t count, std::span<const std::shared_ptr<arrow::RecordBatch>> stored, Fill fill) const;

  std::shared_ptr<const DatasetState> table_;
  const Projection& projection_;
  FragmentId id_;
  FragmentRows rows_;
  std::vector<Source> sources_;
  std::vector<std::shared_ptr<arrow::DataType>> missing_;  // by output position; set = reads as null
  // What the manifest keeps of the rows.
  std::optional<table::RowIdSequence> row_ids_;  // stable ids; none: the addresses
  table::RowVersions created_;
  table::RowVersions updated_;
};

}  // namespace javelin::internal
