// The parser behind ParseSql: operators in sql_parser.cc, operands in sql_operand.cc.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <arrow/result.h>

#include "javelin/query/sql_ast.h"
#include "javelin/query/sql_lexer.h"

namespace javelin::query {

std::string LowerAscii(std::string_view text);

class SqlParser {
 public:
  SqlParser(std::string_view text, std::vector<SqlToken> tokens) : text_(text), tokens_(std::move(tokens)) {}
  arrow::Result<SqlNodePtr> Run();

 private:
  static bool IsWord(const SqlToken& token, std::string_view word);
  static bool IsSymbol(const SqlToken& token, std::string_view symbol) {
    return token.kind == SqlTokenKind::kSymbol && token.text == symbol;
  }
  const SqlToken& Peek(size_t ahead = 0) const { return tokens_[std::min(at_ + ahead, tokens_.size() - 1)]; }
  size_t LastEnd() const { return at_ == 0 ? 0 : tokens_[at_ - 1].span.end; }
  bool TakeSymbol(std::string_view symbol);
  bool TakeWord(std::string_view word);
  arrow::Status ExpectSymbol(std::string_view symbol);

  SqlNodePtr Node(SqlKind kind, size_t begin) const;
  // The node with its depth and the end of its span; an error if it is too deep.
  arrow::Result<SqlNodePtr> WithChildren(SqlNodePtr node) const;

  // Operators: all that binds stronger than `above`.
  arrow::Result<SqlNodePtr> Expression(int above);
  int InfixStrength() const;
  arrow::Result<SqlNodePtr> Infix(SqlNodePtr left, int own);
  arrow::Result<SqlNodePtr> Chain(SqlNodePtr left, int own);
  arrow::Result<SqlNodePtr> Is(SqlNodePtr left);
  arrow::Result<SqlNodePtr> Like(SqlNodePtr left);
  arrow::Result<SqlNodePtr> InOrBetween(SqlNodePtr left);
  arrow::Result<SqlNodePtr> Access(SqlNodePtr left);
  arrow::Status List(std::string_view close, SqlNode* into);

  // Operands.
  arrow::Result<SqlNodePtr> Prefix();
  arrow::Result<SqlNodePtr> SymbolPrefix();
  arrow::Result<SqlNodePtr> WordPrefix();
  arrow::Result<SqlNodePtr> Cast(bool try_cast);
  arrow::Result<SqlNodePtr> Call();
  arrow::Result<SqlNodePtr> Unary(SqlKind kind, int above);
  // A literal that is one token.
  SqlNodePtr Literal(SqlKind kind, std::string text);
  bool TypedLiteralFollows() const;
  arrow::Result<SqlTypeName> TypeName();

  arrow::Status Error(SqlSpan span, const std::string& message) const {
    return SqlErrorAt(ErrorKind::kInvalidInput, text_, span, message);
  }
  arrow::Status TooDeep(SqlSpan span) const;
  arrow::Status Foreign(SqlSpan span, const std::string& what) const;
  // NotSupported if the token begins something of SQL that this language does not have.
  arrow::Status RefuseForeign(const SqlToken& token) const;

  std::string_view text_;
  std::vector<SqlToken> tokens_;
  size_t at_ = 0;
  int nesting_ = 0;
};

}  // namespace javelin::query
