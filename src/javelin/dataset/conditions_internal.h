// SQL over the columns of a table: what its texts may name, and which rows a condition holds for.
//
// Whoever changes the rows of a condition begins here:
//   ARROW_ASSIGN_OR_RAISE(const query::Filter filter, ParseCondition(table, "id > 5"));
//   ARROW_ASSIGN_OR_RAISE(const table::RowsByFragment rows, FindRows(table_ptr, filter));  -> RowMasks::Make
#pragma once

#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include <arrow/result.h>
#include <arrow/type_fwd.h>

#include "javelin/dataset/dataset_state_internal.h"
#include "javelin/dataset/growing_memory_internal.h"
#include "javelin/dataset/projection_internal.h"
#include "javelin/query/filter.h"
#include "javelin/table/transaction.h"

namespace javelin::internal {

// The columns of the table, blobs as where they lie, and the system columns.
query::Scope ScopeOf(const file::Schema& schema);
// now() is the moment of this call.
query::SqlOptions SqlOptionsNow(Runtime& runtime);
// Errors: query::Filter::Parse. Reads nothing.
arrow::Result<query::Filter> ParseCondition(const DatasetState& table, std::string_view sql);

// What an expression reads, as paths of the table.
std::vector<ColumnPath> PathsOf(const query::Expression& expression);

// Collects rows of a scan in its order. Memory for each run of neighbours, from the budget as long as this lives.
class FoundRows {
 public:
  explicit FoundRows(MemoryBudget& budget)
      : memory_(budget, sizeof(table::OffsetSet::Run), "the rows of a condition") {}
  // Above all rows of its fragment that were added before.
  arrow::Status Add(RowAddress row);
  arrow::Status Add(const arrow::UInt64Array& addresses);
  table::RowsByFragment Take() { return std::move(rows_); }

 private:
  GrowingMemory memory_;  // for the runs
  table::RowsByFragment rows_;
  uint64_t runs_ = 0;
};

// How many live rows of these fragments the condition holds for. Reads the columns of the condition only. Blocks.
arrow::Result<uint64_t> CountRows(const std::shared_ptr<const DatasetState>& table,
                                  std::vector<const table::Fragment*> fragments, const query::Filter& filter);
// Which rows of the version they are; a fragment without any is not in the answer. Memory as FoundRows. Blocks.
arrow::Result<table::RowsByFragment> FindRows(const std::shared_ptr<const DatasetState>& table,
                                              const query::Filter& filter);

}  // namespace javelin::internal
