// The form of the strings of a page: the rule by its numbers, and what real pages come out as.
#include <random>

#include <gmock/gmock.h>

#include "javelin/file/file_test_support.h"
#include "javelin/file/page_encoder_internal.h"
#include "javelin/file/string_form_internal.h"

namespace javelin::file {
namespace {

using namespace testing;

TEST(StringForm, SlowerFormsMustBuyBytes) {
  auto choose = [](StringSizes sizes, ZstdUnit unit) { return ChooseStringForm(sizes, unit); };
  EXPECT_EQ(choose({.plain = 6000}, ZstdUnit::kLargeChunk), StringForm::kPlain);
  EXPECT_EQ(choose({.plain = 6000, .fsst = 5001}, ZstdUnit::kLargeChunk), StringForm::kPlain);
  EXPECT_EQ(choose({.plain = 6000, .fsst = 5000}, ZstdUnit::kLargeChunk), StringForm::kFsst);
  EXPECT_EQ(choose({.plain = 6000, .fsst = 3000, .zstd = 1001}, ZstdUnit::kLargeChunk), StringForm::kFsst);
  EXPECT_EQ(choose({.plain = 6000, .fsst = 3000, .zstd = 1000}, ZstdUnit::kLargeChunk), StringForm::kZstd);
  EXPECT_EQ(choose({.plain = 6000, .zstd = 2001}, ZstdUnit::kLargeChunk), StringForm::kPlain);
  EXPECT_EQ(choose({.plain = 6000, .zstd = 4801}, ZstdUnit::kWholeSmallPage), StringForm::kPlain);
  EXPECT_EQ(choose({.plain = 6000, .zstd = 4800}, ZstdUnit::kWholeSmallPage), StringForm::kZstd);
  EXPECT_EQ(choose({.plain = 6000, .fsst = 4000, .zstd = 3001}, ZstdUnit::kSingleValue), StringForm::kFsst);
  EXPECT_EQ(choose({.plain = 6000, .fsst = 4000, .zstd = 3000}, ZstdUnit::kSingleValue), StringForm::kZstd);
}

class StringPages : public ::testing::Test {
 protected:
  std::string Sentence(int words) {
    static const char* const kWords[] = {"river", "mountain", "of", "consectetur", "Zürich", "x", "lorem ipsum"};
    std::string text;
    for (int i = 0; i < words; ++i) text += std::string(kWords[random_() % 7]) + " ";
    return text;
  }
  std::string Noise(int bytes) {
    std::string text;
    for (int i = 0; i < bytes; ++i) text.push_back(static_cast<char>(random_()));
    return text;
  }

  // Writes the strings as one page, which must come back, and returns it.
  template <typename Make>
  EncodedPage PageOf(int num_rows, const Make& make) {
    arrow::BinaryBuilder builder;
    for (int i = 0; i < num_rows; ++i) {
      if (i % 50 == 7) {
        EXPECT_TRUE(builder.AppendNull().ok());
      } else {
        EXPECT_TRUE(builder.Append(make(i)).ok());
      }
    }
    // A slice, so that bytes lie before the first string and behind the last.
    auto array = builder.Finish().ValueOrDie()->Slice(1, num_rows - 2);
    auto batch = OneColumn(array);
    WrittenFile file = WriteFile(resources_, {batch}).ValueOrDie();
    auto reader = DataFileReader::Open(resources_, StoreOf(file.bytes), "f.lance").ValueOrDie();
    const auto rows = static_cast<uint64_t>(array->length());
    EXPECT_TRUE(reader->Read(file.schema, reader->DefaultColumns(), 0, rows).ValueOrDie()->Equals(*batch));
    EXPECT_TRUE(reader->Read(file.schema, reader->DefaultColumns(), rows / 3, rows / 2)
                    .ValueOrDie()
                    ->Equals(*batch->Slice(array->length() / 3, array->length() / 2)));
    return EncodePage(ShapeOf(*array->type()).ValueOrDie(), {array->data()}, {.pool = resources_.pool}).ValueOrDie();
  }

  Resources resources_ = TestResources();
  std::mt19937_64 random_{20260101};
};

TEST_F(StringPages, SentencesBecomeFsstInChunksOf128) {
  const EncodedPage page = PageOf(5000, [&](int) { return Sentence(12) + Noise(12); });
  const auto& values = page.layout.mini_block_layout().value_compression();
  ASSERT_TRUE(values.has_fsst()) << page.layout.ShortDebugString();
  EXPECT_EQ(values.fsst().symbol_table().size(), kFsstTableBytes);
  EXPECT_EQ(values.fsst().values().variable().offsets().flat().bits_per_value(), 32u);
  // 12 bytes of noise, escaped, and a few codes and an offset for each of 128 rows.
  const uint32_t word = LoadAt<uint32_t>(page.buffers[0].pieces[0]->data());
  EXPECT_EQ(word & 15, 7u);
  const uint64_t chunk_bytes = ((word >> 4) + 1) * 8;
  EXPECT_GT(chunk_bytes, 4096u);
  EXPECT_LE(chunk_bytes, 8192u);
}

TEST_F(StringPages, NoiseStaysAsItIs) {
  const EncodedPage page = PageOf(5000, [&](int) { return Noise(60); });
  EXPECT_TRUE(page.layout.mini_block_layout().value_compression().has_variable()) << page.layout.ShortDebugString();
}

TEST_F(StringPages, LinesThatRepeatEachOtherAreCompressed) {
  const EncodedPage page = PageOf(20'000, [&](int i) {
    return fmt::format("2026-11-30T04:{:02}:00Z INFO server.request path=/api/v1/items status=200 n={}", i / 900, i);
  });
  EXPECT_TRUE(page.layout.mini_block_layout().value_compression().has_general()) << page.layout.ShortDebugString();
}

TEST_F(StringPages, AFewStringsAreNotWorthASymbolTable) {
  const EncodedPage page = PageOf(60, [&](int) { return Sentence(12); });
  EXPECT_TRUE(page.layout.mini_block_layout().value_compression().has_general()) << page.layout.ShortDebugString();
  const EncodedPage smaller = PageOf(5, [&](int) { return Sentence(12); });
  EXPECT_TRUE(smaller.layout.mini_block_layout().value_compression().has_variable())
      << smaller.layout.ShortDebugString();
}

TEST_F(StringPages, LongSentencesBecomeFsstOneByOne) {
  const EncodedPage page = PageOf(1000, [&](int) { return Sentence(60); });
  const auto& values = page.layout.full_zip_layout().value_compression();
  ASSERT_TRUE(values.has_fsst()) << page.layout.ShortDebugString();
  // A word becomes one code or two.
  EXPECT_LT(page.buffers[0].size(), 1000u * 110);
}

TEST_F(StringPages, OneLargeStringAmongSmallOnesDoesNotDecideForAll) {
  const EncodedPage page = PageOf(3000, [&](int i) { return i == 100 ? std::string(5000, 'x') : Sentence(12); });
  EXPECT_TRUE(page.layout.full_zip_layout().value_compression().has_fsst()) << page.layout.ShortDebugString();
}

TEST_F(StringPages, LargeStringsThatRepeatThemselvesAreCompressed) {
  const EncodedPage page = PageOf(100, [&](int) {
    const std::string part = Noise(300);
    return part + part + part + part;
  });
  EXPECT_TRUE(page.layout.full_zip_layout().value_compression().has_general()) << page.layout.ShortDebugString();
}

TEST_F(StringPages, LargeNoiseStaysAsItIs) {
  const EncodedPage page = PageOf(100, [&](int) { return Noise(3000); });
  EXPECT_TRUE(page.layout.full_zip_layout().value_compression().has_variable()) << page.layout.ShortDebugString();
}

// Arrow lets any bytes lie under nulls; they are not stored, and do not decide.
TEST_F(StringPages, BytesUnderNullsAreNotSampled) {
  constexpr int64_t kRows = 3000;
  std::string bytes;
  std::vector<int32_t> offsets = {0};
  std::vector<uint8_t> validity((kRows + 7) / 8);
  for (int64_t i = 0; i < kRows; ++i) {
    const bool valid = i % 10 == 0;
    bytes += valid ? Noise(95) : std::string(250, 'a');
    offsets.push_back(static_cast<int32_t>(bytes.size()));
    if (valid) validity[static_cast<size_t>(i / 8)] |= static_cast<uint8_t>(1 << (i % 8));
  }
  auto array = arrow::MakeArray(arrow::ArrayData::Make(
      arrow::binary(), kRows,
      {arrow::Buffer::FromVector(validity), arrow::Buffer::FromVector(offsets), arrow::Buffer::FromString(bytes)}));
  const EncodedPage page =
      EncodePage(ShapeOf(*array->type()).ValueOrDie(), {array->data()}, {.pool = resources_.pool}).ValueOrDie();
  EXPECT_TRUE(page.layout.mini_block_layout().value_compression().has_variable()) << page.layout.ShortDebugString();
  WrittenFile file = WriteFile(resources_, {OneColumn(array)}).ValueOrDie();
  auto reader = DataFileReader::Open(resources_, StoreOf(file.bytes), "f.lance").ValueOrDie();
  EXPECT_TRUE(reader->Read(file.schema, reader->DefaultColumns(), 0, kRows).ValueOrDie()->Equals(*OneColumn(array)));
}

}  // namespace
}  // namespace javelin::file
