// SQL text -> tree (docs/filters.md has the grammar).
#pragma once

#include <string_view>

#include <arrow/result.h>

#include "javelin/query/sql_ast.h"

namespace javelin::query {

// The whole text is one expression; one `;` may end it. Takes time in proportion to the text. Errors name the place:
// InvalidInput: no expression, something behind it, nesting over kMaxSqlDepth. NotSupported: SQL that this language
// does not have (CASE, sub-selects, INTERVAL, `~`, ...).
arrow::Result<SqlNodePtr> ParseSql(std::string_view text);

}  // namespace javelin::query
