#include "javelin/memwal/memory_size.h"

#include <gtest/gtest.h>

#include <arrow/api.h>
#include <arrow/json/from_string.h>

namespace javelin::memwal {
namespace {

std::shared_ptr<arrow::RecordBatch> One(const std::shared_ptr<arrow::DataType>& type, const std::string& json) {
  auto values = arrow::json::ArrayFromJSONString(type, json).ValueOrDie();
  return arrow::RecordBatch::Make(arrow::schema({arrow::field("v", type)}), values->length(), {values});
}

TEST(RowBytes, OfEachKindOfColumn) {
  EXPECT_EQ(RowBytes(*One(arrow::int64(), "[1, 2, 3]")), 24u);
  EXPECT_EQ(RowBytes(*One(arrow::int64(), "[1, null, 3]")), 24u + 1);
  EXPECT_EQ(RowBytes(*One(arrow::boolean(), "[true, false, true]")), 1u);
  EXPECT_EQ(RowBytes(*One(arrow::null(), "[null, null]")), 0u);
  EXPECT_EQ(RowBytes(*One(arrow::fixed_size_binary(3), R"(["abc", "def"])")), 6u);
  EXPECT_EQ(RowBytes(*One(arrow::utf8(), R"(["a", "bcd"])")), 3u * 4 + 4);
  EXPECT_EQ(RowBytes(*One(arrow::large_binary(), R"(["a", "bcd"])")), 3u * 8 + 4);
  EXPECT_EQ(RowBytes(*One(arrow::list(arrow::int32()), "[[1, 2], [], [3]]")), 4u * 4 + 3 * 4);
  EXPECT_EQ(RowBytes(*One(arrow::fixed_size_list(arrow::float32(), 4), "[[1, 2, 3, 4], [5, 6, 7, 8]]")), 32u);
  EXPECT_EQ(RowBytes(*One(arrow::struct_({arrow::field("a", arrow::int8()), arrow::field("b", arrow::utf8())}),
                          R"([[1, "xy"]])")),
            1u + 8 + 2);
}

TEST(RowBytes, CountsOnlyTheSlice) {
  auto batch = One(arrow::utf8(), R"(["aaaa", "b", "cc", "dddddddd"])");
  EXPECT_EQ(RowBytes(*batch->Slice(1, 2)), 3u * 4 + 3);
  EXPECT_EQ(RowBytes(*batch->Slice(1, 0)), 0u);
  auto lists = One(arrow::list(arrow::utf8()), R"([["a", "bb"], ["ccc"], [], ["dddd"]])");
  EXPECT_EQ(RowBytes(*lists->Slice(1, 2)), 3u * 4 + (2 * 4 + 3));
  auto vectors = One(arrow::fixed_size_list(arrow::float32(), 2), "[[1, 2], [3, 4], [5, 6]]");
  EXPECT_EQ(RowBytes(*vectors->Slice(2, 1)), 8u);
  auto structs = One(arrow::struct_({arrow::field("a", arrow::int64())}), "[[1], [2], [3]]");
  EXPECT_EQ(RowBytes(*structs->Slice(1, 1)), 8u);
}

TEST(RetainedBytes, CountsEveryAllocationOnce) {
  auto buffer = arrow::AllocateBuffer(1'000).ValueOrDie();
  std::shared_ptr<arrow::Buffer> shared(std::move(buffer));
  const uint64_t capacity = static_cast<uint64_t>(shared->capacity());
  auto data = arrow::ArrayData::Make(arrow::int8(), 1'000, {nullptr, shared});
  auto batch =
      arrow::RecordBatch::Make(arrow::schema({arrow::field("v", arrow::int8())}), 1'000, {arrow::MakeArray(data)});
  RetainedBytes retained;
  EXPECT_EQ(retained.Add(*batch->Slice(3, 1)), capacity) << "one row pins the whole buffer";
  EXPECT_EQ(retained.Add(*batch->Slice(500, 100)), 0u);
  EXPECT_EQ(retained.Add(*One(arrow::int64(), "[1, null]")) > 0, true);
  // A slice of a buffer is the same allocation.
  auto part = arrow::ArrayData::Make(arrow::int8(), 10, {nullptr, arrow::SliceBuffer(shared, 100, 10)});
  auto sliced = arrow::RecordBatch::Make(batch->schema(), 10, {arrow::MakeArray(part)});
  EXPECT_EQ(retained.Add(*sliced), 0u);
}

}  // namespace
}  // namespace javelin::memwal
