#include "javelin/dataset/delete_rows.h"

#include "javelin/dataset/dataset_world_internal.h"
#include "javelin/dataset/row_change.h"
#include "javelin/table/transaction.h"
#include "javelin/table/versions.h"

namespace javelin {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

class Deletes : public testing::Test {
 protected:
  // Fragments of 10 rows each.
  void SetUp() override {
    ASSERT_OK_AND_ASSIGN(dataset_, world_.Write(MakeRows(0, 30), WriteMode::kCreate, {.max_rows_per_file = 10}));
    world_.counting().Reset();
  }
  table::Delete Committed(const Dataset& dataset) {
    const auto transaction = table::LoadTransaction(world_.location(), dataset.loaded()).ValueOrDie();
    return std::get<table::Delete>(transaction.operation);
  }
  std::vector<std::string> Files(const std::string& folder) {
    std::vector<std::string> keys;
    const ListPage page = ListAll(world_.inner(), {.prefix = "t/" + folder + "/"}).ValueOrDie();
    for (const ObjectInfo& object : page.objects) keys.push_back(object.key);
    return keys;
  }

  DatasetWorld world_;
  std::shared_ptr<Dataset> dataset_;
};

TEST_F(Deletes, RowsThatMatchGoInOneCommit) {
  ASSERT_OK_AND_ASSIGN(const DeletedRows deleted, DeleteRows(*dataset_, "id in (3, 14, 15) or s = 's29'"));
  EXPECT_EQ(deleted.num_deleted_rows, 4u);
  EXPECT_EQ(deleted.dataset->version(), TableVersion(2));
  EXPECT_EQ(world_.Rows(*deleted.dataset), Without(MakeRows(0, 30), {3, 14, 15, 29}));
  const table::Delete committed = Committed(*deleted.dataset);
  EXPECT_EQ(committed.predicate, "id in (3, 14, 15) or s = 's29'");
  EXPECT_THAT(committed.updated_fragments, SizeIs(3));
  EXPECT_THAT(committed.deleted_fragment_ids, IsEmpty());
  ASSERT_OK_AND_ASSIGN(const uint64_t count, deleted.dataset->CountRows());
  EXPECT_EQ(count, 26u);
  EXPECT_EQ(world_.Rows(*dataset_), MakeRows(0, 30));
  // Again: what is gone is not found, and masks add up.
  ASSERT_OK_AND_ASSIGN(const DeletedRows more, DeleteRows(*deleted.dataset, "id < 6"));
  EXPECT_EQ(more.num_deleted_rows, 5u);
  EXPECT_EQ(world_.Rows(*more.dataset), Without(MakeRows(6, 24), {14, 15, 29}));
}

TEST_F(Deletes, AFragmentWithoutRowsGoes) {
  ASSERT_OK_AND_ASSIGN(const DeletedRows some, DeleteRows(*dataset_, "id >= 9 and id <= 20"));
  EXPECT_THAT(Committed(*some.dataset).deleted_fragment_ids, ElementsAre(FragmentId(1)));
  EXPECT_THAT(some.dataset->manifest().fragments, SizeIs(2));
  ASSERT_OK_AND_ASSIGN(const DeletedRows all, DeleteRows(*some.dataset, "true"));
  EXPECT_EQ(all.num_deleted_rows, 18u);
  EXPECT_THAT(all.dataset->manifest().fragments, IsEmpty());
  ASSERT_OK_AND_ASSIGN(const DeletedRows none, DeleteRows(*all.dataset, "true"));
  EXPECT_EQ(none.num_deleted_rows, 0u);
}

TEST_F(Deletes, NothingFoundIsAVersionToo) {
  ASSERT_OK_AND_ASSIGN(const DeletedRows deleted, DeleteRows(*dataset_, "id > 100"));
  EXPECT_EQ(deleted.num_deleted_rows, 0u);
  EXPECT_EQ(deleted.dataset->version(), TableVersion(2));
  EXPECT_THAT(Committed(*deleted.dataset).updated_fragments, IsEmpty());
  EXPECT_EQ(world_.Rows(*deleted.dataset), MakeRows(0, 30));
}

TEST_F(Deletes, ReadsOnlyWhatItNeeds) {
  // Deleting everything reads no data file.
  ASSERT_OK_AND_ASSIGN(const DeletedRows deleted, DeleteRows(*dataset_, "_rowaddr >= 0"));
  EXPECT_EQ(deleted.num_deleted_rows, 30u);
  const RequestCounts counts = world_.counting().counts();
  EXPECT_EQ(counts.get, 0u);
  EXPECT_EQ(counts.list, 1u);
  EXPECT_EQ(counts.put, 1u);
  EXPECT_EQ(counts.put_if_absent, 1u);
}

TEST_F(Deletes, ErrorsWriteNothing) {
  ExpectError(DeleteRows(*dataset_, "idd = 1").status(), ErrorKind::kInvalidInput, "did you mean");
  ExpectError(DeleteRows(*dataset_, "").status(), ErrorKind::kInvalidInput, "");
  ExpectError(DeleteRows(*dataset_, "id = 1", {.retries = -1}).status(), ErrorKind::kInvalidInput, "conflict_retries");
  ExpectError(DeleteRows(*dataset_, "10 / (id - 15) = 1").status(), ErrorKind::kInvalidInput, "zero");
  EXPECT_THAT(Files("_deletions"), IsEmpty());
  EXPECT_THAT(Files("_versions"), SizeIs(1));
}

TEST_F(Deletes, OthersInTheSameFragmentsAreMerged) {
  ASSERT_OK_AND_ASSIGN(const DeletedRows theirs, DeleteRows(*dataset_, "id = 5"));
  ASSERT_OK_AND_ASSIGN(auto more, theirs.dataset->Append(*ReaderOf({ToBatch(MakeRows(100, 2))})));
  ASSERT_OK_AND_ASSIGN(const DeletedRows ours, DeleteRows(*dataset_, "id in (4, 6)"));
  EXPECT_EQ(ours.num_deleted_rows, 2u);
  auto expected = Without(MakeRows(0, 30), {4, 5, 6});
  for (const TestRow& row : MakeRows(100, 2)) expected.push_back(row);
  EXPECT_EQ(world_.Rows(*ours.dataset), expected);
}

TEST_F(Deletes, OnTheSameRowsItRunsAgain) {
  ASSERT_OK_AND_ASSIGN(const DeletedRows theirs, DeleteRows(*dataset_, "id in (5, 6)"));
  ExpectError(DeleteRows(*dataset_, "id in (6, 7)", {.retries = 0}).status(), ErrorKind::kRetryableConflict, "");
  ASSERT_OK_AND_ASSIGN(const DeletedRows ours, DeleteRows(*dataset_, "id in (6, 7)"));
  EXPECT_EQ(ours.num_deleted_rows, 1u);
  EXPECT_EQ(world_.Rows(*ours.dataset), Without(MakeRows(0, 30), {5, 6, 7}));
  // A row that was rewritten meanwhile is found where it lies now.
  const auto reader = ReaderOf({ToBatch({{8, "again"}})});
  ASSERT_OK_AND_ASSIGN(const auto changed,
                       CommitRowChange(*ours.dataset, {reader.get(), {RowAddress(FragmentId(0), 8)}}));
  ASSERT_OK_AND_ASSIGN(const DeletedRows last, DeleteRows(*dataset_, "id = 8"));
  EXPECT_EQ(last.num_deleted_rows, 1u);
  EXPECT_EQ(world_.Rows(*last.dataset), Without(MakeRows(0, 30), {5, 6, 7, 8}));
}

// Whichever request fails, the rows are all there or all gone, and without them no file stays.
TEST(DeleteFaults, AnyRequestMayFail) {
  for (const auto action : {FaultRule::Action::kFail, FaultRule::Action::kLoseAnswer}) {
    for (uint64_t n = 1;; ++n) {
      SCOPED_TRACE(fmt::format("lose answer {} request {}", action == FaultRule::Action::kLoseAnswer, n));
      DatasetWorld world;
      ASSERT_OK(world.Write(MakeRows(0, 30), WriteMode::kCreate, {.max_rows_per_file = 10}).status());
      ASSERT_OK_AND_ASSIGN(const auto dataset, world.Open());
      const uint64_t before = world.faults().requests();
      world.faults().AddRule({.first = n, .action = action});
      const auto deleted = DeleteRows(*dataset, "id in (3, 14)");
      const uint64_t made = world.faults().requests() - before;
      const bool faulty = world.faults().faults() > 0;
      world.faults().ClearRules();
      ASSERT_OK_AND_ASSIGN(const auto latest, world.Open());
      if (deleted.ok()) {
        EXPECT_EQ(world.Rows(*latest), Without(MakeRows(0, 30), {3, 14}));
      } else if (!HasKind(deleted.status(), ErrorKind::kOutcomeUnknown)) {
        EXPECT_EQ(latest->version(), TableVersion(1));
        const ListPage page = ListAll(world.inner(), {.prefix = "t/_deletions/"}).ValueOrDie();
        EXPECT_THAT(page.objects, IsEmpty());
      }
      if (!faulty) {
        EXPECT_GT(made, 5u);
        break;
      }
    }
  }
}

}  // namespace
}  // namespace javelin
