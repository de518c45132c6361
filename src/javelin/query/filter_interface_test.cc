#include "javelin/query/filter.h"

#include "javelin/query/filter_test_support.h"

namespace javelin::query {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

file::Schema TableSchema() { return file::Schema::FromArrow(*Rows()->schema()).ValueOrDie(); }

TEST(Filter, SaysWhatItReads) {
  const file::Schema schema = TableSchema();
  Scope scope = Scope::Of(schema);
  scope.Add("_rowaddr", arrow::uint64());
  const auto filter =
      Filter::Parse("ID > 1 and st.x = 1 and (id < 5 or l[1] = 2) and _rowaddr > 0", scope).ValueOrDie();
  std::vector<std::string> read;
  for (const SqlColumn& column : filter.Columns()) {
    std::string name;
    for (const std::string& part : column.path) name += "/" + part;
    read.push_back(fmt::format("{} {}", name, column.id.value()));
  }
  const file::Field& st = *schema.FindByName("st");
  EXPECT_THAT(read, ElementsAre(fmt::format("/id {}", schema.FindByName("id")->id.value()),
                                fmt::format("/st/x {}", st.children[0].id.value()),
                                fmt::format("/l {}", schema.FindByName("l")->id.value()), "/_rowaddr -1"));
}

TEST(Filter, AStructMayHaveOnlyTheFieldsThatAreRead) {
  const auto filter = Filter::Parse("st.y = 'a'", TestScope()).ValueOrDie();
  const auto full = std::static_pointer_cast<arrow::StructArray>(Rows()->GetColumnByName("st"));
  const auto part =
      arrow::StructArray::Make({full->field(1)}, std::vector<std::string>{"y"}, full->null_bitmap()).ValueOrDie();
  const auto batch = arrow::RecordBatch::Make(arrow::schema({arrow::field("st", part->type())}), 6, {part});
  EXPECT_EQ(filter.Mask(*batch).ValueOrDie()->true_count(), 1);
  const auto other =
      arrow::RecordBatch::Make(arrow::schema({arrow::field("id", arrow::int64())}), 6, {Rows()->GetColumnByName("id")});
  EXPECT_TRUE(HasKind(filter.Mask(*other).status(), ErrorKind::kInvalidInput));
}

TEST(Filter, SlicedBatchesAndEmptyOnes) {
  for (const std::string text :
       {"i32 > 0", "f64 > 0", "st.x = 1", "l[1] = 1", "v[1] = 1", "s like 'a%'", "dict = 'a'", "array_has(tags, 'x')",
        "i32 in (1, 2)", "v = [1, 2]", "b and c", "greatest(i32, 0) = 1", "s || ls = 'aa'", "dec + 1 > 0"}) {
    const auto filter = Filter::Parse(text, TestScope()).ValueOrDie();
    const auto whole = filter.Mask(*Rows()).ValueOrDie();
    for (int64_t begin = 0; begin <= 6; ++begin) {
      const auto part = filter.Mask(*Rows()->Slice(begin)).ValueOrDie();
      EXPECT_TRUE(part->Equals(whole->Slice(begin))) << text << " from " << begin;
    }
  }
}

TEST(Filter, ConjunctsAndConditionsOfColumns) {
  const auto filter =
      Filter::Parse("5 < id and i32 in (1, null) and s is not null and b and id between 1 and 3 and id + 1 = 2",
                    TestScope())
          .ValueOrDie();
  std::vector<std::string> shown;
  for (const BoundPtr& node : filter.Conjuncts()) {
    const auto condition = AsColumnCondition(*node);
    if (!condition) {
      shown.push_back("other");
      continue;
    }
    std::string text = condition->column.path[0] + " " + std::to_string(static_cast<int>(condition->kind)) + " " +
                       std::to_string(static_cast<int>(condition->compare));
    if (condition->value) text += " " + condition->value->ToString();
    if (condition->values) text += fmt::format(" of {}", condition->values->length());
    if (condition->null_among) text += " null";
    if (condition->negated) text += " not";
    shown.push_back(text);
  }
  // BETWEEN is a conjunction inside one: taken apart too.
  EXPECT_THAT(shown,
              ElementsAre("id 0 4 5", "i32 1 0 of 1 null", "s 2 0 not", "b 0 0 true", "id 0 5 1", "id 0 3 3", "other"));
}

TEST(Expression, ComputedColumns) {
  const auto sum = Expression::Parse("id * 2 + 1", TestScope()).ValueOrDie();
  EXPECT_TRUE(sum.type()->Equals(arrow::int64()));
  EXPECT_EQ(sum.Evaluate(*Rows()).ValueOrDie()->ToString(), "[\n  1,\n  3,\n  5,\n  7,\n  9,\n  11\n]");
  const auto constant = Expression::Parse("'x'", TestScope()).ValueOrDie();
  EXPECT_EQ(constant.Evaluate(*Rows()).ValueOrDie()->length(), 6);
  EXPECT_TRUE(Expression::Parse("st", TestScope())
                  .ValueOrDie()
                  .Evaluate(*Rows())
                  .ValueOrDie()
                  ->Equals(Rows()->GetColumnByName("st")));
}

TEST(Expression, ValuesForAColumn) {
  const auto value = [](const std::string& text, const std::shared_ptr<arrow::DataType>& type) {
    const auto expression = Expression::ParseAs(text, TestScope(), type);
    if (!expression.ok()) return std::string(ToString(KindOf(expression.status())));
    EXPECT_TRUE(expression->type()->Equals(*type)) << text;
    const auto array = expression->Evaluate(*Rows()).ValueOrDie();
    return array->GetScalar(4).ValueOrDie()->ToString();
  };
  EXPECT_EQ(value("5", arrow::int8()), "5");
  EXPECT_EQ(value("id + 1", arrow::int8()), "5");
  EXPECT_EQ(value("null", arrow::int8()), "null");
  EXPECT_EQ(value("'2020-01-01'", arrow::date32()), "2020-01-01");
  EXPECT_EQ(value("id", arrow::utf8()), "4");
  EXPECT_EQ(value("dec * 2", arrow::decimal128(10, 2)), "4.50");
  EXPECT_EQ(value("1.5", arrow::float16()), "1.5");
  EXPECT_EQ(value("[1, 2]", arrow::fixed_size_list(arrow::float32(), 2)), "fixed_size_list<item: float>[2][1, 2]");
  EXPECT_EQ(value("id > 2", arrow::boolean()), "true");
  EXPECT_EQ(value("5.5", arrow::int8()), "InvalidInput");
  EXPECT_EQ(value("300", arrow::int8()), "InvalidInput");
  EXPECT_EQ(value("'x'", arrow::int8()), "InvalidInput");
  EXPECT_EQ(value("st", arrow::int8()), "InvalidInput");
}

TEST(Filter, MergeConditionsNameTheirSide) {
  const auto side = [](const std::string& values) {
    const auto array = arrow::json::ArrayFromJSONString(arrow::int32(), values).ValueOrDie();
    return arrow::RecordBatch::Make(arrow::schema({arrow::field("x", arrow::int32())}), 3, {array});
  };
  const auto source = side("[1, 2, null]"), target = side("[0, 2, 3]");
  const Scope scope = Scope::OfMerge(
      *source->schema(), *arrow::schema({arrow::field("x", arrow::int32()), arrow::field("only", arrow::int32())}));
  const auto filter = Filter::Parse("source.x > Target.x", scope).ValueOrDie();
  EXPECT_EQ(filter.Mask(*source, *target).ValueOrDie()->ToString(), "[\n  true,\n  false,\n  false\n]");
  EXPECT_EQ(filter.Columns()[0].relation, "source");
  EXPECT_EQ(filter.Columns()[1].relation, "target");
  EXPECT_THAT(Filter::Parse("x > 1", scope).status().message(), HasSubstr("column of both sides"));
  EXPECT_THAT(Filter::Parse("source.y > 1", scope).status().message(), HasSubstr("there is no column `y`"));
  EXPECT_EQ(Filter::Parse("only > 1", scope).ValueOrDie().Columns()[0].relation, "target");
}

TEST(Filter, LongChainsAreEvaluatedOneMaskAtATime) {
  std::string text = "id = -1";
  for (int i = 0; i < 3000; ++i) text += " or id = " + std::to_string(100 + i);
  const auto filter = Filter::Parse(text + " or id = 3", TestScope()).ValueOrDie();
  arrow::ProxyMemoryPool pool(arrow::system_memory_pool());
  EXPECT_EQ(filter.Mask(*Rows(), &pool).ValueOrDie()->true_count(), 1);
  EXPECT_LE(pool.max_memory(), 4096);
}

}  // namespace
}  // namespace javelin::query
