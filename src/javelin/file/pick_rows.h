// Rows of a batch by number or by mask.
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

}  // namespace javelin::file
