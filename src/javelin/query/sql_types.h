// Types as SQL texts name them, and as expressions see those of columns.
#pragma once

#include <memory>
#include <string_view>

#include <arrow/result.h>
#include <arrow/type.h>

#include "javelin/query/sql_ast.h"

namespace javelin::query {

// The type of a cast or of a literal like date '...'. InvalidInput without a place: unknown type, wrong arguments.
arrow::Result<std::shared_ptr<arrow::DataType>> TypeOfSqlName(const SqlTypeName& name);
// 'Int8', 'Timestamp(Nanosecond, None)', 'Decimal128(10, 2)', ...: the second argument of arrow_cast.
arrow::Result<std::shared_ptr<arrow::DataType>> TypeOfArrowName(std::string_view name);
// The name that TypeOfArrowName reads, for arrow_typeof.
std::string ArrowNameOf(const arrow::DataType& type);

// What an expression works with where a column has the type: dictionaries are their values, half floats are floats,
// small decimals are decimal128, views are plain. Others are themselves.
std::shared_ptr<arrow::DataType> SqlTypeOf(const std::shared_ptr<arrow::DataType>& stored);

inline bool IsText(const arrow::DataType& type) {
  return type.id() == arrow::Type::STRING || type.id() == arrow::Type::LARGE_STRING;
}
inline bool IsBinary(const arrow::DataType& type) {
  return type.id() == arrow::Type::BINARY || type.id() == arrow::Type::LARGE_BINARY;
}
inline bool IsFloat(const arrow::DataType& type) {
  return type.id() == arrow::Type::FLOAT || type.id() == arrow::Type::DOUBLE;
}
inline bool IsDecimal(const arrow::DataType& type) {
  return type.id() == arrow::Type::DECIMAL128 || type.id() == arrow::Type::DECIMAL256;
}
inline bool IsNumber(const arrow::DataType& type) {
  return arrow::is_integer(type.id()) || IsFloat(type) || IsDecimal(type);
}
inline bool IsList(const arrow::DataType& type) {
  return type.id() == arrow::Type::LIST || type.id() == arrow::Type::LARGE_LIST ||
         type.id() == arrow::Type::FIXED_SIZE_LIST;
}
inline bool IsDate(const arrow::DataType& type) {
  return type.id() == arrow::Type::DATE32 || type.id() == arrow::Type::DATE64;
}
inline bool IsNull(const arrow::DataType& type) { return type.id() == arrow::Type::NA; }

}  // namespace javelin::query
