#include "table_reading.h"

#include <arrow/api.h>

namespace javelin::simulation {

arrow::Result<TableState> ReadAll(arrow::RecordBatchReader& reader) {
  TableState state;
  for (;;) {
    ARROW_ASSIGN_OR_RAISE(const auto batch, reader.Next());
    if (batch == nullptr) return state;
    ARROW_RETURN_NOT_OK(AddRows(*batch, &state));
  }
}

arrow::Result<TableState> ScanAll(const memwal::FreshView& view) {
  ARROW_ASSIGN_OR_RAISE(const auto reader, view.Scan());
  return ReadAll(*reader);
}

arrow::Result<TableState> LookUp(const memwal::FreshView& view, const std::vector<int64_t>& keys) {
  ARROW_ASSIGN_OR_RAISE(const auto rows, view.Get(*MakeKeyBatch(keys)));
  TableState state;
  ARROW_RETURN_NOT_OK(AddRows(*rows, &state));
  return state;
}

}  // namespace javelin::simulation
