#include "javelin/query/filter.h"

#include <fstream>

#include "javelin/query/filter_test_support.h"

namespace javelin::query {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(Filter, ConditionsWithoutColumns) {
  EXPECT_THAT(Passing("true"), ElementsAre(0, 1, 2, 3, 4, 5));
  EXPECT_THAT(Passing("1=1"), ElementsAre(0, 1, 2, 3, 4, 5));
  EXPECT_THAT(Passing("1 > 2 or false"), ElementsAre());
  EXPECT_THAT(Passing("null = null"), ElementsAre());
  EXPECT_THAT(Passing("null is null"), ElementsAre(0, 1, 2, 3, 4, 5));
  EXPECT_THAT(Passing("not null"), ElementsAre());
  const auto none = arrow::RecordBatch::Make(arrow::schema({}), 1000, arrow::ArrayVector{});
  const auto filter = Filter::Parse("1 = 1.0", Scope()).ValueOrDie();
  EXPECT_EQ(filter.Mask(*none).ValueOrDie()->true_count(), 1000);
  EXPECT_EQ(filter.Constant(), std::optional(true));
  EXPECT_TRUE(filter.Columns().empty());
  EXPECT_EQ(Filter::Parse("null = 1", Scope()).ValueOrDie().Constant(), std::optional(false));
  EXPECT_EQ(Filter::Parse("id = 1", TestScope()).ValueOrDie().Constant(), std::nullopt);
}

TEST(Filter, Comparisons) {
  EXPECT_THAT(Passing("i32 = 1"), ElementsAre(4));
  EXPECT_THAT(Passing("i32 == 1"), ElementsAre(4));
  EXPECT_THAT(Passing("i32 <> 1"), ElementsAre(1, 2, 3, 5));
  EXPECT_THAT(Passing("1 <= i32"), ElementsAre(4, 5));
  EXPECT_THAT(Passing("i32 between -1 and 1"), ElementsAre(2, 3, 4));
  EXPECT_THAT(Passing("i32 not between -1 and 1"), ElementsAre(1, 5));
  EXPECT_THAT(Passing("i32 in (1, 0)"), ElementsAre(3, 4));
  EXPECT_THAT(Passing("i32 in (1, null)"), ElementsAre(4));
  EXPECT_THAT(Passing("i32 not in (1, null)"), ElementsAre());
  EXPECT_THAT(Passing("i32 not in (1)"), ElementsAre(1, 2, 3, 5));
  EXPECT_THAT(Passing("1 in (i32, id)"), ElementsAre(1, 4));
  EXPECT_THAT(Passing("i32 is distinct from 1"), ElementsAre(0, 1, 2, 3, 5));
  EXPECT_THAT(Passing("i32 is not distinct from null"), ElementsAre(0));
  EXPECT_THAT(Passing("i32 is null"), ElementsAre(0));
  EXPECT_THAT(Passing("u64 = 18446744073709551615"), ElementsAre(5));
  EXPECT_THAT(Passing("i8 = u64"), ElementsAre());
  EXPECT_THAT(Passing("u64 > i8"), ElementsAre(1, 2, 3, 4, 5));
  EXPECT_THAT(Passing("dec = 1"), ElementsAre(1));
  EXPECT_THAT(Passing("dec = decimal(10, 2) '1.5'"), ElementsAre(5));
  EXPECT_THAT(Passing("dec > f32"), ElementsAre(1, 4, 5));
  EXPECT_THAT(Passing("s = \"a\""), ElementsAre(2));
  EXPECT_THAT(Passing("s = ls"), ElementsAre(1, 2, 3, 4, 5));
  EXPECT_THAT(Passing("dict = 'a'"), ElementsAre(1, 3));
  EXPECT_THAT(Passing("dict in ('a', 'c')"), ElementsAre(1, 3, 4));
  EXPECT_THAT(Passing("bin = X'61'"), ElementsAre(2));
  EXPECT_THAT(Passing("fsb = X'6161'"), ElementsAre(2));
  EXPECT_THAT(Passing("bin = 0x6162"), ElementsAre(3));
  EXPECT_THAT(Passing("b > false"), ElementsAre(1, 3, 5));
  EXPECT_THAT(Passing("dur > arrow_cast(0, 'Duration(Microsecond)')"), ElementsAre(2, 3, 5));
  EXPECT_THAT(Passing("st = st"), ElementsAre(1, 2, 3, 4, 5));
  EXPECT_THAT(Passing("l = [1, 2]"), ElementsAre(2));
  EXPECT_THAT(Passing("l > [1]"), ElementsAre(2, 3));
  EXPECT_THAT(Passing("v = [1, 2]"), ElementsAre(1, 5));
}

TEST(Filter, FloatsHaveATotalOrder) {
  EXPECT_THAT(Passing("f64 > 1e308"), ElementsAre(1, 2));
  EXPECT_THAT(Passing("f64 = 0"), ElementsAre(4, 5));
  EXPECT_THAT(Passing("f64 = -0.0"), ElementsAre(4, 5));
  EXPECT_THAT(Passing("f64 = cast('NaN' as double)"), ElementsAre(1));
  EXPECT_THAT(Passing("f64 in (cast('NaN' as double), 0)"), ElementsAre(1, 4, 5));
  EXPECT_THAT(Passing("f64 is distinct from f64"), ElementsAre());
  EXPECT_THAT(Passing("isnan(f64)"), ElementsAre(1));
  EXPECT_THAT(Passing("greatest(f64, 5) > 5"), ElementsAre(1, 2));
}

TEST(Filter, LogicIsThreeValued) {
  EXPECT_THAT(Passing("b"), ElementsAre(1, 3, 5));
  EXPECT_THAT(Passing("not b"), ElementsAre(2, 4));
  EXPECT_THAT(Passing("b and c"), ElementsAre(3));
  EXPECT_THAT(Passing("b or c"), ElementsAre(1, 3, 4, 5));
  EXPECT_THAT(Passing("(b and c) is null"), ElementsAre(0, 1));
  EXPECT_THAT(Passing("(b or c) is null"), ElementsAre(0, 2));
  EXPECT_THAT(Passing("c is not true"), ElementsAre(0, 1, 2, 5));
  EXPECT_THAT(Passing("c is not false"), ElementsAre(0, 1, 2, 3, 4));
  EXPECT_THAT(Passing("c is false"), ElementsAre(5));
  EXPECT_THAT(Passing("not c is null"), ElementsAre(3, 4, 5));
  EXPECT_THAT(Passing("i32 > 0 is true"), ElementsAre(4, 5));
  EXPECT_THAT(Passing("not i32 = 1 and b"), ElementsAre(1, 3, 5));
}

TEST(Filter, Arithmetic) {
  EXPECT_THAT(Passing("id + 1 = 3"), ElementsAre(2));
  EXPECT_THAT(Passing("id / 2 = 1"), ElementsAre(2, 3));
  EXPECT_THAT(Passing("id / 2.0 = 1.5"), ElementsAre(3));
  EXPECT_THAT(Passing("id % 3 = 1"), ElementsAre(1, 4));
  EXPECT_THAT(Passing("-id % 3 = -1"), ElementsAre(1, 4));
  EXPECT_THAT(Passing("i8 + i8 = -2"), ElementsAre(2, 5));  // wraps
  EXPECT_THAT(Passing("i8 + 1 = 128"), ElementsAre(5));     // literals are int64
  EXPECT_THAT(Passing("u64 + 1 > 18446744073709551615"), ElementsAre(5));
  EXPECT_THAT(Passing("f64 / 0 > 1"), ElementsAre(1, 2));
  EXPECT_THAT(Passing("dec * 2 = 3"), ElementsAre(5));
  EXPECT_THAT(Passing("dec / 2 > 1"), ElementsAre(4));
  EXPECT_THAT(Passing("dec % 1 > 0"), ElementsAre(4, 5));
  EXPECT_THAT(Passing("s || 'x' = 'ax'"), ElementsAre(2));
  EXPECT_THAT(Passing("id || '' = '3'"), ElementsAre(3));
  EXPECT_THAT(Passing("ts - ts = arrow_cast(0, 'Duration(Second)')"), ElementsAre(1, 2, 3, 4, 5));
  EXPECT_THAT(Passing("d + 1 = date '1970-01-02'"), ElementsAre(1));
  ExpectInvalid("id / 0 = 1", "divide by zero");
  ExpectInvalid("1 % 0 = id", "division by zero");
  ExpectInvalid("s + 1 = 2", "there is no");
  ExpectInvalid("-s = 'a'", "no negative values");
}

TEST(Filter, Patterns) {
  EXPECT_THAT(Passing("s like 'a%'"), ElementsAre(2, 5));
  EXPECT_THAT(Passing("s not like 'a%'"), ElementsAre(1, 3, 4));
  EXPECT_THAT(Passing("s ilike 'A%'"), ElementsAre(2, 3, 5));
  EXPECT_THAT(Passing("s ilike 'ÄÖÜ'"), ElementsAre(4));
  EXPECT_THAT(Passing("s like '___'"), ElementsAre(4));
  EXPECT_THAT(Passing("s like 'a\\%b\\_c\\\\'"), ElementsAre(5));
  EXPECT_THAT(Passing("s like '%\\%%' escape '\\'"), ElementsAre(5));
  EXPECT_THAT(Passing("s like ls"), ElementsAre(1, 2, 3, 4, 5));
  EXPECT_THAT(Passing("s like null"), ElementsAre());
  EXPECT_THAT(Passing("regexp_like(s, '^A', 'i')"), ElementsAre(2, 3, 5));
  EXPECT_THAT(Passing("regexp_match(s, 'b')"), ElementsAre(5));
  EXPECT_THAT(Passing("not regexp_match(s, 'b')"), ElementsAre(0, 1, 2, 3, 4));
  ExpectInvalid("i32 like '1'");
  ExpectInvalid("regexp_like(s, '(')");
}

TEST(Filter, Moments) {
  EXPECT_THAT(Passing("d = date '1970-01-02'"), ElementsAre(2));
  EXPECT_THAT(Passing("d < timestamp '1970-01-02 12:00:00'"), ElementsAre(1, 2, 3));
  EXPECT_THAT(Passing("ts = timestamp '1970-01-01T01:00:00'"), ElementsAre(2));
  EXPECT_THAT(Passing("ts = timestamp(0) '1970-01-01 02:00:00+01:00'"), ElementsAre(2));
  EXPECT_THAT(Passing("tz = timestamp '1970-01-01 01:00:00'"), ElementsAre(2));
  EXPECT_THAT(Passing("ts >= date '1970-01-02'"), ElementsAre(4));
  EXPECT_THAT(Passing("ts < now()"), ElementsAre(1, 2, 3, 4, 5));
  EXPECT_THAT(Passing("date_part('hour', ts) = 1"), ElementsAre(2));
  EXPECT_THAT(Passing("date_part('dow', d) = 4"), ElementsAre(1));
  EXPECT_THAT(Passing("date_trunc('day', ts) = timestamp '1970-01-01'"), ElementsAre(1, 2, 5));
  EXPECT_THAT(Passing("cast(ts as string) = '1969-12-31T23:59:59.999999'"), ElementsAre(3));
  ExpectInvalid("ts = '1970-01-01 01:00:00'");
  ExpectInvalid("d = '1970-01-02'");
  ExpectInvalid("d = date '2020-13-01'", "is no date");
  ExpectInvalid("ts = timestamp(5) '2020-01-01'", "0, 3, 6 or 9");
  ExpectRefused("ts < now()", ErrorKind::kNotSupported, "the time is not known");
}

TEST(Filter, NestedValues) {
  EXPECT_THAT(Passing("st.x = 1"), ElementsAre(1, 4));
  EXPECT_THAT(Passing("st['x'] = 1"), ElementsAre(1, 4));
  EXPECT_THAT(Passing("`st`.`x` = 1"), ElementsAre(1, 4));
  EXPECT_THAT(Passing("st.x is null"), ElementsAre(0, 2));
  EXPECT_THAT(Passing("l[1] = 1"), ElementsAre(2, 5));
  EXPECT_THAT(Passing("l[0] is null"), ElementsAre(0, 1, 2, 3, 4, 5));
  EXPECT_THAT(Passing("l[-1] = 1"), ElementsAre(4, 5));
  EXPECT_THAT(Passing("v[2] > 1"), ElementsAre(1, 4, 5));
  EXPECT_THAT(Passing("l[id - 1] = 1"), ElementsAre(2));
  EXPECT_THAT(Passing("array_has(tags, 'x')"), ElementsAre(2, 3));
  EXPECT_THAT(Passing("array_has_any(tags, ['x', null])"), ElementsAre(2, 3, 4));
  EXPECT_THAT(Passing("array_has_all(tags, ['x', 'y'])"), ElementsAre(2));
  EXPECT_THAT(Passing("array_position(l, 2) = 2"), ElementsAre(2));
  EXPECT_THAT(Passing("cardinality(l) = 0"), ElementsAre(1));
  EXPECT_THAT(Passing("make_array(id, 2)[1] = 3"), ElementsAre(3));
  ExpectInvalid("st = 1", "is no value of the column `st`");
  ExpectInvalid("st.z = 1", "`st` has no field `z`");
  ExpectInvalid("s.x = 1", "has no fields");
  ExpectInvalid("l['a'] = 1", "no fields");
  ExpectInvalid("l[1.5] = 1", "whole number");
}

TEST(Filter, Functions) {
  EXPECT_THAT(Passing("length(s) = 3"), ElementsAre(4));
  EXPECT_THAT(Passing("octet_length(s) = 6"), ElementsAre(4, 5));
  EXPECT_THAT(Passing("upper(s) = 'ÄÖÜ'"), ElementsAre(4));
  EXPECT_THAT(Passing("reverse(s) = 'üöä'"), ElementsAre(4));
  EXPECT_THAT(Passing("left(s, 1) = 'ä' and right(s, -1) = 'öü'"), ElementsAre(4));
  EXPECT_THAT(Passing("strpos(s, 'ü') = 3"), ElementsAre(4));
  EXPECT_THAT(Passing("concat(s, null, id) = 'a2'"), ElementsAre(2));
  EXPECT_THAT(Passing("replace(s, 'a', 'b') = 'b'"), ElementsAre(2));
  EXPECT_THAT(Passing("encode(s, 'hex') = '61'"), ElementsAre(2));
  EXPECT_THAT(Passing("encode('abcd', 'base64') = 'YWJjZA'"), ElementsAre(0, 1, 2, 3, 4, 5));
  EXPECT_THAT(Passing("md5(s) = '0cc175b9c0f1b6a831c399e269772661'"), ElementsAre(2));
  EXPECT_THAT(Passing("coalesce(i32, 7) = 7"), ElementsAre(0));
  EXPECT_THAT(Passing("nullif(i32, 1) is null"), ElementsAre(0, 4));
  EXPECT_THAT(Passing("least(i32, 0) = 0"), ElementsAre(0, 3, 4, 5));
  EXPECT_THAT(Passing("round(f32) = 2"), ElementsAre(4));
  EXPECT_THAT(Passing("power(id, 2) = 9"), ElementsAre(3));
  EXPECT_THAT(Passing("abs(dec) = 1.5"), ElementsAre(2, 5));
  EXPECT_THAT(Passing("is_valid(s) and contains(s, '%')"), ElementsAre(5));
  EXPECT_THAT(Passing("arrow_typeof(id) = 'Int64'"), ElementsAre(0, 1, 2, 3, 4, 5));
  EXPECT_THAT(Passing("try_cast(s as int) is null"), ElementsAre(0, 1, 2, 3, 4, 5));
  EXPECT_THAT(Passing("arrow_cast(id, 'Int8') = i8 + 3"), ElementsAre(2, 3, 4));
  ExpectRefused("lenght(s) = 1", ErrorKind::kNotSupported, "did you mean `length`?");
  ExpectRefused("substr(s, 1, 1) = 'a'", ErrorKind::kNotSupported, "see left and right");
  ExpectRefused("random() < 2", ErrorKind::kNotSupported);
  ExpectInvalid("length() = 1", "takes 1 arguments, not 0");
  ExpectInvalid("lower(id) = '1'", "does not take int64 as argument 1");
  ExpectInvalid("repeat(s, 1000000000000) = 'a'", "too long");
}

TEST(Filter, NamesAreExactOrDifferInCaseOnly) {
  EXPECT_THAT(Passing("`Mixed Case` = 3"), ElementsAre(3));
  EXPECT_THAT(Passing("cap = 3"), ElementsAre(3));
  EXPECT_THAT(Passing("ID = 3"), ElementsAre(3));
  EXPECT_THAT(Passing("order = 3"), ElementsAre(3));
  EXPECT_THAT(Passing("_rowid in (11, 12)"), ElementsAre(1, 2));
  ExpectInvalid("`cap` = 3", "did you mean `Cap`?");
  ExpectInvalid("ida = 3", "there is no column `ida`; did you mean `id`?");
  ExpectInvalid("st.xx = 3", "did you mean `x`?");
  ExpectInvalid("`st.x` = 3", "there is no column `st.x`");
}

// What would be wrong to accept: a literal is never bent to a type that cannot hold it.
TEST(Filter, LiteralsMustFitTheirColumn) {
  ExpectInvalid("i32 = 1.0", "the literal 1.0 is no value of the column `i32`, which is int32");
  ExpectInvalid("i32 = '1'", "the literal '1'");
  ExpectInvalid("'1' = i32", "the literal '1'");
  ExpectInvalid("i32 = 2147483648");
  ExpectInvalid("i8 < 200");
  ExpectInvalid("u64 > -1");
  ExpectInvalid("id > 9223372036854775808");
  ExpectInvalid("i32 = 1 + 1.0");
  ExpectInvalid("i32 in (1, 1.5)");
  ExpectInvalid("i32 between '0' and 2");
  ExpectInvalid("i32 is distinct from 1.5");
  ExpectInvalid("not i32 = 1.5");
  ExpectInvalid("f64 = 'NaN'");
  ExpectInvalid("dec = 1.5");
  ExpectInvalid("dec = 100000000000");
  ExpectInvalid("s = 1");
  ExpectInvalid("bin = 'a'");
  ExpectInvalid("fsb = X'010203'");
  ExpectInvalid("ts > 0");
  ExpectInvalid("dur = 60");
  ExpectInvalid("v = [1]");
  ExpectInvalid("id < 0x03");
  ExpectInvalid("\"Mixed Case\" = id");
  ExpectInvalid("b = i8", "cannot be compared");
  ExpectInvalid("id = s", "cannot be compared");
  ExpectInvalid("id", "a condition is expected");
  ExpectInvalid("null", "a condition is expected");
  ExpectInvalid("not i32", "a condition is expected");
  ExpectInvalid("b or s", "a condition is expected");
  ExpectInvalid("id < 3 < 4", "cannot be compared");
  ExpectInvalid("cast(id as varchar) = '1'", "there is no type `varchar`");
  ExpectInvalid("cast(id as decimal) = 1", "precision and a scale");
  ExpectInvalid("cast(s as int) = 1", "Failed to parse");
  ExpectInvalid("cast(f64 as int) = 1", "no value of int32");
  ExpectInvalid("cast(st as string) = 'a'", "cannot be cast");
}

TEST(Filter, AnErrorOfAValueShowsItsPlace) {
  const auto filter = Filter::Parse("id > 0\n  and 1 / i32 = 1", TestScope()).ValueOrDie();
  const auto status = filter.Mask(*Rows()).status();
  EXPECT_TRUE(HasKind(status, ErrorKind::kInvalidInput)) << status;
  EXPECT_EQ(FieldsOf(status).at("line"), "2");
  EXPECT_EQ(FieldsOf(status).at("column"), "7");
  EXPECT_THAT(status.message(), HasSubstr("  and 1 / i32 = 1\n        ^^^^^^^"));
}

// Every example of the page is what it says: ```sql blocks are accepted, ```sql refused blocks are not.
TEST(Filter, ExamplesOfThePageAreTrue) {
  std::ifstream page("docs/filters.md");
  ASSERT_TRUE(page.good());
  std::string line;
  int accepted = 0, refused = 0;
  std::optional<bool> inside;
  while (std::getline(page, line)) {
    if (line.starts_with("```")) {
      inside = line == "```sql" ? std::optional(true) : line == "```sql refused" ? std::optional(false) : std::nullopt;
      continue;
    }
    if (!inside || line.empty()) continue;
    const auto filter = Filter::Parse(line, TestScope(), {.now_nanoseconds = 0});
    EXPECT_EQ(filter.ok(), *inside) << line << ": " << filter.status().message();
    ++(*inside ? accepted : refused);
  }
  EXPECT_GE(accepted, 40);
  EXPECT_GE(refused, 15);
}

}  // namespace
}  // namespace javelin::query
