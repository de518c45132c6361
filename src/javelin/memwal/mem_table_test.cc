#include "javelin/memwal/mem_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <arrow/api.h>
#include <arrow/json/from_string.h>

#include "javelin/base/error.h"
#include "javelin/memwal/poison_latch.h"

namespace javelin::memwal {
namespace {

std::shared_ptr<arrow::Schema> TableSchema(bool with_key) {
  auto mark = with_key ? arrow::key_value_metadata({{std::string(file::kPrimaryKeyMetadata), "true"}}) : nullptr;
  return arrow::schema({arrow::field("id", arrow::int64(), false, mark), arrow::field("text", arrow::utf8())});
}

struct Fixture {
  explicit Fixture(bool with_key = true, bool durable_write = true) {
    auto schemas = ShardSchemas::Make(file::Schema::FromArrow(*TableSchema(with_key)).ValueOrDie()).ValueOrDie();
    auto context = std::make_shared<MemTableContext>();
    if (with_key) context->keys = RowKeyEncoder::Make(schemas).ValueOrDie();
    context->schemas = std::make_shared<const ShardSchemas>(std::move(schemas));
    context->durable_write = durable_write;
    context->durable = durable;
    table = std::make_shared<MemTable>(std::move(context), Generation(3), GlobalBatch(10));
  }
  std::shared_ptr<arrow::RecordBatch> Rows(const std::string& json) const {
    auto rows = arrow::json::ArrayFromJSONString(arrow::struct_(TableSchema(false)->fields()), json).ValueOrDie();
    return table->schemas().ShapePut(*arrow::RecordBatch::FromStructArray(rows).ValueOrDie()).ValueOrDie();
  }
  uint64_t Index(uint64_t end) {
    const uint64_t rows = table->ApplyIndexes(LocalBatch(end)).ValueOrDie();
    table->AdvanceIndexed(LocalBatch(end));
    return rows;
  }

  std::shared_ptr<MonotonicCount> durable = std::make_shared<MonotonicCount>();
  std::shared_ptr<MemTable> table;
};

TEST(MemTable, VisibleIsTheSmallerOfIndexedAndDurable) {
  Fixture f;
  f.table->Insert({f.Rows(R"([[1, "a"]])"), f.Rows(R"([[2, "b"]])"), f.Rows(R"([[3, "c"]])")});
  EXPECT_EQ(f.table->Visible(), LocalBatch(0)) << "committed rows are not visible yet";
  EXPECT_EQ(f.Index(2), 2u);
  EXPECT_EQ(f.table->Visible(), LocalBatch(0)) << "indexed rows are not durable yet";
  f.durable->RaiseTo(11);
  EXPECT_EQ(f.table->Visible(), LocalBatch(1));
  f.durable->RaiseTo(500);
  EXPECT_EQ(f.table->Visible(), LocalBatch(2)) << "durable rows are not indexed yet";
  EXPECT_EQ(f.Index(3), 1u);
  EXPECT_EQ(f.table->Visible(), LocalBatch(3));
}

TEST(MemTable, WithoutDurableWriteIndexedRowsAreVisible) {
  Fixture f(true, /*durable_write=*/false);
  f.table->Insert({f.Rows(R"([[1, "a"]])")});
  EXPECT_EQ(f.table->Visible(), LocalBatch(0));
  f.Index(1);
  EXPECT_EQ(f.table->Visible(), LocalBatch(1));
}

TEST(MemTable, WithoutIndexItIsBoundToTheCursorsToo) {
  Fixture f(/*with_key=*/false);
  EXPECT_EQ(f.table->key_index(), nullptr);
  f.table->Insert({f.Rows(R"([[1, "a"], [1, "b"]])")});
  f.Index(1);
  EXPECT_EQ(f.table->Visible(), LocalBatch(0));
  f.durable->RaiseTo(11);
  EXPECT_EQ(f.table->Visible(), LocalBatch(1));
}

TEST(MemTable, ABatchIsIndexedOnce) {
  Fixture f;
  f.table->Insert({f.Rows(R"([[1, "a"], [2, "b"]])")});
  EXPECT_EQ(f.Index(1), 2u);
  EXPECT_EQ(f.table->ApplyIndexes(LocalBatch(1)).ValueOrDie(), 0u);
  EXPECT_EQ(f.table->key_index()->num_rows(), 2u);
  EXPECT_FALSE(f.table->key_index()->has_overrides());
}

TEST(MemTable, MissingBatchesAreABug) {
  Fixture f;
  f.table->Insert({f.Rows(R"([[1, "a"]])")});
  const auto status = f.table->ApplyIndexes(LocalBatch(4)).status();
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(KindOf(status), ErrorKind::kInternal);
  EXPECT_THAT(status.message(), testing::HasSubstr("[0, 4)"));
  EXPECT_THAT(status.message(), testing::HasSubstr("only 1 are committed"));
}

TEST(MustFreeze, EachLimit) {
  Fixture f;
  const FreezeLimits none{UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX};
  const auto with = [&](auto set) {
    FreezeLimits limits = none;
    set(limits);
    return limits;
  };
  EXPECT_FALSE(MustFreeze(*f.table, with([](FreezeLimits& l) { l.max_rows = 0; }), 1, 1))
      << "an empty table is never frozen";
  f.table->Insert({f.Rows(R"([[1, "a"], [2, "b"]])")});
  EXPECT_FALSE(MustFreeze(*f.table, none, 1, 1));
  const uint64_t bytes = f.table->store().row_bytes();
  EXPECT_TRUE(MustFreeze(*f.table, with([&](FreezeLimits& l) { l.max_row_bytes = bytes; }), 1, 1));
  EXPECT_FALSE(MustFreeze(*f.table, with([&](FreezeLimits& l) { l.max_row_bytes = bytes + 1; }), 1, 1));
  const uint64_t resident = f.table->resident_bytes();
  EXPECT_GE(resident, kKeyFilterBytes + bytes);
  EXPECT_TRUE(MustFreeze(*f.table, with([&](FreezeLimits& l) { l.max_resident_bytes = resident; }), 1, 1));
  EXPECT_FALSE(MustFreeze(*f.table, with([&](FreezeLimits& l) { l.max_resident_bytes = resident + 1; }), 1, 1));
  EXPECT_TRUE(MustFreeze(*f.table, with([](FreezeLimits& l) { l.max_rows = 4; }), 1, 3));
  EXPECT_FALSE(MustFreeze(*f.table, with([](FreezeLimits& l) { l.max_rows = 4; }), 1, 2));
  EXPECT_TRUE(MustFreeze(*f.table, with([](FreezeLimits& l) { l.max_batches = 3; }), 3, 3));
  EXPECT_FALSE(MustFreeze(*f.table, with([](FreezeLimits& l) { l.max_batches = 3; }), 2, 2));
}

TEST(PoisonLatch, KeepsTheFirstFailure) {
  PoisonLatch latch;
  EXPECT_TRUE(latch.Check().ok());
  EXPECT_TRUE(latch.Set(MakeError(ErrorKind::kFencedPersistenceFailure, "first")));
  EXPECT_FALSE(latch.Set(MakeError(ErrorKind::kFencedPeerClaimedEpoch, "second")));
  EXPECT_EQ(KindOf(latch.Check()), ErrorKind::kFencedPersistenceFailure);
  EXPECT_EQ(latch.Check().message(), "first");
}

}  // namespace
}  // namespace javelin::memwal
