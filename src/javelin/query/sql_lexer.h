// SQL text -> tokens. The dialect is the released peer's: back-ticks quote names, both other quotes are strings.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <arrow/result.h>

#include "javelin/query/sql_text.h"

namespace javelin::query {

enum class SqlTokenKind {
  kName,        // bare; also every keyword: which words are keywords depends on the place
  kQuotedName,  // `a b`
  kString,      // 'it''s' or "it's"
  kHexString,   // X'0aff' or 0x0aff; text = the digits
  kNumber,      // 1, 1.5, .5, 5., 1e-3
  kSymbol,  // + - * / % ( ) [ ] , . ; = <> < <= > >= || :: and those that only errors name: & | ^ ~ << >> ? ! : -> @
  kEnd,
};

struct SqlToken {
  SqlTokenKind kind;
  std::string text;  // without quotes and escapes; symbols in one spelling: `==` is "=", `!=` is "<>"
  SqlSpan span;
};

// At least the end token. InvalidInput, with the place: bytes that are no UTF-8, an open quote or comment, a malformed
// number, a character no expression has, a text over 1 MiB.
arrow::Result<std::vector<SqlToken>> LexSql(std::string_view text);

}  // namespace javelin::query
