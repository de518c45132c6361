// How own kernels see their arguments: arrays and scalars alike, by row.
#pragma once

#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include <arrow/array.h>
#include <arrow/array/util.h>
#include <arrow/builder.h>
#include <arrow/datum.h>
#include <arrow/result.h>
#include <arrow/scalar.h>

#include "javelin/query/sql_bound.h"
#include "javelin/query/sql_types.h"

namespace javelin::query {

inline bool AllScalars(const std::vector<arrow::Datum>& arguments) {
  for (const arrow::Datum& argument : arguments)
    if (!argument.is_scalar()) return false;
  return true;
}

// The argument as an array of `rows` rows.
inline arrow::Result<std::shared_ptr<arrow::Array>> AsArray(const arrow::Datum& argument, int64_t rows,
                                                            arrow::MemoryPool* pool) {
  if (argument.is_array()) return argument.make_array();
  if (rows == 0) return arrow::MakeEmptyArray(argument.type(), pool);  // fixed-size lists cannot be repeated 0 times
  return arrow::MakeArrayFromScalar(*argument.scalar(), rows, pool);
}

// Runs `body` over arrays: of all rows, or of one row if every argument is a scalar, whose result is a scalar then.
using ArrayBody = std::function<arrow::Result<std::shared_ptr<arrow::Array>>(
    const std::vector<std::shared_ptr<arrow::Array>>&, int64_t)>;
inline arrow::Result<arrow::Datum> OverArrays(const std::vector<arrow::Datum>& arguments,
                                              const SqlEvaluation& evaluation, const ArrayBody& body) {
  const bool constant = AllScalars(arguments) && !arguments.empty();
  const int64_t rows = constant ? 1 : evaluation.rows;
  std::vector<std::shared_ptr<arrow::Array>> arrays;
  for (const arrow::Datum& argument : arguments) {
    ARROW_ASSIGN_OR_RAISE(arrays.emplace_back(), AsArray(argument, rows, evaluation.pool()));
  }
  ARROW_ASSIGN_OR_RAISE(const std::shared_ptr<arrow::Array> result, body(arrays, rows));
  if (!constant) return arrow::Datum(result);
  ARROW_ASSIGN_OR_RAISE(const auto scalar, result->GetScalar(0));
  return arrow::Datum(scalar);
}

// Text or binary of either offset width.
class Bytes {
 public:
  explicit Bytes(const arrow::Array& array) : array_(array), large_(arrow::is_large_binary_like(array.type_id())) {}
  bool IsNull(int64_t row) const { return array_.IsNull(row); }
  std::string_view operator[](int64_t row) const {
    return large_ ? static_cast<const arrow::LargeBinaryArray&>(array_).GetView(row)
                  : static_cast<const arrow::BinaryArray&>(array_).GetView(row);
  }

 private:
  const arrow::Array& array_;
  const bool large_;
};

// Lists of the three layouts.
class Lists {
 public:
  explicit Lists(const arrow::Array& array) : array_(array) {
    switch (array.type_id()) {
      case arrow::Type::LIST: items_ = static_cast<const arrow::ListArray&>(array).values(); break;
      case arrow::Type::LARGE_LIST: items_ = static_cast<const arrow::LargeListArray&>(array).values(); break;
      default: items_ = static_cast<const arrow::FixedSizeListArray&>(array).values();
    }
  }
  bool IsNull(int64_t row) const { return array_.IsNull(row); }
  const std::shared_ptr<arrow::Array>& items() const { return items_; }
  int64_t Begin(int64_t row) const {
    switch (array_.type_id()) {
      case arrow::Type::LIST: return static_cast<const arrow::ListArray&>(array_).value_offset(row);
      case arrow::Type::LARGE_LIST: return static_cast<const arrow::LargeListArray&>(array_).value_offset(row);
      default: return static_cast<const arrow::FixedSizeListArray&>(array_).value_offset(row);
    }
  }
  int64_t Length(int64_t row) const {
    switch (array_.type_id()) {
      case arrow::Type::LIST: return static_cast<const arrow::ListArray&>(array_).value_length(row);
      case arrow::Type::LARGE_LIST: return static_cast<const arrow::LargeListArray&>(array_).value_length(row);
      default: return static_cast<const arrow::FixedSizeListArray&>(array_).value_length(row);
    }
  }

 private:
  const arrow::Array& array_;
  std::shared_ptr<arrow::Array> items_;
};

// Builds an array row by row; `append` adds one value for a row in which no argument is null. Else the row is null.
template <typename Builder, typename Append>
arrow::Result<std::shared_ptr<arrow::Array>> BuildRows(const std::shared_ptr<arrow::DataType>& type,
                                                       const std::vector<std::shared_ptr<arrow::Array>>& arguments,
                                                       int64_t rows, arrow::MemoryPool* pool, Append append) {
  Builder builder(type, pool);
  ARROW_RETURN_NOT_OK(builder.Reserve(rows));
  for (int64_t row = 0; row < rows; ++row) {
    bool null = false;
    for (const auto& argument : arguments) null = null || argument->IsNull(row);
    ARROW_RETURN_NOT_OK(null ? builder.AppendNull() : append(builder, row));
  }
  return builder.Finish();
}

}  // namespace javelin::query
