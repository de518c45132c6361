// Operands: literals, names, calls, casts, parentheses, and the operators in front of them.
#include <array>
#include <charconv>

#include "javelin/query/sql_parser_internal.h"

namespace javelin::query {
namespace {

constexpr int kAboveNot = 15;      // NOT takes comparisons
constexpr int kAboveProduct = 40;  // a minus takes casts and accesses only

// Words and symbols that begin or join what other SQL has.
constexpr std::array<std::pair<std::string_view, std::string_view>, 17> kForeignWords = {{
    {"case", "CASE"},
    {"exists", "EXISTS"},
    {"select", "a sub-select"},
    {"interval", "an INTERVAL literal"},
    {"similar", "SIMILAR TO"},
    {"rlike", "RLIKE"},
    {"regexp", "REGEXP (use regexp_like)"},
    {"xor", "XOR"},
    {"over", "a window"},
    {"order", "ORDER BY"},
    {"group", "GROUP BY"},
    {"limit", "LIMIT"},
    {"at", "AT TIME ZONE"},
    {"collate", "COLLATE"},
    {"div", "DIV"},
    {"isnull", "ISNULL (use IS NULL)"},
    {"notnull", "NOTNULL (use IS NOT NULL)"},
}};
constexpr std::array<std::string_view, 15> kForeignSymbols = {"&", "|", "^",  "~", "<<", ">>", "?", "!",
                                                              ":", "@", "->", "$", "{",  "}",  "#"};

}  // namespace

arrow::Status SqlParser::TooDeep(SqlSpan span) const {
  return Error(span, fmt::format("an expression nests {} levels deep at most", kMaxSqlDepth));
}

arrow::Status SqlParser::Foreign(SqlSpan span, const std::string& what) const {
  return SqlErrorAt(ErrorKind::kNotSupported, text_, span, what + " is not supported in expressions");
}

arrow::Status SqlParser::RefuseForeign(const SqlToken& token) const {
  if (token.kind == SqlTokenKind::kName) {
    const std::string lower = LowerAscii(token.text);
    for (const auto& [word, what] : kForeignWords)
      if (lower == word) return Foreign(token.span, std::string(what));
  }
  if (token.kind == SqlTokenKind::kSymbol) {
    for (const std::string_view symbol : kForeignSymbols)
      if (token.text == symbol) return Foreign(token.span, fmt::format("the operator `{}`", symbol));
  }
  return arrow::Status::OK();
}

SqlNodePtr SqlParser::Literal(SqlKind kind, std::string text) {
  const size_t begin = Peek().span.begin;
  ++at_;
  SqlNodePtr node = Node(kind, begin);
  node->text = std::move(text);
  return node;
}

arrow::Result<SqlNodePtr> SqlParser::Prefix() {
  const SqlToken& token = Peek();
  switch (token.kind) {
    case SqlTokenKind::kNumber: return Literal(SqlKind::kNumber, token.text);
    case SqlTokenKind::kString: return Literal(SqlKind::kString, token.text);
    case SqlTokenKind::kHexString: return Literal(SqlKind::kHexString, token.text);
    case SqlTokenKind::kQuotedName: {
      SqlNodePtr node = Literal(SqlKind::kName, "");
      node->path.push_back(token.text);
      node->quoted = true;
      return node;
    }
    case SqlTokenKind::kSymbol: return SymbolPrefix();
    case SqlTokenKind::kName: return WordPrefix();
    case SqlTokenKind::kEnd: break;
  }
  return Error(token.span, "the text ends where a value is expected");
}

arrow::Result<SqlNodePtr> SqlParser::SymbolPrefix() {
  const SqlToken& token = Peek();
  const size_t begin = token.span.begin;
  if (TakeSymbol("(")) {
    if (IsWord(Peek(), "select")) return Foreign(Peek().span, "a sub-select");
    ARROW_ASSIGN_OR_RAISE(SqlNodePtr node, Expression(0));
    if (IsSymbol(Peek(), ",")) return Foreign(Peek().span, "a row of several values");
    ARROW_RETURN_NOT_OK(ExpectSymbol(")"));
    return node;
  }
  if (TakeSymbol("[")) {
    SqlNodePtr node = Node(SqlKind::kArray, begin);
    ARROW_RETURN_NOT_OK(List("]", node.get()));
    return WithChildren(std::move(node));
  }
  if (IsSymbol(token, "-")) {
    if (Peek(1).kind == SqlTokenKind::kNumber) {
      ++at_;
      SqlNodePtr node = Literal(SqlKind::kNumber, "-" + Peek().text);
      node->span.begin = begin;
      return node;
    }
    return Unary(SqlKind::kNegate, kAboveProduct);
  }
  if (IsSymbol(token, "+")) return Foreign(token.span, "a plus sign in front of a value");
  ARROW_RETURN_NOT_OK(RefuseForeign(token));
  return Error(token.span, "a value is expected here");
}

arrow::Result<SqlNodePtr> SqlParser::Unary(SqlKind kind, int above) {
  const size_t begin = Peek().span.begin;
  ++at_;
  ARROW_ASSIGN_OR_RAISE(SqlNodePtr operand, Expression(above));
  SqlNodePtr node = Node(kind, begin);
  node->children.push_back(std::move(operand));
  return WithChildren(std::move(node));
}

arrow::Result<SqlNodePtr> SqlParser::WordPrefix() {
  const SqlToken& token = Peek();
  const bool calls = IsSymbol(Peek(1), "(");
  if (IsWord(token, "not")) return Unary(SqlKind::kNot, kAboveNot);
  if (IsWord(token, "null")) return Literal(SqlKind::kNull, "");
  if (IsWord(token, "true") || IsWord(token, "false")) return Literal(SqlKind::kBoolean, LowerAscii(token.text));
  if (calls && IsWord(token, "cast")) return Cast(false);
  if (calls && IsWord(token, "try_cast")) return Cast(true);
  if (IsWord(token, "case") || (IsWord(token, "exists") && calls)) return RefuseForeign(token);
  if (IsWord(token, "interval") && Peek(1).kind == SqlTokenKind::kString) return RefuseForeign(token);
  if (IsWord(token, "and") || IsWord(token, "or")) return Error(token.span, "a value is expected here");
  if (TypedLiteralFollows()) {
    const size_t begin = token.span.begin;
    ARROW_ASSIGN_OR_RAISE(SqlTypeName type, TypeName());
    SqlNodePtr node = Literal(SqlKind::kTypedLiteral, Peek().text);
    node->span.begin = begin;
    node->type = std::move(type);
    return node;
  }
  if (calls) return Call();
  SqlNodePtr node = Literal(SqlKind::kName, "");
  node->path.push_back(token.text);
  return node;
}

// date '...', timestamp(6) '...', decimal(10, 2) '...'
bool SqlParser::TypedLiteralFollows() const {
  if (Peek(1).kind == SqlTokenKind::kString) return true;
  if (!IsSymbol(Peek(1), "(")) return false;
  for (size_t ahead = 2; ahead <= 5; ++ahead) {
    if (IsSymbol(Peek(ahead), ")")) return ahead > 2 && Peek(ahead + 1).kind == SqlTokenKind::kString;
    if (Peek(ahead).kind != SqlTokenKind::kNumber && !IsSymbol(Peek(ahead), ",")) return false;
  }
  return false;
}

arrow::Result<SqlNodePtr> SqlParser::Cast(bool try_cast) {
  const size_t begin = Peek().span.begin;
  at_ += 2;
  ARROW_ASSIGN_OR_RAISE(SqlNodePtr value, Expression(0));
  if (!TakeWord("as")) return Error(Peek().span, "AS and a type are missing in the cast");
  ARROW_ASSIGN_OR_RAISE(SqlTypeName type, TypeName());
  ARROW_RETURN_NOT_OK(ExpectSymbol(")"));
  SqlNodePtr node = Node(SqlKind::kCast, begin);
  node->type = std::move(type);
  node->try_cast = try_cast;
  node->children.push_back(std::move(value));
  return WithChildren(std::move(node));
}

arrow::Result<SqlNodePtr> SqlParser::Call() {
  const SqlToken& name = Peek();
  at_ += 2;
  SqlNodePtr node = Node(SqlKind::kCall, name.span.begin);
  node->text = LowerAscii(name.text);
  if (IsSymbol(Peek(), "*") || IsWord(Peek(), "distinct")) return Foreign(Peek().span, "an aggregate");
  ARROW_RETURN_NOT_OK(List(")", node.get()));
  if (IsWord(Peek(), "over") && IsSymbol(Peek(1), "(")) return RefuseForeign(Peek());
  return WithChildren(std::move(node));
}

arrow::Result<SqlTypeName> SqlParser::TypeName() {
  SqlTypeName type;
  const SqlToken& first = Peek();
  if (first.kind != SqlTokenKind::kName) return Error(first.span, "the name of a type is missing");
  type.span = first.span;
  type.name = LowerAscii(first.text);
  ++at_;
  if (TakeSymbol("(")) {
    do {
      const SqlToken& number = Peek();
      int value = 0;
      const char* end = number.text.data() + number.text.size();
      if (number.kind != SqlTokenKind::kNumber || std::from_chars(number.text.data(), end, value).ptr != end) {
        return Error(number.span, "a small whole number is expected here");
      }
      type.arguments.push_back(value);
      ++at_;
    } while (TakeSymbol(",") && type.arguments.size() < 2);
    ARROW_RETURN_NOT_OK(ExpectSymbol(")"));
  }
  if (TakeWord("unsigned")) type.name += " unsigned";
  type.span.end = LastEnd();
  return type;
}

}  // namespace javelin::query
