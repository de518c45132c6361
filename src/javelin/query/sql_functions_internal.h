// What the files of functions share.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <arrow/compute/api.h>

#include "javelin/query/sql_binder.h"
#include "javelin/query/sql_functions.h"
#include "javelin/query/sql_kernels_internal.h"
#include "javelin/query/sql_values.h"

namespace javelin::query {

using arrow::compute::CallFunction;
using ArrayPtr = std::shared_ptr<arrow::Array>;

// Functions that are no kernel over their arguments (is_valid, arrow_cast, now, ...): bound, or null if it is none.
arrow::Result<BoundPtr> BindSpecialFunction(const SqlBinder& binder, const SqlNode& node,
                                            std::vector<BoundPtr>* arguments);
std::vector<std::string_view> SpecialFunctionNames();

arrow::Status FitElement(const SqlBinder& binder, const std::shared_ptr<arrow::DataType>& type, BoundPtr* list,
                         BoundPtr* value, bool is_list);

// The text of argument `index`, which must be constant: patterns, names of parts. Invalid: it is none, or null.
inline arrow::Result<std::string> ConstantText(const Arguments& arguments, size_t index, std::string_view what) {
  if (!arguments[index].is_scalar()) {
    return arrow::Status::NotImplemented(fmt::format("{} must be a constant text", what));
  }
  const auto& scalar = static_cast<const arrow::BaseBinaryScalar&>(*arguments[index].scalar());
  if (!scalar.is_valid) return arrow::Status::Invalid(fmt::format("{} is null", what));
  return std::string(scalar.view());
}

// `text(row)` for each row in which no argument is null.
template <typename TextOf>
arrow::Result<ArrayPtr> BuildText(const BoundExpression& node, const std::vector<ArrayPtr>& arrays, int64_t rows,
                                  arrow::MemoryPool* pool, TextOf text) {
  const auto append = [&](auto& builder, int64_t row) { return builder.Append(text(row)); };
  if (node.type->id() == arrow::Type::LARGE_STRING) {
    return BuildRows<arrow::LargeStringBuilder>(node.type, arrays, rows, pool, append);
  }
  return BuildRows<arrow::StringBuilder>(node.type, arrays, rows, pool, append);
}

inline bool BeginsCharacter(char byte) { return (static_cast<unsigned char>(byte) & 0xC0) != 0x80; }

inline int64_t CountCharacters(std::string_view text) {
  int64_t count = 0;
  for (const char byte : text) count += BeginsCharacter(byte) ? 1 : 0;
  return count;
}

// The first `count` characters, all if there are fewer.
inline std::string_view FirstCharacters(std::string_view text, int64_t count) {
  for (size_t at = 0; at < text.size(); ++at) {
    if (BeginsCharacter(text[at]) && count-- <= 0) return text.substr(0, at);
  }
  return text;
}

// The text without its first `count` characters.
inline std::string_view WithoutFirstCharacters(std::string_view text, int64_t count) {
  return text.substr(FirstCharacters(text, count).size());
}

}  // namespace javelin::query
