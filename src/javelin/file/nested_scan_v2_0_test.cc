// Columns of lists of version 2.0 by their bytes; the released peer reads the good ones alike.
#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>

#include <arrow/json/from_string.h>

#include "lanceproto/encodings_v2_0.pb.h"

#include "javelin/file/crafted_page_internal.h"
#include "javelin/file/file_test_support.h"
#include "javelin/file/nested_array_internal.h"
#include "javelin/file/nested_scan_v2_0_internal.h"

namespace javelin::file {
namespace {

using namespace testing;

struct TestPage {
  uint64_t rows = 0;
  std::string encoding;  // in text form
  std::vector<std::string> buffers;
};

TestPage ListPage(std::vector<uint64_t> ends, uint64_t adjustment, uint64_t items) {
  return {ends.size(),
          fmt::format("list {{ offsets {{ flat {{ bits_per_value: 64 buffer {{}} }} }} null_offset_adjustment: {} "
                      "num_items: {} }}",
                      adjustment, items),
          {std::string(reinterpret_cast<const char*>(ends.data()), ends.size() * 8)}};
}
TestPage BytePage(const std::string& bytes) {
  return {bytes.size(), "nullable { no_nulls { values { flat { bits_per_value: 8 buffer {} } } } }", {bytes}};
}
TestPage NullPage(uint64_t rows) { return {rows, "nullable { all_nulls {} }", {}}; }

class NestedV20Test : public ::testing::Test {
 protected:
  ColumnMetadata Column(const std::vector<TestPage>& pages) {
    ColumnMetadata column;
    for (const TestPage& page : pages) {
      lance::encodings::ArrayEncoding encoding;
      EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(page.encoding, &encoding));
      PageMetadata metadata{.first_row = column.num_rows,
                            .num_rows = page.rows,
                            .encoding_name = encoding.GetTypeName(),
                            .encoding = encoding.SerializeAsString()};
      for (const std::string& buffer : page.buffers) {
        metadata.buffers.push_back({bytes_.size(), buffer.size()});
        bytes_ += buffer;
      }
      column.num_rows += page.rows;
      column.pages.push_back(std::move(metadata));
    }
    return column;
  }

  // Reads rows of a field of one leaf. `columns`: of its lists, the outermost first, and of the leaf.
  arrow::Result<std::shared_ptr<arrow::Array>> Read(const std::shared_ptr<arrow::DataType>& type,
                                                    const std::vector<ColumnMetadata>& columns, uint64_t num_rows,
                                                    std::vector<Slice> rows = {}) {
    ARROW_ASSIGN_OR_RAISE(const Schema schema, Schema::FromArrow(*arrow::schema({arrow::field("c", type)})));
    ARROW_ASSIGN_OR_RAISE(const auto leaves, LeafColumnsOf(schema.fields()[0]));
    const LeafColumn& leaf = leaves.at(0);
    EXPECT_EQ(leaf.lists.size() + 1, columns.size());
    auto environment = std::make_shared<PageEnvironment>(resources_);
    NestedLeaf20 nested{.values = &columns.back(), .layers = leaf.layers};
    for (size_t i = 0; i + 1 < columns.size(); ++i) nested.lists.push_back(&columns[i]);
    nested.page = [&](size_t page) {
      return MakePageReader({columns.back().pages.at(page), {2, 0}, leaf.shape, leaf.layers, environment});
    };
    if (rows.empty()) rows = {{0, num_rows}};
    ARROW_ASSIGN_OR_RAISE(auto scan, ScanNested20(std::move(nested), rows, num_rows));
    ARROW_ASSIGN_OR_RAISE(rounds_, SupplyFrom(bytes_, *scan, resources_.pool));
    SinkMemory memory(resources_.pool, resources_.memory.get());
    std::vector<std::unique_ptr<LeafSink>> sinks;
    sinks.push_back(std::make_unique<LeafSink>(leaf.shape, leaf.layers, memory, TotalCount(rows)));
    Decompressor decompressor;
    DecodeContext context(memory, decompressor);
    ARROW_RETURN_NOT_OK(scan->Decode(context, *sinks[0]));
    ARROW_ASSIGN_OR_RAISE(auto data, AssembleField(schema.fields()[0], sinks, TotalCount(rows), memory));
    auto array = arrow::MakeArray(data);
    ARROW_RETURN_NOT_OK(array->ValidateFull());
    return array;
  }

  static std::shared_ptr<arrow::Array> Json(const std::shared_ptr<arrow::DataType>& type, const std::string& text) {
    return arrow::json::ArrayFromJSONString(type, text).ValueOrDie();
  }

  Resources resources_ = TestResources(int64_t{1} << 24);
  std::string bytes_;
  int rounds_ = 0;
};

TEST_F(NestedV20Test, ListsOverSeveralPages) {
  const auto type = arrow::list(arrow::int8());
  // Pages of lists and of their items are cut independently.
  const std::vector<ColumnMetadata> columns = {
      Column({ListPage({1, 2, 4}, 5, 4), ListPage({2, 5}, 3, 2), ListPage({3}, 4, 3)}),
      Column({BytePage("\1\2"), BytePage("\3\4\5"), BytePage("\6\7\x08\x09")})};
  const auto expected = Json(type, "[[1], [2], [3, 4], [5, 6], null, [7, 8, 9]]");
  EXPECT_TRUE(Read(type, columns, 6).ValueOrDie()->Equals(expected));
  EXPECT_EQ(rounds_, 2);
  for (int64_t first = 0; first < 6; ++first) {
    for (int64_t count = 1; first + count <= 6; ++count) {
      const std::vector<Slice> rows = {{static_cast<uint64_t>(first), static_cast<uint64_t>(count)}};
      EXPECT_TRUE(Read(type, columns, 6, rows).ValueOrDie()->Equals(expected->Slice(first, count)));
    }
  }
  EXPECT_TRUE(Read(type, columns, 6, {{0, 1}, {2, 1}, {4, 2}})
                  .ValueOrDie()
                  ->Equals(Json(type, "[[1], [3, 4], null, [7, 8, 9]]")));
}

TEST_F(NestedV20Test, ListsOfStructsOfLists) {
  const auto type = arrow::large_list(arrow::struct_({arrow::field("x", arrow::list(arrow::int8()))}));
  const std::vector<ColumnMetadata> columns = {Column({ListPage({2, 6, 2, 3}, 4, 3)}),
                                               Column({ListPage({1, 5, 3}, 4, 3)}), Column({BytePage("\1\2\3")})};
  EXPECT_TRUE(Read(type, columns, 4)
                  .ValueOrDie()
                  ->Equals(Json(type, R"([[{"x": [1]}, {"x": null}], null, [], [{"x": [2, 3]}]])")));
  EXPECT_EQ(rounds_, 3);
  // Nothing inside is asked for where there is nothing.
  EXPECT_TRUE(Read(type, columns, 4, {{1, 2}}).ValueOrDie()->Equals(Json(type, "[null, []]")));
  EXPECT_EQ(rounds_, 1);
}

TEST_F(NestedV20Test, ColumnsThatContradictEachOther) {
  const auto type = arrow::list(arrow::int8());
  const auto read = [&](const std::vector<TestPage>& lists, const std::vector<TestPage>& items, uint64_t rows = 2) {
    return Read(type, {Column(lists), Column(items)}, rows).status();
  };
  EXPECT_TRUE(read({ListPage({1, 2}, 3, 2)}, {BytePage("ab")}).ok());
  EXPECT_KIND(read({ListPage({1, 2}, 3, 2)}, {BytePage("abc")}), ErrorKind::kCorruption, "values have 3 rows");
  EXPECT_KIND(read({ListPage({1, 2}, 3, 2)}, {BytePage("ab")}, 3), ErrorKind::kCorruption, "lists have 2 rows");
  EXPECT_KIND(read({ListPage({2, 1}, 3, 2)}, {BytePage("ab")}), ErrorKind::kCorruption, "do not ascend");
  EXPECT_KIND(read({ListPage({1, 3}, 9, 2)}, {BytePage("ab")}), ErrorKind::kCorruption, "items 0 to 3 of 2");
  EXPECT_KIND(read({ListPage({3, 1}, 9, 2)}, {BytePage("ab")}), ErrorKind::kCorruption, "do not ascend");
  EXPECT_KIND(read({ListPage({1, 2}, 2, 2)}, {BytePage("ab")}), ErrorKind::kCorruption, "marks a null");
  EXPECT_KIND(read({ListPage({1, 2}, 0, 0)}, {}), ErrorKind::kCorruption, "marks a null");
  EXPECT_KIND(read({BytePage("ab")}, {BytePage("ab")}), ErrorKind::kCorruption, "stands for lists");
  EXPECT_KIND(read({ListPage({1}, 3, 1), ListPage({1}, 0, ~uint64_t{0})}, {BytePage("ab")}), ErrorKind::kCorruption,
              "page 1 of its lists");
  TestPage cut = ListPage({1, 2}, 3, 2);
  cut.buffers[0].pop_back();
  EXPECT_KIND(read({cut}, {BytePage("ab")}), ErrorKind::kCorruption, "page 0 of its lists");
  EXPECT_KIND(read({ListPage({1, 2}, 3, 2)}, {{2, "struct {}", {}}}), ErrorKind::kNotSupported, "page 0 of its values");
}

TEST_F(NestedV20Test, ItemsWithoutBytesTakeMemoryWithinTheBudget) {
  constexpr uint64_t kMany = uint64_t{1} << 40;
  EXPECT_KIND(
      Read(arrow::list(arrow::int8()), {Column({ListPage({kMany}, kMany + 1, kMany)}), Column({NullPage(kMany)})}, 1)
          .status(),
      ErrorKind::kOutOfMemory, "");
  EXPECT_EQ(resources_.memory->used(), 0);
}

TEST_F(NestedV20Test, ListsInTooManyOthersAreRefused) {
  auto type = arrow::int8();
  std::vector<ColumnMetadata> columns;
  for (int i = 0; i <= PageScan::kMaxLists; ++i) {
    type = arrow::list(type);
    columns.push_back(Column({ListPage({1}, 2, 1)}));
  }
  columns.push_back(Column({BytePage("a")}));
  EXPECT_KIND(Read(type, columns, 1).status(), ErrorKind::kNotSupported, "more than 32");
  columns.erase(columns.begin());
  const auto inner = static_cast<const arrow::ListType&>(*type).value_type();
  EXPECT_TRUE(Read(inner, columns, 1).ok());
  EXPECT_EQ(rounds_, PageScan::kMaxLists + 1);
}

}  // namespace
}  // namespace javelin::file
