#include "javelin/dataset/cleanup.h"

#include <filesystem>
#include <functional>
#include <random>

#include "javelin/dataset/dataset_world_internal.h"
#include "javelin/dataset/optimize.h"
#include "javelin/dataset/row_change.h"
#include "javelin/store/forwarding_store.h"
#include "javelin/table/branches.h"
#include "javelin/table/commit.h"
#include "javelin/table/deletion_vector.h"
#include "javelin/table/tags.h"
#include "javelin/table/versions.h"

namespace javelin {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;
using testing::UnorderedElementsAre;

const CleanupOptions kAll{.older_than = Duration(0)};

class CleanupTest : public testing::TestWithParam<StoreKind> {
 protected:
  // Versions 1 to 4: created, rows 3 and 4 gone, all rewritten (ids taken in version 3). Version 5: appended.
  void SetUp() override {
    ASSERT_OK_AND_ASSIGN(dataset_, world_.Write(MakeRows(0, 20), WriteMode::kCreate, {.max_rows_per_file = 10}));
    ASSERT_OK_AND_ASSIGN(dataset_, CommitRowChange(*dataset_, {nullptr, {{FragmentId(0), 3}, {FragmentId(0), 4}}}));
    ASSERT_OK_AND_ASSIGN(const Optimized done, Optimize(*dataset_));
    ASSERT_OK_AND_ASSIGN(dataset_, done.dataset->Append(*ReaderOf({ToBatch(MakeRows(20, 3))})));
    ASSERT_EQ(dataset_->version(), TableVersion(5));
    rows_ = world_.Rows(*dataset_);
    world_.counting().Reset();
  }

  std::vector<std::string> Files(const std::string& folder) {
    std::vector<std::string> keys;
    const ListPage page = ListAll(world_.inner(), {.prefix = "t/" + folder + "/"}).ValueOrDie();
    for (const ObjectInfo& object : page.objects) keys.push_back(object.key);
    return keys;
  }
  void Put(const std::string& path) {
    ASSERT_TRUE(world_.inner().Put("t/" + path, arrow::Buffer::FromString("junk")).ok());
  }
  std::vector<uint64_t> Versions() {
    std::vector<uint64_t> numbers;
    for (const auto& name : table::ListVersions(world_.location()).ValueOrDie())
      numbers.push_back(name.version.value());
    return numbers;
  }
  std::vector<std::string> Paths(const CleanupPlan& plan) {
    std::vector<std::string> paths;
    for (const CleanupFile& file : plan.files) paths.push_back(file.path);
    return paths;
  }
  // The newest version reads as it did, and nothing that it needs is missing.
  void ExpectWhole() {
    const auto fresh = std::make_shared<Session>(MakeResources(MakeThreadRuntime()));  // knows no file yet
    ASSERT_OK_AND_ASSIGN(const auto opened, Dataset::OpenAt(fresh, world_.location()));
    EXPECT_EQ(world_.Rows(*opened), rows_);
  }

  DatasetWorld world_{GetParam()};
  std::shared_ptr<Dataset> dataset_;
  std::vector<TestRow> rows_;
};
INSTANTIATE_TEST_SUITE_P(Stores, CleanupTest, testing::Values(StoreKind::kMemory, StoreKind::kLocal),
                         [](const auto& info) { return info.param == StoreKind::kMemory ? "Memory" : "Local"; });

TEST_P(CleanupTest, OldVersionsGoWithWhatOnlyTheyNeed) {
  uint64_t bytes_before = 0, bytes_after = 0;
  for (const auto& object : ListAll(world_.inner(), {.prefix = "t/"}).ValueOrDie().objects) bytes_before += object.size;
  ASSERT_OK_AND_ASSIGN(const CleanupPlan plan, PlanCleanup(*dataset_, kAll));
  EXPECT_THAT(Versions(), SizeIs(5));
  ASSERT_OK_AND_ASSIGN(const CleanupStats stats, Cleanup(*dataset_, kAll));
  EXPECT_EQ(stats, plan.stats);
  EXPECT_EQ(stats.old_versions, 4u);
  EXPECT_EQ(stats.data_files_removed, 2u);
  EXPECT_EQ(stats.deletion_files_removed, 1u);
  EXPECT_EQ(stats.transaction_files_removed, 4u);
  EXPECT_EQ(stats.failed_deletes, 0u);
  for (const auto& object : ListAll(world_.inner(), {.prefix = "t/"}).ValueOrDie().objects) bytes_after += object.size;
  EXPECT_EQ(stats.bytes_removed, bytes_before - bytes_after);
  EXPECT_THAT(Versions(), ElementsAre(5));
  EXPECT_THAT(Files("data"), SizeIs(2));
  EXPECT_THAT(Files("_deletions"), IsEmpty());
  EXPECT_THAT(Files("_transactions"), ElementsAre("t/_transactions/" + dataset_->manifest().transaction_file));
  ExpectWhole();
  ASSERT_OK_AND_ASSIGN(const CleanupStats again, Cleanup(*dataset_, kAll));
  EXPECT_EQ(again, CleanupStats{});
}

TEST_P(CleanupTest, ManifestsGoLastAndTheOldestFirst) {
  ASSERT_OK_AND_ASSIGN(const CleanupPlan plan, PlanCleanup(*dataset_, kAll));
  ASSERT_THAT(plan.files, SizeIs(11));
  for (size_t i = 0; i < 7; ++i) EXPECT_NE(plan.files[i].kind, CleanupFileKind::kManifest);
  for (uint64_t version = 1; version <= 4; ++version) {
    EXPECT_EQ(plan.files[6 + version].path,
              "_versions/" + table::ToFileName({TableVersion(version), table::NamingScheme::kV2}));
  }
}

TEST_P(CleanupTest, WhatIsAskedForTogetherMustAllHold) {
  const auto versions = [&](CleanupOptions options) {
    auto plan = PlanCleanup(*dataset_, options);
    EXPECT_TRUE(plan.ok()) << plan.status().ToString();
    return plan.ok() ? plan->stats.old_versions : 99;
  };
  EXPECT_EQ(versions({}), 4u);
  EXPECT_EQ(versions({.older_than = std::chrono::hours(1)}), 0u);
  EXPECT_EQ(versions({.retain_versions = 1}), 4u);
  EXPECT_EQ(versions({.retain_versions = 3}), 2u);
  EXPECT_EQ(versions({.retain_versions = 9}), 0u);
  EXPECT_EQ(versions({.versions = {{TableVersion(2), TableVersion(4), TableVersion(77)}}}), 2u);
  EXPECT_EQ(versions({.versions = {{TableVersion(5)}}}), 0u);  // the version of the handle
  EXPECT_EQ(versions({.retain_versions = 3, .versions = {{TableVersion(2), TableVersion(4)}}}), 1u);
  EXPECT_EQ(versions({.older_than = std::chrono::hours(1), .retain_versions = 1}), 0u);
  ASSERT_OK_AND_ASSIGN(const auto older, dataset_->Checkout(TableVersion(3)));
  ASSERT_OK_AND_ASSIGN(const CleanupPlan plan, PlanCleanup(*older, kAll));
  EXPECT_EQ(plan.stats.old_versions, 2u);  // not the one that somebody looks at
}

TEST_P(CleanupTest, AgeIsThatOfTheCommit) {
  const int64_t now = world_.session()->runtime().WallTime().count();
  constexpr int64_t kHour = 3'600'000'000'000;
  ASSERT_OK(world_.Plant([&](table::Manifest& next) { next.timestamp_ns = now - 3 * kHour; }).status());
  ASSERT_OK_AND_ASSIGN(dataset_, world_.Plant([&](table::Manifest& next) { next.timestamp_ns = now; }));
  ASSERT_OK_AND_ASSIGN(const CleanupPlan two, PlanCleanup(*dataset_, {.older_than = std::chrono::hours(2)}));
  EXPECT_EQ(two.stats.old_versions, 1u);
  EXPECT_EQ(two.files.back().path, "_versions/" + table::ToFileName({TableVersion(6), table::NamingScheme::kV2}));
  ASSERT_OK_AND_ASSIGN(const CleanupPlan four, PlanCleanup(*dataset_, {.older_than = std::chrono::hours(4)}));
  EXPECT_EQ(four.stats.old_versions, 0u);
}

TEST_P(CleanupTest, OptionsThatMakeNoSense) {
  const auto refused = [&](CleanupOptions options, const std::string& part) {
    ExpectError(Cleanup(*dataset_, options).status(), ErrorKind::kInvalidInput, part);
  };
  refused({.retain_versions = 0}, "retain_versions");
  refused({.delete_rate_limit = 0}, "delete_rate_limit");
  refused({.versions = std::vector<TableVersion>()}, "versions");
  EXPECT_EQ(world_.counting().counts().total(), 0u);
}

// ---- what is protected ----

TEST_P(CleanupTest, TaggedVersionsStay) {
  Runtime& runtime = world_.session()->runtime();
  ASSERT_OK(table::CreateTag(runtime, world_.location(), "keep", TableVersion(2)).status());
  const auto before = Files("data");
  ExpectError(Cleanup(*dataset_, kAll).status(), ErrorKind::kInvalidInput, "'keep' (version 2)");
  EXPECT_EQ(Files("data"), before);
  EXPECT_THAT(Versions(), SizeIs(5));
  ASSERT_OK(Cleanup(*dataset_, {.versions = {{TableVersion(1)}}}).status());  // none that has a tag
  CleanupOptions lenient = kAll;
  lenient.error_if_tagged_old_versions = false;
  ASSERT_OK_AND_ASSIGN(const CleanupStats stats, Cleanup(*dataset_, lenient));
  EXPECT_EQ(stats.data_files_removed, 0u);  // the tagged version needs them
  EXPECT_THAT(Versions(), ElementsAre(2, 5));
  ASSERT_OK_AND_ASSIGN(const auto tagged, dataset_->Checkout(TableVersion(2)));
  EXPECT_THAT(world_.Rows(*tagged), SizeIs(18));
  ASSERT_OK(table::DeleteTag(world_.location(), "keep"));
  ASSERT_OK(Cleanup(*dataset_, kAll).status());
  EXPECT_THAT(Versions(), ElementsAre(5));
  ExpectWhole();
}

TEST_P(CleanupTest, WhereABranchStartsStays) {
  const Resources& resources = world_.session()->resources();
  ASSERT_OK_AND_ASSIGN(const auto second, table::LoadVersion(world_.location(), TableVersion(2)));
  ASSERT_OK_AND_ASSIGN(const auto made, table::CreateBranch(resources, world_.location(), "b", second, std::nullopt,
                                                            world_.location().uri));
  ASSERT_OK(table::CreateBranch(resources, world_.location(), "c", made, "b", world_.location().uri).status());
  const auto below = Files("tree");
  ASSERT_OK_AND_ASSIGN(const CleanupPlan plan, PlanCleanup(*dataset_, kAll));
  ASSERT_THAT(plan.branches, SizeIs(2));
  EXPECT_EQ(plan.branches[0].name, "b");
  EXPECT_EQ(plan.branches[0].version, TableVersion(2));
  ASSERT_OK(Cleanup(*dataset_, kAll).status());
  EXPECT_THAT(Versions(), ElementsAre(2, 5));
  EXPECT_EQ(Files("tree"), below);
  EXPECT_THAT(Files("_deletions"), SizeIs(1));
  ExpectWhole();

  // The branch itself: a tag on the main line with the same number is none of its versions.
  const StoreLocation location = table::BranchLocation(world_.location(), "b");
  ASSERT_OK_AND_ASSIGN(auto branch, Dataset::OpenAt(world_.session(), location));
  ASSERT_OK_AND_ASSIGN(branch, branch->Append(*ReaderOf({ToBatch(MakeRows(50, 2))})));
  ASSERT_OK_AND_ASSIGN(branch, branch->Append(*ReaderOf({ToBatch(MakeRows(60, 2))})));
  ASSERT_OK(table::CreateTag(world_.session()->runtime(), world_.location(), "main5", TableVersion(5)).status());
  ASSERT_OK_AND_ASSIGN(const CleanupPlan of_branch, PlanCleanup(*branch, kAll));
  EXPECT_EQ(of_branch.stats.old_versions, 1u);  // version 2 is where `c` starts
  EXPECT_EQ(of_branch.stats.data_files_removed, 0u);
}

TEST_P(CleanupTest, DetachedVersionsStay) {
  ASSERT_OK_AND_ASSIGN(const auto first, table::LoadVersion(world_.location(), TableVersion(1)));
  table::Transaction transaction;
  transaction.operation = table::UpdateConfig{table::MapUpdate{{{"a", "b"}}}, {}, {}, {}};
  ASSERT_OK_AND_ASSIGN(const auto detached, table::CommitDetached(world_.session()->resources(), world_.location(),
                                                                  first, std::move(transaction)));
  ASSERT_OK_AND_ASSIGN(const CleanupStats stats, Cleanup(*dataset_, kAll));
  EXPECT_EQ(stats.data_files_removed, 0u);
  ASSERT_OK_AND_ASSIGN(const auto opened, dataset_->Checkout(detached.manifest->version));
  EXPECT_EQ(world_.Rows(*opened), MakeRows(0, 20));
}

TEST_P(CleanupTest, FilesThatNobodyNamesMayBeThoseOfACommitUnderWay) {
  const std::vector<std::string> junk = {"data/x.lance",           "data/x/01.blob",          "_deletions/0-1-2.bin",
                                         "_deletions/0-1-3.arrow", "_indices/0b0c/index.idx", "_transactions/9-x.txn"};
  const std::vector<std::string> others = {"data/notes.txt", "_versions/junk", "_mem_wal/s/wal/1.arrow",
                                           "_blobs/1.blob",  "other/x.lance",  "_deletions/what"};
  for (const auto& path : junk) Put(path);
  for (const auto& path : others) Put(path);
  ASSERT_OK_AND_ASSIGN(const CleanupPlan young, PlanCleanup(*dataset_, {.retain_versions = 9}));
  EXPECT_THAT(Paths(young), IsEmpty());
  CleanupOptions unverified{.retain_versions = 9, .delete_unverified = true};
  ASSERT_OK_AND_ASSIGN(const CleanupPlan plan, PlanCleanup(*dataset_, unverified));
  EXPECT_THAT(Paths(plan), testing::UnorderedElementsAreArray(junk));
  for (const CleanupFile& file : plan.files) EXPECT_TRUE(file.unverified) << file.path;
  if (GetParam() == StoreKind::kLocal) {
    const auto week = std::filesystem::file_time_type::clock::now() - std::chrono::hours(7 * 24);
    const auto age = [&](std::chrono::minutes more) {
      for (const auto& path : junk) std::filesystem::last_write_time(world_.inner().Describe("t/" + path), week - more);
    };
    age(std::chrono::minutes(-5));
    ASSERT_OK_AND_ASSIGN(const CleanupPlan still_young, PlanCleanup(*dataset_, {.retain_versions = 9}));
    EXPECT_THAT(Paths(still_young), IsEmpty());
    age(std::chrono::minutes(5));
    ASSERT_OK_AND_ASSIGN(const CleanupPlan old, PlanCleanup(*dataset_, {.retain_versions = 9}));
    EXPECT_THAT(Paths(old), testing::UnorderedElementsAreArray(junk));
  }
  ASSERT_OK(Cleanup(*dataset_, unverified).status());
  for (const auto& path : others) EXPECT_TRUE(world_.inner().Head("t/" + path).ok()) << path;
  EXPECT_THAT(Versions(), SizeIs(5));
  ExpectWhole();
}

// A version that is committed while files are looked for, as by a restore of one that goes.
class CommitsWhileListing final : public ForwardingStore {
 public:
  explicit CommitsWhileListing(std::shared_ptr<ObjectStore> inner) : ForwardingStore(std::move(inner)) {}
  std::function<void()> commit;

  arrow::Result<ListPage> List(const ListRequest& request) override {
    auto page = ForwardingStore::List(request);
    if (request.prefix.ends_with("/_transactions/") && commit) std::exchange(commit, nullptr)();
    return page;
  }
};

TEST_P(CleanupTest, AVersionThatIsCommittedMeanwhileKeepsItsFiles) {
  const auto store = std::make_shared<CommitsWhileListing>(world_.location().store);
  const StoreLocation location{store, "t", "test://t"};
  ASSERT_OK_AND_ASSIGN(const auto watched, Dataset::OpenAt(world_.session(), location));
  store->commit = [&] {
    table::Transaction transaction;
    transaction.operation = table::Restore{TableVersion(2)};
    const auto restored = dataset_->Commit(std::move(transaction));
    ASSERT_TRUE(restored.ok()) << restored.status().ToString();
    rows_ = world_.Rows(**restored);
  };
  ASSERT_OK_AND_ASSIGN(const CleanupStats stats, Cleanup(*watched, kAll));
  EXPECT_FALSE(store->commit);
  EXPECT_EQ(stats.data_files_removed, 0u);
  EXPECT_EQ(stats.deletion_files_removed, 0u);
  EXPECT_EQ(stats.old_versions, 4u);
  EXPECT_THAT(Versions(), ElementsAre(5, 6));
  EXPECT_THAT(rows_, SizeIs(18));
  ExpectWhole();
}

TEST_P(CleanupTest, AManifestThatDoesNotDecodeEndsIt) {
  const std::string key = table::ManifestKey(world_.location(), {TableVersion(2), table::NamingScheme::kV2});
  ASSERT_OK(world_.inner().Delete(key));
  ASSERT_OK(world_.inner().Put(key, arrow::Buffer::FromString("no manifest")));
  const auto before = Files("data");
  ExpectError(Cleanup(*dataset_, kAll).status(), ErrorKind::kCorruption, "manifest");
  EXPECT_EQ(Files("data"), before);
}

TEST_P(CleanupTest, AVersionThatIsNotUnderstoodEndsIt) {
  ASSERT_OK(world_.Plant([](table::Manifest& next) { next.writer_feature_flags |= uint64_t{1} << 40; }).status());
  ExpectError(Cleanup(*dataset_, kAll).status(), ErrorKind::kNotSupported, "");
  EXPECT_THAT(Files("data"), SizeIs(4));
}

// ---- requests, failures, time ----

TEST_P(CleanupTest, Requests) {
  ASSERT_OK(PlanCleanup(*dataset_, kAll).status());
  const auto counts = world_.counting().counts();
  EXPECT_EQ(counts.list, 8u);  // versions, tags, branches, four folders, versions again
  EXPECT_EQ(counts.get, 5u);   // a manifest each
  EXPECT_EQ(counts.total(), 13u);
  world_.counting().Reset();
  ASSERT_OK(Cleanup(*dataset_, kAll).status());
  EXPECT_EQ(world_.counting().counts().total(), 13u + 11);
}

TEST_P(CleanupTest, TheNthRequestFails) {
  for (auto action : {FaultRule::Action::kFail, FaultRule::Action::kLoseAnswer}) {
    uint64_t faults = 1, failures = 0, left = 0;
    for (uint64_t n = 1; faults != 0; ++n) {
      SCOPED_TRACE(fmt::format("lose answer {} request {}", action == FaultRule::Action::kLoseAnswer, n));
      DatasetWorld world(GetParam());
      ASSERT_OK_AND_ASSIGN(auto head, world.Write(MakeRows(0, 9), WriteMode::kCreate));
      ASSERT_OK_AND_ASSIGN(head, head->Overwrite(*ReaderOf({ToBatch(MakeRows(9, 9))})));
      ASSERT_OK_AND_ASSIGN(head, head->Append(*ReaderOf({ToBatch(MakeRows(18, 9))})));
      world.faults().AddRule({.first = n, .action = action});
      const auto cleaned = Cleanup(*head, kAll);
      faults = world.faults().faults();
      world.faults().ClearRules();
      if (cleaned.ok()) {
        left += cleaned->failed_deletes;
      } else {
        ++failures;
        EXPECT_EQ(KindOf(cleaned.status()), ErrorKind::kTransient);
        EXPECT_THAT(ListAll(world.inner(), {.prefix = "t/data/"}).ValueOrDie().objects, SizeIs(3));
      }
      EXPECT_EQ(world.Rows(**world.Open()), MakeRows(9, 18));
      CleanupOptions rest = kAll;
      rest.delete_unverified = true;
      ASSERT_OK(Cleanup(*head, rest).status());
      EXPECT_THAT(ListAll(world.inner(), {.prefix = "t/data/"}).ValueOrDie().objects, SizeIs(2));
      EXPECT_THAT(table::ListVersions(world.location()).ValueOrDie(), SizeIs(1));
      EXPECT_EQ(world.Rows(**world.Open()), MakeRows(9, 18));
    }
    EXPECT_EQ(failures, 11u);  // eight listings, three manifests
    EXPECT_EQ(left, 5u);       // a data file, two transactions, two manifests
  }
}

// The process ends after any number of files: the newest version is whole, and another run ends the work.
TEST_P(CleanupTest, ItMayEndInTheMiddle) {
  for (uint64_t removed = 0; removed <= 11; ++removed) {
    SCOPED_TRACE(removed);
    DatasetWorld world(GetParam());
    ASSERT_OK_AND_ASSIGN(auto head, world.Write(MakeRows(0, 20), WriteMode::kCreate, {.max_rows_per_file = 10}));
    ASSERT_OK_AND_ASSIGN(head, CommitRowChange(*head, {nullptr, {{FragmentId(0), 3}}}));
    ASSERT_OK_AND_ASSIGN(const Optimized done, Optimize(*head));
    const auto expected = world.Rows(*done.dataset);
    world.faults().AddRule({.method = "delete", .first = removed + 1, .times = 1000});
    ASSERT_OK(Cleanup(*done.dataset, kAll).status());
    world.faults().ClearRules();
    const auto fresh = std::make_shared<Session>(MakeResources(MakeThreadRuntime()));
    ASSERT_OK_AND_ASSIGN(const auto opened, Dataset::OpenAt(fresh, world.location()));
    EXPECT_EQ(world.Rows(*opened), expected);
    ASSERT_OK(Cleanup(*opened, kAll).status());
    EXPECT_THAT(ListAll(world.inner(), {.prefix = "t/data/"}).ValueOrDie().objects, SizeIs(1));
    EXPECT_THAT(table::ListVersions(world.location()).ValueOrDie(), SizeIs(1));
    EXPECT_EQ(world.Rows(**world.Open()), expected);
  }
}

TEST_P(CleanupTest, NoFasterThanAsked) {
  Runtime& runtime = world_.session()->runtime();
  CleanupOptions slow = kAll;
  slow.delete_rate_limit = 50;
  const TimePoint started = runtime.Now();
  ASSERT_OK(Cleanup(*dataset_, slow).status());
  EXPECT_GE(runtime.Now() - started, std::chrono::milliseconds(11 * 20));
}

}  // namespace
}  // namespace javelin
