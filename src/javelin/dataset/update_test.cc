#include "javelin/dataset/update.h"

#include "javelin/dataset/dataset_world_internal.h"
#include "javelin/dataset/delete_rows.h"
#include "javelin/table/feature_flags.h"
#include "javelin/table/row_lineage.h"
#include "javelin/table/transaction.h"
#include "javelin/table/versions.h"

namespace javelin {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

std::vector<uint64_t> Numbers(const Dataset& dataset, const std::string& column) {
  const auto reader = dataset.Scan({.columns = {{column}}}).ValueOrDie();
  const auto batch = ReadAll(*reader).ValueOrDie();
  const auto array = std::static_pointer_cast<arrow::UInt64Array>(batch->column(0));
  return std::vector<uint64_t>(array->raw_values(), array->raw_values() + array->length());
}

class Updates : public testing::Test {
 protected:
  // Fragments of 10 rows each.
  void SetUp() override {
    ASSERT_OK_AND_ASSIGN(dataset_, world_.Write(MakeRows(0, 30), WriteMode::kCreate, {.max_rows_per_file = 10}));
    world_.counting().Reset();
  }
  table::Update Committed(const Dataset& dataset) {
    const auto transaction = table::LoadTransaction(world_.location(), dataset.loaded()).ValueOrDie();
    return std::get<table::Update>(transaction.operation);
  }
  size_t Files(const std::string& folder) {
    return ListAll(world_.inner(), {.prefix = "t/" + folder + "/"}).ValueOrDie().objects.size();
  }

  DatasetWorld world_;
  std::shared_ptr<Dataset> dataset_;
};

TEST_F(Updates, RowsComeBackWithNewValuesInTheOrderOfAScan) {
  ASSERT_OK_AND_ASSIGN(const UpdatedRows updated,
                       UpdateRows(*dataset_, {{"s", "concat('n', cast(id as string))"}}, "id in (25, 3, 14)"));
  EXPECT_EQ(updated.num_rows_updated, 3u);
  EXPECT_EQ(updated.dataset->version(), TableVersion(2));
  EXPECT_EQ(world_.Rows(*updated.dataset),
            Both(Without(MakeRows(0, 30), {3, 14, 25}), {{3, "n3"}, {14, "n14"}, {25, "n25"}}));
  const table::Update committed = Committed(*updated.dataset);
  EXPECT_THAT(committed.updated_fragments, SizeIs(3));
  EXPECT_THAT(committed.new_fragments, SizeIs(1));
  EXPECT_THAT(committed.changed_fields, ElementsAre(FieldId(1)));
  EXPECT_THAT(committed.fields_modified, IsEmpty());
  EXPECT_FALSE(committed.rewrites_columns);
}

TEST_F(Updates, ValuesAreOfTheRowAsItWas) {
  ASSERT_OK_AND_ASSIGN(const UpdatedRows updated,
                       UpdateRows(*dataset_, {{"s", "cast(id as string)"}, {"id", "id + 100"}}, "id < 2"));
  EXPECT_EQ(world_.Rows(*updated.dataset), Both(Without(MakeRows(0, 30), {0, 1}), {{100, "0"}, {101, "1"}}));
}

TEST_F(Updates, AllRowsWithoutACondition) {
  ASSERT_OK_AND_ASSIGN(const UpdatedRows updated, UpdateRows(*dataset_, {{"s", "'x'"}}, {}, {.max_rows_per_file = 20}));
  EXPECT_EQ(updated.num_rows_updated, 30u);
  std::vector<TestRow> expected = MakeRows(0, 30);
  for (TestRow& row : expected) row.s = "x";
  EXPECT_EQ(world_.Rows(*updated.dataset), expected);
  EXPECT_THAT(Committed(*updated.dataset).removed_fragment_ids,
              ElementsAre(FragmentId(0), FragmentId(1), FragmentId(2)));
  EXPECT_THAT(updated.dataset->manifest().fragments, SizeIs(2));
}

TEST_F(Updates, NothingFoundIsAVersionToo) {
  ASSERT_OK_AND_ASSIGN(const UpdatedRows updated, UpdateRows(*dataset_, {{"s", "'x'"}}, "id > 100"));
  EXPECT_EQ(updated.num_rows_updated, 0u);
  EXPECT_EQ(updated.dataset->version(), TableVersion(2));
  EXPECT_EQ(world_.Rows(*updated.dataset), MakeRows(0, 30));
  EXPECT_EQ(Files("data"), 3u);
}

TEST_F(Updates, RequestsOfAnUpdate) {
  ASSERT_OK(UpdateRows(*dataset_, {{"s", "'x'"}}, "id in (3, 25)").status());
  const RequestCounts counts = world_.counting().counts();
  EXPECT_EQ(counts.put, 4u);  // data, two deletion files, transaction
  EXPECT_EQ(counts.put_if_absent, 1u);
  EXPECT_EQ(counts.list, 1u);
  EXPECT_LE(counts.get, 3u);  // a data file each
  EXPECT_EQ(counts.total(), counts.put + counts.put_if_absent + counts.list + counts.get);
}

TEST_F(Updates, ErrorsWriteNothing) {
  const auto error = [&](const std::vector<ComputedColumn>& set, const std::optional<std::string>& where = {}) {
    return UpdateRows(*dataset_, set, where).status();
  };
  ExpectError(error({}), ErrorKind::kInvalidInput, "no column");
  ExpectError(error({{"t", "1"}}), ErrorKind::kInvalidInput, "'t'");
  ExpectError(error({{"s", "'a'"}, {"s", "'b'"}}), ErrorKind::kInvalidInput, "twice");
  ExpectError(error({{"s.x", "'a'"}}), ErrorKind::kNotSupported, "whole columns");
  ExpectError(error({{"id", "'a'"}}), ErrorKind::kInvalidInput, "column 'id'");
  ExpectError(error({{"id", "ids"}}), ErrorKind::kInvalidInput, "did you mean `id`");
  ExpectError(error({{"s", "'a'"}}, "ids = 1"), ErrorKind::kInvalidInput, "did you mean `id`");
  EXPECT_EQ(world_.counting().counts().total(), 0u);
  // What only the rows show: a null where none may be, a division by zero.
  ExpectError(error({{"id", "null"}}), ErrorKind::kInvalidInput, "id");
  ExpectError(error({{"id", "10 / (id - 20)"}}), ErrorKind::kInvalidInput, "zero");
  EXPECT_EQ(Files("data"), 3u);
  EXPECT_EQ(Files("_deletions"), 0u);
  EXPECT_EQ(Files("_versions"), 1u);
}

TEST_F(Updates, RowsKeepTheirIdsOnATableThatHasThem) {
  ASSERT_OK_AND_ASSIGN(dataset_, world_.Plant([](table::Manifest& next) {
    next.reader_feature_flags = next.writer_feature_flags = table::flag::kStableRowIds;
    next.next_row_id = 5000;
    for (uint64_t i = 0; i < 3; ++i)
      next.fragments[i].lineage = table::LineageOfNewRows(1000 - i * 100, 10, TableVersion(i + 1));
  }));
  ASSERT_OK_AND_ASSIGN(const UpdatedRows updated,
                       UpdateRows(*dataset_, {{"s", "'new'"}}, "id in (3, 14, 25)", {.max_rows_per_file = 2}));
  const Dataset& after = *updated.dataset;
  const auto ids = Numbers(after, "_rowid"), created = Numbers(after, "_row_created_at_version"),
             last = Numbers(after, "_row_last_updated_at_version");
  ASSERT_THAT(ids, SizeIs(30));
  EXPECT_THAT(std::vector(ids.begin() + 27, ids.end()), ElementsAre(1003, 904, 805));
  EXPECT_THAT(std::vector(created.begin() + 27, created.end()), ElementsAre(1, 2, 3));
  EXPECT_THAT(std::vector(last.begin() + 27, last.end()), ElementsAre(3, 3, 3));
  EXPECT_EQ(after.manifest().next_row_id, 5000u);
}

TEST_F(Updates, OnTheSameRowsItRunsAgain) {
  ASSERT_OK_AND_ASSIGN(const UpdatedRows theirs, UpdateRows(*dataset_, {{"id", "id + 1000"}}, "id in (5, 6)"));
  ExpectError(UpdateRows(*dataset_, {{"s", "'x'"}}, "id % 1000 = 6", {}, {.retries = 0}).status(),
              ErrorKind::kRetryableConflict, "");
  const size_t data = Files("data"), deletions = Files("_deletions");
  ASSERT_OK_AND_ASSIGN(const UpdatedRows ours, UpdateRows(*dataset_, {{"s", "'x'"}}, "id % 1000 = 6"));
  EXPECT_EQ(ours.num_rows_updated, 1u);
  EXPECT_EQ(world_.Rows(*ours.dataset), Both(Without(MakeRows(0, 30), {5, 6}), {{1005, "s5"}, {1006, "x"}}));
  EXPECT_EQ(Files("data"), data + 1);  // what the attempts that failed had written is gone
  EXPECT_EQ(Files("_deletions"), deletions + 1);
  // Other rows of the same fragments are merged.
  ASSERT_OK_AND_ASSIGN(const DeletedRows deleted, DeleteRows(*dataset_, "id = 7"));
  EXPECT_EQ(world_.Rows(*deleted.dataset), Both(Without(MakeRows(0, 30), {5, 6, 7}), {{1005, "s5"}, {1006, "x"}}));
}

// Whichever request fails, all rows are new or all are old, and then no new file stays.
TEST(UpdateFaults, AnyRequestMayFail) {
  for (const auto action : {FaultRule::Action::kFail, FaultRule::Action::kLoseAnswer}) {
    for (uint64_t n = 1;; ++n) {
      SCOPED_TRACE(fmt::format("lose answer {} request {}", action == FaultRule::Action::kLoseAnswer, n));
      DatasetWorld world;
      ASSERT_OK(world.Write(MakeRows(0, 30), WriteMode::kCreate, {.max_rows_per_file = 10}).status());
      ASSERT_OK_AND_ASSIGN(const auto dataset, world.Open());
      const uint64_t before = world.faults().requests();
      world.faults().AddRule({.first = n, .action = action});
      const auto updated = UpdateRows(*dataset, {{"s", "'x'"}}, "id in (3, 14)");
      const uint64_t made = world.faults().requests() - before;
      const bool faulty = world.faults().faults() > 0;
      world.faults().ClearRules();
      ASSERT_OK_AND_ASSIGN(const auto latest, world.Open());
      if (updated.ok()) {
        EXPECT_EQ(world.Rows(*latest), Both(Without(MakeRows(0, 30), {3, 14}), {{3, "x"}, {14, "x"}}));
      } else if (!HasKind(updated.status(), ErrorKind::kOutcomeUnknown)) {
        EXPECT_EQ(latest->version(), TableVersion(1));
        EXPECT_EQ(ListAll(world.inner(), {.prefix = "t/data/"}).ValueOrDie().objects.size(), 3u);
        EXPECT_THAT(ListAll(world.inner(), {.prefix = "t/_deletions/"}).ValueOrDie().objects, IsEmpty());
      }
      if (!faulty) {
        EXPECT_GT(made, 6u);
        break;
      }
    }
  }
}

}  // namespace
}  // namespace javelin
