#include "javelin/memwal/bucket_hash.h"

#include <bit>
#include <cmath>

#include <arrow/array.h>
#include <arrow/builder.h>
#include <arrow/type.h>

#include "javelin/base/error.h"

namespace javelin::memwal {

namespace {

uint32_t Mix(uint32_t word) { return std::rotl(word * 0xcc9e2d51u, 15) * 0x1b873593u; }
uint32_t Step(uint32_t hash, uint32_t word) { return std::rotl(hash ^ Mix(word), 13) * 5 + 0xe6546b64u; }

uint32_t Finish(uint32_t hash, uint32_t length) {
  hash ^= length;
  hash ^= hash >> 16;
  hash *= 0x85ebca6bu;
  hash ^= hash >> 13;
  hash *= 0xc2b2ae35u;
  return hash ^ hash >> 16;
}

uint32_t Hash32(uint32_t value) { return Finish(Step(0, value), 4); }

uint32_t Hash64(uint64_t value) {
  return Finish(Step(Step(0, static_cast<uint32_t>(value)), static_cast<uint32_t>(value >> 32)), 8);
}

// Not the tail of Murmur3: each byte behind the last full word is a sign-extended round of its own.
uint32_t HashBytes(std::string_view bytes) {
  uint32_t hash = 0;
  size_t at = 0;
  for (; at + 4 <= bytes.size(); at += 4) {
    uint32_t word = 0;
    for (int i = 3; i >= 0; --i) word = word << 8 | static_cast<uint8_t>(bytes[at + i]);
    hash = Step(hash, word);
  }
  for (; at < bytes.size(); ++at)
    hash = Step(hash, static_cast<uint32_t>(static_cast<int32_t>(static_cast<int8_t>(bytes[at]))));
  return Finish(hash, static_cast<uint32_t>(bytes.size()));
}

uint32_t HashFloat(float value) {
  if (value == 0) return Hash32(0);  // -0 as well
  return Hash32(std::isnan(value) ? 0x7fc00000u : std::bit_cast<uint32_t>(value));
}

uint32_t HashDouble(double value) {
  if (value == 0) return Hash64(0);
  return Hash64(std::isnan(value) ? 0x7ff8000000000000u : std::bit_cast<uint64_t>(value));
}

template <typename ArrowType>
auto ValueAt(const arrow::Array& values, int64_t row) {
  return static_cast<const typename arrow::TypeTraits<ArrowType>::ArrayType&>(values).Value(row);
}

// Narrow values are widened with their own signedness, then cut to 32 bits.
template <typename ArrowType>
uint32_t HashNarrow(const arrow::Array& values, int64_t row) {
  return Hash32(static_cast<uint32_t>(static_cast<int64_t>(ValueAt<ArrowType>(values, row))));
}

template <typename ArrowType>
uint32_t HashWide(const arrow::Array& values, int64_t row) {
  return Hash64(static_cast<uint64_t>(ValueAt<ArrowType>(values, row)));
}

using HashFunction = uint32_t (*)(const arrow::Array&, int64_t);

HashFunction FunctionFor(arrow::Type::type type) {
  switch (type) {
    case arrow::Type::BOOL: return HashNarrow<arrow::BooleanType>;
    case arrow::Type::INT8: return HashNarrow<arrow::Int8Type>;
    case arrow::Type::INT16: return HashNarrow<arrow::Int16Type>;
    case arrow::Type::INT32: return HashNarrow<arrow::Int32Type>;
    case arrow::Type::UINT8: return HashNarrow<arrow::UInt8Type>;
    case arrow::Type::UINT16: return HashNarrow<arrow::UInt16Type>;
    case arrow::Type::UINT32: return HashNarrow<arrow::UInt32Type>;
    case arrow::Type::DATE32: return HashNarrow<arrow::Date32Type>;
    case arrow::Type::TIME32: return HashNarrow<arrow::Time32Type>;
    case arrow::Type::INT64: return HashWide<arrow::Int64Type>;
    case arrow::Type::UINT64: return HashWide<arrow::UInt64Type>;
    case arrow::Type::TIME64: return HashWide<arrow::Time64Type>;
    case arrow::Type::TIMESTAMP: return HashWide<arrow::TimestampType>;
    case arrow::Type::FLOAT:
      return [](const arrow::Array& values, int64_t row) { return HashFloat(ValueAt<arrow::FloatType>(values, row)); };
    case arrow::Type::DOUBLE:
      return
          [](const arrow::Array& values, int64_t row) { return HashDouble(ValueAt<arrow::DoubleType>(values, row)); };
    case arrow::Type::STRING:
      return [](const arrow::Array& values, int64_t row) {
        return HashBytes(static_cast<const arrow::StringArray&>(values).GetView(row));
      };
    case arrow::Type::LARGE_STRING:
      return [](const arrow::Array& values, int64_t row) {
        return HashBytes(static_cast<const arrow::LargeStringArray&>(values).GetView(row));
      };
    default: return nullptr;
  }
}

arrow::Result<HashFunction> CheckedFunctionFor(const arrow::DataType& type) {
  HashFunction function = FunctionFor(type.id());
  if (function == nullptr) return InvalidInput("a column of type {} cannot be sharded into buckets", type.ToString());
  return function;
}

int32_t Positive(uint32_t hash) { return static_cast<int32_t>(hash & 0x7fffffffu); }

}  // namespace

bool IsBucketType(const arrow::DataType& type) { return FunctionFor(type.id()) != nullptr; }

arrow::Result<int32_t> BucketHash(const arrow::Array& values, int64_t row) {
  ARROW_ASSIGN_OR_RAISE(HashFunction function, CheckedFunctionFor(*values.type()));
  return values.IsNull(row) ? 0 : Positive(function(values, row));
}

arrow::Result<std::shared_ptr<arrow::Array>> EvaluateBucket(const arrow::Array& values, uint32_t num_buckets) {
  if (num_buckets < 1 || num_buckets > kMostBuckets) {
    return InvalidInput("num_buckets is {}; it must be from 1 to {}", num_buckets, kMostBuckets);
  }
  ARROW_ASSIGN_OR_RAISE(HashFunction function, CheckedFunctionFor(*values.type()));
  arrow::Int32Builder builder;
  ARROW_RETURN_NOT_OK(builder.Reserve(values.length()));
  for (int64_t row = 0; row < values.length(); ++row) {
    int32_t hash = values.IsNull(row) ? 0 : Positive(function(values, row));
    builder.UnsafeAppend(hash % static_cast<int32_t>(num_buckets));
  }
  return builder.Finish();
}

}  // namespace javelin::memwal
