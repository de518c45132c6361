#include "javelin/dataset/optimize.h"

#include <cmath>
#include <random>

#include "javelin/dataset/dataset_world_internal.h"
#include "javelin/dataset/row_change.h"
#include "javelin/table/transaction.h"
#include "javelin/table/versions.h"

namespace javelin {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

using Tasks = std::vector<std::vector<uint64_t>>;

RowAddress At(uint64_t fragment, uint32_t offset) { return {FragmentId(fragment), offset}; }

std::vector<RowAddress> Rows(uint64_t fragment, uint32_t first, uint32_t end) {
  std::vector<RowAddress> rows;
  for (uint32_t offset = first; offset < end; ++offset) rows.push_back(At(fragment, offset));
  return rows;
}

class OptimizeTest : public testing::TestWithParam<StoreKind> {
 protected:
  // Fragments of 10 rows each.
  void SetUp() override {
    ASSERT_OK_AND_ASSIGN(dataset_, world_.Write(MakeRows(0, 40), WriteMode::kCreate, {.max_rows_per_file = 10}));
    world_.counting().Reset();
  }

  arrow::Result<Tasks> Plan(const OptimizeOptions& options = {}) {
    ARROW_ASSIGN_OR_RAISE(const OptimizePlan plan, PlanOptimize(*dataset_, options));
    Tasks tasks;
    for (const OptimizeTask& task : plan.tasks) {
      tasks.emplace_back();
      for (FragmentId id : task.fragments) tasks.back().push_back(id.value());
    }
    return tasks;
  }
  void ExpectTasks(const OptimizeOptions& options, const Tasks& expected) {
    ASSERT_OK_AND_ASSIGN(const Tasks tasks, Plan(options));
    EXPECT_EQ(tasks, expected);
  }
  arrow::Status Delete(std::vector<RowAddress> rows) {
    ARROW_ASSIGN_OR_RAISE(dataset_, CommitRowChange(*dataset_, {nullptr, std::move(rows)}));
    world_.counting().Reset();
    return arrow::Status::OK();
  }
  std::vector<std::string> Files(const std::string& folder) {
    std::vector<std::string> keys;
    const ListPage page = ListAll(world_.inner(), {.prefix = "t/" + folder + "/"}).ValueOrDie();
    for (const ObjectInfo& object : page.objects) keys.push_back(object.key);
    return keys;
  }
  std::vector<uint64_t> FragmentsOf(const Dataset& dataset) {
    std::vector<uint64_t> ids;
    for (const table::Fragment& fragment : dataset.manifest().fragments) ids.push_back(fragment.id.value());
    return ids;
  }

  DatasetWorld world_{GetParam()};
  std::shared_ptr<Dataset> dataset_;
};
INSTANTIATE_TEST_SUITE_P(Stores, OptimizeTest, testing::Values(StoreKind::kMemory, StoreKind::kLocal),
                         [](const auto& info) { return info.param == StoreKind::kMemory ? "Memory" : "Local"; });

// ---- the plan ----

TEST_P(OptimizeTest, SmallNeighboursGoTogether) {
  ExpectTasks({}, {{0, 1, 2, 3}});
  ExpectTasks({.target_rows_per_fragment = 20}, {{0, 1}, {2, 3}});
  ExpectTasks({.target_rows_per_fragment = 15}, {{0, 1}, {2, 3}});
  ExpectTasks({.target_rows_per_fragment = 25}, {{0, 1, 2, 3}});  // what would not fill a fragment goes with the rest
  ExpectTasks({.target_rows_per_fragment = 10}, {});
  ExpectTasks({.excluded_fragments = {FragmentId(2), FragmentId(99)}}, {{0, 1}});
  ExpectTasks({.excluded_fragments = {FragmentId(1), FragmentId(2)}}, {});
  EXPECT_EQ(world_.counting().counts().total(), 0u);
}

TEST_P(OptimizeTest, ManyDeletedRowsAreReasonEnough) {
  ASSERT_OK(Delete(Rows(2, 0, 3)));
  ExpectTasks({.target_rows_per_fragment = 10}, {{2}});
  ExpectTasks({.target_rows_per_fragment = 10, .materialize_deletions_threshold = 0.3}, {});
  ExpectTasks({.target_rows_per_fragment = 10, .materialize_deletions_threshold = 0.29}, {{2}});
  ExpectTasks({.target_rows_per_fragment = 10, .materialize_deletions = false}, {});
  ExpectTasks({.target_rows_per_fragment = 11, .materialize_deletions = false}, {{0, 1}, {2, 3}});
}

TEST_P(OptimizeTest, BytesCountToo) {
  const uint64_t bytes = dataset_->manifest().fragments[0].files[0].size_bytes;  // the others have about as many
  ExpectTasks({.max_bytes_per_file = bytes / 2}, {});
  ExpectTasks({.max_bytes_per_file = bytes * 3 / 2}, {});  // two would become two again
  ExpectTasks({.max_bytes_per_file = bytes * 5 / 2}, {{0, 1, 2, 3}});
  ExpectTasks({.target_rows_per_fragment = 20, .max_bytes_per_file = bytes * 5 / 2}, {{0, 1}, {2, 3}});
}

TEST_P(OptimizeTest, OneRunTakesSoMuch) {
  const OptimizeOptions pairs{.target_rows_per_fragment = 20};
  OptimizeOptions limited = pairs;
  limited.max_source_fragments = 3;
  ExpectTasks(limited, {{0, 1}});
  limited.max_source_fragments = 4;
  ExpectTasks(limited, {{0, 1}, {2, 3}});
  limited.max_source_fragments = 1;
  ExpectTasks(limited, {});
  limited = pairs;
  limited.max_source_rows = 39;
  ExpectTasks(limited, {{0, 1}});
  limited = pairs;
  limited.max_source_bytes = 3 * dataset_->manifest().fragments[0].files[0].size_bytes;
  ExpectTasks(limited, {{0, 1}});
}

TEST_P(OptimizeTest, TheTableMaySayTheOptions) {
  ASSERT_OK_AND_ASSIGN(dataset_, world_.Plant([](table::Manifest& next) {
    next.config = {{"lance.compaction.target_rows_per_fragment", "20"}, {"lance.compaction.max_source_fragments", "2"}};
  }));
  ExpectTasks({}, {{0, 1}});
  ExpectTasks({.target_rows_per_fragment = 1000, .max_source_fragments = 9}, {{0, 1, 2, 3}});
  ASSERT_OK_AND_ASSIGN(dataset_, world_.Plant([](table::Manifest& next) {
    next.config = {{"lance.compaction.target_rows_per_fragment", "many"}};
  }));
  ExpectError(Plan().status(), ErrorKind::kInvalidInput, "target_rows_per_fragment = 'many'");
  ExpectTasks({.target_rows_per_fragment = 10}, {});
  ASSERT_OK_AND_ASSIGN(dataset_, world_.Plant([](table::Manifest& next) {
    next.config = {{"lance.compaction.defer_index_remap", "true"}};
  }));
  ExpectError(Plan().status(), ErrorKind::kNotSupported, "defer_index_remap");
}

TEST_P(OptimizeTest, OptionsAreRefusedWhenPlanned) {
  ExpectError(Plan({.target_rows_per_fragment = 0}).status(), ErrorKind::kInvalidInput, "target_rows_per_fragment");
  ExpectError(Plan({.max_bytes_per_file = 0}).status(), ErrorKind::kInvalidInput, "max_bytes_per_file");
  ExpectError(Plan({.materialize_deletions_threshold = 1.5}).status(), ErrorKind::kInvalidInput, "from 0 to 1");
  ExpectError(Plan({.materialize_deletions_threshold = NAN}).status(), ErrorKind::kInvalidInput, "from 0 to 1");
  ExpectError(Plan({.defer_index_remap = true}).status(), ErrorKind::kNotSupported, "defer_index_remap");
  ExpectError(Plan({.batch_rows = 0}).status(), ErrorKind::kInvalidInput, "batch_size");
  ExpectError(Plan({.mode = OptimizeMode::kForceBinaryCopy}).status(), ErrorKind::kNotSupported, "force_binary_copy");
  ExpectError(Plan({.max_source_rows = 0}).status(), ErrorKind::kInvalidInput, "max_source_rows");
  ExpectError(Optimize(*dataset_, {.data_storage_version = file::FileVersion{9, 9}}).status(), ErrorKind::kNotSupported,
              "");
  EXPECT_EQ(world_.counting().counts().total(), 0u);
}

// ---- what comes of it ----

TEST_P(OptimizeTest, RowsStayInOrderWithoutTheDeletedOnes) {
  ASSERT_OK(Delete({At(0, 0), At(1, 9), At(3, 5)}));
  const auto before = world_.Rows(*dataset_);
  ASSERT_OK_AND_ASSIGN(const Optimized done, Optimize(*dataset_, {.target_rows_per_fragment = 30, .batch_rows = 7}));
  EXPECT_EQ(done.metrics, (OptimizeMetrics{4, 2, 7, 2}));
  EXPECT_EQ(done.dataset->version(), TableVersion(4));
  EXPECT_FALSE(done.dataset->is_pinned());
  EXPECT_THAT(FragmentsOf(*done.dataset), ElementsAre(4, 5));
  EXPECT_EQ(done.dataset->manifest().fragments[0].physical_rows, 30u);
  EXPECT_EQ(done.dataset->manifest().fragments[1].physical_rows, 7u);
  EXPECT_EQ(world_.Rows(*done.dataset), before);
  ASSERT_OK_AND_ASSIGN(const auto opened, world_.Open());
  EXPECT_EQ(world_.Rows(*opened), before);
  EXPECT_EQ(world_.Rows(*dataset_), before);  // the old version is still there
  ASSERT_OK_AND_ASSIGN(const Optimized again, Optimize(*opened, {.target_rows_per_fragment = 30}));
  EXPECT_EQ(again.metrics, OptimizeMetrics{});
  EXPECT_EQ(again.dataset->version(), opened->version());
}

TEST_P(OptimizeTest, AFragmentWithoutRowsGoes) {
  ASSERT_OK_AND_ASSIGN(
      dataset_, world_.Delete(FragmentId(2), {0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, table::DeletionFileType::kArrowArray));
  ASSERT_OK_AND_ASSIGN(const Optimized done, Optimize(*dataset_, {.target_rows_per_fragment = 10}));
  EXPECT_EQ(done.metrics, (OptimizeMetrics{1, 0, 2, 0}));
  EXPECT_THAT(FragmentsOf(*done.dataset), ElementsAre(0, 1, 3));
  EXPECT_EQ(done.dataset->version(), TableVersion(3));  // no ids, no version that takes them
}

TEST_P(OptimizeTest, StepsOfOtherProcesses) {
  ASSERT_OK_AND_ASSIGN(const OptimizePlan plan, PlanOptimize(*dataset_, {.target_rows_per_fragment = 20}));
  const auto before = world_.Rows(*dataset_);
  std::vector<OptimizeResult> results;
  ASSERT_OK_AND_ASSIGN(const auto later, dataset_->Append(*ReaderOf({ToBatch(MakeRows(40, 3))})));
  for (const OptimizeTask& task : plan.tasks) {
    ASSERT_OK_AND_ASSIGN(OptimizeResult result, RunOptimizeTask(*later, task, plan.options));
    EXPECT_EQ(result.read_version, TableVersion(1));
    ASSERT_OK_AND_ASSIGN(const std::string bytes, EncodeFragments(result.new_fragments));
    ASSERT_OK_AND_ASSIGN(const auto fragments, DecodeFragments(bytes));
    EXPECT_EQ(fragments, result.new_fragments);
    results.push_back(std::move(result));
  }
  EXPECT_EQ(world_.Open().ValueOrDie()->version(), TableVersion(2));
  ASSERT_OK_AND_ASSIGN(const Optimized one, CommitOptimize(*later, std::span(results).subspan(1)));
  EXPECT_EQ(one.metrics, (OptimizeMetrics{2, 1, 2, 1}));
  EXPECT_THAT(FragmentsOf(*one.dataset), ElementsAre(0, 1, 4, 5));
  ASSERT_OK_AND_ASSIGN(const Optimized other, CommitOptimize(*later, std::span(results).first(1)));
  EXPECT_THAT(FragmentsOf(*other.dataset), ElementsAre(4, 5, 6));
  std::vector<TestRow> rows = world_.Rows(*other.dataset), expected = Both(before, MakeRows(40, 3));
  std::sort(rows.begin(), rows.end());
  std::sort(expected.begin(), expected.end());
  EXPECT_EQ(rows, expected);
  ExpectError(CommitOptimize(*later, results).status(), ErrorKind::kRetryableConflict, "Rewrite");
}

TEST_P(OptimizeTest, ResultsThatDoNotFitAreRefused) {
  ASSERT_OK_AND_ASSIGN(const OptimizePlan plan, PlanOptimize(*dataset_, {.target_rows_per_fragment = 20}));
  ASSERT_OK_AND_ASSIGN(const OptimizeResult result, RunOptimizeTask(*dataset_, plan.tasks[0], plan.options));
  const auto refused = [&](std::vector<OptimizeResult> results, const std::string& part) {
    ExpectError(CommitOptimize(*dataset_, results).status(), ErrorKind::kInvalidInput, part);
  };
  refused({result, result}, "two results rewrite fragment 0");
  OptimizeResult wrong = result;
  wrong.new_fragments.clear();
  refused({wrong}, "has 0 rows, its fragments at version 1 have 20");
  wrong = result;
  wrong.old_fragments.push_back(FragmentId(9));
  refused({wrong}, "no fragment 9");
  ASSERT_OK_AND_ASSIGN(const auto later, dataset_->Append(*ReaderOf({ToBatch(MakeRows(40, 3))})));
  wrong = result;
  wrong.read_version = TableVersion(2);
  refused({result, wrong}, "versions 1 and 2");
  OptimizeTask task = plan.tasks[0];
  std::swap(task.fragments[0], task.fragments[1]);
  ExpectError(RunOptimizeTask(*dataset_, task, plan.options).status(), ErrorKind::kInvalidInput, "ascending");
  task.fragments = {FragmentId(9)};
  ExpectError(RunOptimizeTask(*dataset_, task, plan.options).status(), ErrorKind::kInvalidInput, "no fragment 9");
  EXPECT_EQ(world_.Open().ValueOrDie()->version(), TableVersion(2));
  DiscardOptimized(*dataset_, {&result, 1});
  EXPECT_THAT(Files("data"), SizeIs(5));
}

// ---- requests ----

TEST_P(OptimizeTest, Requests) {
  ASSERT_OK(Delete({At(0, 0)}));
  ASSERT_OK_AND_ASSIGN(dataset_, world_.Open());
  world_.counting().Reset();
  ASSERT_OK_AND_ASSIGN(const Optimized done, Optimize(*dataset_, {}));
  const auto counts = world_.counting().counts();
  EXPECT_EQ(counts.list, 2u);  // where each of the two commits lands
  // The data files, the deletion file, and the version that took the ids.
  EXPECT_EQ(counts.get, 4u + 1 + 1) << fmt::format("{}", fmt::join(world_.counting().LogText(), "\n"));
  EXPECT_EQ(counts.put_if_absent, 2u);
  EXPECT_EQ(counts.put, GetParam() == StoreKind::kLocal ? 5u : 3u);  // data, two transactions; two hints
  EXPECT_EQ(counts.remove, 0u);
}

// ---- conflicts ----

TEST_P(OptimizeTest, RowsDeletedMeanwhileAreNotBroughtBack) {
  const auto files = Files("data");
  const auto stale = dataset_;
  ASSERT_OK(Delete({At(1, 4)}));
  const auto expected = world_.Rows(*dataset_);
  ExpectError(Optimize(*stale, {}).status(), ErrorKind::kRetryableConflict, "Update at version 2");
  EXPECT_EQ(Files("data"), files);  // nothing of it is left
  ASSERT_OK_AND_ASSIGN(const auto newest, world_.Open());
  EXPECT_EQ(world_.Rows(*newest), expected);
  ASSERT_OK_AND_ASSIGN(const Optimized done, Optimize(*newest, {}));
  EXPECT_EQ(world_.Rows(*done.dataset), expected);
}

TEST_P(OptimizeTest, WhoDeletesFromWhatWasRewrittenStartsAgain) {
  const auto stale = dataset_;
  ASSERT_OK_AND_ASSIGN(const Optimized done, Optimize(*dataset_, {}));
  ExpectError(CommitRowChange(*stale, {nullptr, {At(1, 4)}}).status(), ErrorKind::kRetryableConflict, "Rewrite");
  EXPECT_EQ(world_.Rows(*world_.Open().ValueOrDie()), MakeRows(0, 40));
  ExpectError(Optimize(*stale, {}).status(), ErrorKind::kRetryableConflict, "Rewrite");
}

TEST_P(OptimizeTest, OtherFragmentsMayChangeMeanwhile) {
  const auto stale = dataset_;
  ASSERT_OK(Delete({At(3, 4)}));
  ASSERT_OK(dataset_->Append(*ReaderOf({ToBatch(MakeRows(40, 5))})).status());
  ASSERT_OK_AND_ASSIGN(const Optimized done, Optimize(*stale, {.excluded_fragments = {FragmentId(3)}}));
  EXPECT_THAT(FragmentsOf(*done.dataset), ElementsAre(3, 4, 5));
  ASSERT_OK_AND_ASSIGN(const uint64_t count, done.dataset->CountRows());
  EXPECT_EQ(count, 44u);
}

TEST_P(OptimizeTest, AnOverwriteMeanwhileEndsIt) {
  const auto stale = dataset_;
  ASSERT_OK(world_.Write(MakeRows(0, 3), WriteMode::kOverwrite).status());
  ExpectError(Optimize(*stale, {}).status(), ErrorKind::kIncompatibleConflict, "Overwrite");
  EXPECT_EQ(world_.Rows(*world_.Open().ValueOrDie()), MakeRows(0, 3));
}

// Every request fails once, or loses its answer once. Success = the new fragments are there, failure = the old ones
// are, and no file is left; the rows are the same.
TEST_P(OptimizeTest, TheNthRequestFails) {
  for (auto action : {FaultRule::Action::kFail, FaultRule::Action::kLoseAnswer}) {
    uint64_t faults = 1, failures = 0;
    for (uint64_t n = 1; faults != 0; ++n) {
      SCOPED_TRACE(fmt::format("lose answer {} request {}", action == FaultRule::Action::kLoseAnswer, n));
      DatasetWorld world(GetParam());
      ASSERT_OK(world.Write(MakeRows(0, 40), WriteMode::kCreate, {.max_rows_per_file = 10}).status());
      ASSERT_OK_AND_ASSIGN(const auto before, world.Delete(FragmentId(1), {3}, table::DeletionFileType::kArrowArray));
      const auto expected = world.Rows(*before);
      const auto count_files = [&] {
        return ListAll(world.inner(), {.prefix = "t/data/"}).ValueOrDie().objects.size();
      };
      world.faults().AddRule({.first = n, .action = action});
      const auto done = Optimize(*before, {.target_rows_per_fragment = 20});
      faults = world.faults().faults();
      world.faults().ClearRules();
      ASSERT_OK_AND_ASSIGN(const auto head, world.Open());
      EXPECT_EQ(world.Rows(*head), expected);
      if (!done.ok()) {
        ++failures;
        EXPECT_EQ(KindOf(done.status()), ErrorKind::kTransient) << done.status().ToString();
        EXPECT_THAT(head->manifest().fragments, SizeIs(4));
        EXPECT_EQ(count_files(), 4u);
        ASSERT_OK(Optimize(*head, {.target_rows_per_fragment = 20}).status());
      }
      ASSERT_OK_AND_ASSIGN(const auto after, world.Open());
      EXPECT_THAT(after->manifest().fragments, SizeIs(2));
      EXPECT_EQ(world.Rows(*after), expected);
      EXPECT_EQ(count_files(), 6u);
    }
    EXPECT_GE(failures, 6u);  // data files read and written, transactions, listings ...
  }
}

TEST_P(OptimizeTest, AnUnknownOutcomeKeepsTheFiles) {
  world_.faults().AddRule({.method = "put_if_absent", .first = 2, .times = 100, .action = FaultRule::Action::kFail});
  ExpectError(Optimize(*dataset_, {}).status(), ErrorKind::kOutcomeUnknown, "version 3");
  world_.faults().ClearRules();
  EXPECT_THAT(Files("data"), SizeIs(5));
}

// ---- memory ----

TEST_P(OptimizeTest, AFewBatchesAreInMemoryAtOnce) {
  const std::string text(1000, 'x');
  for (int part = 0; part < 4; ++part) {
    std::vector<TestRow> rows;
    for (int64_t i = 0; i < 20000; ++i) rows.push_back({i, text + std::to_string(i * 7919)});
    ASSERT_OK(world_.Write(rows, part == 0 ? WriteMode::kOverwrite : WriteMode::kAppend).status());
  }
  ASSERT_OK_AND_ASSIGN(dataset_, world_.Open());
  const auto small = std::make_shared<Session>(MakeResources(MakeThreadRuntime(), 48 << 20));
  ASSERT_OK_AND_ASSIGN(const auto table, Dataset::OpenAt(small, world_.location()));
  ASSERT_OK_AND_ASSIGN(const Optimized done, Optimize(*table, {}));
  EXPECT_EQ(done.metrics.fragments_removed, 4u);
  ASSERT_OK_AND_ASSIGN(const uint64_t count, done.dataset->CountRows());
  EXPECT_EQ(count, 80000u);
}

// ---- against a model ----

TEST_P(OptimizeTest, RandomTurnsAgainstAModel) {
  std::mt19937_64 random(20261130);
  DatasetWorld world(GetParam());
  ASSERT_OK_AND_ASSIGN(auto head, world.Write(MakeRows(0, 20), WriteMode::kCreate, {.max_rows_per_file = 7}));
  std::vector<TestRow> model = MakeRows(0, 20);
  auto stale = head;
  int64_t next = 20;
  uint64_t conflicts = 0, rewritten = 0;
  for (int step = 0; step < 120; ++step) {
    const auto& handle = random() % 4 == 0 ? stale : head;
    const uint64_t kind = random() % 3;
    if (kind == 0) {
      const auto rows = MakeRows(next, 1 + static_cast<int64_t>(random() % 9));
      ASSERT_OK_AND_ASSIGN(head, handle->Append(*ReaderOf({ToBatch(rows)}), {.max_rows_per_file = 4}));
      next += static_cast<int64_t>(rows.size());
      model = Both(model, rows);
    } else if (kind == 1) {
      ASSERT_OK_AND_ASSIGN(const auto scan, handle->Scan({.with_row_address = true}));
      ASSERT_OK_AND_ASSIGN(const BatchPtr rows, ReadAll(*scan));
      const auto& ids = static_cast<const arrow::Int64Array&>(*rows->column(0));
      const auto& addresses = static_cast<const arrow::UInt64Array&>(*rows->GetColumnByName("_rowaddr"));
      std::set<int64_t> gone;
      std::vector<RowAddress> masked;
      for (uint64_t i = random() % 6; i-- > 0 && rows->num_rows() > 0;) {
        const auto at = static_cast<int64_t>(random() % static_cast<uint64_t>(rows->num_rows()));
        if (gone.insert(ids.Value(at)).second) masked.push_back(RowAddress(addresses.Value(at)));
      }
      const auto changed = CommitRowChange(*handle, {nullptr, masked});
      if (HasKind(changed.status(), ErrorKind::kRetryableConflict)) {
        ++conflicts;
        continue;
      }
      ASSERT_OK(changed.status());
      head = *changed;
      std::erase_if(model, [&](const TestRow& row) { return gone.contains(row.id); });
    } else {
      OptimizeOptions options{.target_rows_per_fragment = 1 + random() % 20};
      if (random() % 2 == 0) options.max_source_fragments = 1 + random() % 5;
      const auto done = Optimize(*handle, options);
      if (HasKind(done.status(), ErrorKind::kRetryableConflict)) {
        ++conflicts;
        continue;
      }
      ASSERT_OK(done.status());
      if (done->metrics == OptimizeMetrics{}) continue;
      head = done->dataset;
      rewritten += done->metrics.fragments_removed;
    }
    if (random() % 4 == 0) stale = head;
    std::vector<TestRow> found = world.Rows(*head);
    std::sort(found.begin(), found.end());
    ASSERT_EQ(found, model) << step;
  }
  EXPECT_GT(conflicts, 0u);
  EXPECT_GT(rewritten, 20u);
}

}  // namespace
}  // namespace javelin
