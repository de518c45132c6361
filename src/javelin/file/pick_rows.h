// Rows of a batch by number or by mask, and of several batches in one.
#pragma once

#include <memory>

#include <arrow/memory_pool.h>
#include <arrow/result.h>
#include <arrow/type_fwd.h>

namespace javelin::file {

// Arrow's own kernels take the wrong values of fixed-size lists of fixed-size lists that are slices (version 26);
// nobody is to call them for whole rows. No bounds are checked: every index must be a row.
arrow::Result<std::shared_ptr<arrow::RecordBatch>> TakeRows(const std::shared_ptr<arrow::RecordBatch>& batch,
                                                            const arrow::Array& indices,
                                                            arrow::MemoryPool* pool = arrow::default_memory_pool());
// `keep`: as long as the batch, without nulls.
arrow::Result<std::shared_ptr<arrow::RecordBatch>> FilterRows(const std::shared_ptr<arrow::RecordBatch>& batch,
                                                              const arrow::BooleanArray& keep,
                                                              arrow::MemoryPool* pool = arrow::default_memory_pool());

// All rows, one batch after the other; the batches have one schema, and there is one at least. InvalidInput naming the
// column: its dictionaries have more items than its indices tell apart.
arrow::Result<std::shared_ptr<arrow::RecordBatch>> JoinRows(const arrow::RecordBatchVector& batches,
                                                            arrow::MemoryPool* pool = arrow::default_memory_pool());
// Of a type of dictionaries: whether its indices have 8 or 16 bits, which may not tell the items of two apart.
bool HasNarrowIndices(const arrow::DataType& type);
// Whether such dictionaries are the same in both.
bool ShareNarrowDictionaries(const arrow::RecordBatch& left, const arrow::RecordBatch& right);

}  // namespace javelin::file
