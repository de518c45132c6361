// The rows of the simulated table: every row names the operation that wrote it, so that a log, a scan or a lookup can
// be traced back to operations.
//
// Columns: `id` int64, the primary key; `op` int64, the operation (0 = the base table); `ordinal` int32, the row's
// number inside the operation; `text`, a function of the two. A delete carries no columns but the key, so each of its
// batches also deletes a key that no row ever has (MarkerKey) and that names the operation.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <arrow/result.h>
#include <arrow/type_fwd.h>

namespace javelin::simulation {

// Who wrote the row that a key has.
struct RowVersion {
  int64_t operation = 0;
  int32_t ordinal = 0;
  friend auto operator<=>(const RowVersion&, const RowVersion&) = default;
};

// What a full scan returns: one row a key.
using TableState = std::map<int64_t, RowVersion>;

std::string Describe(const TableState& state);

std::shared_ptr<arrow::Schema> TableSchema();

// One batch of an operation as the writer gets it: the keys in order, and the ordinal of the first row.
std::shared_ptr<arrow::RecordBatch> MakePutBatch(int64_t operation, int32_t first_ordinal,
                                                 const std::vector<int64_t>& keys);
std::shared_ptr<arrow::RecordBatch> MakeDeleteBatch(int64_t operation, int32_t batch_number,
                                                    const std::vector<int64_t>& keys);
std::shared_ptr<arrow::RecordBatch> MakeKeyBatch(const std::vector<int64_t>& keys);

inline constexpr int64_t kBatchesOfADelete = 64;  // the most that a marker key can name
inline int64_t MarkerKey(int64_t operation, int32_t batch_number) {
  return -(operation * kBatchesOfADelete + batch_number) - 1;
}

// A batch found in the log, traced back. Exactly one of the two forms.
struct BatchOrigin {
  int64_t operation = 0;
  bool is_delete = false;
  int32_t batch_number = 0;   // deletes
  int32_t first_ordinal = 0;  // puts
  std::vector<int64_t> keys;  // without the marker
  friend bool operator==(const BatchOrigin&, const BatchOrigin&) = default;
};
// Invalid if the batch could not have come from one batch of one operation; the text says why.
arrow::Result<BatchOrigin> TraceBatch(const arrow::RecordBatch& batch);

// Adds the rows of a scan. Invalid if a key comes twice, a row is a marker, or a text does not fit its row.
arrow::Status AddRows(const arrow::RecordBatch& rows, TableState* state);

}  // namespace javelin::simulation
