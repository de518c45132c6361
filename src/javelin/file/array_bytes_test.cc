#include "javelin/file/array_bytes.h"

#include <arrow/array/concatenate.h>
#include <arrow/util/byte_size.h>
#include <gmock/gmock.h>

#include "javelin/file/nested_test_support.h"
#include "javelin/file/pick_rows.h"

namespace javelin::file {
namespace {

using namespace testing;

// Buffers are padded; validity, and what lies under a null, may be left out.
void ExpectNear(uint64_t bytes, const arrow::RecordBatch& made) {
  const auto taken = static_cast<uint64_t>(arrow::util::TotalBufferSize(made));
  EXPECT_LE(bytes, taken + taken / 2 + 1024);
  EXPECT_GE(bytes + 1024, taken);
}

TEST(ArrayBytes, AreWhatTakingAndJoiningMakes) {
  RandomNested random(5);
  for (const auto& type :
       {arrow::int32(), arrow::utf8(), arrow::large_binary(), arrow::list(arrow::utf8()),
        arrow::large_list(arrow::int64()), arrow::fixed_size_list(arrow::float64(), 9),
        arrow::struct_({arrow::field("a", arrow::list(arrow::int16())), arrow::field("b", arrow::utf8())}),
        arrow::map(arrow::utf8(), arrow::list(arrow::float64()))}) {
    SCOPED_TRACE(type->ToString());
    const auto whole = OneColumn(random.Make(type, 4'000, {.null_part = 0.2, .empty_part = 0.2}));
    const auto slice = whole->Slice(1'000, 2'000);
    arrow::UInt64Builder numbers;
    for (int i = 0; i < 5'000; ++i) ASSERT_TRUE(numbers.Append(random.Below(2'000)).ok());
    const auto rows = std::static_pointer_cast<arrow::UInt64Array>(numbers.Finish().ValueOrDie());
    ExpectNear(TakenBytes(*slice, *rows).ValueOrDie(), *TakeRows(slice, *rows).ValueOrDie());
    ExpectNear(JoinedBytes({slice, whole}).ValueOrDie(), *arrow::ConcatenateRecordBatches({slice, whole}).ValueOrDie());
  }
}

TEST(ArrayBytes, MoreThanOffsetsCount) {
  arrow::ListBuilder lists(arrow::default_memory_pool(), std::make_shared<arrow::Int8Builder>());
  ASSERT_TRUE(lists.Append().ok());
  ASSERT_TRUE(lists.value_builder()->AppendEmptyValues(1 << 20).ok());
  const auto batch = OneColumn(lists.Finish().ValueOrDie());
  const auto rows = [](int64_t count) {
    return arrow::UInt64Array(count, arrow::AllocateBuffer(count * 8).ValueOrDie());
  };
  auto most = rows(2'047);
  std::memset(const_cast<uint64_t*>(most.raw_values()), 0, 2'047 * 8);
  EXPECT_EQ(TakenBytes(*batch, most).ValueOrDie(), 2'047u * ((1 << 20) + 4) + 2'047 / 8 + (2'047u << 20) / 8);
  auto more = rows(2'048);
  std::memset(const_cast<uint64_t*>(more.raw_values()), 0, 2'048 * 8);
  EXPECT_KIND(TakenBytes(*batch, more).status(), ErrorKind::kInvalidInput, "2147483648 items");
  EXPECT_KIND(JoinedBytes(arrow::RecordBatchVector(2'048, batch)).status(), ErrorKind::kInvalidInput, "large_list");
}

TEST(ArrayBytes, NullsTakeAboutTheirWidth) {
  EXPECT_EQ(NullBytes(*arrow::null(), 1'000'000), 0u);
  EXPECT_EQ(NullBytes(*arrow::int64(), 800), 800u * 8 + 8 + 101);
  EXPECT_EQ(NullBytes(*arrow::utf8(), 800), 801u * 16 + 101);
  EXPECT_EQ(NullBytes(*arrow::fixed_size_list(arrow::float32(), 1 << 30), UINT64_MAX), UINT64_MAX);
}

}  // namespace
}  // namespace javelin::file
