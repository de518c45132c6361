// The bucket transform of sharding (docs/format.md, "Sharding"): a 32-bit Murmur3 variant, seed 0.
#pragma once

#include <cstdint>
#include <memory>

#include <arrow/result.h>
#include <arrow/type_fwd.h>

namespace javelin::memwal {

// True for booleans, integers, float32 / 64, date32, times, timestamps, utf8 and large_utf8.
bool IsBucketType(const arrow::DataType& type);
// h & 0x7fffffff of one value; null -> 0. InvalidInput: a type without bucket transform.
arrow::Result<int32_t> BucketHash(const arrow::Array& values, int64_t row);
// As many as the int32 of a bucket allows; a table is initialised with at most 1,024.
inline constexpr uint32_t kMostBuckets = 0x7fffffff;
// Buckets of all rows, int32 without nulls. InvalidInput: num_buckets outside [1, kMostBuckets], unusable type.
arrow::Result<std::shared_ptr<arrow::Array>> EvaluateBucket(const arrow::Array& values, uint32_t num_buckets);

}  // namespace javelin::memwal
