#include "javelin/query/sql_lexer.h"

#include <array>

#include <arrow/util/utf8.h>

namespace javelin::query {
namespace {

constexpr size_t kMaxTextBytes = 1 << 20;

bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsHexDigit(char c) { return IsDigit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }
bool IsNameStart(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || static_cast<unsigned char>(c) >= 0x80;
}
bool IsNamePart(char c) { return IsNameStart(c) || IsDigit(c); }

constexpr std::array<std::string_view, 10> kPairs = {"<>", "<=", ">=", "!=", "==", "||", "::", "->", "<<", ">>"};
constexpr std::string_view kSingles = "+-*/%()[],.;=<>&|^~?!:@${}#";

class Lexer {
 public:
  explicit Lexer(std::string_view text) : text_(text) {}

  arrow::Result<std::vector<SqlToken>> Run() {
    if (text_.size() > kMaxTextBytes) {
      return InvalidInput("an SQL expression has at most {} bytes, this one has {}", kMaxTextBytes, text_.size());
    }
    arrow::util::InitializeUTF8();
    if (!arrow::util::ValidateUTF8(text_)) return InvalidInput("an SQL expression must be UTF-8");
    while (true) {
      ARROW_RETURN_NOT_OK(SkipBlanks());
      if (at_ == text_.size()) break;
      ARROW_RETURN_NOT_OK(Next());
    }
    Add(SqlTokenKind::kEnd, text_.size(), "");
    return std::move(tokens_);
  }

 private:
  char Peek(size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }

  void Add(SqlTokenKind kind, size_t begin, std::string text) {
    tokens_.push_back({kind, std::move(text), {begin, at_}});
  }

  arrow::Status Error(size_t begin, const std::string& message) const {
    return SqlErrorAt(ErrorKind::kInvalidInput, text_, {begin, std::max(at_, begin + 1)}, message);
  }

  arrow::Status SkipBlanks() {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == ' ' || c == '\t' || c == '\n' || c == '\r') {
        ++at_;
      } else if (c == '-' && Peek(1) == '-') {
        while (at_ < text_.size() && text_[at_] != '\n') ++at_;
      } else if (c == '/' && Peek(1) == '*') {
        const size_t end = text_.find("*/", at_ + 2);
        if (end == std::string_view::npos) return Error(at_, "a comment is not closed");
        at_ = end + 2;
      } else {
        break;
      }
    }
    return arrow::Status::OK();
  }

  arrow::Status Next() {
    const size_t begin = at_;
    const char c = Peek();
    if (c == '\'' || c == '"') {
      ARROW_ASSIGN_OR_RAISE(std::string text, Quoted(c, "a string"));
      Add(SqlTokenKind::kString, begin, std::move(text));
    } else if (c == '`') {
      ARROW_ASSIGN_OR_RAISE(std::string text, Quoted(c, "a quoted name"));
      if (text.empty()) return Error(begin, "a quoted name is empty");
      Add(SqlTokenKind::kQuotedName, begin, std::move(text));
    } else if ((c == 'x' || c == 'X') && Peek(1) == '\'') {
      ++at_;
      ARROW_ASSIGN_OR_RAISE(std::string text, Quoted('\'', "a binary string"));
      for (char digit : text)
        if (!IsHexDigit(digit)) return Error(begin, "a binary string has hexadecimal digits only");
      Add(SqlTokenKind::kHexString, begin, std::move(text));
    } else if (IsDigit(c) || (c == '.' && IsDigit(Peek(1)))) {
      return Number();
    } else if (IsNameStart(c)) {
      while (IsNamePart(Peek())) ++at_;
      Add(SqlTokenKind::kName, begin, std::string(text_.substr(begin, at_ - begin)));
    } else {
      return Symbol();
    }
    return arrow::Status::OK();
  }

  // From an opening quote to its end; the quote doubled stands for itself.
  arrow::Result<std::string> Quoted(char quote, const std::string& what) {
    const size_t begin = at_++;
    std::string text;
    while (true) {
      const size_t end = text_.find(quote, at_);
      if (end == std::string_view::npos) {
        at_ = begin + 1;
        return Error(begin, what + " is not closed");
      }
      text += text_.substr(at_, end - at_);
      at_ = end + 1;
      if (Peek() != quote) return text;
      text += quote;
      ++at_;
    }
  }

  arrow::Status Number() {
    const size_t begin = at_;
    if (Peek() == '0' && (Peek(1) == 'x' || Peek(1) == 'X')) {
      at_ += 2;
      while (IsHexDigit(Peek())) ++at_;
      if (at_ == begin + 2 || IsNamePart(Peek())) return Error(begin, "a malformed hexadecimal string");
      Add(SqlTokenKind::kHexString, begin, std::string(text_.substr(begin + 2, at_ - begin - 2)));
      return arrow::Status::OK();
    }
    while (IsDigit(Peek())) ++at_;
    if (Peek() == '.') {
      ++at_;
      while (IsDigit(Peek())) ++at_;
    }
    if (Peek() == 'e' || Peek() == 'E') {
      const size_t sign = Peek(1) == '+' || Peek(1) == '-' ? 1 : 0;
      if (IsDigit(Peek(1 + sign))) {
        at_ += 1 + sign;
        while (IsDigit(Peek())) ++at_;
      }
    }
    if (IsNamePart(Peek())) {
      while (IsNamePart(Peek())) ++at_;
      return Error(begin, "a malformed number: it has digits, one point and an exponent, no separators");
    }
    Add(SqlTokenKind::kNumber, begin, std::string(text_.substr(begin, at_ - begin)));
    return arrow::Status::OK();
  }

  arrow::Status Symbol() {
    const size_t begin = at_;
    for (const std::string_view pair : kPairs) {
      if (pair[0] != Peek() || pair[1] != Peek(1)) continue;
      at_ += 2;
      Add(SqlTokenKind::kSymbol, begin, pair == "==" ? "=" : pair == "!=" ? "<>" : std::string(pair));
      return arrow::Status::OK();
    }
    if (kSingles.find(Peek()) != std::string_view::npos) {
      ++at_;
      Add(SqlTokenKind::kSymbol, begin, std::string(1, text_[begin]));
      return arrow::Status::OK();
    }
    return Error(begin, "a character that no expression has");
  }

  std::string_view text_;
  size_t at_ = 0;
  std::vector<SqlToken> tokens_;
};

}  // namespace

arrow::Result<std::vector<SqlToken>> LexSql(std::string_view text) { return Lexer(text).Run(); }

}  // namespace javelin::query
