// What the metadata of a field asks of its encodings: how it is read, and the pages that come of it.
#include <gmock/gmock.h>

#include "javelin/file/inspect.h"
#include "javelin/file/nested_test_support.h"
#include "javelin/file/page_encoder_internal.h"

namespace javelin::file {
namespace {

using namespace testing;

using Metadata = std::map<std::string, std::string>;
using Codec = EncodingWishes::Codec;

Metadata Wish(const std::string& name, const std::string& value) { return {{"lance-encoding:" + name, value}}; }

TEST(EncodingWishes, NothingIsAskedByDefault) {
  const EncodingWishes wishes = WishesOf({{"other", "zstd"}, {"lance-encoding:later", "zstd"}}, {}).ValueOrDie();
  EXPECT_FALSE(wishes.codec || wishes.level || wishes.structure || wishes.chunk_bytes || wishes.dictionary_level);
  EXPECT_FALSE(wishes.compression());
  EXPECT_EQ(wishes.split, EncodingWishes::Switch::kAuto);
}

TEST(EncodingWishes, ValuesThatTheReleasedWriterRefusesAreRefused) {
  for (const auto& [name, value] :
       std::vector<std::pair<std::string, std::string>>{{"compression", "ZSTD"},
                                                        {"compression", ""},
                                                        {"compression", "snappy"},
                                                        {"structural-encoding", "sparse"},
                                                        {"structural-encoding", ""},
                                                        {"dict-size-ratio", "0"},
                                                        {"dict-size-ratio", "1.5"},
                                                        {"dict-size-ratio", "nan"},
                                                        {"dict-max-size", "-1"},
                                                        {"dict-max-size", "many"},
                                                        {"dict-values-compression", "fsst"},
                                                        {"dict-values-compression", "none "}}) {
    EXPECT_KIND(WishesOf(Wish(name, value), Wish(name, value)).status(), ErrorKind::kInvalidInput,
                "'lance-encoding:" + name + "'");
  }
}

TEST(EncodingWishes, ValuesThatItIgnoresAreIgnored) {
  Metadata metadata;
  for (const char* name : {"compression-level", "bss", "rle-threshold", "minichunk-size", "dict-divisor",
                           "dict-size-ratio", "dict-values-compression-level"}) {
    metadata.merge(Wish(name, "5 or so"));
  }
  const EncodingWishes wishes = WishesOf(metadata, metadata).ValueOrDie();
  EXPECT_FALSE(wishes.level || wishes.chunk_bytes || wishes.dictionary_level);
  EXPECT_EQ(wishes.split, EncodingWishes::Switch::kAuto);
  EXPECT_EQ(wishes.max_run_share, EncodingWishes().max_run_share);
  EXPECT_EQ(wishes.dictionary_divisor, EncodingWishes().dictionary_divisor);
  EXPECT_EQ(wishes.dictionary_ratio, EncodingWishes().dictionary_ratio);
}

// A column of a file with wishes; its values must come back whole and in part.
class WishedPages : public ::testing::Test {
 protected:
  static constexpr int64_t kRows = 5000;

  pb::PageLayout LayoutOf(const std::shared_ptr<arrow::Array>& array, const Metadata& metadata,
                          FileVersion version = {2, 2}) {
    const auto field = arrow::field("c", array->type())
                           ->WithMetadata(arrow::KeyValueMetadata::Make(
                               [&] {
                                 std::vector<std::string> keys;
                                 for (const auto& [key, value] : metadata) keys.push_back(key);
                                 return keys;
                               }(),
                               [&] {
                                 std::vector<std::string> values;
                                 for (const auto& [key, value] : metadata) values.push_back(value);
                                 return values;
                               }()));
    const auto batch = arrow::RecordBatch::Make(arrow::schema({field}), array->length(), {array});
    const WrittenFile file = WriteFile(resources_, {batch}).ValueOrDie();
    auto reader = DataFileReader::Open(resources_, StoreOf(file.bytes), "f.lance").ValueOrDie();
    const auto rows = static_cast<uint64_t>(array->length());
    const ColumnOfField columns = reader->DefaultColumns();
    EXPECT_TRUE(reader->Read(file.schema, columns, 0, rows).ValueOrDie()->Equals(*batch));
    EXPECT_TRUE(reader->Read(file.schema, columns, rows / 3, rows / 2)
                    .ValueOrDie()
                    ->Equals(*batch->Slice(array->length() / 3, array->length() / 2)));
    PageOptions options{.version = version, .pool = resources_.pool};
    options.wishes = WishesOf(metadata, metadata).ValueOrDie();
    EncodedPage page = EncodePage(ShapeOf(*array->type()).ValueOrDie(), {array->data()}, options).ValueOrDie();
    bytes_ = 0;
    for (const EncodedBuffer& buffer : page.buffers) bytes_ += buffer.size();
    chunks_ = page.buffers.empty() ? 0 : page.buffers[0].size() / (version < FileVersion{2, 2} ? 2 : 4);
    return page.layout;
  }
  pb::CompressiveEncoding ValuesOf(const std::shared_ptr<arrow::Array>& array, const Metadata& metadata) {
    const pb::PageLayout layout = LayoutOf(array, metadata);
    return layout.has_mini_block_layout() ? layout.mini_block_layout().value_compression()
                                          : layout.full_zip_layout().value_compression();
  }

  template <typename Type, typename Make>
  std::shared_ptr<arrow::Array> Column(const Make& make, int64_t rows = kRows) {
    typename arrow::TypeTraits<Type>::BuilderType builder;
    for (int64_t i = 0; i < rows; ++i) {
      if (i % 11 == 5) {
        EXPECT_TRUE(builder.AppendNull().ok());
      } else {
        EXPECT_TRUE(builder.Append(make(i)).ok());
      }
    }
    return builder.Finish().ValueOrDie();
  }
  std::shared_ptr<arrow::Array> Counter() {
    return Column<arrow::Int64Type>([](int64_t i) { return i + 1'000'000; });
  }
  std::shared_ptr<arrow::Array> Runs() {
    return Column<arrow::Int32Type>([](int64_t i) { return static_cast<int32_t>(i / 20 * 7919 % 251); });
  }
  std::shared_ptr<arrow::Array> Text(int repeat = 1) {
    return Column<arrow::StringType>([&](int64_t i) {
      std::string text = fmt::format("line {} of", i * 7919 % 10007);
      for (int word = 0; word < 4 * repeat; ++word)
        text += fmt::format(" {} {}", random_() % 7, std::array{"lorem", "ipsum", "dolor"}[random_() % 3]);
      return text;
    });
  }
  std::shared_ptr<arrow::Array> Names(int64_t different) {
    return Column<arrow::StringType>([&](int64_t i) { return fmt::format("name {}", i * 7919 % different); });
  }

  Resources resources_ = TestResources();
  std::mt19937_64 random_{20260101};
  uint64_t bytes_ = 0;   // of the last page
  uint64_t chunks_ = 0;  // of the last page
};

TEST_F(WishedPages, CompressionOfNumbers) {
  EXPECT_TRUE(ValuesOf(Counter(), Wish("compression", "none")).has_flat());
  for (const auto& [name, scheme] : {std::pair{"lz4", pb::LZ4}, std::pair{"zstd", pb::ZSTD}}) {
    const auto values = ValuesOf(Counter(), Wish("compression", name));
    EXPECT_EQ(values.general().compression().scheme(), scheme);
    EXPECT_TRUE(values.general().values().has_byte_stream_split()) << values.ShortDebugString();
  }
  // What does not get smaller stays as it is.
  const auto noise = RandomColumns(1).Make(arrow::int64(), kRows, 0, Spread::kAny);
  EXPECT_TRUE(ValuesOf(noise, Wish("compression", "lz4")).has_flat());
  // Symbol tables are for strings.
  EXPECT_EQ(ValuesOf(Counter(), Wish("compression", "fsst")).compression_case(),
            ValuesOf(Counter(), {}).compression_case());
}

TEST_F(WishedPages, CompressionOfStrings) {
  EXPECT_TRUE(ValuesOf(Text(), Wish("compression", "none")).has_variable());
  EXPECT_TRUE(ValuesOf(Text(), Wish("compression", "fsst")).has_fsst());
  for (const auto& [name, scheme] : {std::pair{"lz4", pb::LZ4}, std::pair{"zstd", pb::ZSTD}}) {
    const auto values = ValuesOf(Text(), Wish("compression", name));
    EXPECT_EQ(values.general().compression().scheme(), scheme);
    EXPECT_TRUE(values.general().values().has_variable());
  }
  // A few strings would not get a symbol table otherwise.
  const auto few = Column<arrow::StringType>([](int64_t i) { return fmt::format("abc {} abc", i); }, 30);
  EXPECT_TRUE(ValuesOf(few, {}).has_variable());
  EXPECT_TRUE(ValuesOf(few, Wish("compression", "fsst")).has_fsst());
}

TEST_F(WishedPages, CompressionOfLargeStrings) {
  const auto text = Text(10);
  EXPECT_TRUE(ValuesOf(text, Wish("compression", "none")).has_variable());
  EXPECT_TRUE(ValuesOf(text, Wish("compression", "fsst")).has_fsst());
  for (const char* name : {"lz4", "zstd"})
    EXPECT_EQ(ValuesOf(text, Wish("compression", name)).general().compression().scheme(), pb::ZSTD);
}

TEST_F(WishedPages, LevelOfZstandard) {
  Metadata metadata = Wish("compression", "zstd");
  EXPECT_FALSE(ValuesOf(Text(), metadata).general().compression().has_level());
  metadata.merge(Wish("compression-level", "19"));
  const auto text = Text();
  EXPECT_EQ(ValuesOf(text, metadata).general().compression().level(), 19);
  const uint64_t small = bytes_;
  metadata["lance-encoding:compression-level"] = "-5";
  EXPECT_EQ(ValuesOf(text, metadata).general().compression().level(), -5);
  EXPECT_LT(small, bytes_);
}

TEST_F(WishedPages, Structure) {
  for (const auto& array : {Counter(), Text(), Runs()}) {
    EXPECT_TRUE(LayoutOf(array, Wish("structural-encoding", "FullZip")).has_full_zip_layout());
    EXPECT_TRUE(LayoutOf(array, Wish("structural-encoding", "miniblock")).has_mini_block_layout());
  }
  EXPECT_TRUE(LayoutOf(Text(10), {}).has_full_zip_layout());
  EXPECT_TRUE(LayoutOf(Text(10), Wish("structural-encoding", "miniblock")).has_mini_block_layout());
  const auto bits = Column<arrow::BooleanType>([](int64_t i) { return i % 3 == 0; });
  EXPECT_TRUE(LayoutOf(bits, Wish("structural-encoding", "fullzip")).has_full_zip_layout());
  // A dictionary lies in chunks, whatever is wished.
  EXPECT_TRUE(LayoutOf(Names(7), Wish("structural-encoding", "fullzip")).has_mini_block_layout());
  const auto wide = RandomColumns(1).Make(arrow::fixed_size_list(arrow::int32(), 64), 300, 0.1, Spread::kAny);
  EXPECT_TRUE(LayoutOf(wide, {}).has_full_zip_layout());
  EXPECT_TRUE(LayoutOf(wide, Wish("structural-encoding", "miniblock")).has_mini_block_layout());
  const auto narrow = RandomColumns(1).Make(arrow::fixed_size_list(arrow::int32(), 3), 300, 0.1, Spread::kAny);
  EXPECT_TRUE(LayoutOf(narrow, Wish("structural-encoding", "fullzip")).has_full_zip_layout());
  const auto flags = RandomColumns(1).Make(arrow::fixed_size_list(arrow::boolean(), 5), 300, 0.1, Spread::kAny);
  EXPECT_TRUE(LayoutOf(flags, Wish("structural-encoding", "fullzip")).has_mini_block_layout());
}

TEST_F(WishedPages, StreamsOfBytes) {
  EXPECT_TRUE(ValuesOf(Counter(), {}).general().values().has_byte_stream_split());
  EXPECT_TRUE(ValuesOf(Counter(), Wish("bss", "off")).has_inline_bitpacking());
  Metadata metadata = Wish("compression", "zstd");
  const auto real = Column<arrow::DoubleType>([](int64_t i) { return static_cast<double>(i % 1000) * 0.001 + 1; });
  metadata.merge(Wish("bss", "off"));
  EXPECT_FALSE(ValuesOf(real, metadata).general().values().has_byte_stream_split());
  metadata["lance-encoding:bss"] = "ON";
  EXPECT_TRUE(ValuesOf(Counter(), metadata).general().values().has_byte_stream_split());
}

TEST_F(WishedPages, Runs) {
  EXPECT_TRUE(ValuesOf(Runs(), {}).has_rle());
  EXPECT_TRUE(ValuesOf(Runs(), Wish("rle-threshold", "0.1")).has_rle());
  EXPECT_FALSE(ValuesOf(Runs(), Wish("rle-threshold", "0.01")).has_rle());
  EXPECT_FALSE(ValuesOf(Runs(), Wish("rle-threshold", "0")).has_rle());
}

TEST_F(WishedPages, SizeOfChunks) {
  const auto text = Text();
  LayoutOf(text, {});
  const uint64_t usual = chunks_;
  LayoutOf(text, Wish("minichunk-size", "1024"));
  EXPECT_NEAR(static_cast<double>(chunks_), static_cast<double>(usual) * 8, 1);
  LayoutOf(text, Wish("minichunk-size", "0"));
  EXPECT_EQ(chunks_, static_cast<uint64_t>(kRows) / 2);
  LayoutOf(text, Wish("minichunk-size", "1000000000"));
  EXPECT_EQ(chunks_, 2u);
  // More than the chunks of 2.1 hold.
  LayoutOf(text, {}, {2, 1});
  const uint64_t usual_of_2_1 = chunks_;
  LayoutOf(text, Wish("minichunk-size", "32768"), {2, 1});
  EXPECT_EQ(chunks_, usual_of_2_1);
}

TEST_F(WishedPages, Dictionaries) {
  auto items = [&](const Metadata& metadata) {
    return LayoutOf(Names(100), metadata).mini_block_layout().num_dictionary_items();
  };
  EXPECT_EQ(items({}), 100u);
  EXPECT_EQ(items(Wish("dict-divisor", "50")), 100u);
  EXPECT_EQ(items(Wish("dict-divisor", "51")), 0u);
  EXPECT_EQ(items(Wish("dict-divisor", "0")), 100u);
  EXPECT_EQ(items(Wish("dict-size-ratio", "0.01")), 0u);
  EXPECT_EQ(items(Wish("dict-max-size", "600")), 0u);
  EXPECT_EQ(items(Wish("dict-max-size", "700")), 100u);
}

TEST_F(WishedPages, ValuesOfDictionaries) {
  auto dictionary = [&](const Metadata& metadata) {
    return LayoutOf(Names(100), metadata).mini_block_layout().dictionary();
  };
  EXPECT_EQ(dictionary({}).general().compression().scheme(), pb::LZ4);
  EXPECT_TRUE(dictionary(Wish("dict-values-compression", "none")).has_variable());
  Metadata metadata = Wish("dict-values-compression", "zstd");
  EXPECT_EQ(dictionary(metadata).general().compression().scheme(), pb::ZSTD);
  metadata.merge(Wish("dict-values-compression-level", "19"));
  EXPECT_EQ(dictionary(metadata).general().compression().level(), 19);
}

TEST_F(WishedPages, WishesOfTheLeafCount) {
  const auto item = arrow::field("item", arrow::int64())
                        ->WithMetadata(arrow::KeyValueMetadata::Make({"lance-encoding:compression"}, {"sometimes"}));
  auto batch = arrow::RecordBatch::MakeEmpty(arrow::schema({arrow::field("c", arrow::list(item))})).ValueOrDie();
  EXPECT_KIND(WriteFile(resources_, {batch}).status(), ErrorKind::kInvalidInput, "'c.item'");
  // What is asked of the list itself is not looked at.
  const auto around = arrow::field("c", arrow::list(arrow::int64()))
                          ->WithMetadata(arrow::KeyValueMetadata::Make({"lance-encoding:compression"}, {"sometimes"}));
  batch = arrow::RecordBatch::MakeEmpty(arrow::schema({around})).ValueOrDie();
  EXPECT_TRUE(WriteFile(resources_, {batch}).ok());
}

std::shared_ptr<arrow::Field> WithWish(const std::shared_ptr<arrow::Field>& field, const std::string& name,
                                       const std::string& value) {
  return field->WithMetadata(arrow::KeyValueMetadata::Make({"lance-encoding:" + name}, {value}));
}

TEST_F(WishedPages, TheTopLevelFieldAsksForTheStructure) {
  const auto inspect = [&](const std::shared_ptr<arrow::Field>& field) {
    const auto item = Text();
    const auto column = arrow::StructArray::Make({item}, {field->type()->field(0)}).ValueOrDie();
    const auto batch = arrow::RecordBatch::Make(arrow::schema({field}), item->length(), {column});
    const WrittenFile file = WriteFile(resources_, {batch}).ValueOrDie();
    return InspectDataFile(resources_, *StoreOf(file.bytes), "f.lance").ValueOrDie();
  };
  const auto item = arrow::field("item", arrow::utf8());
  EXPECT_THAT(inspect(WithWish(arrow::field("c", arrow::struct_({item})), "structural-encoding", "fullzip")),
              ::testing::HasSubstr("fullZipLayout"));
  EXPECT_THAT(inspect(arrow::field("c", arrow::struct_({WithWish(item, "structural-encoding", "fullzip")}))),
              ::testing::Not(::testing::HasSubstr("fullZipLayout")));
}

// ---- leaves inside fixed-size lists, dictionaries inside lists ----

class WishesInside : public WishedPages {
 protected:
  // What a file says of the column, whose values must come back.
  std::string Inspect(const std::shared_ptr<arrow::Field>& field, const std::shared_ptr<arrow::ArrayData>& data,
                      FileVersion version = {2, 2}) {
    const auto array = arrow::MakeArray(data);
    const auto batch = arrow::RecordBatch::Make(arrow::schema({field}), array->length(), {array});
    const WrittenFile file = WriteFile(resources_, {batch}, {.version = version}).ValueOrDie();
    auto reader = DataFileReader::Open(resources_, StoreOf(file.bytes), "f.lance").ValueOrDie();
    const auto read =
        reader->Read(file.schema, reader->DefaultColumns(), 0, static_cast<uint64_t>(array->length())).ValueOrDie();
    EXPECT_TRUE(Same(*read->column(0), *array));
    return InspectDataFile(resources_, *StoreOf(file.bytes), "f.lance").ValueOrDie();
  }

  // Lists of `size` of the items, in order: fixed-size ones, or others.
  static std::shared_ptr<arrow::ArrayData> Fixed(const std::shared_ptr<arrow::Field>& item, const arrow::Array& items,
                                                 int32_t size) {
    return arrow::ArrayData::Make(arrow::fixed_size_list(item, size), items.length() / size, {nullptr}, {items.data()});
  }
  static std::shared_ptr<arrow::ArrayData> Lists(const std::shared_ptr<arrow::Field>& item, const arrow::Array& items) {
    std::vector<int32_t> offsets;
    for (int32_t i = 0; i <= items.length(); i += 2) offsets.push_back(i);
    const auto length = static_cast<int64_t>(offsets.size()) - 1;
    return arrow::ArrayData::Make(arrow::list(item), length, {nullptr, arrow::Buffer::FromVector(std::move(offsets))},
                                  {items.data()});
  }
  std::shared_ptr<arrow::Array> Words() {
    return arrow::compute::DictionaryEncode(Names(300)).ValueOrDie().make_array();
  }
};

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

TEST_F(WishesInside, OfStructsInFixedSizeLists) {
  const auto inspect = [&](const std::shared_ptr<arrow::Field>& x, const std::shared_ptr<arrow::Array>& values) {
    const auto structs = arrow::StructArray::Make({values}, {x}).ValueOrDie();
    const auto lists = Fixed(arrow::field("item", structs->type()), *structs, 2);
    return Inspect(arrow::field("c", lists->type), lists);
  };
  const auto number = arrow::field("x", arrow::int64());
  EXPECT_THAT(inspect(number, Counter()), HasSubstr("byteStreamSplit"));
  EXPECT_THAT(inspect(WithWish(number, "compression", "none"), Counter()),
              AllOf(Not(HasSubstr("byteStreamSplit")), Not(HasSubstr("inlineBitpacking"))));
  EXPECT_THAT(inspect(WithWish(number, "bss", "off"), Counter()),
              AllOf(Not(HasSubstr("byteStreamSplit")), HasSubstr("inlineBitpacking")));
  const auto text = arrow::field("x", arrow::utf8());
  EXPECT_THAT(inspect(WithWish(text, "compression", "zstd"), Text()), HasSubstr("ZSTD"));
  EXPECT_THAT(inspect(WithWish(text, "compression", "none"), Text()),
              AllOf(Not(HasSubstr("fsst")), Not(HasSubstr("ZSTD"))));
  // Only the top-level field asks for the structure.
  EXPECT_THAT(inspect(WithWish(text, "structural-encoding", "fullzip"), Text()), Not(HasSubstr("fullZipLayout")));
  const auto words = Words();
  const auto word = arrow::field("x", words->type());
  EXPECT_THAT(inspect(word, words), HasSubstr("LZ4"));
  EXPECT_THAT(inspect(WithWish(word, "dict-values-compression", "zstd"), words), HasSubstr("ZSTD"));
}

TEST_F(WishesInside, OfFixedSizeListsInLists) {
  const auto vectors = RandomColumns(1).Make(arrow::fixed_size_list(arrow::int32(), 3), kRows, 0, Spread::kSmall);
  const auto item = arrow::field("item", vectors->type());
  for (const FileVersion version : {FileVersion{2, 1}, FileVersion{2, 2}}) {
    const auto plain = Lists(item, *vectors);
    const std::string chosen = Inspect(arrow::field("c", plain->type), plain, version);
    EXPECT_THAT(chosen, Not(HasSubstr("fullZipLayout")));
    // Values of fixed-size lists are never compressed; the structure is the list's to ask for.
    for (const auto& [name, value] : std::vector<std::pair<std::string, std::string>>{
             {"compression", "zstd"}, {"compression", "lz4"}, {"bss", "on"}, {"structural-encoding", "fullzip"}}) {
      const auto wished = Lists(WithWish(item, name, value), *vectors);
      const std::string text = Inspect(arrow::field("c", wished->type), wished, version);
      EXPECT_THAT(text, AllOf(Not(HasSubstr("fullZipLayout")), Not(HasSubstr("general")), HasSubstr("fixedSizeList")));
    }
    EXPECT_THAT(Inspect(WithWish(arrow::field("c", plain->type), "structural-encoding", "fullzip"), plain, version),
                HasSubstr("fullZipLayout"));
  }
}

TEST_F(WishesInside, OfDictionariesInLists) {
  const auto words = Words();
  const auto item = arrow::field("item", words->type());
  const auto inspect = [&](const std::string& name, const std::string& value) {
    const auto lists = Lists(WithWish(item, name, value), *words);
    return Inspect(arrow::field("c", lists->type), lists);
  };
  EXPECT_THAT(inspect("no-such-wish", "1"), AllOf(HasSubstr("LZ4"), HasSubstr("numDictionaryItems")));
  EXPECT_THAT(inspect("dict-values-compression", "none"), Not(HasSubstr("LZ4")));
  EXPECT_THAT(inspect("dict-values-compression", "zstd"), HasSubstr("ZSTD"));
  EXPECT_THAT(inspect("compression", "none"), Not(HasSubstr("inlineBitpacking")));  // of the indices
  EXPECT_THAT(inspect("compression", "zstd"), HasSubstr("ZSTD"));
  // It has a dictionary whatever it takes, and lies in chunks.
  EXPECT_THAT(inspect("dict-divisor", "1000000"), HasSubstr("numDictionaryItems"));
  EXPECT_THAT(inspect("dict-max-size", "1"), HasSubstr("numDictionaryItems"));
  const auto lists = Lists(item, *words);
  EXPECT_THAT(Inspect(WithWish(arrow::field("c", lists->type), "structural-encoding", "fullzip"), lists),
              Not(HasSubstr("fullZipLayout")));
}

TEST_F(WishedPages, StringsOfVersion20) {
  const auto text = Text();
  const auto size = [&](const std::string& codec) {
    const auto field = WithWish(arrow::field("c", arrow::utf8()), "compression", codec);
    const auto batch = arrow::RecordBatch::Make(arrow::schema({field}), text->length(), {text});
    const WrittenFile file = WriteFile(resources_, {batch}, {.version = {2, 0}}).ValueOrDie();
    auto reader = DataFileReader::Open(resources_, StoreOf(file.bytes), "f.lance").ValueOrDie();
    const ColumnOfField columns = reader->DefaultColumns();
    EXPECT_TRUE(reader->Read(file.schema, columns, 0, kRows).ValueOrDie()->Equals(*batch));
    EXPECT_TRUE(reader->Read(file.schema, columns, 77, 100).ValueOrDie()->Equals(*batch->Slice(77, 100)));
    return file.bytes.size();
  };
  const auto plain = static_cast<double>(size("none"));
  EXPECT_EQ(size("sometimes"), size("perhaps!!"));  // as if nothing were asked
  EXPECT_LT(static_cast<double>(size("fsst")), 0.7 * plain);
  EXPECT_LT(static_cast<double>(size("lz4")), 0.7 * plain);
  EXPECT_LT(static_cast<double>(size("zstd")), 0.5 * plain);
}

}  // namespace
}  // namespace javelin::file
