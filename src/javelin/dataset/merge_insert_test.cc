#include "javelin/dataset/merge_insert.h"

#include <random>

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

using Counts = std::vector<uint64_t>;
Counts CountsOf(const MergedRows& merged) {
  return {merged.num_inserted_rows, merged.num_updated_rows, merged.num_deleted_rows};
}

const MergeInsertOptions kUpsert{.on = {"id"}, .when_matched = WhenMatched::kUpdateAll, .inserts_not_matched = true};
const MergeInsertOptions kInsert{.on = {"id"}, .inserts_not_matched = true};
const MergeInsertOptions kDelete{.on = {"id"}, .when_matched = WhenMatched::kDelete};
const MergeInsertOptions kFail{.on = {"id"}, .when_matched = WhenMatched::kFail, .inserts_not_matched = true};

BatchPtr OnlyIds(const std::vector<TestRow>& rows) { return ToBatch(rows)->SelectColumns({0}).ValueOrDie(); }

class Merges : public testing::Test {
 protected:
  // Fragments of 10 rows each.
  void SetUp() override {
    ASSERT_OK_AND_ASSIGN(dataset_, world_.Write(MakeRows(0, 30), WriteMode::kCreate, {.max_rows_per_file = 10}));
    world_.counting().Reset();
  }
  static arrow::Result<MergedRows> Merge(const Dataset& dataset, const arrow::RecordBatchVector& batches,
                                         const MergeInsertOptions& options, const ConflictRetry& retry = {}) {
    const auto reader = ReaderOf(batches);
    return MergeInsert(dataset, *reader, options, retry);
  }
  static arrow::Result<MergedRows> Merge(const Dataset& dataset, const std::vector<TestRow>& rows,
                                         const MergeInsertOptions& options, const ConflictRetry& retry = {}) {
    return Merge(dataset, arrow::RecordBatchVector{ToBatch(rows)}, options, retry);
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

TEST_F(Merges, UpdatedRowsComeFirstThenInsertedOnesEachInTheOrderOfTheSource) {
  ASSERT_OK_AND_ASSIGN(const MergedRows merged,
                       Merge(*dataset_, {{120, "a"}, {3, "b"}, {121, "c"}, {25, "d"}, {2, {}}}, kUpsert));
  EXPECT_EQ(CountsOf(merged), (Counts{2, 3, 0}));
  EXPECT_EQ(merged.dataset->version(), TableVersion(2));
  EXPECT_EQ(world_.Rows(*merged.dataset),
            Both(Without(MakeRows(0, 30), {2, 3, 25}), {{3, "b"}, {25, "d"}, {2, {}}, {120, "a"}, {121, "c"}}));
  const table::Update committed = Committed(*merged.dataset);
  EXPECT_THAT(committed.updated_fragments, SizeIs(2));
  EXPECT_THAT(committed.new_fragments, SizeIs(1));
  EXPECT_THAT(committed.changed_fields, ElementsAre(FieldId(0), FieldId(1)));
  EXPECT_FALSE(committed.inserted_keys.has_value());
  EXPECT_EQ(world_.Rows(*dataset_), MakeRows(0, 30));
}

TEST_F(Merges, InsertsOnlyWhatIsNotThere) {
  ASSERT_OK_AND_ASSIGN(const MergedRows merged,
                       Merge(*dataset_, {{3, "x"}, {100, "y"}, {100, "z"}, {3, "v"}}, kInsert));
  EXPECT_EQ(CountsOf(merged), (Counts{2, 0, 0}));  // of one key that is not there both rows
  EXPECT_EQ(world_.Rows(*merged.dataset), Both(MakeRows(0, 30), {{100, "y"}, {100, "z"}}));
  EXPECT_THAT(Committed(*merged.dataset).updated_fragments, IsEmpty());
}

TEST_F(Merges, AFragmentWithoutRowsGoes) {
  std::vector<TestRow> rows;
  for (int64_t id = 10; id < 20; ++id) rows.push_back({id, "new"});
  ASSERT_OK_AND_ASSIGN(const MergedRows merged, Merge(*dataset_, rows, kUpsert));
  EXPECT_THAT(Committed(*merged.dataset).removed_fragment_ids, ElementsAre(FragmentId(1)));
  EXPECT_EQ(world_.Rows(*merged.dataset), Both(Both(MakeRows(0, 10), MakeRows(20, 10)), rows));
}

TEST_F(Merges, ConditionsLeaveRowsAsTheyAre) {
  MergeInsertOptions options = kUpsert;
  options.update_condition = "source.s > target.s and target.id <> 4";
  ASSERT_OK_AND_ASSIGN(const MergedRows merged,
                       Merge(*dataset_, {{3, "a"}, {4, "t"}, {5, "t"}, {6, {}}, {50, "a"}}, options));
  EXPECT_EQ(CountsOf(merged), (Counts{1, 1, 0}));
  EXPECT_EQ(world_.Rows(*merged.dataset), Both(Without(MakeRows(0, 30), {5}), {{5, "t"}, {50, "a"}}));
}

TEST_F(Merges, ManyPairsAreAskedInPieces) {
  ASSERT_OK_AND_ASSIGN(const auto many,
                       world_.Write(MakeRows(0, 40'000), WriteMode::kOverwrite, {.max_rows_per_file = 15'000}));
  std::vector<TestRow> rows;
  for (int64_t id = 39'999; id >= 0; --id) rows.push_back({id, fmt::format("n{}", id)});
  MergeInsertOptions options = kUpsert;
  options.update_condition = "source.id % 3 = 0 and target.id % 2 = 0";
  ASSERT_OK_AND_ASSIGN(const MergedRows merged, Merge(*many, rows, options));
  std::vector<TestRow> expected = MakeRows(0, 40'000);
  std::erase_if(expected, [](const TestRow& row) { return row.id % 6 == 0; });
  for (const TestRow& row : rows) {
    if (row.id % 6 == 0) expected.push_back(row);
  }
  EXPECT_EQ(world_.Rows(*merged.dataset), expected);
  EXPECT_EQ(CountsOf(merged), (Counts{0, 6667, 0}));
}

TEST_F(Merges, MatchedRowsGo) {
  ASSERT_OK_AND_ASSIGN(const MergedRows merged, Merge(*dataset_, {OnlyIds({{3, {}}, {29, {}}, {77, {}}})}, kDelete));
  EXPECT_EQ(CountsOf(merged), (Counts{0, 0, 2}));
  EXPECT_EQ(world_.Rows(*merged.dataset), Without(MakeRows(0, 30), {3, 29}));
  EXPECT_THAT(Committed(*merged.dataset).new_fragments, IsEmpty());
}

TEST_F(Merges, AMatchFailsWhereItMust) {
  ExpectError(Merge(*dataset_, {{100, "x"}, {3, "y"}}, kFail).status(), ErrorKind::kInvalidInput, "id = 3");
  EXPECT_EQ(Files("data"), 3u);
  EXPECT_EQ(Files("_versions"), 1u);
  ASSERT_OK_AND_ASSIGN(const MergedRows merged, Merge(*dataset_, {{100, "x"}}, kFail));
  EXPECT_EQ(CountsOf(merged), (Counts{1, 0, 0}));
}

TEST_F(Merges, RowsThatAreNotInTheSourceGo) {
  MergeInsertOptions options = kUpsert;
  options.deletes_not_matched_by_source = true;
  options.delete_condition = "id > 5 and s is not null";
  ASSERT_OK_AND_ASSIGN(const MergedRows merged, Merge(*dataset_, {{3, "x"}, {8, "y"}, {100, "z"}}, options));
  EXPECT_EQ(world_.Rows(*merged.dataset),
            (Both(Without(MakeRows(0, 6), {3}), {{10, {}}, {17, {}}, {24, {}}, {3, "x"}, {8, "y"}, {100, "z"}})));
  EXPECT_EQ(CountsOf(merged), (Counts{1, 2, 20}));
  const MergeInsertOptions only{.on = {"id"}, .deletes_not_matched_by_source = true};
  ASSERT_OK_AND_ASSIGN(const MergedRows replaced, Merge(*merged.dataset, {OnlyIds({{3, {}}, {4, {}}})}, only));
  EXPECT_EQ(world_.Rows(*replaced.dataset), (std::vector<TestRow>{MakeRows(4, 1)[0], {3, "x"}}));
  ASSERT_OK_AND_ASSIGN(const MergedRows none, Merge(*replaced.dataset, std::vector<TestRow>{}, only));
  EXPECT_EQ(CountsOf(none), (Counts{0, 0, 2}));
  EXPECT_THAT(none.dataset->manifest().fragments, IsEmpty());
}

TEST_F(Merges, NothingToChangeIsAVersionToo) {
  ASSERT_OK_AND_ASSIGN(const MergedRows merged, Merge(*dataset_, std::vector<TestRow>{}, kUpsert));
  EXPECT_EQ(CountsOf(merged), (Counts{0, 0, 0}));
  EXPECT_EQ(merged.dataset->version(), TableVersion(2));
  EXPECT_EQ(world_.Rows(*merged.dataset), MakeRows(0, 30));
  EXPECT_EQ(Files("data"), 3u);
}

TEST_F(Merges, SeveralRowsForOneAreAmbiguous) {
  ExpectError(Merge(*dataset_, {{3, "x"}, {3, "y"}}, kUpsert).status(), ErrorKind::kInvalidInput, "id = 3");
  ExpectError(Merge(*dataset_, {{3, "x"}, {3, "y"}}, kDelete).status(), ErrorKind::kInvalidInput, "id = 3");
  MergeInsertOptions options = kUpsert;
  options.update_condition = "source.s = 'y'";
  ASSERT_OK_AND_ASSIGN(const MergedRows merged, Merge(*dataset_, {{3, "x"}, {3, "y"}}, options));
  EXPECT_EQ(world_.Rows(*merged.dataset), Both(Without(MakeRows(0, 30), {3}), {{3, "y"}}));
}

TEST_F(Merges, OneRowUpdatesAllThatHaveItsKeyAndNullsMatchNothing) {
  MergeInsertOptions options = kUpsert;
  options.on = {"s"};
  ASSERT_OK_AND_ASSIGN(dataset_, world_.Write({{1, "a"}, {2, "a"}, {3, {}}, {4, "b"}}, WriteMode::kOverwrite));
  ASSERT_OK_AND_ASSIGN(const MergedRows merged, Merge(*dataset_, {{7, {}}, {8, "a"}, {9, "c"}}, options));
  EXPECT_EQ(CountsOf(merged), (Counts{2, 2, 0}));
  EXPECT_EQ(world_.Rows(*merged.dataset),
            (std::vector<TestRow>{{3, {}}, {4, "b"}, {8, "a"}, {8, "a"}, {7, {}}, {9, "c"}}));
}

TEST_F(Merges, ColumnsThatTheSourceLacksKeepTheirValues) {
  ASSERT_OK_AND_ASSIGN(const MergedRows merged, Merge(*dataset_, {OnlyIds({{25, {}}, {100, {}}, {3, {}}})}, kUpsert));
  EXPECT_EQ(CountsOf(merged), (Counts{1, 2, 0}));
  EXPECT_EQ(world_.Rows(*merged.dataset), Both(Without(MakeRows(0, 30), {3, 25}), {{25, "s25"}, {3, {}}, {100, {}}}));
  // More rows than are read at once, to and fro.
  ASSERT_OK_AND_ASSIGN(const auto many,
                       world_.Write(MakeRows(0, 20'000), WriteMode::kOverwrite, {.max_rows_per_file = 7000}));
  std::vector<TestRow> rows = MakeRows(0, 20'000);
  std::shuffle(rows.begin(), rows.end(), std::mt19937(5));
  ASSERT_OK_AND_ASSIGN(const MergedRows all, Merge(*many, {OnlyIds(rows)}, kUpsert));
  EXPECT_EQ(world_.Rows(*all.dataset), rows);
}

TEST_F(Merges, RowsKeepTheirIdsOnATableThatHasThem) {
  ASSERT_OK_AND_ASSIGN(dataset_, world_.Plant([](table::Manifest& next) {
    next.reader_feature_flags = next.writer_feature_flags = table::flag::kStableRowIds;
    next.next_row_id = 5000;
    for (uint64_t i = 0; i < 3; ++i)
      next.fragments[i].lineage = table::LineageOfNewRows(1000 - i * 100, 10, TableVersion(i + 1));
  }));
  MergeInsertOptions options = kUpsert;
  options.write.max_rows_per_file = 2;
  ASSERT_OK_AND_ASSIGN(const MergedRows merged,
                       Merge(*dataset_, {{100, "x"}, {25, "y"}, {3, "z"}, {14, "w"}}, options));
  const auto numbers = [&](const std::string& column) {
    const auto reader = merged.dataset->Scan({.columns = {{column}}}).ValueOrDie();
    const auto array = std::static_pointer_cast<arrow::UInt64Array>(ReadAll(*reader).ValueOrDie()->column(0));
    return std::vector<uint64_t>(array->raw_values() + 27, array->raw_values() + array->length());
  };
  EXPECT_THAT(numbers("_rowid"), ElementsAre(805, 1003, 904, 5000));
  EXPECT_THAT(numbers("_row_created_at_version"), ElementsAre(3, 1, 2, 3));
  EXPECT_THAT(numbers("_row_last_updated_at_version"), ElementsAre(3, 3, 3, 3));
}

TEST_F(Merges, ErrorsBeforeAnythingIsRead) {
  const auto error = [&](const MergeInsertOptions& options, const BatchPtr& rows = ToBatch({{1, "x"}})) {
    return Merge(*dataset_, arrow::RecordBatchVector{rows}, options).status();
  };
  ExpectError(error({.on = {"id"}}), ErrorKind::kInvalidInput, "nothing");
  ExpectError(error({.inserts_not_matched = true}), ErrorKind::kInvalidInput, "no primary key");
  ExpectError(error({.on = {"idd"}, .inserts_not_matched = true}), ErrorKind::kInvalidInput, "idd");
  ExpectError(error({.on = {"s.x"}, .inserts_not_matched = true}), ErrorKind::kNotSupported, "whole columns");
  ExpectError(error({.on = {"s"}, .when_matched = WhenMatched::kUpdateAll}, OnlyIds({{1, {}}})),
              ErrorKind::kInvalidInput, "lack column 's'");
  ExpectError(error({.on = {"s"}, .inserts_not_matched = true}, ToBatch({{1, "x"}})->SelectColumns({1}).ValueOrDie()),
              ErrorKind::kInvalidInput, "'id'");
  MergeInsertOptions options = kUpsert;
  options.update_condition = "source.ids > 1";
  ExpectError(error(options), ErrorKind::kInvalidInput, "ids");
  options.update_condition = "s > 'a'";
  ExpectError(error(options), ErrorKind::kInvalidInput, "s");
  options = kInsert;
  options.update_condition = "true";
  ExpectError(error(options), ErrorKind::kInvalidInput, "does not update");
  options = kUpsert;
  options.delete_condition = "true";
  ExpectError(error(options), ErrorKind::kInvalidInput, "does not delete");
  options.deletes_not_matched_by_source = true;
  options.delete_condition = "source.id > 1";
  ExpectError(error(options), ErrorKind::kInvalidInput, "source");
  const auto other = arrow::RecordBatch::Make(arrow::schema({arrow::field("id", arrow::int32())}), 0,
                                              {arrow::MakeEmptyArray(arrow::int32()).ValueOrDie()});
  ExpectError(error(kUpsert, other), ErrorKind::kInvalidInput, "int32");
  ExpectError(Merge(*dataset_, {{1, "x"}}, kUpsert, {.retries = -1}).status(), ErrorKind::kInvalidInput,
              "conflict_retries");
  EXPECT_EQ(world_.counting().counts().total(), 0u);
}

TEST_F(Merges, OnTheSameRowsItRunsAgain) {
  ASSERT_OK_AND_ASSIGN(const DeletedRows theirs, DeleteRows(*dataset_, "id in (5, 6)"));
  ExpectError(Merge(*dataset_, {{6, "x"}, {7, "y"}}, kUpsert, {.retries = 0}).status(), ErrorKind::kRetryableConflict,
              "");
  const size_t data = Files("data");
  ASSERT_OK_AND_ASSIGN(const MergedRows ours, Merge(*dataset_, {{6, "x"}, {7, "y"}}, kUpsert));
  EXPECT_EQ(CountsOf(ours), (Counts{1, 1, 0}));  // what was deleted is inserted
  EXPECT_EQ(world_.Rows(*ours.dataset), Both(Without(MakeRows(0, 30), {5, 6, 7}), {{7, "y"}, {6, "x"}}));
  EXPECT_EQ(Files("data"), data + 1);
  // Other rows of the same fragments are merged.
  ASSERT_OK_AND_ASSIGN(const MergedRows more, Merge(*dataset_, {{8, "z"}}, kUpsert, {.retries = 0}));
  EXPECT_EQ(world_.Rows(*more.dataset), Both(Without(MakeRows(0, 30), {5, 6, 7, 8}), {{7, "y"}, {6, "x"}, {8, "z"}}));
}

// On the primary key, of two that insert the same key at once the later one finds it.
TEST(KeyedMerges, TheSameKeyIsNotInsertedTwice) {
  DatasetWorld world;
  const auto metadata = arrow::key_value_metadata({std::string(file::kPrimaryKeyMetadata)}, {"true"});
  const auto schema =
      arrow::schema({arrow::field("id", arrow::int64(), false, metadata), arrow::field("s", arrow::utf8())});
  const auto rows = [&](const std::vector<TestRow>& values) {
    return arrow::RecordBatch::Make(schema, static_cast<int64_t>(values.size()), ToBatch(values)->columns());
  };
  ASSERT_OK_AND_ASSIGN(const auto dataset, world.WriteBatches({rows(MakeRows(0, 10))}, WriteMode::kCreate));
  const MergeInsertOptions upsert{.when_matched = WhenMatched::kUpdateAll, .inserts_not_matched = true};
  const auto merge = [&](const std::vector<TestRow>& values, const ConflictRetry& retry) {
    const auto reader = ReaderOf({rows(values)});
    return MergeInsert(*dataset, *reader, upsert, retry);
  };
  ASSERT_OK_AND_ASSIGN(const MergedRows first, merge({{100, "first"}, {3, "x"}}, {}));
  const auto transaction = table::LoadTransaction(world.location(), first.dataset->loaded()).ValueOrDie();
  const auto& keys = std::get<table::Update>(transaction.operation).inserted_keys;
  ASSERT_TRUE(keys.has_value());
  EXPECT_THAT(keys->field_ids, ElementsAre(FieldId(0)));
  ExpectError(merge({{100, "second"}}, {.retries = 0}).status(), ErrorKind::kRetryableConflict, "");
  ASSERT_OK_AND_ASSIGN(const MergedRows second, merge({{100, "second"}}, {}));
  EXPECT_EQ(CountsOf(second), (Counts{0, 1, 0}));
  EXPECT_EQ(world.Rows(*second.dataset), Both(Without(MakeRows(0, 10), {3}), {{3, "x"}, {100, "second"}}));
}

// The table is far larger than the memory there is, the rows to merge are not.
TEST(MergeMemory, OnlyTheSourceIsHeld) {
  DatasetWorld world;
  const auto batch = [](int64_t first, int64_t count, int64_t width) {
    arrow::Int64Builder ids;
    arrow::StringBuilder texts;
    for (int64_t i = 0; i < count; ++i) {
      EXPECT_TRUE(ids.Append(first + i).ok());
      EXPECT_TRUE(texts.Append(std::string(static_cast<size_t>(width), 'x')).ok());
    }
    return arrow::RecordBatch::Make(TestSchema(), count, {ids.Finish().ValueOrDie(), texts.Finish().ValueOrDie()});
  };
  arrow::RecordBatchVector batches;
  for (int64_t i = 0; i < 40; ++i) batches.push_back(batch(i * 1000, 1000, 2000));  // 80 MB
  ASSERT_OK(world.WriteBatches(batches, WriteMode::kCreate, {.max_rows_per_file = 10'000}).status());
  const auto small = std::make_shared<Session>(MakeResources(world.session()->resources().runtime, 64 << 20));
  ASSERT_OK_AND_ASSIGN(const auto dataset, Dataset::OpenAt(small, world.location()));
  const auto merge = [&](const arrow::RecordBatchVector& rows) {
    const auto reader = ReaderOf(rows);
    return MergeInsert(*dataset, *reader, kUpsert);
  };
  // Every row of the table is updated, by its key alone: what is kept is read as it is written.
  arrow::RecordBatchVector keys;
  for (const BatchPtr& rows : batches) keys.push_back(rows->SelectColumns({0}).ValueOrDie());
  ASSERT_OK_AND_ASSIGN(const MergedRows merged, merge(keys));
  EXPECT_EQ(CountsOf(merged), (Counts{0, 40'000, 0}));
  ASSERT_OK_AND_ASSIGN(const uint64_t count, merged.dataset->CountRows());
  EXPECT_EQ(count, 40'000u);
  ExpectError(merge(batches).status(), ErrorKind::kOutOfMemory, "smaller parts");
}

// Whichever request fails, the merge is there or not, and then no new file stays.
TEST(MergeFaults, AnyRequestMayFail) {
  for (const auto action : {FaultRule::Action::kFail, FaultRule::Action::kLoseAnswer}) {
    for (uint64_t n = 1;; ++n) {
      SCOPED_TRACE(fmt::format("lose answer {} request {}", action == FaultRule::Action::kLoseAnswer, n));
      DatasetWorld world;
      ASSERT_OK(world.Write(MakeRows(0, 30), WriteMode::kCreate, {.max_rows_per_file = 10}).status());
      ASSERT_OK_AND_ASSIGN(const auto dataset, world.Open());
      const uint64_t before = world.faults().requests();
      world.faults().AddRule({.first = n, .action = action});
      const auto reader = ReaderOf({OnlyIds({{3, {}}, {14, {}}, {100, {}}})});
      const auto merged = MergeInsert(*dataset, *reader, kUpsert);
      const uint64_t made = world.faults().requests() - before;
      const bool faulty = world.faults().faults() > 0;
      world.faults().ClearRules();
      ASSERT_OK_AND_ASSIGN(const auto latest, world.Open());
      if (merged.ok()) {
        EXPECT_EQ(world.Rows(*latest), Both(Without(MakeRows(0, 30), {3, 14}), {{3, {}}, {14, "s14"}, {100, {}}}));
      } else if (!HasKind(merged.status(), ErrorKind::kOutcomeUnknown)) {
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

// Against a map, with every kind of merge.
TEST(MergeModel, RandomMerges) {
  std::mt19937 random(7);
  const auto draw = [&](int64_t below) { return static_cast<int64_t>(random() % static_cast<uint64_t>(below)); };
  DatasetWorld world;
  std::map<int64_t, std::optional<std::string>> model;
  for (const TestRow& row : MakeRows(0, 40)) model[row.id] = row.s;
  ASSERT_OK_AND_ASSIGN(auto dataset, world.Write(MakeRows(0, 40), WriteMode::kCreate, {.max_rows_per_file = 10}));
  for (int step = 0; step < 150; ++step) {
    SCOPED_TRACE(step);
    std::map<int64_t, std::optional<std::string>> source;
    for (int64_t i = draw(12); i > 0; --i)
      source[draw(80)] = draw(4) == 0 ? std::nullopt : std::optional(fmt::format("n{}", draw(9)));
    MergeInsertOptions options{
        .on = {"id"},
        .when_matched = std::vector{WhenMatched::kDoNothing, WhenMatched::kUpdateAll, WhenMatched::kDelete,
                                    WhenMatched::kFail}[static_cast<size_t>(draw(4))]};
    options.inserts_not_matched = draw(2) == 0 || options.when_matched == WhenMatched::kDoNothing;
    options.deletes_not_matched_by_source = draw(4) == 0;
    if (options.when_matched == WhenMatched::kUpdateAll && draw(2) == 0)
      options.update_condition = "source.s > target.s or target.s is null";
    if (options.deletes_not_matched_by_source) options.delete_condition = "id % 5 = 1";
    options.write.max_rows_per_file = 7;

    Counts expected(3);
    auto next = model;
    bool fails = false;
    for (const auto& [id, s] : source) {
      const auto found = model.find(id);
      if (found == model.end()) {
        if (!options.inserts_not_matched) continue;
        next[id] = s;
        ++expected[0];
      } else if (options.when_matched == WhenMatched::kFail) {
        fails = true;
      } else if (options.when_matched == WhenMatched::kDelete) {
        next.erase(id);
        ++expected[2];
      } else if (options.when_matched == WhenMatched::kUpdateAll &&
                 (!options.update_condition || !found->second || (s && *s > *found->second))) {
        next[id] = s;
        ++expected[1];
      }
    }
    if (options.deletes_not_matched_by_source) {
      for (const auto& [id, s] : model) {
        if (source.contains(id) || id % 5 != 1) continue;
        next.erase(id);
        ++expected[2];
      }
    }
    std::vector<TestRow> rows;
    for (const auto& [id, s] : source) rows.push_back({id, s});
    std::shuffle(rows.begin(), rows.end(), random);
    const auto reader = ReaderOf({ToBatch(rows)});
    const auto merged = MergeInsert(*dataset, *reader, options);
    ASSERT_EQ(merged.ok(), !fails) << merged.status().ToString();
    if (fails) continue;
    EXPECT_EQ(CountsOf(*merged), expected);
    dataset = merged->dataset;
    model = next;
    std::vector<TestRow> now = world.Rows(*dataset);
    std::sort(now.begin(), now.end());
    std::vector<TestRow> wanted;
    for (const auto& [id, s] : model) wanted.push_back({id, s});
    ASSERT_EQ(now, wanted);
  }
}

}  // namespace
}  // namespace javelin
