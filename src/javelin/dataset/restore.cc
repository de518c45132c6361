#include "javelin/dataset/restore.h"

#include "javelin/dataset/dataset_state_internal.h"
#include "javelin/table/commit.h"
#include "javelin/table/transaction.h"
#include "javelin/table/versions.h"

namespace javelin {

arrow::Result<std::shared_ptr<Dataset>> RestoreVersion(
    const Dataset& dataset, const std::function<arrow::Status(const table::Manifest& newest)>& may_follow) {
  const auto& state = internal::DatasetState::Of(dataset);
  ARROW_RETURN_NOT_OK(state->session->runtime().CheckProcess());
  ARROW_ASSIGN_OR_RAISE(const auto newest, table::LoadLatestVersion(state->location, &state->loaded));
  table::Transaction transaction;
  transaction.operation = table::Restore{dataset.version()};
  ARROW_ASSIGN_OR_RAISE(auto restored, table::CommitTransaction(state->session->resources(), state->location, &newest,
                                                                std::move(transaction), {.may_follow = may_follow}));
  return state->At(std::move(restored));
}

}  // namespace javelin
