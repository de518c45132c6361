#include "javelin/query/sql_parser.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "javelin/query/sql_lexer.h"

namespace javelin::query {
namespace {

// The tree in one line, every operator in parentheses.
std::string Shape(const SqlNode& node) {
  static const char* kNames[] = {"number",  "string", "hex",  "bool", "null",   "typed",  "name",    "neg",
                                 "",        "and",    "or",   "not",  "isnull", "istrue", "isfalse", "distinct",
                                 "between", "in",     "like", "cast", "call",   "field",  "element", "array"};
  switch (node.kind) {
    case SqlKind::kNumber:
    case SqlKind::kBoolean: return node.text;
    case SqlKind::kString: return "'" + node.text + "'";
    case SqlKind::kHexString: return "X'" + node.text + "'";
    case SqlKind::kNull: return "null";
    case SqlKind::kName: {
      std::string text;
      for (const std::string& part : node.path) text += (text.empty() ? "" : ".") + part;
      return node.quoted ? "`" + text + "`" : text;
    }
    default: break;
  }
  std::string text = node.negated ? "(not-" : "(";
  text += node.kind == SqlKind::kBinary ? "" : kNames[static_cast<int>(node.kind)];
  text += node.kind == SqlKind::kBinary ? node.text : node.text.empty() ? "" : ":" + node.text;
  text += node.any_case ? ":i" : "";
  if (!node.type.name.empty()) text += ":" + node.type.name;
  for (int argument : node.type.arguments) text += "," + std::to_string(argument);
  for (const auto& child : node.children) text += " " + Shape(*child);
  return text + ")";
}

std::string Parsed(const std::string& text) {
  const auto node = ParseSql(text);
  return node.ok() ? Shape(**node) : "ERROR " + node.status().message();
}

TEST(SqlParser, StrengthsOfOperators) {
  EXPECT_EQ(Parsed("a or b and not c = 1 + 2 * 3"), "(or a (and b (not (= c (+ 1 (* 2 3))))))");
  EXPECT_EQ(Parsed("a - b - c"), "(- (- a b) c)");
  EXPECT_EQ(Parsed("(a - (b - c))"), "(- a (- b c))");
  EXPECT_EQ(Parsed("a || b + c"), "(+ (|| a b) c)");
  EXPECT_EQ(Parsed("-a * b"), "(* (neg a) b)");
  EXPECT_EQ(Parsed("-a::int"), "(neg (cast:int a))");
  EXPECT_EQ(Parsed("- -1"), "(neg -1)");
  EXPECT_EQ(Parsed("a--comment\n-1"), "(- a 1)");
  EXPECT_EQ(Parsed("a = 3 = true"), "(= (= a 3) true)");
  EXPECT_EQ(Parsed("a > 0 is true"), "(istrue (> a 0))");
  EXPECT_EQ(Parsed("not a is null"), "(not (isnull a))");
  EXPECT_EQ(Parsed("not not a"), "(not (not a))");
  EXPECT_EQ(Parsed("a like 'x' || '%' and b"), "(and (like a (|| 'x' '%')) b)");
  EXPECT_EQ(Parsed("a between 1 and 2 and b"), "(and (between a 1 2) b)");
  EXPECT_EQ(Parsed("a not between b + 1 and c"), "(not-between a (+ b 1) c)");
  EXPECT_EQ(Parsed("a and b and c or d or e"), "(or (and a b c) d e)");
}

TEST(SqlParser, EveryForm) {
  EXPECT_EQ(Parsed("a == 1"), "(= a 1)");
  EXPECT_EQ(Parsed("a != 1"), "(<> a 1)");
  EXPECT_EQ(Parsed("a is not distinct from b"), "(not-distinct a b)");
  EXPECT_EQ(Parsed("a IS NOT FALSE"), "(not-isfalse a)");
  EXPECT_EQ(Parsed("a not in (1, 'x', null)"), "(not-in a 1 'x' null)");
  EXPECT_EQ(Parsed("a not ilike \"x\"\"y\""), "(not-like:i a 'x\"y')");
  EXPECT_EQ(Parsed("a like 'x' escape '\\'"), "(like a 'x')");
  EXPECT_EQ(Parsed("cast(a as decimal(10, 2))"), "(cast:decimal,10,2 a)");
  EXPECT_EQ(Parsed("a::bigint unsigned"), "(cast:bigint unsigned a)");
  EXPECT_EQ(Parsed("timestamp(6) '2020-01-01' < a"), "(< (typed:2020-01-01:timestamp,6) a)");
  EXPECT_EQ(Parsed("date '2020-01-01'"), "(typed:2020-01-01:date)");
  EXPECT_EQ(Parsed("date = 1"), "(= date 1)");
  EXPECT_EQ(Parsed("s.f = s['f']"), "(= s.f (field:f s))");
  EXPECT_EQ(Parsed("`s s`.`f` = a[1].b"), "(= `s s.f` (field:b (element a 1)))");
  EXPECT_EQ(Parsed("f(g(), a, [1, -2])"), "(call:f (call:g) a (array 1 -2))");
  EXPECT_EQ(Parsed("X'0aFF' = 0x0aff"), "(= X'0aFF' X'0aff')");
  EXPECT_EQ(Parsed("'it''s' = ''"), "(= 'it's' '')");
  EXPECT_EQ(Parsed("order = .5 /* c */ ;"), "(= order .5)");
  EXPECT_EQ(Parsed("a = 5. or a = 1e-3"), "(or (= a 5.) (= a 1e-3))");
  EXPECT_EQ(Parsed("größe = 1"), "(= größe 1)");
}

void ExpectRefused(const std::string& text, ErrorKind kind, size_t line, size_t column) {
  const auto node = ParseSql(text);
  ASSERT_FALSE(node.ok()) << text << " -> " << Shape(**node);
  EXPECT_EQ(KindOf(node.status()), kind) << text << ": " << node.status().message();
  const ErrorFields fields = FieldsOf(node.status());
  EXPECT_EQ(fields.at("line") + ":" + fields.at("column"), fmt::format("{}:{}", line, column))
      << node.status().message();
}

TEST(SqlParser, WhatIsNoExpressionIsRefusedWithItsPlace) {
  const auto invalid = ErrorKind::kInvalidInput;
  ExpectRefused("", invalid, 1, 1);
  ExpectRefused("a = ", invalid, 1, 5);
  ExpectRefused("a =\n  and", invalid, 2, 3);
  ExpectRefused("a = 1 b", invalid, 1, 7);
  ExpectRefused("a = 1; b = 2", invalid, 1, 8);
  ExpectRefused("(a = 1", invalid, 1, 7);
  ExpectRefused("a = 1)", invalid, 1, 6);
  ExpectRefused("ä = 'x", invalid, 1, 5);
  ExpectRefused("`a", invalid, 1, 1);
  ExpectRefused("a /* b", invalid, 1, 3);
  ExpectRefused("a = 1_000", invalid, 1, 5);
  ExpectRefused("a = 1.5.2", invalid, 1, 8);
  ExpectRefused("a in ()", invalid, 1, 7);
  ExpectRefused("a = X'0g'", invalid, 1, 5);
  ExpectRefused("a === 1", invalid, 1, 5);
  ExpectRefused("a is b", invalid, 1, 6);
  ExpectRefused("a between 1 or 2", invalid, 1, 13);
  ExpectRefused("cast(a, int)", invalid, 1, 7);
  ExpectRefused("a = \x01", invalid, 1, 5);
  EXPECT_EQ(KindOf(ParseSql("a = '\xff'").status()), invalid);
}

TEST(SqlParser, OtherSqlIsNotSupported) {
  const auto refused = ErrorKind::kNotSupported;
  ExpectRefused("case when a then 1 end", refused, 1, 1);
  ExpectRefused("exists (select 1)", refused, 1, 1);
  ExpectRefused("a in (select 1)", refused, 1, 7);
  ExpectRefused("(a, b) in ((1, 2))", refused, 1, 3);
  ExpectRefused("a ~ 'b'", refused, 1, 3);
  ExpectRefused("~a", refused, 1, 1);
  ExpectRefused("a similar to 'b'", refused, 1, 3);
  ExpectRefused("a = interval '1 day'", refused, 1, 5);
  ExpectRefused("a like 'x#%' escape '#'", refused, 1, 21);
  ExpectRefused("a & 1 = 1", refused, 1, 3);
  ExpectRefused("a << 1 = 1", refused, 1, 3);
  ExpectRefused("a xor b", refused, 1, 3);
  ExpectRefused("a = ?", refused, 1, 5);
  ExpectRefused("a[1:2] = b", refused, 1, 4);
  ExpectRefused("count(*) = 1", refused, 1, 7);
  ExpectRefused("+a = 1", refused, 1, 1);
}

TEST(SqlParser, DepthIsBoundedAndChainsAreNot) {
  const auto deep = [](int levels, const std::string& open, const std::string& close) {
    std::string text;
    for (int i = 0; i < levels; ++i) text += open;
    text += "a";
    for (int i = 0; i < levels; ++i) text += close;
    return ParseSql(text).status();
  };
  EXPECT_TRUE(deep(100, "(", ")").ok());
  for (const auto& [open, close] : std::vector<std::pair<std::string, std::string>>{{"(", ")"},
                                                                                    {"not ", ""},
                                                                                    {"-", " "},
                                                                                    {"f(", ")"},
                                                                                    {"[", "]"},
                                                                                    {"", "[1]"},
                                                                                    {"", ".b"},
                                                                                    {"", " + 1"},
                                                                                    {"", "::int"},
                                                                                    {"", " is null"},
                                                                                    {"cast(", " as int)"},
                                                                                    {"1 in (", ")"}}) {
    EXPECT_TRUE(HasKind(deep(20'000, open, close), ErrorKind::kInvalidInput)) << open << close;
  }
  std::string chain = "a = 0";
  for (int i = 1; i < 20'000; ++i) chain += " or a = " + std::to_string(i);
  const auto node = ParseSql(chain);
  ASSERT_TRUE(node.ok()) << node.status();
  EXPECT_EQ((*node)->children.size(), 20'000u);
  EXPECT_EQ((*node)->depth, 3);
}

TEST(SqlParser, AnErrorShowsTheLine) {
  const auto status = ParseSql("a = 1 and\nbb = = 2").status();
  EXPECT_THAT(status.message(), ::testing::HasSubstr("(line 2, column 6)\n  bb = = 2\n       ^"));
}

}  // namespace
}  // namespace javelin::query
