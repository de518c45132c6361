// The bytes that arrays will take, before they are made.
#pragma once

#include <cstdint>

#include <arrow/result.h>
#include <arrow/type_fwd.h>

namespace javelin::file {

// The most that an array of nulls takes, about. Saturates.
uint64_t NullBytes(const arrow::DataType& type, uint64_t length);

// What TakeRows makes of these rows, about; `rows` without nulls, every one a row of the batch.
// InvalidInput naming the column: more than its 32-bit offsets count.
arrow::Result<uint64_t> TakenBytes(const arrow::RecordBatch& batch, const arrow::UInt64Array& rows);
// What one batch of all their rows takes, about; the batches have one schema. InvalidInput: as above.
arrow::Result<uint64_t> JoinedBytes(const arrow::RecordBatchVector& batches);

}  // namespace javelin::file
