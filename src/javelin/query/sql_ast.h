// The tree of an SQL expression as it was written: names are not resolved, nothing has a type.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "javelin/query/sql_text.h"

namespace javelin::query {

// How deep an expression may nest. Chains of AND and of OR are one level however long they are.
inline constexpr int kMaxSqlDepth = 150;

enum class SqlKind {
  kNumber,        // text = digits, with a leading `-` if it was negated
  kString,        // text
  kHexString,     // text = hexadecimal digits
  kBoolean,       // text = "true" or "false"
  kNull,          //
  kTypedLiteral,  // type name in `type`, text = the string: date '1970-01-02'
  kName,          // path: a column, or a field in it, or a relation and its column; `quoted` = the first part was
  kNegate,        // [value]
  kBinary,        // text = operator: = <> < <= > >= + - * / % ||; [left, right]
  kAnd,           // [conditions...], two at least
  kOr,            // likewise
  kNot,           // [condition]
  kIsNull,        // [value], negated
  kIsTrue,        // [condition], negated
  kIsFalse,       // [condition], negated
  kDistinct,      // IS [NOT] DISTINCT FROM: [left, right], negated = NOT
  kBetween,       // [value, low, high], negated
  kIn,            // [value, items...], negated
  kLike,          // [value, pattern], negated; `any_case` = ILIKE
  kCast,          // [value] to `type`; `try_cast` = null where it fails
  kCall,          // text = function name in lower case; [arguments...]
  kField,         // [struct], text = field name
  kElement,       // [list, position]
  kArray,         // [items...]
};

// A type as written: CAST(x AS decimal(10, 2)).
struct SqlTypeName {
  std::string name;  // lower case words, e.g. "bigint unsigned"
  std::vector<int> arguments;
  SqlSpan span;
};

struct SqlNode {
  SqlKind kind;
  SqlSpan span;  // of the whole expression
  std::string text;
  std::vector<std::string> path;
  bool quoted = false;
  bool negated = false;
  bool any_case = false;
  bool try_cast = false;
  SqlTypeName type;
  std::vector<std::unique_ptr<SqlNode>> children;
  int depth = 1;  // of the tree below
};

using SqlNodePtr = std::unique_ptr<SqlNode>;

}  // namespace javelin::query
