// Numbers that go on regularly are stored byte by byte, and come back whole, in ranges and one by one.
#include <random>

#include <gmock/gmock.h>

#include "javelin/file/file_test_support.h"
#include "javelin/file/page_encoder_internal.h"

namespace javelin::file {
namespace {

using namespace testing;

class SplitPages : public ::testing::Test {
 protected:
  template <typename Builder, typename Make>
  std::shared_ptr<arrow::Array> Build(Builder& builder, int64_t length, const Make& make) {
    for (int64_t i = 0; i < length; ++i) {
      if (with_nulls_ && i % 7 == 3) {
        EXPECT_TRUE(builder.AppendNull().ok());
      } else {
        EXPECT_TRUE(builder.Append(make(i)).ok());
      }
    }
    return builder.Finish().ValueOrDie();
  }

  // The array must come back from a file. Returns its page's layout.
  pb::MiniBlockLayout LayoutOf(const std::shared_ptr<arrow::Array>& whole) {
    auto array = whole->Slice(5);
    auto batch = OneColumn(array);
    WrittenFile file = WriteFile(resources_, {batch}).ValueOrDie();
    auto reader = DataFileReader::Open(resources_, StoreOf(file.bytes), "f.lance").ValueOrDie();
    const auto rows = static_cast<uint64_t>(array->length());
    const ColumnOfField columns = reader->DefaultColumns();
    EXPECT_TRUE(reader->Read(file.schema, columns, 0, rows).ValueOrDie()->Equals(*batch));
    EXPECT_TRUE(reader->Read(file.schema, columns, rows / 3, rows / 2)
                    .ValueOrDie()
                    ->Equals(*batch->Slice(array->length() / 3, array->length() / 2)));
    const uint64_t last = rows - 1;
    EXPECT_TRUE(
        reader->Take(file.schema, columns, {&last, 1}).ValueOrDie()->Equals(*batch->Slice(batch->num_rows() - 1)));
    return EncodePage(ShapeOf(*array->type()).ValueOrDie(), {array->data()}, {.pool = resources_.pool})
        .ValueOrDie()
        .layout.mini_block_layout();
  }

  static bool IsSplit(const pb::MiniBlockLayout& layout, uint64_t bits) {
    const pb::CompressiveEncoding& values = layout.value_compression();
    return values.has_general() && values.general().compression().scheme() == pb::LZ4 &&
           values.general().values().byte_stream_split().values().flat().bits_per_value() == bits;
  }

  Resources resources_ = TestResources();
  bool with_nulls_ = false;
};

TEST_F(SplitPages, CountersAndClocks) {
  for (bool with_nulls : {false, true}) {
    with_nulls_ = with_nulls;
    SCOPED_TRACE(with_nulls);
    arrow::Int64Builder counter;
    EXPECT_TRUE(IsSplit(LayoutOf(Build(counter, 5000, [](int64_t i) { return i + 1'000'000; })), 64));
    arrow::Int64Builder negative;
    EXPECT_TRUE(IsSplit(LayoutOf(Build(negative, 5000, [](int64_t i) { return i - 2500; })), 64));
    arrow::UInt32Builder wide;
    EXPECT_TRUE(IsSplit(LayoutOf(Build(wide, 3000, [](int64_t i) { return uint32_t{1} << 31 | i; })), 32));
    arrow::TimestampBuilder clock(arrow::timestamp(arrow::TimeUnit::MICRO), arrow::default_memory_pool());
    auto time = [](int64_t i) { return 1'700'000'000'000'000 + i * 1'000'003; };
    EXPECT_EQ(IsSplit(LayoutOf(Build(clock, 5000, time)), 64), !with_nulls);
    // Fewer than a chunk, and one more than whole chunks.
    arrow::Int64Builder few;
    EXPECT_TRUE(IsSplit(LayoutOf(Build(few, 200, [](int64_t i) { return i + 1'000'000; })), 64));
    arrow::Int64Builder one_more;
    EXPECT_TRUE(IsSplit(LayoutOf(Build(one_more, 2048 + 5 + 1, [](int64_t i) { return i; })), 64));
  }
}

TEST_F(SplitPages, IndicesOfADictionary) {
  arrow::StringBuilder builder;
  auto layout = LayoutOf(Build(builder, 6000, [](int64_t i) { return fmt::format("session-{}", i % 500); }));
  EXPECT_EQ(layout.num_dictionary_items(), 500u);
  EXPECT_TRUE(IsSplit(layout, 32)) << layout.value_compression().ShortDebugString();
}

TEST_F(SplitPages, WhatIsNotHalvedStaysPacked) {
  std::mt19937_64 random(20260101);
  arrow::Int64Builder small;
  EXPECT_TRUE(LayoutOf(Build(small, 5000, [&](int64_t) { return static_cast<int64_t>(random() % 1000); }))
                  .value_compression()
                  .has_inline_bitpacking());
  arrow::Int64Builder any;
  EXPECT_TRUE(LayoutOf(Build(any, 5000, [&](int64_t) { return static_cast<int64_t>(random()); }))
                  .value_compression()
                  .has_flat());
  arrow::Int64Builder tiny;
  EXPECT_TRUE(LayoutOf(Build(tiny, 60, [&](int64_t i) { return i; })).value_compression().has_flat());
}

}  // namespace
}  // namespace javelin::file
