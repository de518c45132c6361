// Arrow dictionary columns of our writer through our reader, and the dictionaries that their pages have.
#include <arrow/json/from_string.h>
#include <gmock/gmock.h>

#include "javelin/file/container_internal.h"
#include "javelin/file/dictionary_column_internal.h"
#include "javelin/file/nested_test_support.h"

namespace javelin::file {
namespace {

using namespace testing;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Le;
using ::testing::SizeIs;

std::shared_ptr<arrow::Array> Words(const std::string& items, const std::string& indices,
                                    const std::shared_ptr<arrow::DataType>& index_type = arrow::int8()) {
  return arrow::DictionaryArray::FromArrays(arrow::dictionary(index_type, arrow::utf8()),
                                            arrow::json::ArrayFromJSONString(index_type, indices).ValueOrDie(),
                                            arrow::json::ArrayFromJSONString(arrow::utf8(), items).ValueOrDie())
      .ValueOrDie();
}

class DictionaryColumnTest : public ::testing::Test {
 protected:
  static std::vector<EncodedPage> Pages(const LeafPieces& pieces) {
    const Schema schema = Schema::FromArrow(*arrow::schema({arrow::field("c", pieces[0]->type)})).ValueOrDie();
    const LeafPath path = LeafPathsOf(schema.fields()[0]).ValueOrDie().at(0);
    return EncodeNestedPages(path, StoredShapeOf(path).ValueOrDie(), pieces, /*only_page=*/true,
                             {.pool = arrow::default_memory_pool()})
        .ValueOrDie();
  }

  void ExpectComesBack(const arrow::RecordBatchVector& batches, const DataFileWriteOptions& options = {}) {
    auto file = WriteFile(resources_, batches, options);
    ASSERT_TRUE(file.ok()) << file.status().ToString();
    auto reader = DataFileReader::Open(resources_, StoreOf(file->bytes), "f.lance").ValueOrDie();
    uint64_t first = 0;
    for (const auto& batch : batches) {
      const auto count = static_cast<uint64_t>(batch->num_rows());
      auto rows = reader->Read(file->schema, reader->DefaultColumns(), first, count);
      ASSERT_TRUE(rows.ok()) << rows.status().ToString();
      ASSERT_TRUE((*rows)->ValidateFull().ok());
      ASSERT_TRUE(Same(*batch->column(0), *(*rows)->column(0))) << batch->column(0)->ToString() << "\n"
                                                                << (*rows)->column(0)->ToString();
      first += count;
    }
  }

  Resources resources_ = TestResources();
};

TEST_F(DictionaryColumnTest, EveryIndexAndItemTypeComesBack) {
  RandomNested random(20260110);
  for (int round = 0; round < 150; ++round) {
    const auto type = random.Dictionary();
    const int64_t length = std::array<int64_t, 4>{0, 1, 3, 5000}[round % 4];
    const double nulls = std::array{0.0, 0.3, 1.0}[round % 3];
    SCOPED_TRACE(fmt::format("round {}: {} rows of {}, {} null", round, length, type->ToString(), nulls));
    auto batch = OneColumn(random.Make(type, length, {.null_part = nulls, .spread = kSpreads[random.Below(6)]}));
    ExpectComesBack({batch->Slice(0, length / 3), batch->Slice(length / 3)},
                    {.version = {2, static_cast<uint16_t>(random.Below(3))},
                     .page_bytes = std::array<uint64_t, 2>{3000, 8u << 20}[random.Below(2)]});
    if (HasFailure()) break;
  }
}

TEST_F(DictionaryColumnTest, SlicesAtEachBoundary) {
  RandomNested random(5);
  auto array = random.Make(arrow::dictionary(arrow::int16(), arrow::utf8()), 30, {.null_part = 0.3});
  for (int64_t first = 0; first < 30; first += 1) {
    ExpectComesBack({OneColumn(array->Slice(first, 17))});
    if (HasFailure()) break;
  }
}

TEST_F(DictionaryColumnTest, PiecesShareOneDictionaryOfWhatOccurs) {
  const auto pages = Pages({Words(R"(["a", "unused", "b", "a"])", "[0, 2, 3, null]")->data(),
                            Words(R"(["c", "unused", "b"])", "[2, 2, 0, 0]")->data()});
  ASSERT_THAT(pages, SizeIs(1));
  const pb::MiniBlockLayout& layout = pages[0].layout.mini_block_layout();
  EXPECT_EQ(layout.num_dictionary_items(), 3u);  // a, b, c
  EXPECT_EQ(layout.num_items(), 8u);
  EXPECT_THAT(layout.layers(), ElementsAre(pb::NULLABLE_ITEM));
  EXPECT_EQ(layout.value_compression().flat().bits_per_value(), 8u);  // as the column declares
}

TEST_F(DictionaryColumnTest, APageHasNoMoreItemsThanItsIndicesCount) {
  LeafPieces pieces;
  arrow::RecordBatchVector batches;
  for (int piece = 0; piece < 5; ++piece) {
    std::string items;
    std::string indices;
    for (int i = 0; i < 100; ++i) {
      items += fmt::format("{}\"word {}\"", i == 0 ? "[" : ",", piece * 100 + i);
      indices += fmt::format("{}{}", i == 0 ? "[" : ",", i);
    }
    auto words = Words(items + "]", indices + "]");
    pieces.push_back(words->data());
    batches.push_back(OneColumn(words));
  }
  std::vector<uint64_t> counts;
  uint64_t rows = 0;
  for (const EncodedPage& page : Pages(pieces)) {
    counts.push_back(page.layout.mini_block_layout().num_dictionary_items());
    rows += page.num_rows;
  }
  EXPECT_THAT(counts, Each(Le(128u)));
  EXPECT_EQ(rows, 500u);
  ExpectComesBack(batches);
  ExpectComesBack(batches, {.version = {2, 0}});
  auto file = WriteFile(resources_, batches).ValueOrDie();
  auto reader = DataFileReader::Open(resources_, StoreOf(file.bytes), "f.lance").ValueOrDie();
  EXPECT_KIND(reader->Read(file.schema, reader->DefaultColumns(), 0, 500).status(), ErrorKind::kInvalidInput,
              "500 distinct values");
}

TEST_F(DictionaryColumnTest, NullItemsAreNullValues) {
  auto words = Words(R"(["a", null])", "[0, 1, null, 1]");
  ExpectComesBack({OneColumn(words)});
  ExpectComesBack({OneColumn(words)}, {.version = {2, 0}});
  EXPECT_KIND(WriteFile(resources_, {OneColumn(words, /*nullable=*/false)}).status(), ErrorKind::kInvalidInput,
              "3 nulls");
  // One that nothing stands for does not count.
  ExpectComesBack({OneColumn(Words(R"(["a", null])", "[0, 0]"), /*nullable=*/false)});
}

TEST_F(DictionaryColumnTest, IndicesOutsideOfTheDictionaryAreRefused) {
  for (const int8_t index : {2, -1, 127}) {
    auto data = Words(R"(["a", "b"])", "[0, 1]")->data()->Copy();
    data->buffers[1] = arrow::Buffer::FromVector(std::vector<int8_t>{0, index});
    EXPECT_KIND(WriteFile(resources_, {OneColumn(arrow::MakeArray(data))}).status(), ErrorKind::kInvalidInput,
                "outside of its dictionary of 2 items");
  }
}

TEST_F(DictionaryColumnTest, LargeDictionariesFillPages) {
  arrow::RecordBatchVector batches;
  for (int i = 0; i < 6; ++i)
    batches.push_back(OneColumn(Words(fmt::format(R"(["{}"])", std::string(1000, static_cast<char>('a' + i))), "[0]")));
  auto file = WriteFile(resources_, batches, {.page_bytes = 4000}).ValueOrDie();
  auto container = OpenContainer(resources_, *StoreOf(file.bytes), "f.lance", {}).ValueOrDie();
  EXPECT_THAT(container.columns[0].pages, SizeIs(2));
  ExpectComesBack(batches, {.page_bytes = 4000});
}

TEST_F(DictionaryColumnTest, OrderedDictionariesAreStoredAsPlainOnes) {
  auto words = Words(R"(["b", "a"])", "[0, 1]");
  auto ordered = words->data()->Copy();
  ordered->type = arrow::dictionary(arrow::int8(), arrow::utf8(), /*ordered=*/true);
  auto file = WriteFile(resources_, {OneColumn(arrow::MakeArray(ordered))}).ValueOrDie();
  auto reader = DataFileReader::Open(resources_, StoreOf(file.bytes), "f.lance").ValueOrDie();
  auto rows = reader->Read(file.schema, reader->DefaultColumns(), 0, 2).ValueOrDie();
  EXPECT_TRUE(Same(*words, *rows->column(0)));
}

}  // namespace
}  // namespace javelin::file
