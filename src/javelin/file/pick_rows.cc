#include "javelin/file/pick_rows.h"

#include <algorithm>

#include <arrow/api.h>
#include <arrow/array/concatenate.h>
#include <arrow/compute/api.h>

#include "javelin/base/error.h"
#include "javelin/file/dictionary_type_internal.h"

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

bool ShareNarrow(const arrow::ArrayData& left, const arrow::ArrayData& right) {
  if (left.type->id() == arrow::Type::DICTIONARY) {
    if (!HasNarrowIndices(*left.type) || left.dictionary == right.dictionary) return true;
    return arrow::MakeArray(left.dictionary)->Equals(*arrow::MakeArray(right.dictionary));
  }
  for (size_t i = 0; i < left.child_data.size(); ++i) {
    if (!ShareNarrow(*left.child_data[i], *right.child_data[i])) return false;
  }
  return true;
}

}  // namespace

bool HasNarrowIndices(const arrow::DataType& type) {
  return type.id() == arrow::Type::DICTIONARY && IndexBytes(static_cast<const arrow::DictionaryType&>(type)) <= 2;
}

bool ShareNarrowDictionaries(const arrow::RecordBatch& left, const arrow::RecordBatch& right) {
  for (int i = 0; i < left.num_columns(); ++i) {
    if (!ShareNarrow(*left.column_data(i), *right.column_data(i))) return false;
  }
  return true;
}

arrow::Result<std::shared_ptr<arrow::RecordBatch>> JoinRows(const arrow::RecordBatchVector& batches,
                                                            arrow::MemoryPool* pool) {
  if (batches.size() == 1) return batches[0];
  auto joined = arrow::ConcatenateRecordBatches(batches, pool);
  if (joined.ok() || !joined.status().IsInvalid()) return joined;
  for (int i = 0; i < batches[0]->num_columns(); ++i) {
    const bool fits = std::all_of(batches.begin() + 1, batches.end(), [&](const auto& batch) {
      return ShareNarrow(*batches[0]->column_data(i), *batch->column_data(i));
    });
    if (!fits)
      return WithField(
          InvalidInput("the dictionaries of column '{}' have more items than its indices, {}, tell apart; ask for "
                       "fewer rows at once",
                       batches[0]->column_name(i), batches[0]->column(i)->type()->ToString()),
          "column", batches[0]->column_name(i));
  }
  return joined;
}

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
