#include "javelin/dataset/delete_rows.h"

#include "javelin/base/error.h"
#include "javelin/dataset/conditions_internal.h"
#include "javelin/dataset/row_masks_internal.h"
#include "javelin/dataset/write_internal.h"
#include "javelin/table/commit.h"

namespace javelin {

namespace internal {
namespace {

arrow::Result<DeletedRows> DeleteOnce(const Dataset& dataset, const std::string& predicate) {
  const auto table = DatasetState::Of(dataset);
  ARROW_RETURN_NOT_OK(CheckCanFollow(*table));
  ARROW_ASSIGN_OR_RAISE(const query::Filter filter, ParseCondition(*table, predicate));
  ARROW_ASSIGN_OR_RAISE(const table::RowsByFragment rows, FindRows(table, filter));
  ARROW_ASSIGN_OR_RAISE(RowMasks masks, RowMasks::Make(*table, rows));
  const arrow::Status written = masks.WriteFiles();
  if (!written.ok()) {
    masks.Discard();
    return written;
  }
  DeletedRows deleted;
  for (const auto& [fragment, offsets] : rows) deleted.num_deleted_rows += offsets.size();
  table::Transaction transaction;
  transaction.operation = table::Delete{masks.updated(), masks.removed(), predicate};
  transaction.affected_rows = masks.rows();
  auto committed = dataset.Commit(std::move(transaction));
  // With an unknown outcome a manifest may refer to the files.
  if (!committed.ok() && !HasKind(committed.status(), ErrorKind::kOutcomeUnknown)) masks.Discard();
  ARROW_ASSIGN_OR_RAISE(deleted.dataset, std::move(committed));
  return deleted;
}

}  // namespace
}  // namespace internal

arrow::Result<DeletedRows> DeleteRows(const Dataset& dataset, const std::string& predicate,
                                      const ConflictRetry& retry) {
  ARROW_RETURN_NOT_OK(dataset.session()->runtime().CheckProcess());
  return RetryOnConflict<DeletedRows>(dataset, retry,
                                      [&](const Dataset& version) { return internal::DeleteOnce(version, predicate); });
}

}  // namespace javelin
