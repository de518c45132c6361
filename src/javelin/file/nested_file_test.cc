// Nested columns of our writer through our reader, and the pages that lists of few values become.
#include <arrow/json/from_string.h>
#include <gmock/gmock.h>

#include "javelin/file/nested_test_support.h"
#include "javelin/file/page_encoder_internal.h"

namespace javelin::file {
namespace {

using namespace testing;
using ::testing::ElementsAre;

class NestedFileTest : public ::testing::Test {
 protected:
  WrittenFile Write(const arrow::RecordBatchVector& batches, DataFileWriteOptions options = {}) {
    auto file = WriteFile(resources_, batches, options);
    EXPECT_TRUE(file.ok()) << file.status().ToString();
    return file.ok() ? *file : WrittenFile{};
  }

  // Whole, a range of rows, and rows by number.
  void ExpectReadsAs(const WrittenFile& file, const std::shared_ptr<arrow::Array>& expected, RandomNested& random) {
    auto reader = DataFileReader::Open(resources_, StoreOf(file.bytes), "f.lance").ValueOrDie();
    EXPECT_EQ(reader->schema(), file.schema);
    const ColumnOfField columns = reader->DefaultColumns();
    const auto length = static_cast<uint64_t>(expected->length());
    ExpectSame(*expected, reader->Read(file.schema, columns, 0, length));
    if (length == 0) return;
    const uint64_t first = random.Below(length);
    const uint64_t count = random.Below(length - first + 1);
    ExpectSame(*expected->Slice(static_cast<int64_t>(first), static_cast<int64_t>(count)),
               reader->Read(file.schema, columns, first, count));
    std::vector<uint64_t> rows;
    arrow::ArrayVector taken;
    for (int i = 0; i < 8; ++i) {
      rows.push_back(random.Below(length));
      taken.push_back(expected->Slice(static_cast<int64_t>(rows.back()), 1));
    }
    ExpectSame(*arrow::Concatenate(taken).ValueOrDie(), reader->Take(file.schema, columns, rows));
  }

  static void ExpectSame(const arrow::Array& expected,
                         const arrow::Result<std::shared_ptr<arrow::RecordBatch>>& actual) {
    ASSERT_TRUE(actual.ok()) << actual.status().ToString();
    const arrow::Status valid = (*actual)->ValidateFull();
    ASSERT_TRUE(valid.ok()) << valid.ToString();
    ASSERT_TRUE(Same(expected, *(*actual)->column(0))) << expected.Slice(0, 10)->ToString() << "\n"
                                                       << (*actual)->column(0)->Slice(0, 10)->ToString();
  }

  std::vector<EncodedPage> Pages(const std::shared_ptr<arrow::Array>& array) {
    const Schema schema = Schema::FromArrow(*arrow::schema({arrow::field("c", array->type())})).ValueOrDie();
    const LeafPath path = LeafPathsOf(schema.fields()[0]).ValueOrDie().at(0);
    const ValueShape shape = ShapeOf(*path.leaf.type).ValueOrDie();
    return EncodeNestedPages(path, shape, {array->data()}, /*only_page=*/true, {.pool = resources_.pool}).ValueOrDie();
  }

  Resources resources_ = TestResources();
};

// One value in `every` lists, the others empty.
std::shared_ptr<arrow::Array> SparseLists(const std::shared_ptr<arrow::Array>& items, int64_t length, int64_t every) {
  std::vector<int32_t> offsets = {0};
  for (int64_t i = 0; i < length; ++i) offsets.push_back(offsets.back() + (i % every == every - 1));
  EXPECT_LE(offsets.back(), items->length());
  return arrow::MakeArray(arrow::ArrayData::Make(
      arrow::list(items->type()), length, {nullptr, arrow::Buffer::FromVector(std::move(offsets))}, {items->data()}));
}

class NestedFileOfEachVersion : public NestedFileTest, public ::testing::WithParamInterface<FileVersion> {};
INSTANTIATE_TEST_SUITE_P(DataFiles, NestedFileOfEachVersion, ::testing::ValuesIn(kWrittenVersions), VersionName);

TEST_P(NestedFileOfEachVersion, RandomNestingComesBackWholeInRangesAndByRow) {
  RandomNested random(20260107, GetParam());
  for (int round = 0; round < 250; ++round) {
    std::shared_ptr<arrow::DataType> type = random.StructList(static_cast<int>(random.Below(3)));
    while (round % 5 != 0 || GetParam() < FileVersion{2, 2}) {
      type = random.Type(1 + static_cast<int>(random.Below(4)));
      if (type->num_fields() > 0 && type->id() != arrow::Type::FIXED_SIZE_LIST) break;
    }
    const RandomNested::Shape shape{.null_part = std::array{0.0, 0.1, 0.7, 1.0}[random.Below(4)],
                                    .empty_part = std::array{0.0, 0.3, 0.95, 1.0}[random.Below(4)],
                                    .max_items = std::array<uint64_t, 2>{3, 20}[random.Below(2)],
                                    .spread = kSpreads[random.Below(6)]};
    const int64_t length = std::array<int64_t, 5>{0, 1, 3, 40, 400}[random.Below(5)];
    const uint64_t page_bytes = std::array<uint64_t, 3>{700, 20000, 8u << 20}[random.Below(3)];
    SCOPED_TRACE(fmt::format("round {}: {} rows of {}, {} null, {} empty, pages of {}", round, length, type->ToString(),
                             shape.null_part, shape.empty_part, page_bytes));
    auto array = random.Make(type, length, shape);
    auto batch = OneColumn(array);
    WrittenFile file = Write({batch->Slice(0, length / 3), batch->Slice(length / 3)},
                             {.version = GetParam(), .page_bytes = page_bytes});
    EXPECT_EQ(file.summary.num_rows, static_cast<uint64_t>(length));
    ExpectReadsAs(file, array, random);
    if (HasFailure()) break;
  }
}

TEST_F(NestedFileTest, OneColumnForEachLeaf) {
  auto schema = arrow::schema(
      {arrow::field("id", arrow::int64()), arrow::field("l", arrow::list(arrow::utf8())),
       arrow::field("s", arrow::struct_({arrow::field("x", arrow::int8()),
                                         arrow::field("y", arrow::struct_({arrow::field("z", arrow::int8())}))})),
       arrow::field("v", arrow::fixed_size_list(arrow::float32(), 2))});
  RandomNested random(1);
  arrow::ArrayVector arrays;
  for (const auto& field : schema->fields()) arrays.push_back(random.Make(field->type(), 5, {}));
  WrittenFile file = Write({arrow::RecordBatch::Make(schema, 5, arrays)});
  EXPECT_THAT(file.summary.fields, ElementsAre(FieldId(0), FieldId(2), FieldId(4), FieldId(6), FieldId(7)));
  EXPECT_THAT(file.summary.column_indices, ElementsAre(0, 1, 2, 3, 4));
}

TEST_P(NestedFileOfEachVersion, ListsOfFewValuesComeBack) {
  RandomNested random(2);
  auto items = random.Make(arrow::int32(), 200, {.garbage = false});
  auto sparse = SparseLists(items, 70000, 1000);
  ExpectReadsAs(Write({OneColumn(sparse)}, {.version = GetParam()}), sparse, random);
  std::vector<int32_t> offsets = {0, 0, 70000};
  auto array = arrow::MakeArray(arrow::ArrayData::Make(
      arrow::list(sparse->type()), 2, {nullptr, arrow::Buffer::FromVector(std::move(offsets))}, {sparse->data()}));
  ExpectReadsAs(Write({OneColumn(array)}, {.version = GetParam()}), array, random);
}

TEST_F(NestedFileTest, SparseListsTakeMorePagesThanOne) {
  RandomNested random(2);
  auto items = random.Make(arrow::int32(), 200, {.garbage = false});
  auto array = SparseLists(items, 70000, 1000);
  const std::vector<EncodedPage> pages = Pages(array);
  ASSERT_EQ(pages.size(), 2u);
  EXPECT_EQ(pages[0].num_rows + pages[1].num_rows, 70000u);
  EXPECT_TRUE(pages[0].layout.has_mini_block_layout());
  ExpectReadsAs(Write({OneColumn(array)}), array, random);
  // As many lists, but chunks of few enough: one page.
  EXPECT_EQ(Pages(SparseLists(random.Make(arrow::int32(), 7000, {.garbage = false}), 70000, 10)).size(), 1u);
}

TEST_F(NestedFileTest, ARowOfMoreListsThanAChunkHoldsIsWrittenValueByValue) {
  RandomNested random(3);
  for (const auto& type :
       {arrow::int32(), arrow::utf8(), arrow::boolean(), arrow::fixed_size_list(arrow::int16(), 2)}) {
    SCOPED_TRACE(type->ToString());
    auto lists = SparseLists(random.Make(type, 3, {.spread = Spread::kSequence, .garbage = false}), 90000, 30000);
    std::vector<int32_t> offsets = {0, 0, 90000};
    auto array = arrow::MakeArray(arrow::ArrayData::Make(
        arrow::list(lists->type()), 2, {nullptr, arrow::Buffer::FromVector(std::move(offsets))}, {lists->data()}));
    const std::vector<EncodedPage> pages = Pages(array);
    ASSERT_EQ(pages.size(), 2u);
    EXPECT_TRUE(pages[1].layout.has_full_zip_layout());
    ExpectReadsAs(Write({OneColumn(array)}), array, random);
  }
}

TEST_F(NestedFileTest, WideValuesInListsAreWrittenValueByValue) {
  RandomNested random(4);
  for (const auto& leaf : {arrow::fixed_size_list(arrow::float32(), 128), arrow::fixed_size_binary(300)}) {
    auto array = random.Make(arrow::list(leaf), 300, {.null_part = 0.2, .empty_part = 0.2});
    const std::vector<EncodedPage> pages = Pages(array);
    ASSERT_EQ(pages.size(), 1u);
    const pb::FullZipLayout& layout = pages[0].layout.full_zip_layout();
    EXPECT_EQ(layout.bits_rep(), 1u);
    EXPECT_EQ(layout.bits_def(), 2u);
    EXPECT_GT(layout.num_items(), layout.num_visible_items());
    EXPECT_EQ(pages[0].buffers.size(), 2u);
    ExpectReadsAs(Write({OneColumn(array)}), array, random);
  }
}

TEST_F(NestedFileTest, ListsWithoutAnyValueAreConstant) {
  auto type = arrow::list(arrow::int32());
  auto array = arrow::json::ArrayFromJSONString(type, "[[], null, [], []]").ValueOrDie();
  const std::vector<EncodedPage> pages = Pages(array);
  ASSERT_EQ(pages.size(), 1u);
  const pb::ConstantLayout& layout = pages[0].layout.constant_layout();
  EXPECT_THAT(layout.layers(), ElementsAre(pb::ALL_VALID_ITEM, pb::NULL_AND_EMPTY_LIST));
  EXPECT_EQ(layout.num_rep_values(), 4u);
  EXPECT_EQ(layout.num_def_values(), 4u);
}

// Version 2.0 has no place for them; other batches of the file are none the worse.
TEST_F(NestedFileTest, NullStructsAreRefusedIn2_0) {
  const auto type = arrow::list(arrow::struct_({arrow::field("x", arrow::int32())}));
  const auto field = arrow::field("l", type);
  auto bytes = std::make_shared<std::string>();
  const Schema schema = Schema::FromArrow(*arrow::schema({field})).ValueOrDie();
  auto writer =
      DataFileWriter::Make(resources_, std::make_unique<BytesWriter>(bytes), schema, {.version = {2, 0}}).ValueOrDie();
  auto batch = [&](std::string_view json) {
    auto array = arrow::json::ArrayFromJSONString(type, json).ValueOrDie();
    return arrow::RecordBatch::Make(arrow::schema({field}), array->length(), {array});
  };
  const auto status = writer->Write(*batch(R"([[{"x": 1}], [{"x": 2}, null]])"));
  EXPECT_KIND(status, ErrorKind::kInvalidInput, "null struct");
  EXPECT_EQ(FieldsOf(status)["column"], "l.item");
  // Null lists, also with null structs behind them, and structs of nulls.
  auto hidden = batch(R"([[{"x": 1}, null], [{"x": null}], []])")->column_data(0)->Copy();
  hidden->buffers[0] = arrow::Buffer::FromString(std::string(1, '\6'));
  hidden->null_count = 1;
  const auto good = arrow::RecordBatch::Make(arrow::schema({field}), 3, {arrow::MakeArray(hidden)});
  ASSERT_TRUE(writer->Write(*good).ok());
  WrittenFile file{.summary = writer->Finish().ValueOrDie(), .schema = schema};
  file.bytes = *bytes;
  EXPECT_EQ(file.summary.num_rows, 3u);
  EXPECT_THAT(file.summary.fields, ElementsAre(FieldId(0), FieldId(1), FieldId(2)));
  RandomNested random(5);
  ExpectReadsAs(file, arrow::json::ArrayFromJSONString(type, R"([null, [{"x": null}], []])").ValueOrDie(), random);
}

std::shared_ptr<arrow::RecordBatch> ColumnOf(const std::shared_ptr<arrow::Field>& field,
                                             const std::shared_ptr<arrow::Array>& array) {
  return arrow::RecordBatch::Make(arrow::schema({field}), array->length(), {array});
}

TEST_F(NestedFileTest, PackedStructsComeBack) {
  RandomNested random(20260111);
  for (int round = 0; round < 60; ++round) {
    auto field = random.Packed("c");
    const int64_t length = std::array<int64_t, 4>{0, 1, 3, 5000}[round % 4];
    auto array = random.Make(field->type(), length, {.null_part = std::array{0.0, 0.3, 1.0}[round % 3]});
    SCOPED_TRACE(fmt::format("round {}: {} rows of {}", round, length, field->type()->ToString()));
    auto batch = ColumnOf(field, array);
    ExpectReadsAs(Write({batch->Slice(0, length / 3), batch->Slice(length / 3)}, {.page_bytes = 10000}), array, random);
    if (HasFailure()) break;
  }
}

TEST_F(NestedFileTest, OnlyTheWholeOfAPackedStructCanBeNull) {
  RandomNested random(1);
  auto packed = arrow::key_value_metadata({{"lance-encoding:packed", "true"}});
  auto vector = arrow::fixed_size_list(arrow::int8(), 2);
  auto field =
      arrow::field("p", arrow::struct_({arrow::field("x", arrow::utf8()), arrow::field("v", vector)}), true, packed);
  auto write = [&](const std::string& rows) {
    return WriteFile(resources_, {ColumnOf(field, arrow::json::ArrayFromJSONString(field->type(), rows).ValueOrDie())})
        .status();
  };
  EXPECT_TRUE(write(R"([{"x": "a", "v": [1, 2]}, null])").ok());
  auto nulls = arrow::MakeArrayOfNull(field->type(), 3).ValueOrDie();  // at every level
  EXPECT_TRUE(WriteFile(resources_, {ColumnOf(field, nulls)}).ok());
  EXPECT_KIND(write(R"([{"x": null, "v": [1, 2]}])"), ErrorKind::kInvalidInput, "'p.x' has a null");
  EXPECT_KIND(write(R"([{"x": "a", "v": null}])"), ErrorKind::kInvalidInput, "'p.v' has a null");
  EXPECT_KIND(write(R"([{"x": "a", "v": [1, null]}])"), ErrorKind::kInvalidInput, "'p.v.item' has a null");
  for (const auto& type : {arrow::boolean(), arrow::list(arrow::int8()), arrow::struct_({}), arrow::null()}) {
    auto bad = arrow::field("p", arrow::struct_({arrow::field("x", type)}), true, packed);
    EXPECT_KIND(CheckWritable(Schema::FromArrow(*arrow::schema({bad})).ValueOrDie(), {2, 2}), ErrorKind::kNotSupported,
                "'x'");
  }
}

TEST_F(NestedFileTest, StructsWithoutFieldsAreNeverNull) {
  RandomNested random(1);
  auto empty = arrow::struct_({});
  auto around = arrow::struct_({arrow::field("x", arrow::int32()), arrow::field("e", empty)});
  for (int64_t length : {0, 1, 3, 5000}) {
    auto rows = random.Make(empty, length, {});
    ExpectReadsAs(Write({OneColumn(rows)}), rows, random);
  }
  for (int64_t length : {1, 3, 5000}) {
    auto rows = random.Make(arrow::struct_({arrow::field("s", around)}), length, {});
    ExpectReadsAs(Write({OneColumn(rows)}), rows, random);
  }
  auto write = [&](const std::shared_ptr<arrow::DataType>& type, const std::string& rows) {
    return WriteFile(resources_, {OneColumn(arrow::json::ArrayFromJSONString(type, rows).ValueOrDie())}).status();
  };
  EXPECT_TRUE(write(around, R"([{"e": {}, "x": null}, {"e": {}, "x": 1}])").ok());
  EXPECT_KIND(write(empty, "[{}, null]"), ErrorKind::kInvalidInput, "'c' has a null");
  EXPECT_KIND(write(around, R"([{"e": {}, "x": 1}, null])"), ErrorKind::kInvalidInput, "'c' has a null");
  EXPECT_KIND(write(around, R"([{"e": null, "x": 1}])"), ErrorKind::kInvalidInput, "'c.e' has a null");
}

TEST_F(NestedFileTest, PagesOfFixedSizeListsOfStructsCountItems) {
  RandomNested random(9);
  auto type = arrow::fixed_size_list(arrow::struct_({arrow::field("x", arrow::int64())}), 3);
  auto array = random.Make(type, 1000, {.null_part = 0.2});
  for (const EncodedPage& page : Pages(array)) {
    EXPECT_EQ(page.num_rows, 1000u);
    EXPECT_EQ(page.layout.mini_block_layout().num_items(), 3000u);
  }
  for (int64_t first = 0; first < 20; ++first) {
    auto slice = array->Slice(first, 100 + first);
    ExpectReadsAs(Write({OneColumn(slice)}, {.page_bytes = 900}), slice, random);
  }
}

// Pages without any value, whose levels are looked at block by block: rows that begin, lie or go on in any of them.
TEST_F(NestedFileTest, RowsOfListsWithoutItemsInAnyBlockOfLevels) {
  RandomNested random(29);
  const auto empty = arrow::list(arrow::int64());
  for (const auto& type : {empty, arrow::list(empty), arrow::list(arrow::struct_({arrow::field("l", empty)}))}) {
    std::shared_ptr<arrow::Array> lists;
    if (type != empty) {  // outer lists with items, of which each is null
      auto items = random.Make(type->field(0)->type(), 30'000, {.null_part = 1});
      std::vector<int32_t> ends = {0};
      for (int i = 0; i < 3000; ++i) ends.push_back(i == 1000 ? 15'000 : std::min(30'000, ends.back() + i % 7));
      lists = arrow::MakeArray(
          arrow::ArrayData::Make(type, 3000, {nullptr, arrow::Buffer::FromVector(std::move(ends))}, {items->data()}));
    } else {
      lists = random.Make(type, 20'000, {.null_part = 0.5, .empty_part = 1});
    }
    for (const FileVersion version : {FileVersion{2, 1}, FileVersion{2, 2}}) {
      const WrittenFile file = Write({OneColumn(lists)}, {.version = version});
      for (int round = 0; round < 20; ++round) ExpectReadsAs(file, lists, random);
    }
  }
}

TEST_F(NestedFileTest, NullsInsideMustBeAllowed) {
  auto type = arrow::struct_({arrow::field("x", arrow::int32(), false)});
  auto field = arrow::field("s", type);
  auto out = std::make_shared<std::string>();
  const Schema schema = Schema::FromArrow(*arrow::schema({field})).ValueOrDie();
  auto writer = DataFileWriter::Make(resources_, std::make_unique<BytesWriter>(out), schema).ValueOrDie();
  auto loose = arrow::struct_({arrow::field("x", arrow::int32())});
  auto array = arrow::json::ArrayFromJSONString(loose, R"([{"x": 1}, {"x": null}])").ValueOrDie();
  auto batch = arrow::RecordBatch::Make(arrow::schema({arrow::field("s", loose)}), 2, {array});
  EXPECT_KIND(writer->Write(*batch), ErrorKind::kInvalidInput, "'s.x'");
  // Below a null struct it does not matter, and the refused batch left nothing behind.
  auto good = arrow::json::ArrayFromJSONString(loose, R"([{"x": 1}, null])").ValueOrDie();
  ASSERT_TRUE(writer->Write(*arrow::RecordBatch::Make(arrow::schema({arrow::field("s", loose)}), 2, {good})).ok());
  EXPECT_EQ(writer->Finish().ValueOrDie().num_rows, 2u);
}

}  // namespace
}  // namespace javelin::file
