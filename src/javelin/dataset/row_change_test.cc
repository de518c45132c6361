#include "javelin/dataset/row_change.h"

#include <random>

#include "javelin/dataset/dataset_world_internal.h"
#include "javelin/table/deletion_vector.h"
#include "javelin/table/feature_flags.h"
#include "javelin/table/mem_wal_details.h"
#include "javelin/table/row_lineage.h"
#include "javelin/table/transaction.h"
#include "javelin/table/versions.h"

namespace javelin {
namespace {

using table::CompactedSsTable;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;
using testing::UnorderedElementsAre;

const table::Uuid kShard = table::Uuid::Random(1, 1);

RowAddress At(uint64_t fragment, uint32_t offset) { return {FragmentId(fragment), offset}; }

class RowChanges : public testing::TestWithParam<StoreKind> {
 protected:
  // Fragments of 10 rows each: row i lies in fragment i / 10 at offset i % 10.
  void SetUp() override {
    ASSERT_OK_AND_ASSIGN(dataset_, world_.Write(MakeRows(0, 30), WriteMode::kCreate, {.max_rows_per_file = 10}));
    world_.counting().Reset();
  }

  arrow::Result<std::shared_ptr<Dataset>> Change(const std::vector<TestRow>& rows, std::vector<RowAddress> masked,
                                                 std::vector<CompactedSsTable> compacted = {}) {
    const auto reader = ReaderOf({ToBatch(rows)});
    return CommitRowChange(*dataset_, {rows.empty() ? nullptr : reader.get(), std::move(masked), std::move(compacted)});
  }
  arrow::Status Advance(const std::vector<TestRow>& rows, std::vector<RowAddress> masked,
                        std::vector<CompactedSsTable> compacted = {}) {
    ARROW_ASSIGN_OR_RAISE(dataset_, Change(rows, std::move(masked), std::move(compacted)));
    return arrow::Status::OK();
  }
  arrow::Status InstallMemWal() {
    table::Transaction transaction;
    transaction.operation = table::CreateIndex{{table::MakeMemWalIndexEntry({}, table::Uuid::Random(5, 5), 1, 1)}, {}};
    ARROW_ASSIGN_OR_RAISE(dataset_, dataset_->Commit(std::move(transaction)));
    world_.counting().Reset();
    return arrow::Status::OK();
  }
  const std::vector<table::Fragment>& Fragments() { return dataset_->manifest().fragments; }
  std::vector<std::string> Files(const std::string& folder) {
    std::vector<std::string> keys;
    const ListPage page = ListAll(world_.inner(), {.prefix = "t/" + folder + "/"}).ValueOrDie();
    for (const ObjectInfo& object : page.objects) keys.push_back(object.key);
    return keys;
  }
  std::string DeletionKey(const table::Fragment& fragment) {
    return "t/_deletions/" + table::DeletionFileName(fragment.id, *fragment.deletion_file);
  }
  std::vector<std::string> CommitRequests() {
    std::vector<std::string> requests = {
        "list t/_versions/", "put t/_transactions/" + dataset_->manifest().transaction_file,
        "put_if_absent " + table::ManifestKey(world_.location(), {dataset_->version(), table::NamingScheme::kV2})};
    if (GetParam() == StoreKind::kLocal) requests.push_back("put t/_versions/latest_version_hint.json");
    return requests;
  }

  DatasetWorld world_{GetParam()};
  std::shared_ptr<Dataset> dataset_;
};
INSTANTIATE_TEST_SUITE_P(Stores, RowChanges, testing::Values(StoreKind::kMemory, StoreKind::kLocal),
                         [](const auto& info) { return info.param == StoreKind::kMemory ? "Memory" : "Local"; });

TEST_P(RowChanges, RowsGoAndCome) {
  ASSERT_OK(Advance(MakeRows(100, 3), {At(1, 4), At(0, 0), At(1, 9), At(1, 4)}));
  EXPECT_EQ(dataset_->version(), TableVersion(2));
  const auto expected = Both(Without(MakeRows(0, 30), {0, 14, 19}), MakeRows(100, 3));
  EXPECT_EQ(world_.Rows(*dataset_), expected);
  ASSERT_OK_AND_ASSIGN(const auto opened, world_.Open());
  EXPECT_EQ(world_.Rows(*opened), expected);
  ASSERT_OK_AND_ASSIGN(const uint64_t count, opened->CountRows());
  EXPECT_EQ(count, 30u);
  ASSERT_THAT(Fragments(), SizeIs(4));
  EXPECT_EQ(Fragments()[0].deletion_file->num_deleted_rows, 1u);
  EXPECT_EQ(Fragments()[1].deletion_file->num_deleted_rows, 2u);
  EXPECT_EQ(Fragments()[1].deletion_file->read_version, 1u);
  EXPECT_EQ(Fragments()[2].deletion_file, std::nullopt);
  EXPECT_EQ(Fragments()[3].id, FragmentId(3));
  ASSERT_OK_AND_ASSIGN(const auto before, dataset_->Checkout(TableVersion(1)));
  EXPECT_EQ(world_.Rows(*before), MakeRows(0, 30));
}

TEST_P(RowChanges, MasksAddUp) {
  ASSERT_OK(Advance({}, {At(1, 4)}));
  const table::Fragment first = Fragments()[1];
  ASSERT_OK(Advance({}, {At(1, 5), At(1, 3)}));
  EXPECT_EQ(Fragments()[1].deletion_file->num_deleted_rows, 3u);
  EXPECT_EQ(world_.Rows(*dataset_), Without(MakeRows(0, 30), {13, 14, 15}));
  EXPECT_THAT(Files("_deletions"), UnorderedElementsAre(DeletionKey(first), DeletionKey(Fragments()[1])));
}

TEST_P(RowChanges, AFragmentWithoutRowsGoes) {
  std::vector<RowAddress> masked;
  for (uint32_t offset = 0; offset < 9; ++offset) masked.push_back(At(1, offset));
  ASSERT_OK(Advance({}, masked));
  ASSERT_THAT(Fragments(), SizeIs(3));
  ASSERT_OK(Advance({}, {At(1, 9), At(2, 0)}));
  ASSERT_THAT(Fragments(), SizeIs(2));
  EXPECT_EQ(Fragments()[1].id, FragmentId(2));
  EXPECT_THAT(Files("_deletions"), SizeIs(2));
  EXPECT_EQ(world_.Rows(*dataset_), Both(MakeRows(0, 10), MakeRows(21, 9)));
}

TEST_P(RowChanges, NothingAndOnlyNewRowsAreVersionsToo) {
  ASSERT_OK(Advance({}, {}));
  EXPECT_EQ(world_.Rows(*dataset_), MakeRows(0, 30));
  ASSERT_OK(Advance(MakeRows(30, 5), {}));
  EXPECT_EQ(dataset_->version(), TableVersion(3));
  EXPECT_EQ(world_.Rows(*dataset_), MakeRows(0, 35));
  const auto none = arrow::RecordBatchReader::Make({}, TestSchema()).ValueOrDie();
  ASSERT_OK_AND_ASSIGN(dataset_, CommitRowChange(*dataset_, {none.get(), {}}));
  EXPECT_THAT(Fragments(), SizeIs(4));
}

TEST_P(RowChanges, ManyRowsOfOneFragmentAreABitmap) {
  ASSERT_OK_AND_ASSIGN(dataset_, world_.Write(MakeRows(0, 12000), WriteMode::kOverwrite));
  std::vector<RowAddress> masked;
  std::set<int64_t> ids;
  for (uint32_t offset = 0; offset < 12000; offset += 2) {
    masked.push_back(RowAddress(Fragments()[0].id, offset));
    ids.insert(offset);
  }
  ASSERT_OK(Advance({}, masked));
  EXPECT_EQ(Fragments()[0].deletion_file->type, table::DeletionFileType::kBitmap);
  EXPECT_EQ(world_.Rows(*dataset_), Without(MakeRows(0, 12000), ids));
}

TEST_P(RowChanges, NewFilesKeepToTheLimits) {
  const auto reader = ReaderOf({ToBatch(MakeRows(100, 25))});
  ASSERT_OK_AND_ASSIGN(dataset_, CommitRowChange(*dataset_, {reader.get(), {}}, {.max_rows_per_file = 10}));
  EXPECT_THAT(Fragments(), SizeIs(6));
}

// ---- requests ----

TEST_P(RowChanges, RequestsOfOneTouchedFragmentAndOneNewFile) {
  auto expect = [&](std::vector<std::string> first) {
    const auto commit = CommitRequests();
    first.insert(first.end(), commit.begin(), commit.end());
    EXPECT_EQ(world_.counting().LogText(), first);
    world_.counting().Reset();
  };
  ASSERT_OK(Advance(MakeRows(100, 3), {At(1, 4)}));
  expect({"put t/data/" + Fragments().back().files[0].path, "put " + DeletionKey(Fragments()[1])});
  // Rows were masked before: their file is read.
  const std::string before = DeletionKey(Fragments()[1]);
  ASSERT_OK(Advance({}, {At(1, 5)}));
  expect({"get " + before, "put " + DeletionKey(Fragments()[1])});
  ASSERT_OK(Advance({}, {}));
  expect({});
}

// ---- what is refused, before anything is written ----

TEST_P(RowChanges, AddressesMustNameLiveRows) {
  ASSERT_OK(Advance({}, {At(1, 4)}));
  world_.counting().Reset();
  auto refused = [&](RowAddress address, const std::string& part) {
    ExpectError(Change(MakeRows(100, 1), {At(0, 0), address}).status(), ErrorKind::kInvalidInput, part);
  };
  refused(At(1, 4), "row 4 of fragment 1 of 'test://t' is deleted");
  refused(At(2, 10), "row 10 of fragment 2 of 'test://t' does not exist");
  refused(At(3, 0), "no fragment 3");
  EXPECT_EQ(world_.counting().counts().put, 0u);
}

TEST_P(RowChanges, ImpossibleChangesWriteNothing) {
  const auto other = arrow::schema({arrow::field("id", arrow::int64(), false), arrow::field("x", arrow::int8())});
  const auto wrong = arrow::RecordBatchReader::Make({}, other).ValueOrDie();
  ExpectError(CommitRowChange(*dataset_, {wrong.get(), {At(0, 1)}}).status(), ErrorKind::kInvalidInput, "'x'");
  ExpectError(Change(MakeRows(100, 1), {At(0, 1)}, {{kShard, Generation(1)}}).status(), ErrorKind::kInvalidInput,
              "not initialized");
  const auto reader = ReaderOf({ToBatch(MakeRows(0, 1))});
  ExpectError(CommitRowChange(*dataset_, {reader.get(), {}}, {.max_rows_per_file = 0}).status(),
              ErrorKind::kInvalidInput, "max_rows_per_file");
  EXPECT_EQ(world_.counting().counts().total(), 0u);
  ASSERT_OK(world_.Plant([](table::Manifest& next) { next.data_format_version = "2.3"; }).status());
  ASSERT_OK_AND_ASSIGN(dataset_, world_.Open());
  world_.counting().Reset();
  ExpectError(Change(MakeRows(100, 1), {}).status(), ErrorKind::kNotSupported, "2.3");
  EXPECT_EQ(world_.counting().counts().total(), 0u);
  ASSERT_OK(Advance({}, {At(0, 1)}));  // no new file, so its version does not matter
  EXPECT_EQ(world_.Rows(*dataset_), Without(MakeRows(0, 30), {1}));
}

// ---- rows with ids of their own ----

std::vector<uint64_t> Column(const Dataset& dataset, const std::string& name) {
  const auto reader = dataset.Scan({.columns = {{name}}}).ValueOrDie();
  const BatchPtr rows = ReadAll(*reader).ValueOrDie();
  const auto& values = static_cast<const arrow::UInt64Array&>(*rows->column(0));
  return {values.raw_values(), values.raw_values() + values.length()};
}

TEST_P(RowChanges, ReplacedRowsKeepIdAndVersionOfCreation) {
  // Row i of the table has id 1000 - i / 10 * 100 + i % 10 and was created in version i / 10 + 1.
  ASSERT_OK_AND_ASSIGN(dataset_, world_.Plant([](table::Manifest& next) {
    next.reader_feature_flags = next.writer_feature_flags = table::flag::kStableRowIds;
    next.next_row_id = 5000;
    for (uint64_t i = 0; i < 3; ++i)
      next.fragments[i].lineage = table::LineageOfNewRows(1000 - i * 100, 10, TableVersion(i + 1));
  }));
  const std::vector<TestRow> rows = {{25, "new"}, {3, "new"}, {14, "new"}, {100, "new"}, {101, "new"}};
  const auto reader = ReaderOf({ToBatch(rows)});
  RowChange change{reader.get(), {At(0, 0)}};
  change.replaced = {At(2, 5), At(0, 3), At(1, 4)};
  ASSERT_OK_AND_ASSIGN(dataset_, CommitRowChange(*dataset_, change, {.max_rows_per_file = 2}));
  EXPECT_EQ(world_.Rows(*dataset_), Both(Without(MakeRows(0, 30), {0, 3, 14, 25}), rows));
  const auto ids = Column(*dataset_, "_rowid"), created = Column(*dataset_, "_row_created_at_version"),
             updated = Column(*dataset_, "_row_last_updated_at_version");
  ASSERT_THAT(ids, SizeIs(31));
  EXPECT_THAT(std::vector(ids.begin() + 26, ids.end()), ElementsAre(805, 1003, 904, 5000, 5001));
  EXPECT_THAT(std::vector(created.begin() + 26, created.end()), ElementsAre(3, 1, 2, 3, 3));
  EXPECT_THAT(std::vector(updated.begin() + 26, updated.end()), ElementsAre(3, 3, 3, 3, 3));
  EXPECT_EQ(std::set(ids.begin(), ids.end()).size(), 31u);
  EXPECT_EQ(dataset_->manifest().next_row_id, 5002u);
}

TEST_P(RowChanges, ReplacedRowsWithoutIdsOfTheirOwnJustGo) {
  const auto reader = ReaderOf({ToBatch({{5, "new"}})});
  RowChange change{reader.get(), {}};
  change.replaced = {At(0, 5)};
  ASSERT_OK_AND_ASSIGN(dataset_, CommitRowChange(*dataset_, change));
  EXPECT_EQ(world_.Rows(*dataset_), Both(Without(MakeRows(0, 30), {5}), {{5, "new"}}));
  EXPECT_EQ(Column(*dataset_, "_rowid"), Column(*dataset_, "_rowaddr"));
}

TEST_P(RowChanges, ReplacedRowsNeedOneNewRowEach) {
  const auto data = Files("data");
  auto refused = [&](std::vector<RowAddress> replaced, const std::string& part) {
    const auto reader = ReaderOf({ToBatch({{5, "new"}})});
    RowChange change{reader.get(), {}};
    change.replaced = std::move(replaced);
    ExpectError(CommitRowChange(*dataset_, change).status(), ErrorKind::kInvalidInput, part);
  };
  refused({At(0, 5), At(0, 6)}, "1 new rows cannot replace 2");
  refused({At(0, 5), At(0, 5)}, "replaced twice");
  refused({At(7, 5)}, "no fragment 7");
  EXPECT_EQ(Files("data"), data);
}

// ---- progress ----

TEST_P(RowChanges, ProgressComesWithTheRows) {
  ASSERT_OK(InstallMemWal());
  ASSERT_OK(Advance(MakeRows(100, 3), {At(1, 4)}, {{kShard, Generation(2)}}));
  ASSERT_OK_AND_ASSIGN(auto details, table::ReadMemWalDetails(dataset_->manifest()));
  EXPECT_EQ(details->CompactedThrough(kShard), Generation(2));
  world_.counting().Reset();
  const arrow::Status stale = Change(MakeRows(200, 3), {At(1, 5)}, {{kShard, Generation(2)}}).status();
  ExpectError(stale, ErrorKind::kInvalidInput, "stale");
  EXPECT_EQ(FieldsOf(stale)["recorded_generation"], "2");
  EXPECT_EQ(world_.counting().counts().total(), 0u);
  ASSERT_OK(Advance({}, {}, {{kShard, Generation(3)}}));  // everything in it was overwritten
  ASSERT_OK_AND_ASSIGN(details, table::ReadMemWalDetails(dataset_->manifest()));
  EXPECT_EQ(details->CompactedThrough(kShard), Generation(3));
  EXPECT_EQ(world_.Rows(*dataset_), Both(Without(MakeRows(0, 30), {14}), MakeRows(100, 3)));
}

// ---- conflicts and failures leave no files behind ----

TEST_P(RowChanges, RowsThatOthersMaskedInTheSameFragmentStayMasked) {
  const auto stale = dataset_;
  ASSERT_OK(Advance({}, {At(1, 4)}));
  dataset_ = stale;
  ASSERT_OK(Advance(MakeRows(100, 3), {At(1, 5), At(0, 2)}));
  EXPECT_EQ(dataset_->version(), TableVersion(3));
  EXPECT_EQ(world_.Rows(*dataset_), Both(Without(MakeRows(0, 30), {2, 14, 15}), MakeRows(100, 3)));
}

TEST_P(RowChanges, AConflictGoesToTheCaller) {
  ASSERT_OK(InstallMemWal());
  const auto stale = dataset_;
  ASSERT_OK(Advance({}, {At(1, 4)}, {{kShard, Generation(2)}}));
  const auto data = Files("data"), deletions = Files("_deletions");
  dataset_ = stale;
  ExpectError(Change(MakeRows(100, 3), {At(1, 4), At(1, 5)}).status(), ErrorKind::kRetryableConflict, "fragment 1");
  ExpectError(Change(MakeRows(100, 3), {At(0, 5)}, {{kShard, Generation(3)}}).status(), ErrorKind::kRetryableConflict,
              "Update at version 3");
  ExpectError(Change(MakeRows(100, 3), {At(0, 5)}, {{kShard, Generation(2)}}).status(),
              ErrorKind::kIncompatibleConflict, "Update at version 3");
  EXPECT_EQ(Files("data"), data);
  EXPECT_EQ(Files("_deletions"), deletions);
  ASSERT_OK(Advance(MakeRows(100, 3), {At(0, 5)}));  // another fragment, another day
  EXPECT_EQ(dataset_->version(), TableVersion(4));
  EXPECT_EQ(world_.Rows(*dataset_), Both(Without(MakeRows(0, 30), {5, 14}), MakeRows(100, 3)));
}

TEST_P(RowChanges, AnAppendMeanwhileIsKept) {
  const auto stale = dataset_;
  ASSERT_OK(stale->Append(*ReaderOf({ToBatch(MakeRows(30, 5))})).status());
  ASSERT_OK(Advance(MakeRows(100, 3), {At(1, 4)}));
  EXPECT_EQ(world_.Rows(*dataset_), Both(Without(MakeRows(0, 35), {14}), MakeRows(100, 3)));
  ASSERT_OK_AND_ASSIGN(const auto appended, stale->Append(*ReaderOf({ToBatch(MakeRows(200, 1))})));
  EXPECT_EQ(world_.Rows(*appended), Both(world_.Rows(*dataset_), MakeRows(200, 1)));
}

// Every request fails once, or loses its answer once. Success = the change is there, failure = nothing of it is and no
// file of it is left.
TEST_P(RowChanges, TheNthRequestFails) {
  for (auto action : {FaultRule::Action::kFail, FaultRule::Action::kLoseAnswer}) {
    uint64_t faults = 1, failures = 0;
    for (uint64_t n = 1; faults != 0; ++n) {
      SCOPED_TRACE(fmt::format("lose answer {} request {}", action == FaultRule::Action::kLoseAnswer, n));
      DatasetWorld world(GetParam());
      ASSERT_OK_AND_ASSIGN(const auto made,
                           world.Write(MakeRows(0, 30), WriteMode::kCreate, {.max_rows_per_file = 10}));
      ASSERT_OK_AND_ASSIGN(const auto before, CommitRowChange(*made, {nullptr, {At(1, 1)}}));
      auto change = [&] {
        const auto reader = ReaderOf({ToBatch(MakeRows(100, 15))});
        return CommitRowChange(*before, {reader.get(), {At(1, 4), At(0, 0)}}, {.max_rows_per_file = 10});
      };
      auto count_files = [&] {
        size_t count = 0;
        for (const char* folder : {"t/data/", "t/_deletions/"})
          count += ListAll(world.inner(), {.prefix = folder}).ValueOrDie().objects.size();
        return count;
      };
      const size_t files_before = count_files();
      world.faults().AddRule({.first = n, .action = action});
      const auto changed = change();
      faults = world.faults().faults();
      world.faults().ClearRules();
      const auto expected = Both(Without(MakeRows(0, 30), {0, 11, 14}), MakeRows(100, 15));
      if (!changed.ok()) {
        ++failures;
        EXPECT_EQ(KindOf(changed.status()), ErrorKind::kTransient) << changed.status().ToString();
        EXPECT_EQ(world.Rows(**world.Open()), Without(MakeRows(0, 30), {11}));
        EXPECT_EQ(count_files(), files_before);
        ASSERT_OK(change().status());
      }
      EXPECT_EQ(world.Rows(**world.Open()), expected);
      EXPECT_EQ(count_files(), files_before + 4);
    }
    EXPECT_GE(failures, 6u);  // the old deletion file, two data files, two deletion files, the transaction ...
  }
}

TEST_P(RowChanges, AnUnknownOutcomeKeepsTheFiles) {
  const size_t data = Files("data").size();
  world_.faults().AddRule({.method = "put_if_absent", .times = 100, .action = FaultRule::Action::kFail});
  ExpectError(Change(MakeRows(100, 3), {At(1, 4)}).status(), ErrorKind::kOutcomeUnknown, "version 2");
  world_.faults().ClearRules();
  EXPECT_THAT(Files("data"), SizeIs(data + 1));
  EXPECT_THAT(Files("_deletions"), SizeIs(1));
}

class FailingReader final : public arrow::RecordBatchReader {
 public:
  std::shared_ptr<arrow::Schema> schema() const override { return TestSchema(); }
  arrow::Status ReadNext(std::shared_ptr<arrow::RecordBatch>* out) override {
    if (given_++ == 3) return arrow::Status::IOError("the source broke");
    *out = ToBatch(MakeRows(0, 10));
    return arrow::Status::OK();
  }

 private:
  int given_ = 0;
};

TEST_P(RowChanges, ASourceThatBreaksLeavesNothing) {
  const auto data = Files("data");
  FailingReader reader;
  const arrow::Status status = CommitRowChange(*dataset_, {&reader, {At(1, 4)}}, {.max_rows_per_file = 10}).status();
  EXPECT_THAT(status.message(), testing::HasSubstr("the source broke"));
  EXPECT_EQ(Files("data"), data);
  EXPECT_THAT(Files("_deletions"), IsEmpty());
}

// ---- against a model ----

// Upserts and deletes by id, from handles that may be stale; every acknowledged one is in every later version.
TEST_P(RowChanges, RandomChangesAgainstAModel) {
  std::mt19937_64 random(20260102);
  for (int round = 0; round < 4; ++round) {
    DatasetWorld world(GetParam());
    ASSERT_OK_AND_ASSIGN(auto head, world.Write(MakeRows(0, 40), WriteMode::kCreate, {.max_rows_per_file = 9}));
    std::map<int64_t, std::optional<std::string>> model;
    for (const TestRow& row : MakeRows(0, 40)) model[row.id] = row.s;
    auto stale = head;
    uint64_t conflicts = 0;
    for (int step = 0; step < 40; ++step) {
      const auto& handle = random() % 4 == 0 ? stale : head;
      std::map<int64_t, RowAddress> places;
      ASSERT_OK_AND_ASSIGN(const auto scan, handle->Scan({.with_row_address = true}));
      ASSERT_OK_AND_ASSIGN(const BatchPtr rows, ReadAll(*scan));
      const auto& ids = static_cast<const arrow::Int64Array&>(*rows->column(0));
      const auto& addresses = static_cast<const arrow::UInt64Array&>(*rows->GetColumnByName("_rowaddr"));
      for (int64_t i = 0; i < rows->num_rows(); ++i) places[ids.Value(i)] = RowAddress(addresses.Value(i));
      std::vector<TestRow> upserts;
      std::vector<RowAddress> masked;
      std::set<int64_t> touched;
      for (uint64_t i = random() % 8; i-- > 0;) {
        const auto id = static_cast<int64_t>(random() % 60);
        if (!touched.insert(id).second) continue;
        if (places.contains(id)) masked.push_back(places[id]);
        if (random() % 3 != 0) upserts.push_back({id, fmt::format("step {}", step)});
      }
      // A stale handle may not know a key that is there by now: such a change is no upsert.
      if (handle != head && std::any_of(touched.begin(), touched.end(),
                                        [&](int64_t id) { return !places.contains(id) && model.contains(id); })) {
        continue;
      }
      const auto reader = ReaderOf({ToBatch(upserts)});
      const auto changed =
          CommitRowChange(*handle, {upserts.empty() ? nullptr : reader.get(), masked}, {.max_rows_per_file = 4});
      if (HasKind(changed.status(), ErrorKind::kRetryableConflict)) {
        ++conflicts;
        continue;
      }
      ASSERT_OK(changed.status());
      for (int64_t id : touched) model.erase(id);
      for (const TestRow& row : upserts) model[row.id] = row.s;
      head = *changed;
      if (random() % 5 == 0) stale = head;
      std::map<int64_t, std::optional<std::string>> found;
      for (const TestRow& row : world.Rows(*head)) EXPECT_TRUE(found.emplace(row.id, row.s).second) << row.id;
      ASSERT_EQ(found, model) << step;
      ASSERT_OK_AND_ASSIGN(const uint64_t count, head->CountRows());
      ASSERT_EQ(count, model.size());
    }
    EXPECT_GT(conflicts, 0u);
  }
}

}  // namespace
}  // namespace javelin
