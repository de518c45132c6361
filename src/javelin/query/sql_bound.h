// The tree of an SQL expression whose names are resolved and whose every node has a type. Immutable, shared freely.
//
// It is kept simple for those who look into it (zone pruning, indexes): BETWEEN is two comparisons, IN of literals is
// one set, IN of anything else is an OR of comparisons, constants are folded, a field of a struct column is a column.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <arrow/compute/exec.h>
#include <arrow/datum.h>
#include <arrow/result.h>
#include <arrow/type_fwd.h>

#include "javelin/base/ids.h"
#include "javelin/query/sql_text.h"

namespace javelin::query {

// A column, or a field below one: path has the names from the top.
struct SqlColumn {
  std::string relation;  // "source" or "target" in merge conditions, else empty
  std::vector<std::string> path;
  FieldId id{-1};  // of the last name; -1 where the schema has no ids (Arrow schemas, system columns)
  friend bool operator==(const SqlColumn&, const SqlColumn&) = default;
};

enum class SqlCompare { kEqual, kNotEqual, kLess, kLessEqual, kGreater, kGreaterEqual };

enum class BoundKind {
  kLiteral,     // `literal`
  kColumn,      // `column`
  kCompare,     // `compare`; [left, right] of one type
  kDistinct,    // IS [NOT] DISTINCT FROM, never null; negated = NOT; [left, right] of one type
  kAnd,         // [conditions...]
  kOr,          // [conditions...]
  kNot,         // [condition]
  kIsNull,      // IS [NOT] NULL, never null; negated = NOT; [value]
  kIsTrue,      // IS [NOT] TRUE, never null
  kIsFalse,     // IS [NOT] FALSE, never null
  kIn,          // [NOT] IN; [value]; `values` of the value's type without nulls, `null_among` = there was a null too
  kLike,        // [NOT] [I]LIKE; [text, pattern]
  kCast,        // to `type`; `try_cast` = null where it fails; [value]
  kArithmetic,  // text = + - * / % ||; [left, right]
  kNegate,      // [value]
  kField,       // `text` of a struct that is no column; [struct]
  kElement,     // 1-based from the start, negative from the end; [list, position]
  kCall,        // text = function; [arguments...]
};

struct BoundExpression;
using BoundPtr = std::shared_ptr<const BoundExpression>;

// What a kernel may use. Results have `rows` rows or are scalars.
struct SqlEvaluation {
  int64_t rows = 0;
  arrow::compute::ExecContext* exec = nullptr;
  arrow::MemoryPool* pool() const { return exec->memory_pool(); }
};
using SqlKernel = arrow::Result<arrow::Datum> (*)(const BoundExpression& node,
                                                  const std::vector<arrow::Datum>& arguments,
                                                  const SqlEvaluation& evaluation);

struct BoundExpression {
  BoundKind kind;
  std::shared_ptr<arrow::DataType> type;
  SqlSpan span;  // in the text
  std::vector<BoundPtr> children;
  std::shared_ptr<arrow::Scalar> literal;
  SqlColumn column;
  std::shared_ptr<arrow::DataType> stored;  // of a column: its type in the schema; `type` is SqlTypeOf this
  SqlCompare compare = SqlCompare::kEqual;
  bool negated = false;
  bool any_case = false;
  bool try_cast = false;
  std::string text;
  std::shared_ptr<arrow::Array> values;
  bool null_among = false;
  SqlKernel kernel = nullptr;  // of a call
};

}  // namespace javelin::query
