#include "javelin/file/pick_rows.h"

#include <arrow/api.h>
#include <arrow/array/concatenate.h>
#include <arrow/compute/api.h>

namespace javelin::file {

namespace {

bool HasListsOfLists(const arrow::DataType& type) {
  if (type.id() == arrow::Type::EXTENSION)
    return HasListsOfLists(*static_cast<const arrow::ExtensionType&>(type).storage_type());
  const bool is_list = type.id() == arrow::Type::FIXED_SIZE_LIST;
  for (const auto& field : type.fields()) {
    if ((is_list && field->type()->id() == arrow::Type::FIXED_SIZE_LIST) || HasListsOfLists(*field->type()))
      return true;
  }
  return false;
}

// The same rows, copied so that nothing in those columns is a slice.
arrow::Result<std::shared_ptr<arrow::RecordBatch>> WithoutSlices(const std::shared_ptr<arrow::RecordBatch>& batch,
                                                                 arrow::MemoryPool* pool) {
  arrow::ArrayVector columns = batch->columns();
  bool changed = false;
  for (auto& column : columns) {
    if (!HasListsOfLists(*column->type())) continue;
    ARROW_ASSIGN_OR_RAISE(column, arrow::Concatenate({column, column->Slice(0, 0)}, pool));
    changed = true;
  }
  return changed ? arrow::RecordBatch::Make(batch->schema(), batch->num_rows(), std::move(columns)) : batch;
}

arrow::compute::ExecContext Context(arrow::MemoryPool* pool) {
  arrow::compute::ExecContext context(pool);
  context.set_use_threads(false);
  return context;
}

}  // namespace

arrow::Result<std::shared_ptr<arrow::RecordBatch>> TakeRows(const std::shared_ptr<arrow::RecordBatch>& batch,
                                                            const arrow::Array& indices, arrow::MemoryPool* pool) {
  arrow::compute::ExecContext context = Context(pool);
  ARROW_ASSIGN_OR_RAISE(const auto source, WithoutSlices(batch, pool));
  ARROW_ASSIGN_OR_RAISE(
      const arrow::Datum taken,
      arrow::compute::Take(source, indices.data(), arrow::compute::TakeOptions::NoBoundsCheck(), &context));
  return taken.record_batch();
}

arrow::Result<std::shared_ptr<arrow::RecordBatch>> FilterRows(const std::shared_ptr<arrow::RecordBatch>& batch,
                                                              const arrow::BooleanArray& keep,
                                                              arrow::MemoryPool* pool) {
  arrow::compute::ExecContext context = Context(pool);
  ARROW_ASSIGN_OR_RAISE(const auto source, WithoutSlices(batch, pool));
  ARROW_ASSIGN_OR_RAISE(
      const arrow::Datum kept,
      arrow::compute::Filter(source, keep.data(), arrow::compute::FilterOptions::Defaults(), &context));
  return kept.record_batch();
}

}  // namespace javelin::file
