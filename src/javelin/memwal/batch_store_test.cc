#include "javelin/memwal/batch_store.h"

#include <gtest/gtest.h>

#include <arrow/api.h>

#include "javelin/base/runtime.h"
#include "javelin/base/segmented_array.h"

namespace javelin::memwal {
namespace {

std::shared_ptr<arrow::RecordBatch> Numbers(int64_t first, int64_t rows) {
  arrow::Int64Builder builder;
  for (int64_t i = 0; i < rows; ++i) EXPECT_TRUE(builder.Append(first + i).ok());
  return arrow::RecordBatch::Make(arrow::schema({arrow::field("n", arrow::int64())}), rows,
                                  {builder.Finish().ValueOrDie()});
}

TEST(SegmentedArray, ElementsKeepTheirPlace) {
  SegmentedArray<uint64_t> array;
  std::vector<const uint64_t*> places;
  for (uint64_t i = 0; i < 5'000; ++i) {
    array.Grow(i) = i * 3;
    places.push_back(&array[i]);
  }
  for (uint64_t i = 0; i < 5'000; ++i) {
    EXPECT_EQ(&array[i], places[i]);
    EXPECT_EQ(array[i], i * 3);
  }
  EXPECT_GE(array.allocated_bytes(), 5'000 * sizeof(uint64_t));
  EXPECT_LT(array.allocated_bytes(), 2 * 8'192 * sizeof(uint64_t));
}

TEST(BatchStore, CountsBatchesAndRows) {
  BatchStore store(GlobalBatch(7));
  EXPECT_EQ(store.committed(), LocalBatch(0));
  EXPECT_EQ(store.global_end(), GlobalBatch(7));
  EXPECT_EQ(store.RowsBefore(LocalBatch(0)), 0u);
  store.Append({Numbers(0, 3)});
  store.Append({Numbers(3, 1), Numbers(4, 5)});
  EXPECT_EQ(store.committed(), LocalBatch(3));
  EXPECT_EQ(store.global_end(), GlobalBatch(10));
  EXPECT_EQ(store.RowsBefore(LocalBatch(1)), 3u);
  EXPECT_EQ(store.RowsBefore(LocalBatch(3)), 9u);
  EXPECT_EQ(store[2].first_row, 4u);
  const std::vector<uint64_t> batch_of_row{0, 0, 0, 1, 2, 2, 2, 2, 2};
  for (uint64_t row = 0; row < 9; ++row) EXPECT_EQ(store.BatchOfRow(row, LocalBatch(3)), batch_of_row[row]) << row;
  EXPECT_EQ(store.row_bytes(), 9 * sizeof(int64_t));
}

TEST(BatchStore, ReadersSeeWholePuts) {
  auto runtime = MakeThreadRuntime();
  BatchStore store(GlobalBatch(0));
  constexpr int kPuts = 2'000;
  auto producer = runtime->Spawn("producer", [&] {
    for (int i = 0; i < kPuts; ++i) store.Append({Numbers(3 * i, 2), Numbers(3 * i + 2, 1)});
  });
  uint64_t seen = 0;
  while (seen < 2 * kPuts) {
    const uint64_t committed = store.committed().value();
    ASSERT_EQ(committed % 2, 0u) << "half a put became visible";
    ASSERT_GE(committed, seen);
    for (uint64_t i = seen; i < committed; ++i) {
      const auto& values = static_cast<const arrow::Int64Array&>(*store[i].batch->column(0));
      ASSERT_EQ(static_cast<uint64_t>(values.Value(0)), store[i].first_row);
    }
    seen = committed;
  }
  producer.Join();
  EXPECT_EQ(store.num_rows(), 3u * kPuts);
}

TEST(LocalEnd, SaturatesAtBothEnds) {
  // A fresh MemTable starts ahead of the cursor, a frozen one lies behind it.
  EXPECT_EQ(LocalEnd(GlobalBatch(2), GlobalBatch(5), LocalBatch(3)), LocalBatch(0));
  EXPECT_EQ(LocalEnd(GlobalBatch(5), GlobalBatch(5), LocalBatch(3)), LocalBatch(0));
  EXPECT_EQ(LocalEnd(GlobalBatch(7), GlobalBatch(5), LocalBatch(3)), LocalBatch(2));
  EXPECT_EQ(LocalEnd(GlobalBatch(90), GlobalBatch(5), LocalBatch(3)), LocalBatch(3));
}

TEST(MonotonicCount, NeverFalls) {
  MonotonicCount count;
  EXPECT_EQ(count.Get(), 0u);
  count.RaiseTo(5);
  count.RaiseTo(3);
  EXPECT_EQ(count.Get(), 5u);
}

}  // namespace
}  // namespace javelin::memwal
