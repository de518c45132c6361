// Scans of one version: conditions, fields of structs, computed columns.
//
//   ARROW_ASSIGN_OR_RAISE(const Scanner scanner, Scanner::Make(*dataset, {.columns = {{"id"}}, .filter = "id > 5"}));
//   ARROW_ASSIGN_OR_RAISE(const auto reader, scanner.ToReader());
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <arrow/result.h>
#include <arrow/type_fwd.h>

#include "javelin/dataset/dataset.h"

namespace javelin {

// A value computed of the columns, under a name of its own.
struct ComputedColumn {
  std::string name;
  std::string sql;  // docs/filters.md
};

// How a scan with a condition reads the columns that the condition does not need: of all rows, or of those that pass.
// Adaptive: whichever asks for fewer bytes, by how many rows passed so far.
enum class LateColumns { kAdaptive, kNever, kAlways };

struct Ordering {
  std::string column;  // or a field of a struct, as in ScannerOptions::columns; need not be among the result's
  bool ascending = true;
  bool nulls_first = false;  // whichever the direction
};

struct ScannerOptions {
  // Names in result order; none = all. `st.x` is a field of a struct, as a column of that name. System columns may be
  // among them, as for ScanOptions.
  std::optional<std::vector<std::string>> columns{};
  std::optional<std::vector<ComputedColumn>> computed{};  // in place of `columns`
  // Only rows for which this SQL condition holds (docs/filters.md; system columns are names too).
  std::optional<std::string> filter{};
  std::optional<uint64_t> limit{};   // of rows that pass
  uint64_t offset = 0;               // of rows that pass
  bool with_row_id = false;          // appends `_rowid` uint64
  bool with_row_address = false;     // appends `_rowaddr` uint64
  uint64_t batch_rows = 8192;        // at most this many rows a batch
  uint64_t batch_bytes = 16u << 20;  // aim for at most this many bytes a batch
  LateColumns late_columns = LateColumns::kAdaptive;
  std::optional<std::vector<FragmentId>> fragments{};  // only these, each once, in this order
  // The order of the result, before limit and offset; rows that are equal stay in the order of the scan. NaN is above
  // all numbers, -0.0 below 0.0, texts are compared by bytes. Rows are sorted in memory, within the session's budget;
  // with a limit as many as it and the offset say are kept.
  std::vector<Ordering> order_by{};
};

// A scan that is ready to run, any number of times. Immutable, cheap to copy, safe to use from several threads.
class Scanner {
 public:
  // Reads nothing. now() is the moment of this call. InvalidInput: an unknown or repeated column or fragment, a
  // condition or value that does not bind; NotSupported: SQL that is not there, an order by structs or lists.
  static arrow::Result<Scanner> Make(const Dataset& dataset, const ScannerOptions& options = {});

  std::shared_ptr<arrow::Schema> schema() const;
  // Rows in order of fragment and offset, deleted ones left out. Nothing is read before the first batch is asked for.
  // While it reads, InvalidInput: a division by zero, a value that a cast cannot take, ...; OutOfMemory: too many rows
  // to be sorted.
  arrow::Result<std::shared_ptr<arrow::RecordBatchReader>> ToReader() const;
  // Rows of the result. Reads the columns of the condition only; without one, what Dataset::CountRows reads. Blocks.
  arrow::Result<uint64_t> CountRows() const;

  // The steps of the scan for people, one a line; `verbose` names fragments and files too.
  arrow::Result<std::string> Explain(bool verbose = false) const;
  // Runs the scan as if nothing of the table's files were known, and says what came of it: time, rows, requests and
  // bytes of the table's own store, and the steps. Blocks.
  arrow::Result<std::string> Analyze() const;

  struct Plan;

 private:
  arrow::Result<std::shared_ptr<arrow::RecordBatchReader>> Sorted() const;
  explicit Scanner(std::shared_ptr<const Plan> plan) : plan_(std::move(plan)) {}
  std::shared_ptr<const Plan> plan_;
};

}  // namespace javelin
