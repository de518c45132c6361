// The index of full-zip pages in every width: pages of our encoder, of which the index is written anew.
#include <gmock/gmock.h>

#include "javelin/file/crafted_page_internal.h"
#include "javelin/file/nested_test_support.h"
#include "javelin/file/page_encoder_internal.h"

namespace javelin::file {
namespace {

using namespace testing;

std::string BytesOf(const EncodedBuffer& buffer) {
  std::string bytes;
  for (const BufferPtr& piece : buffer.pieces) bytes += piece->ToString();
  return bytes;
}

Field FieldOf(const arrow::DataType& type) {
  return Schema::FromArrow(*arrow::schema({arrow::field("c", type.GetSharedPtr())})).ValueOrDie().fields()[0];
}

class FullZipIndex : public ::testing::Test {
 protected:
  // Every value by itself, in one page.
  static CraftedPage PageOf(const arrow::Array& array, FileVersion version) {
    const LeafPath path = LeafPathsOf(FieldOf(*array.type())).ValueOrDie().at(0);
    const ValueShape shape = StoredShapeOf(path).ValueOrDie();
    PageOptions options{.version = version, .pool = arrow::default_memory_pool()};
    options.wishes.structure = EncodingWishes::Structure::kOneByOne;
    options.wishes.dictionary_divisor = static_cast<uint64_t>(array.length()) + 1;  // none
    std::vector<EncodedPage> pages;
    if (path.is_flat()) {
      pages.push_back(EncodePage(shape, {array.data()}, options).ValueOrDie());
    } else {
      pages = EncodeNestedPages(path, shape, {array.data()}, /*only_page=*/true, options).ValueOrDie();
    }
    EXPECT_EQ(pages.size(), 1u);
    EXPECT_TRUE(pages[0].layout.has_full_zip_layout());
    CraftedPage page{version, pages[0].layout.SerializeAsString(), {}, pages[0].num_rows};
    for (const EncodedBuffer& buffer : pages[0].buffers) page.buffers.push_back(BytesOf(buffer));
    EXPECT_EQ(page.buffers.size(), 2u);
    return page;
  }

  static std::vector<uint64_t> EntriesOf(const CraftedPage& page) {
    const uint64_t width = page.buffers[1].size() / (page.num_rows + 1);
    std::vector<uint64_t> entries;
    for (uint64_t i = 0; i <= page.num_rows; ++i) {
      entries.push_back(LoadUnsigned(reinterpret_cast<const uint8_t*>(page.buffers[1].data()) + i * width,
                                     static_cast<unsigned>(width)));
    }
    return entries;
  }

  static CraftedPage WithIndex(CraftedPage page, const std::vector<uint64_t>& entries, size_t width) {
    page.buffers[1].clear();
    for (const uint64_t entry : entries) page.buffers[1].append(reinterpret_cast<const char*>(&entry), width);
    return page;
  }

  void ExpectReads(const CraftedPage& page, const arrow::Array& array) {
    const Field field = FieldOf(*array.type());
    const uint64_t rows = page.num_rows;
    const std::vector<std::vector<Slice>> wanted = {
        {{0, rows}}, {{0, 1}}, {{rows - 1, 1}}, {{rows / 3, rows / 2}}, {{0, 1}, {rows / 2, 1}, {rows - 1, 1}}};
    for (const std::vector<Slice>& slices : wanted) {
      arrow::ArrayVector parts;
      for (const Slice& slice : slices)
        parts.push_back(array.Slice(static_cast<int64_t>(slice.first), static_cast<int64_t>(slice.count)));
      const auto read = ReadCraftedPage(resources_, page, field, slices);
      ASSERT_TRUE(read.ok()) << read.status().ToString();
      ASSERT_TRUE((*read)->ValidateFull().ok());
      EXPECT_TRUE(Same(**read, *arrow::Concatenate(parts).ValueOrDie())) << array.type()->ToString();
    }
  }

  // In each width that holds its offsets; the narrowest is `narrowest`.
  void ExpectReadsInEveryWidth(const arrow::Array& array, size_t narrowest) {
    for (const FileVersion version : {FileVersion{2, 1}, FileVersion{2, 2}}) {
      const CraftedPage page = PageOf(array, version);
      const std::vector<uint64_t> entries = EntriesOf(page);
      for (const size_t width : {size_t{1}, size_t{2}, size_t{4}, size_t{8}}) {
        SCOPED_TRACE(fmt::format("an index of {} bytes a row in {}", width, ToString(version)));
        const bool holds = width == 8 || entries.back() >> (8 * width) == 0;
        EXPECT_EQ(holds, width >= narrowest);
        if (holds) ExpectReads(WithIndex(page, entries, width), array);
      }
    }
  }

  RandomColumns columns_{20260115};
  RandomNested nested_{20260115};
  Resources resources_ = TestResources();
};

TEST_F(FullZipIndex, OfStrings) {
  for (const double nulls : {0.0, 0.3}) {
    ExpectReadsInEveryWidth(*columns_.Make(arrow::utf8(), 9, nulls, Spread::kSequence), 1);
    ExpectReadsInEveryWidth(*columns_.Make(arrow::large_binary(), 900, nulls, Spread::kSequence), 2);
    // More rows than of which the index is kept.
    ExpectReadsInEveryWidth(*columns_.Make(arrow::utf8(), 70'000, nulls, Spread::kSequence), 4);
  }
}

TEST_F(FullZipIndex, OfListsOfVectors) {
  const auto type = arrow::list(arrow::fixed_size_list(arrow::int16(), 3));
  for (const double part : {0.0, 0.3}) {
    const RandomNested::Shape shape{.null_part = part, .empty_part = part};
    ExpectReadsInEveryWidth(*nested_.Make(type, 6, shape), 1);
    ExpectReadsInEveryWidth(*nested_.Make(type, 600, shape), 2);
    ExpectReadsInEveryWidth(*nested_.Make(type, 20'000, shape), 4);
  }
}

TEST_F(FullZipIndex, EntriesAreNotBelieved) {
  const auto array = columns_.Make(arrow::utf8(), 9, 0, Spread::kSequence);
  const CraftedPage page = PageOf(*array, {2, 2});
  const std::vector<uint64_t> good = EntriesOf(page);
  const Field field = FieldOf(*array->type());
  const auto read = [&](const std::vector<uint64_t>& entries, size_t width, Slice rows) {
    return ReadCraftedPage(resources_, WithIndex(page, entries, width), field, {rows}).status();
  };
  for (const size_t width : {size_t{1}, size_t{8}}) {
    std::vector<uint64_t> entries = good;
    entries[4] = width == 1 ? 255 : uint64_t{1} << 63;  // past the end
    EXPECT_KIND(read(entries, width, {3, 1}), ErrorKind::kCorruption, "rows lie at");
    EXPECT_KIND(read(entries, width, {4, 1}), ErrorKind::kCorruption, "rows lie at");
    entries[4] = good[3] - 1;  // before its own row
    EXPECT_KIND(read(entries, width, {3, 1}), ErrorKind::kCorruption, "rows lie at");
  }
  CraftedPage cut = WithIndex(page, good, 8);
  cut.buffers[1].pop_back();
  EXPECT_KIND(ReadCraftedPage(resources_, cut, field, {{0, 1}}).status(), ErrorKind::kCorruption, "the index of");
  cut = WithIndex(page, good, 3);
  EXPECT_KIND(ReadCraftedPage(resources_, cut, field, {{0, 1}}).status(), ErrorKind::kCorruption, "the index of");
}

}  // namespace
}  // namespace javelin::file
