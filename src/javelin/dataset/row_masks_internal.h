// Takes rows out of fragments: their deletion files, and the fragments that no row is left of.
#pragma once

#include <span>
#include <vector>

#include <arrow/result.h>

#include "javelin/base/ids.h"
#include "javelin/dataset/dataset_state_internal.h"
#include "javelin/store/object_store.h"

namespace javelin::internal {

class RowMasks {
 public:
  RowMasks() = default;
  // Reads the deletion files that there are of the fragments touched; writes nothing. `table` must outlive this.
  // InvalidInput: no such fragment, or a row that does not exist or is deleted already.
  static arrow::Result<RowMasks> Make(const DatasetState& table, std::span<const RowAddress> rows);
  static arrow::Result<RowMasks> Make(const DatasetState& table, table::RowsByFragment rows);

  // Fragments with a new deletion file, which holds the rows deleted before too / without any row left; ascending.
  const std::vector<table::Fragment>& updated() const { return updated_; }
  const std::vector<FragmentId>& removed() const { return removed_; }
  // The rows taken out now, which lets a commit merge them with those that others take out meanwhile.
  const table::RowsByFragment& rows() const { return rows_; }

  // Writes the deletion files in one batch.
  arrow::Status WriteFiles();
  // Removes them again, as far as that works.
  void Discard();

 private:
  arrow::Status Add(const table::Fragment& fragment, const table::OffsetSet& gone);

  const DatasetState* table_ = nullptr;
  std::vector<table::Fragment> updated_;
  std::vector<FragmentId> removed_;
  table::RowsByFragment rows_;
  std::vector<PutRequest> files_;
  bool written_ = false;  // perhaps in part
};

}  // namespace javelin::internal
