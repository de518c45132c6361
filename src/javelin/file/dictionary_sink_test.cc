// Pages with and without dictionaries put together, beside a plain model; dictionary columns of whole files.
#include <optional>
#include <set>

#include <gmock/gmock.h>

#include "lanceproto/encodings_v2_1.pb.h"

#include "javelin/file/batch_reader.h"
#include "javelin/file/crafted_page_internal.h"
#include "javelin/file/nested_test_support.h"

namespace javelin::file {
namespace {

using namespace testing;
using ::testing::HasSubstr;

namespace pb = lance::encodings21;

// One column as pages give it, and what it must come out as.
class ColumnOfPages {
  using Generator = std::mt19937_64;

 public:
  ColumnOfPages(const std::shared_ptr<arrow::DataType>& index_type, bool keep_whole, uint64_t seed)
      : type_(arrow::dictionary(index_type, arrow::utf8())),
        random_(seed),
        memory_(resources_.pool, resources_.memory.get()) {
    ValueShape shape = ShapeOf(*arrow::utf8()).ValueOrDie();
    shape.in_dictionary = true;
    sink_ = std::make_unique<LeafSink>(shape, kFlatColumn, memory_, 0);
    sink_->KeepIndices(static_cast<const arrow::DictionaryType&>(*type_), keep_whole);
  }

  static std::shared_ptr<arrow::ArrayData> Words(const std::vector<std::string>& words) {
    arrow::StringBuilder builder;
    EXPECT_TRUE(builder.AppendValues(words).ok());
    return builder.Finish().ValueOrDie()->data();
  }

  // Values of a page without a dictionary; each null with some chance.
  void AddPlain(const std::vector<std::string>& words, double null_part) {
    for (const std::string& word : words) {
      ASSERT_TRUE(sink_->values().AppendValue({reinterpret_cast<const uint8_t*>(word.data()), word.size()}).ok());
      AddValidity(word, null_part);
    }
  }

  // Indices of `index_bytes` bytes; where a value is null, any.
  void AddIndices(const std::shared_ptr<arrow::ArrayData>& items, bool distinct, const std::vector<uint64_t>& indices,
                  uint64_t index_bytes, double null_part) {
    const arrow::StringArray words(items);
    std::vector<uint8_t> bytes(indices.size() * index_bytes);
    for (size_t i = 0; i < indices.size(); ++i) {
      const uint64_t index =
          AddValidity(words.GetString(static_cast<int64_t>(indices[i])), null_part) ? indices[i] : 255;
      std::memcpy(bytes.data() + i * index_bytes, &index, index_bytes);
    }
    ASSERT_TRUE(sink_->dictionary()->Append(items, distinct, bytes, index_bytes).ok());
  }

  arrow::Status Settle() { return sink_->Settle(); }
  std::shared_ptr<arrow::DictionaryArray> Finish() {
    auto data = sink_->dictionary()->Finish(type_).ValueOrDie();
    return std::static_pointer_cast<arrow::DictionaryArray>(arrow::MakeArray(std::move(data)));
  }

  void ExpectTheModel(const arrow::DictionaryArray& array) const {
    ASSERT_TRUE(array.ValidateFull().ok()) << array.ValidateFull().ToString();
    ASSERT_EQ(array.length(), static_cast<int64_t>(model_.size()));
    EXPECT_EQ(array.dictionary()->null_count(), 0);
    const auto& words = static_cast<const arrow::StringArray&>(*array.dictionary());
    for (int64_t i = 0; i < array.length(); ++i) {
      const auto& wanted = model_[static_cast<size_t>(i)];
      ASSERT_EQ(array.IsNull(i), !wanted.has_value()) << i;
      if (!wanted) continue;
      ASSERT_EQ(words.GetString(array.GetValueIndex(i)), *wanted) << i;
    }
  }

  std::set<std::string> Occurring() const {
    std::set<std::string> found;
    for (const auto& value : model_) {
      if (value) found.insert(*value);
    }
    return found;
  }

  uint64_t Below(uint64_t limit) { return random_() % limit; }

 private:
  // True for a value that is there.
  bool AddValidity(const std::string& word, double null_part) {
    const bool valid = static_cast<double>(Below(1000)) >= null_part * 1000;
    model_.push_back(valid ? std::optional(word) : std::nullopt);
    ValiditySink& validity = sink_->values().validity();
    EXPECT_TRUE((valid ? validity.AppendValid(1) : validity.AppendNull(1)).ok());
    return valid;
  }

  std::shared_ptr<arrow::DataType> type_;
  Generator random_;
  Resources resources_ = TestResources();
  SinkMemory memory_;
  std::unique_ptr<LeafSink> sink_;
  std::vector<std::optional<std::string>> model_;
};

std::vector<std::string> NumberedWords(uint64_t first, uint64_t count) {
  std::vector<std::string> words;
  for (uint64_t i = 0; i < count; ++i) words.push_back(i == 0 ? "" : fmt::format("word {}", first + i));
  return words;
}

TEST(DictionarySinkTest, PagesOfAllKindsBesideAModel) {
  const arrow::DataTypeVector types = {arrow::int8(),  arrow::int16(),  arrow::int32(),  arrow::int64(),
                                       arrow::uint8(), arrow::uint16(), arrow::uint32(), arrow::uint64()};
  for (uint64_t round = 0; round < 400; ++round) {
    SCOPED_TRACE(fmt::format("round {}", round));
    ColumnOfPages column(types[round % types.size()], round % 3 == 0, round);
    const double null_part = std::array{0.0, 0.2, 1.0}[column.Below(3)];
    const uint64_t num_pages = column.Below(5);
    bool one_dictionary = num_pages == 1;
    std::shared_ptr<arrow::ArrayData> items;
    for (uint64_t page = 0; page < num_pages; ++page) {
      const std::vector<std::string> words = NumberedWords(column.Below(3) * 10, 1 + column.Below(20));
      std::vector<uint64_t> indices;
      for (uint64_t i = 0, count = 1 + column.Below(50); i < count; ++i) indices.push_back(column.Below(words.size()));
      if (column.Below(3) == 0) {
        std::vector<std::string> values;
        for (const uint64_t index : indices) values.push_back(words[index]);
        column.AddPlain(values, null_part);
        one_dictionary = false;
        continue;
      }
      // The one before goes on at times: a page gives its indices chunk by chunk.
      if (items == nullptr || column.Below(4) > 0) items = ColumnOfPages::Words(words);
      for (uint64_t& index : indices) index %= static_cast<uint64_t>(items->length);
      column.AddIndices(items, /*distinct=*/true, indices, uint64_t{1} << column.Below(4), null_part);
    }
    ASSERT_TRUE(column.Settle().ok());
    const auto array = column.Finish();
    column.ExpectTheModel(*array);
    if (one_dictionary && round % 3 == 0) {
      EXPECT_EQ(array->dictionary()->data()->buffers[2], items->buffers[2]);  // handed on, not copied
    } else if (round % 3 != 0) {
      EXPECT_EQ(array->dictionary()->length(), static_cast<int64_t>(column.Occurring().size()));
    }
    if (::testing::Test::HasFailure()) break;
  }
}

TEST(DictionarySinkTest, ADictionaryOfEqualItemsIsNotHandedOn) {
  ColumnOfPages column(arrow::int32(), /*keep_whole=*/true, 1);
  column.AddIndices(ColumnOfPages::Words({"a", "b", "a"}), /*distinct=*/false, {0, 1, 2, 2}, 4, 0);
  ASSERT_TRUE(column.Settle().ok());
  const auto array = column.Finish();
  column.ExpectTheModel(*array);
  EXPECT_EQ(array->dictionary()->length(), 2);
}

TEST(DictionarySinkTest, OnlyWhatOccursMustFitTheIndices) {
  const auto first = ColumnOfPages::Words(NumberedWords(0, 100));
  const auto second = ColumnOfPages::Words(NumberedWords(1000, 100));
  const auto add = [](ColumnOfPages& column, const std::shared_ptr<arrow::ArrayData>& items, uint64_t count) {
    for (uint64_t i = 0; i < count; ++i) column.AddIndices(items, /*distinct=*/true, {i}, 2, 0);
  };
  ColumnOfPages fits(arrow::int8(), /*keep_whole=*/true, 1);  // "" is in both
  add(fits, first, 100);
  add(fits, second, 29);
  ASSERT_TRUE(fits.Settle().ok());
  const auto array = fits.Finish();
  EXPECT_EQ(array->dictionary()->length(), 128);
  fits.ExpectTheModel(*array);
  ColumnOfPages does_not(arrow::int8(), /*keep_whole=*/true, 1);
  add(does_not, first, 100);
  add(does_not, second, 30);
  EXPECT_KIND(does_not.Settle(), ErrorKind::kInvalidInput, "129 distinct values, more than int8 indices tell apart");
}

TEST(DictionarySinkTest, ValuesWithoutValidityAreDamage) {
  Resources resources = TestResources();
  SinkMemory memory(resources.pool, resources.memory.get());
  LeafSink sink(ShapeOf(*arrow::utf8()).ValueOrDie(), kFlatColumn, memory, 0);
  const auto type = arrow::dictionary(arrow::int8(), arrow::utf8());
  sink.KeepIndices(static_cast<const arrow::DictionaryType&>(*type), true);
  const std::vector<uint8_t> indices = {0, 0};
  ASSERT_TRUE(sink.dictionary()->Append(ColumnOfPages::Words({"a"}), true, indices, 1).ok());
  ASSERT_TRUE(sink.values().validity().AppendValid(1).ok());
  EXPECT_KIND(sink.Settle(), ErrorKind::kCorruption, "2 values were decoded for 1 rows");
}

// A page of two strings, their indices as given, and what a dictionary column reads of it.
arrow::Result<std::shared_ptr<arrow::Array>> ReadTwo(std::vector<uint8_t> indices, const std::string& bytes,
                                                     uint64_t num_items) {
  pb::PageLayout layout;
  auto* page = layout.mutable_mini_block_layout();
  page->mutable_value_compression()->mutable_flat()->set_bits_per_value(8);
  page->mutable_dictionary()->mutable_variable()->mutable_offsets()->mutable_flat()->set_bits_per_value(32);
  page->set_num_dictionary_items(num_items);
  page->add_layers(pb::ALL_VALID_ITEM);
  page->set_num_buffers(1);
  page->set_num_items(2);
  page->set_has_large_chunk(true);
  const auto word = [](uint32_t number) { return std::string(reinterpret_cast<const char*>(&number), 4); };
  std::string chunk =
      std::string(2, '\0') + word(2) + std::string(2, '\0') + std::string(indices.begin(), indices.end());
  chunk.resize(16);
  std::string dictionary = word(32) + word(static_cast<uint32_t>(4 * (num_items + 3)));
  for (uint64_t i = 0; i <= num_items; ++i) dictionary += word(static_cast<uint32_t>(i));
  const CraftedPage crafted{
      .encoding = layout.SerializeAsString(), .buffers = {word(1 << 4), chunk, dictionary + bytes}, .num_rows = 2};
  const auto type = arrow::dictionary(arrow::int8(), arrow::utf8());
  return ReadCraftedPage(TestResources(), crafted,
                         Schema::FromArrow(*arrow::schema({arrow::field("c", type)})).ValueOrDie().fields()[0],
                         {{0, 2}});
}

TEST(DictionarySinkTest, PagesOfOthersAndDamagedOnes) {
  const auto read = [](std::vector<uint8_t> indices, const std::string& bytes, uint64_t num_items) {
    auto array = ReadTwo(std::move(indices), bytes, num_items);
    EXPECT_TRUE(array.ok()) << array.status().ToString();
    EXPECT_TRUE((*array)->ValidateFull().ok());
    return std::static_pointer_cast<arrow::DictionaryArray>(*array);
  };
  const auto two = read({1, 0}, "xy", 2);
  EXPECT_EQ(two->dictionary()->length(), 2);
  EXPECT_EQ(static_cast<const arrow::StringArray&>(*two->dictionary()).GetString(two->GetValueIndex(0)), "y");
  EXPECT_EQ(read({1, 0}, "xx", 2)->dictionary()->length(), 1);  // equal items are one
  // More items than the column's indices count: those that occur have a place.
  const auto many = read({200, 7}, std::string(199, 'x') + "yz", 201);
  EXPECT_EQ(many->dictionary()->length(), 2);
  EXPECT_EQ(static_cast<const arrow::StringArray&>(*many->dictionary()).GetString(many->GetValueIndex(0)), "z");
  EXPECT_KIND(ReadTwo({0, 2}, "xy", 2).status(), ErrorKind::kCorruption, "index 2 in a dictionary of 2 items");
}

// ---- files ----

// A column of batches with dictionaries of their own.
arrow::RecordBatchVector RandomBatches(RandomNested& random, const std::shared_ptr<arrow::DataType>& type,
                                       double nulls) {
  arrow::RecordBatchVector batches;
  for (uint64_t i = 0, count = 1 + random.Below(4); i < count; ++i) {
    const auto length = static_cast<int64_t>(random.Below(700));
    batches.push_back(OneColumn(
        random.Make(type, length, {.null_part = nulls, .empty_part = 0.2, .spread = kSpreads[random.Below(6)]})));
  }
  return batches;
}

// The rows [first, end) of batches, value by value.
std::shared_ptr<arrow::Array> Rows(const std::shared_ptr<arrow::Array>& plain, uint64_t first, uint64_t end) {
  return plain->Slice(static_cast<int64_t>(first), static_cast<int64_t>(end - first));
}

class DictionaryFiles : public ::testing::TestWithParam<FileVersion> {
 protected:
  static std::shared_ptr<arrow::Array> Plain(const arrow::Array& array) {
    return arrow::MakeArray(WithoutDictionaries(*array.data()));
  }
  static void ExpectRows(const arrow::RecordBatch& found, const std::shared_ptr<arrow::Array>& wanted) {
    ASSERT_TRUE(found.ValidateFull().ok()) << found.ValidateFull().ToString();
    ASSERT_TRUE(Plain(*found.column(0))->Equals(wanted, arrow::EqualOptions().nans_equal(true)))
        << found.column(0)->ToString() << "\n"
        << wanted->ToString();
  }
  Resources resources_ = TestResources();
};

// Pages with different dictionaries, batches that end anywhere in them, ranges, takes.
TEST_P(DictionaryFiles, BatchesRangesAndTakes) {
  RandomNested random(41, GetParam());
  for (int round = 0; round < 60; ++round) {
    auto type = random.Dictionary();
    // Few enough for int8 in any batch: at most 100 items a piece are made, and read in pieces of one page.
    const auto& dictionary = static_cast<const arrow::DictionaryType&>(*type);
    if (dictionary.index_type()->byte_width() == 1) type = arrow::dictionary(arrow::int16(), dictionary.value_type());
    if (round % 3 == 2) type = arrow::list(type);
    const double nulls = std::array{0.0, 0.2}[random.Below(2)];
    SCOPED_TRACE(fmt::format("round {}: {}, {} null", round, type->ToString(), nulls));
    const arrow::RecordBatchVector batches = RandomBatches(random, type, nulls);
    auto file =
        WriteFile(resources_, batches,
                  {.version = GetParam(), .page_bytes = std::array<uint64_t, 3>{500, 3000, 8u << 20}[random.Below(3)]});
    ASSERT_TRUE(file.ok()) << file.status().ToString();
    arrow::ArrayVector plain;
    for (const auto& batch : batches) plain.push_back(Plain(*batch->column(0)));
    const auto all = arrow::Concatenate(plain).ValueOrDie();
    const auto num_rows = static_cast<uint64_t>(all->length());
    auto reader = DataFileReader::Open(resources_, StoreOf(file->bytes), "f.lance").ValueOrDie();
    std::vector<uint64_t> ends;
    for (uint64_t end = 0; end < num_rows;) ends.push_back(end = std::min(num_rows, end + 1 + random.Below(300)));
    const auto columns = reader->DefaultColumns();
    const auto fetched = BatchReader::Of(*reader).Fetch(file->schema, columns, 0, ends).ValueOrDie()->Decode();
    ASSERT_TRUE(fetched.ok()) << fetched.status().ToString();
    for (size_t i = 0; i < ends.size(); ++i) ExpectRows(*(*fetched)[i], Rows(all, i == 0 ? 0 : ends[i - 1], ends[i]));
    const uint64_t first = random.Below(num_rows + 1);
    const uint64_t end = first + random.Below(num_rows - first + 1);
    ExpectRows(*reader->Read(file->schema, columns, first, end - first).ValueOrDie(), Rows(all, first, end));
    std::vector<uint64_t> rows;
    for (uint64_t i = 0, count = num_rows == 0 ? 0 : random.Below(40); i < count; ++i)
      rows.push_back(random.Below(num_rows));
    arrow::UInt64Builder places;
    ASSERT_TRUE(places.AppendValues(rows).ok());
    ExpectRows(*reader->Take(file->schema, columns, rows).ValueOrDie(),
               arrow::compute::Take(*all, *places.Finish().ValueOrDie()).ValueOrDie());
    if (HasFailure()) break;
  }
  EXPECT_EQ(resources_.memory->used(), 0);
}

// What a scan answers has the page's dictionary, what is taken only what occurs.
TEST_P(DictionaryFiles, ScansHandOnAndTakesChoose) {
  arrow::StringBuilder items;
  for (int i = 0; i < 50; ++i) ASSERT_TRUE(items.Append(fmt::format("word {}", i)).ok());
  arrow::Int32Builder indices;
  for (int i = 0; i < 1000; ++i) ASSERT_TRUE((i % 9 == 0 ? indices.AppendNull() : indices.Append(i * 7 % 50)).ok());
  const auto words = arrow::DictionaryArray::FromArrays(arrow::dictionary(arrow::int32(), arrow::utf8()),
                                                        indices.Finish().ValueOrDie(), items.Finish().ValueOrDie())
                         .ValueOrDie();
  const auto file = WriteFile(resources_, {OneColumn(words)}, {.version = GetParam()}).ValueOrDie();
  auto reader = DataFileReader::Open(resources_, StoreOf(file.bytes), "f.lance").ValueOrDie();
  const auto num_items = [](const arrow::RecordBatch& batch) {
    const auto& items = *static_cast<const arrow::DictionaryArray&>(*batch.column(0)).dictionary();
    EXPECT_EQ(items.null_count(), 0);
    return items.length();
  };
  const auto scanned = reader->Read(file.schema, reader->DefaultColumns(), 100, 20).ValueOrDie();
  EXPECT_EQ(num_items(*scanned), 50);
  EXPECT_TRUE(Same(*scanned->column(0), *words->Slice(100, 20)));
  const auto taken =
      reader->Take(file.schema, reader->DefaultColumns(), std::vector<uint64_t>{1, 9, 102, 51}).ValueOrDie();
  EXPECT_EQ(num_items(*taken), 2);  // 1 and 51 are the same word, 9 is null
}

INSTANTIATE_TEST_SUITE_P(Versions, DictionaryFiles, ::testing::ValuesIn(kWrittenVersions), VersionName);

}  // namespace
}  // namespace javelin::file
