// Levels of nested columns: what they mean, and that no file can say what no such column can be.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <arrow/json/from_string.h>

#include "lanceproto/encodings_v2_1.pb.h"

#include "javelin/file/file_test_support.h"
#include "javelin/file/nested_array_internal.h"
#include "javelin/file/repetition_index_internal.h"
#include "javelin/file/row_picker_internal.h"

namespace javelin::file {
namespace {

using namespace testing;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
namespace pb = lance::encodings21;
using Numbers = std::vector<uint16_t>;

class NestedTest : public ::testing::Test {
 protected:
  struct Leaf {
    std::vector<int> kinds;  // of the page
    Numbers rep;
    Numbers def;
    std::vector<int32_t> values;  // one per slot
  };

  void Append(LevelBuffer& buffer, const Numbers& levels) {
    ASSERT_TRUE(buffer.AppendBytes({reinterpret_cast<const uint8_t*>(levels.data()), levels.size() * 2}).ok());
  }
  arrow::Status AppendRows(LeafSink& sink, const Leaf& leaf, uint64_t num_rows) {
    ARROW_ASSIGN_OR_RAISE(const PageLayers page, PageLayers::Make(leaf.kinds, sink.column()));
    Levels levels(memory_);
    Append(levels.rep, leaf.rep);
    Append(levels.def, leaf.def);
    ARROW_ASSIGN_OR_RAISE(uint8_t* target, sink.values().AppendFixed(leaf.values.size()));
    std::memcpy(target, leaf.values.data(), leaf.values.size() * 4);
    return sink.AppendRows(page, std::move(levels), num_rows);
  }
  // An array of a type whose leaves are all int32, from one page for each of them.
  arrow::Result<std::shared_ptr<arrow::Array>> Make(const std::shared_ptr<arrow::DataType>& type,
                                                    const std::vector<Leaf>& pages, uint64_t num_rows) {
    ARROW_ASSIGN_OR_RAISE(const Schema schema, Schema::FromArrow(*arrow::schema({arrow::field("c", type)})));
    const Field& field = schema.fields()[0];
    ARROW_ASSIGN_OR_RAISE(const auto columns, LeafColumnsOf(field));
    std::vector<std::unique_ptr<LeafSink>> sinks;
    for (size_t i = 0; i < columns.size(); ++i) {
      sinks.push_back(std::make_unique<LeafSink>(columns[i].shape, columns[i].layers, memory_, num_rows));
      ARROW_RETURN_NOT_OK(AppendRows(*sinks.back(), pages.at(i), num_rows * PageRowsPerRow(columns[i].layers)));
    }
    ARROW_ASSIGN_OR_RAISE(auto data, AssembleField(field, sinks, num_rows, memory_));
    auto array = arrow::MakeArray(std::move(data));
    ARROW_RETURN_NOT_OK(array->ValidateFull());
    return array;
  }
  void ExpectMakes(const std::shared_ptr<arrow::DataType>& type, const std::vector<Leaf>& pages,
                   const std::string& json) {
    const auto wanted = arrow::json::ArrayFromJSONString(type, json).ValueOrDie();
    const auto made = Make(type, pages, static_cast<uint64_t>(wanted->length()));
    ASSERT_TRUE(made.ok()) << made.status().ToString();
    EXPECT_TRUE((*made)->Equals(*wanted)) << (*made)->ToString();
  }
  void ExpectRefused(const std::shared_ptr<arrow::DataType>& type, const std::vector<Leaf>& pages, uint64_t num_rows,
                     const std::string& word) {
    EXPECT_KIND(Make(type, pages, num_rows).status(), ErrorKind::kCorruption, word);
  }

  Resources resources_ = TestResources();
  SinkMemory memory_{resources_.pool, resources_.memory.get()};
};

constexpr int kItem = pb::ALL_VALID_ITEM;
constexpr int kNullItem = pb::NULLABLE_ITEM;
constexpr int kList = pb::ALL_VALID_LIST;
constexpr int kEmptyList = pb::EMPTYABLE_LIST;
constexpr int kAnyList = pb::NULL_AND_EMPTY_LIST;

const auto kInt = arrow::int32();

TEST_F(NestedTest, ListsOfNumbers) {
  ExpectMakes(arrow::list(kInt), {{{kNullItem, kAnyList}, {1, 0, 1, 1, 1}, {0, 0, 2, 3, 1}, {1, 2, 0}}},
              "[[1, 2], null, [], [null]]");
  ExpectMakes(arrow::large_list(kInt), {{{kItem, kEmptyList}, {1, 1, 1, 0}, {1, 0, 0, 0}, {7, 8, 9}}},
              "[[], [7], [8, 9]]");
  ExpectMakes(arrow::list(kInt), {{{kItem, kList}, {1, 1, 0}, {}, {7, 8, 9}}}, "[[7], [8, 9]]");
}

// The longest example of the format: docs/format.md, "Levels".
TEST_F(NestedTest, ListsInStructsInLists) {
  const auto type = arrow::list(arrow::struct_({arrow::field("x", arrow::list(kInt))}));
  ExpectMakes(type,
              {{{kNullItem, kAnyList, kNullItem, kAnyList}, {2, 0, 1, 2, 2, 2, 1}, {0, 1, 4, 6, 5, 2, 3}, {1, 0}}},
              R"([[{"x": [1, null]}, null], [], null, [{"x": null}, {"x": []}]])");
}

TEST_F(NestedTest, StructsAgree) {
  const auto type = arrow::struct_({arrow::field("x", kInt), arrow::field("y", kInt)});
  const Leaf x{{kNullItem, kNullItem}, {}, {0, 1, 2}, {5, 0, 0}};
  ExpectMakes(type, {x, {{kItem, kNullItem}, {}, {0, 0, 1}, {6, 7, 0}}},
              R"([{"x": 5, "y": 6}, {"x": null, "y": 7}, null])");
  ExpectRefused(type, {x, {{kItem, kNullItem}, {}, {0, 1, 1}, {6, 0, 0}}}, 3, "disagree");
  ExpectRefused(type, {x, {{kItem, kItem}, {}, {}, {6, 7, 8}}}, 3, "disagree");
  ExpectRefused(type, {x, {{kItem, kNullItem}, {}, {0, 0, 1}, {6, 7}}}, 3, "2 values were decoded for 3");
}

TEST_F(NestedTest, MapsAreListsOfEntries) {
  const auto type = arrow::map(kInt, kInt);
  const Leaf keys{{kItem, kItem, kEmptyList}, {1, 0, 1}, {0, 0, 1}, {1, 2}};
  ExpectMakes(type, {keys, {{kNullItem, kItem, kEmptyList}, {1, 0, 1}, {0, 1, 2}, {3, 0}}},
              "[[[1, 3], [2, null]], []]");
  ExpectRefused(type, {keys, {{kItem, kItem, kEmptyList}, {1, 1, 0}, {1, 0, 0}, {3, 4}}}, 2,
                "disagree about its lists");
}

TEST_F(NestedTest, FixedSizeListsOfStructs) {
  const auto type = arrow::fixed_size_list(arrow::struct_({arrow::field("x", kInt)}), 2);
  const Leaf page{{kNullItem, kNullItem, kNullItem}, {}, {0, 0, 3, 3, 1, 2}, {1, 2, 0, 0, 0, 0}};
  ExpectMakes(type, {page}, R"([[{"x": 1}, {"x": 2}], null, [{"x": null}, null]])");
  Leaf torn = page;
  torn.def = {0, 0, 3, 0, 1, 0};
  ExpectRefused(type, {torn}, 3, "disagree about whether it is null");
}

TEST_F(NestedTest, LevelsThatNoColumnHas) {
  const auto list = arrow::list(kInt);
  ExpectRefused(list, {{{kItem, kEmptyList}, {1, 0}, {1, 0}, {7}}}, 1, "that has no items goes on");
  ExpectRefused(list, {{{kItem, kEmptyList}, {1, 0}, {0, 1}, {7}}}, 1, "that has no items goes on");
  ExpectRefused(list, {{{kItem, kEmptyList}, {0, 1}, {0, 0}, {7, 8}}}, 1, "begins with repetition level 0");
  ExpectRefused(list, {{{kItem, kEmptyList}, {1, 2}, {0, 0}, {7, 8}}}, 2, "repetition level 2");
  ExpectRefused(list, {{{kItem, kEmptyList}, {1, 1}, {0, 2}, {7}}}, 2, "definition level 2");
  ExpectRefused(list, {{{kItem, kEmptyList}, {1, 1}, {0}, {7}}}, 2, "2 repetition levels and 1 definition");
  ExpectRefused(list, {{{kItem, kEmptyList}, {}, {0, 0}, {7, 8}}}, 2, "no repetition levels");
  ExpectRefused(list, {{{kItem, kList}, {1, 1}, {}, {7, 8}}}, 3, "3 rows were asked");
  ExpectRefused(list, {{{kItem, kList}, {1, 1}, {}, {7}}}, 2, "1 values were decoded for 2");
  ExpectRefused(list, {{{kItem}, {}, {}, {7}}}, 1, "1 layers, its column has 2");
  ExpectRefused(list, {{{kItem, kItem}, {}, {}, {7}}}, 1, "layer 1");
  ExpectRefused(list, {{{kItem, 7}, {}, {}, {7}}}, 1, "unknown kind 7");
}

TEST_F(NestedTest, PagesOfOneColumnMayDifferInTheirLayers) {
  const auto type = arrow::list(kInt);
  const Schema schema = Schema::FromArrow(*arrow::schema({arrow::field("c", type)})).ValueOrDie();
  const auto columns = LeafColumnsOf(schema.fields()[0]).ValueOrDie();
  std::vector<std::unique_ptr<LeafSink>> sinks;
  sinks.push_back(std::make_unique<LeafSink>(columns[0].shape, columns[0].layers, memory_, 0));
  ASSERT_TRUE(AppendRows(*sinks[0], {{kItem, kList}, {1, 0}, {}, {1, 2}}, 1).ok());
  ASSERT_TRUE(AppendRows(*sinks[0], {{kNullItem, kAnyList}, {1, 1, 1}, {2, 3, 1}, {0}}, 3).ok());
  ASSERT_TRUE(AppendRows(*sinks[0], {{kItem, kEmptyList}, {1, 1}, {1, 0}, {5}}, 2).ok());
  const auto array = arrow::MakeArray(AssembleField(schema.fields()[0], sinks, 6, memory_).ValueOrDie());
  EXPECT_TRUE(
      array->Equals(*arrow::json::ArrayFromJSONString(type, "[[1, 2], null, [], [null], [], [5]]").ValueOrDie()))
      << array->ToString();
}

// ---- rows among levels ----

TEST_F(NestedTest, RowsArePickedRunByRun) {
  const PageLayers page =
      PageLayers::Make(std::vector<int>{kNullItem, kAnyList}, {ColumnLayer{}, {.is_list = true, .offset_bits = 32}})
          .ValueOrDie();
  const std::vector<Slice> rows = {{1, 1}, {3, 2}};
  RowPicker picker(page, rows, 0);
  Levels kept(memory_);
  LevelBuffer value_levels(memory_);
  std::vector<Slice> values;
  // Rows: 0 = [a, b], 1 = [c, | d], 2 = null, 3 = [e], 4 = [], 5 = [f]
  EXPECT_EQ(picker.Pick(Numbers{1, 0, 1}, Numbers{0, 0, 0}, kept, &values, &value_levels).ValueOrDie().values, 3u);
  EXPECT_THAT(values, ElementsAre(Slice{2, 1}));
  EXPECT_EQ(picker.begun(), 2u);
  values.clear();
  const RowPicker::Counts counts =
      picker.Pick(Numbers{0, 1, 1, 1, 1}, Numbers{1, 2, 0, 3, 0}, kept, &values, &value_levels).ValueOrDie();
  EXPECT_EQ(counts.values, 3u);
  EXPECT_EQ(counts.wanted, 2u);
  EXPECT_THAT(values, ElementsAre(Slice{0, 2}));
  EXPECT_EQ(picker.begun(), 6u);
  const auto all = [](LevelBuffer& buffer) { return Numbers(buffer.levels().begin(), buffer.levels().end()); };
  EXPECT_THAT(all(kept.rep), ElementsAre(1, 0, 1, 1));
  EXPECT_THAT(all(kept.def), ElementsAre(0, 1, 0, 3));
  EXPECT_THAT(all(value_levels), ElementsAre(0, 1, 0));
}

arrow::Result<RepetitionIndex> IndexOf(const std::vector<uint64_t>& numbers, size_t chunks, uint64_t rows) {
  return RepetitionIndex::Parse({reinterpret_cast<const uint8_t*>(numbers.data()), numbers.size() * 8}, chunks, rows);
}

TEST(RepetitionIndexTest, ChunksOfRows) {
  // Row 0 and the beginning of 1 | the rest of 1, which ends with the chunk | nothing ends: 2 goes on | 2 ends, 3
  // and 4.
  const RepetitionIndex index = IndexOf({1, 5, 1, 0, 0, 7, 3, 0}, 4, 5).ValueOrDie();
  EXPECT_EQ(index.ChunksOf({0, 1}), (Slice{0, 1}));
  EXPECT_EQ(index.ChunksOf({1, 1}), (Slice{0, 2}));
  EXPECT_EQ(index.ChunksOf({0, 2}), (Slice{0, 2}));
  EXPECT_EQ(index.ChunksOf({2, 1}), (Slice{2, 2}));
  EXPECT_EQ(index.ChunksOf({3, 2}), (Slice{3, 1}));
  EXPECT_EQ(index.ChunksOf({1, 3}), (Slice{0, 4}));
  EXPECT_EQ(index.ChunksOf({0, 5}), (Slice{0, 4}));
  EXPECT_EQ(index.rows_before(3), 3u);
}

TEST(RepetitionIndexTest, WhatDoesNotAddUpIsRefused) {
  const auto refused = [](const std::vector<uint64_t>& numbers, size_t chunks, uint64_t rows, const std::string& word) {
    EXPECT_KIND(IndexOf(numbers, chunks, rows).status(), ErrorKind::kCorruption, word);
  };
  refused({1, 0}, 2, 1, "2 chunks has 16 bytes");
  refused({1, 0, 0}, 1, 1, "has 24 bytes");
  refused({2, 0}, 1, 1, "2 rows end in chunk 0");
  refused({UINT64_MAX, 0, 2, 0}, 2, 1, "rows end in chunk 0");
  refused({1, 0}, 1, 2, "ends 1 rows early");
  refused({1, 3}, 1, 1, "early");
  refused({0, 3, 0, 0}, 2, 1, "end in chunk 1");
}

}  // namespace
}  // namespace javelin::file
