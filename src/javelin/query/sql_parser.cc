// A Pratt parser: every operator has a strength, an operand takes all that binds stronger than what stands before it.
#include "javelin/query/sql_parser.h"

#include <algorithm>
#include <charconv>

#include "javelin/query/sql_lexer.h"
#include "javelin/query/sql_parser_internal.h"

namespace javelin::query {

// Strengths, weakest first. They are the peer's, so that a text means the same there.
namespace strength {
constexpr int kOr = 5;
constexpr int kAnd = 10;
constexpr int kNot = 15;
constexpr int kIs = 17;
constexpr int kLike = 19;
constexpr int kCompare = 20;  // with BETWEEN and IN
constexpr int kSum = 30;
constexpr int kProduct = 40;  // with ||
constexpr int kCast = 50;     // ::
constexpr int kAccess = 60;   // .name [position]
}  // namespace strength

bool SqlParser::IsWord(const SqlToken& token, std::string_view word) {
  if (token.kind != SqlTokenKind::kName || token.text.size() != word.size()) return false;
  return LowerAscii(token.text) == word;
}

std::string LowerAscii(std::string_view text) {
  std::string lower(text);
  for (char& c : lower)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return lower;
}

arrow::Result<SqlNodePtr> SqlParser::Run() {
  if (Peek().kind == SqlTokenKind::kEnd) return Error(Peek().span, "an expression is missing: the text is empty");
  ARROW_ASSIGN_OR_RAISE(SqlNodePtr node, Expression(0));
  TakeSymbol(";");
  if (Peek().kind != SqlTokenKind::kEnd) {
    ARROW_RETURN_NOT_OK(RefuseForeign(Peek()));
    return Error(Peek().span, "the expression has ended before this: an operator is missing, or this is too much");
  }
  return node;
}

bool SqlParser::TakeSymbol(std::string_view symbol) {
  if (!IsSymbol(Peek(), symbol)) return false;
  ++at_;
  return true;
}

bool SqlParser::TakeWord(std::string_view word) {
  if (!IsWord(Peek(), word)) return false;
  ++at_;
  return true;
}

arrow::Status SqlParser::ExpectSymbol(std::string_view symbol) {
  if (TakeSymbol(symbol)) return arrow::Status::OK();
  return Error(Peek().span, fmt::format("`{}` is missing", symbol));
}

SqlNodePtr SqlParser::Node(SqlKind kind, size_t begin) const {
  auto node = std::make_unique<SqlNode>();
  node->kind = kind;
  node->span = {begin, LastEnd()};
  return node;
}

arrow::Result<SqlNodePtr> SqlParser::WithChildren(SqlNodePtr node) const {
  for (const SqlNodePtr& child : node->children) node->depth = std::max(node->depth, child->depth + 1);
  node->span.end = LastEnd();
  if (node->depth > kMaxSqlDepth) return TooDeep(node->span);
  return node;
}

arrow::Result<SqlNodePtr> SqlParser::Expression(int above) {
  if (nesting_ >= kMaxSqlDepth) return TooDeep(Peek().span);
  ++nesting_;
  auto result = [&]() -> arrow::Result<SqlNodePtr> {
    ARROW_ASSIGN_OR_RAISE(SqlNodePtr left, Prefix());
    while (true) {
      const int own = InfixStrength();
      if (own <= above) return left;
      ARROW_ASSIGN_OR_RAISE(left, Infix(std::move(left), own));
    }
  }();
  --nesting_;
  return result;
}

int SqlParser::InfixStrength() const {
  const SqlToken& token = Peek();
  if (token.kind == SqlTokenKind::kSymbol) {
    const std::string& s = token.text;
    if (s == "=" || s == "<>" || s == "<" || s == "<=" || s == ">" || s == ">=") return strength::kCompare;
    if (s == "+" || s == "-") return strength::kSum;
    if (s == "*" || s == "/" || s == "%" || s == "||") return strength::kProduct;
    if (s == "::") return strength::kCast;
    if (s == "." || s == "[") return strength::kAccess;
    return 0;
  }
  if (token.kind != SqlTokenKind::kName) return 0;
  const SqlToken& subject = IsWord(token, "not") ? Peek(1) : token;
  if (IsWord(subject, "in") || IsWord(subject, "between")) return strength::kCompare;
  if (IsWord(subject, "like") || IsWord(subject, "ilike")) return strength::kLike;
  if (IsWord(token, "and")) return strength::kAnd;
  if (IsWord(token, "or")) return strength::kOr;
  if (IsWord(token, "is")) return strength::kIs;
  return 0;
}

arrow::Result<SqlNodePtr> SqlParser::Infix(SqlNodePtr left, int own) {
  const size_t begin = left->span.begin;
  switch (own) {
    case strength::kAnd:
    case strength::kOr: return Chain(std::move(left), own);
    case strength::kIs: return Is(std::move(left));
    case strength::kLike: return Like(std::move(left));
    case strength::kAccess: return Access(std::move(left));
    case strength::kCast: {
      ++at_;
      ARROW_ASSIGN_OR_RAISE(SqlTypeName type, TypeName());
      SqlNodePtr node = Node(SqlKind::kCast, begin);
      node->type = std::move(type);
      node->children.push_back(std::move(left));
      return WithChildren(std::move(node));
    }
    default: break;
  }
  if (Peek().kind == SqlTokenKind::kName) return InOrBetween(std::move(left));
  SqlNodePtr node = Node(SqlKind::kBinary, begin);
  node->text = tokens_[at_++].text;
  ARROW_ASSIGN_OR_RAISE(SqlNodePtr right, Expression(own));
  node->children.push_back(std::move(left));
  node->children.push_back(std::move(right));
  return WithChildren(std::move(node));
}

// a AND b AND c: one node, so that a filter of thousands of conditions is not thousands of levels deep.
arrow::Result<SqlNodePtr> SqlParser::Chain(SqlNodePtr left, int own) {
  const std::string_view word = own == strength::kAnd ? "and" : "or";
  SqlNodePtr node = Node(own == strength::kAnd ? SqlKind::kAnd : SqlKind::kOr, left->span.begin);
  node->children.push_back(std::move(left));
  while (TakeWord(word)) {
    ARROW_ASSIGN_OR_RAISE(SqlNodePtr right, Expression(own));
    node->children.push_back(std::move(right));
  }
  return WithChildren(std::move(node));
}

arrow::Result<SqlNodePtr> SqlParser::Is(SqlNodePtr left) {
  const size_t begin = left->span.begin;
  ++at_;
  const bool negated = TakeWord("not");
  const auto finish = [&](SqlKind kind) {
    SqlNodePtr node = Node(kind, begin);
    node->negated = negated;
    node->children.push_back(std::move(left));
    return WithChildren(std::move(node));
  };
  if (TakeWord("null")) return finish(SqlKind::kIsNull);
  if (TakeWord("true")) return finish(SqlKind::kIsTrue);
  if (TakeWord("false")) return finish(SqlKind::kIsFalse);
  if (TakeWord("distinct")) {
    if (!TakeWord("from")) return Error(Peek().span, "FROM is missing behind IS DISTINCT");
    SqlNodePtr node = Node(SqlKind::kDistinct, begin);
    node->negated = negated;
    ARROW_ASSIGN_OR_RAISE(SqlNodePtr right, Expression(strength::kIs));
    node->children.push_back(std::move(left));
    node->children.push_back(std::move(right));
    return WithChildren(std::move(node));
  }
  return Error(Peek().span, "IS is followed by [NOT] NULL, TRUE, FALSE or DISTINCT FROM");
}

arrow::Result<SqlNodePtr> SqlParser::Like(SqlNodePtr left) {
  SqlNodePtr node = Node(SqlKind::kLike, left->span.begin);
  node->negated = TakeWord("not");
  node->any_case = IsWord(Peek(), "ilike");
  ++at_;
  if (IsWord(Peek(), "any")) return Foreign(Peek().span, "LIKE ANY");
  ARROW_ASSIGN_OR_RAISE(SqlNodePtr pattern, Expression(strength::kLike));
  node->children.push_back(std::move(left));
  node->children.push_back(std::move(pattern));
  if (TakeWord("escape")) {
    const SqlToken& character = Peek();
    if (character.kind != SqlTokenKind::kString || character.text != "\\") {
      return SqlErrorAt(ErrorKind::kNotSupported, text_, character.span, "LIKE escapes by a backslash only");
    }
    ++at_;
  }
  return WithChildren(std::move(node));
}

arrow::Result<SqlNodePtr> SqlParser::InOrBetween(SqlNodePtr left) {
  const size_t begin = left->span.begin;
  const bool negated = TakeWord("not");
  if (TakeWord("between")) {
    SqlNodePtr node = Node(SqlKind::kBetween, begin);
    node->negated = negated;
    node->children.push_back(std::move(left));
    ARROW_ASSIGN_OR_RAISE(SqlNodePtr low, Expression(strength::kCompare));
    if (!TakeWord("and")) return Error(Peek().span, "AND is missing behind the lower bound of BETWEEN");
    ARROW_ASSIGN_OR_RAISE(SqlNodePtr high, Expression(strength::kCompare));
    node->children.push_back(std::move(low));
    node->children.push_back(std::move(high));
    return WithChildren(std::move(node));
  }
  ++at_;
  SqlNodePtr node = Node(SqlKind::kIn, begin);
  node->negated = negated;
  node->children.push_back(std::move(left));
  ARROW_RETURN_NOT_OK(ExpectSymbol("("));
  if (IsWord(Peek(), "select") || IsWord(Peek(), "with")) return Foreign(Peek().span, "a sub-select");
  if (IsSymbol(Peek(), ")")) return Error(Peek().span, "IN needs a value at least");
  ARROW_RETURN_NOT_OK(List(")", node.get()));
  return WithChildren(std::move(node));
}

// Items up to the closing symbol, which is taken.
arrow::Status SqlParser::List(std::string_view close, SqlNode* into) {
  if (TakeSymbol(close)) return arrow::Status::OK();
  do {
    ARROW_ASSIGN_OR_RAISE(SqlNodePtr item, Expression(0));
    into->children.push_back(std::move(item));
  } while (TakeSymbol(","));
  return ExpectSymbol(close);
}

arrow::Result<SqlNodePtr> SqlParser::Access(SqlNodePtr left) {
  const size_t begin = left->span.begin;
  if (TakeSymbol(".")) {
    const SqlToken& name = Peek();
    if (name.kind != SqlTokenKind::kName && name.kind != SqlTokenKind::kQuotedName) {
      return Error(name.span, "the name of a field is missing behind the point");
    }
    ++at_;
    if (left->kind == SqlKind::kName) {
      left->path.push_back(name.text);
      left->span.end = LastEnd();
      if (left->path.size() > kMaxSqlDepth) return TooDeep(left->span);
      return left;
    }
    SqlNodePtr node = Node(SqlKind::kField, begin);
    node->text = name.text;
    node->children.push_back(std::move(left));
    return WithChildren(std::move(node));
  }
  ++at_;
  if (Peek().kind == SqlTokenKind::kString && IsSymbol(Peek(1), "]")) {
    SqlNodePtr node = Node(SqlKind::kField, begin);
    node->text = Peek().text;
    at_ += 2;
    node->children.push_back(std::move(left));
    return WithChildren(std::move(node));
  }
  ARROW_ASSIGN_OR_RAISE(SqlNodePtr position, Expression(0));
  if (IsSymbol(Peek(), ":")) return Foreign(Peek().span, "a slice of a list");
  ARROW_RETURN_NOT_OK(ExpectSymbol("]"));
  SqlNodePtr node = Node(SqlKind::kElement, begin);
  node->children.push_back(std::move(left));
  node->children.push_back(std::move(position));
  return WithChildren(std::move(node));
}

arrow::Result<SqlNodePtr> ParseSql(std::string_view text) {
  ARROW_ASSIGN_OR_RAISE(auto tokens, LexSql(text));
  return SqlParser(text, std::move(tokens)).Run();
}

}  // namespace javelin::query
