// Tags, branches, clones and times, as datasets know them.
#include "javelin/dataset/references.h"

#include <random>

#include "javelin/dataset/dataset_world_internal.h"
#include "javelin/dataset/metadata.h"
#include "javelin/dataset/restore.h"
#include "javelin/table/branches.h"
#include "javelin/table/transaction.h"

namespace javelin {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Key;

// As the branch `name` of a world's table.
VersionReference Newest(std::optional<std::string> name) { return OnBranch{std::move(name), std::nullopt}; }
VersionReference Number(uint64_t version) { return TableVersion(version); }

class ReferencesOfDatasets : public testing::TestWithParam<StoreKind> {
 protected:
  void SetUp() override { ASSERT_NO_FATAL_FAILURE(Fill(world_)); }

  // Version 1: 3 rows from 0; 2: 3 more; 3: 3 more.
  void Fill(DatasetWorld& world) {
    world.session()->stores().Register("test://", world.location().store);
    ASSERT_OK_AND_ASSIGN(table_, world.Write(MakeRows(0, 3), WriteMode::kCreate));
    for (const int64_t first : {3, 6}) {
      ASSERT_OK_AND_ASSIGN(table_, world.Write(MakeRows(first, 3), WriteMode::kAppend));
    }
  }
  static arrow::Result<std::shared_ptr<Dataset>> Append(const Dataset& dataset, int64_t first) {
    const auto reader = ReaderOf({ToBatch(MakeRows(first, 3))});
    return dataset.Append(*reader);
  }
  arrow::Result<std::shared_ptr<Dataset>> OpenBy(const VersionReference& reference,
                                                 const std::string& uri = "test://t") {
    return OpenReference(world_.session(), uri, reference);
  }

  DatasetWorld world_{GetParam()};
  std::shared_ptr<Dataset> table_;
};
INSTANTIATE_TEST_SUITE_P(Stores, ReferencesOfDatasets, testing::Values(StoreKind::kMemory, StoreKind::kLocal),
                         [](const auto& info) { return info.param == StoreKind::kMemory ? "Memory" : "Local"; });

TEST_P(ReferencesOfDatasets, ATagLeadsToItsVersion) {
  ASSERT_OK(CreateTag(*table_, "first", Number(1)).status());
  ASSERT_OK(CreateTag(*table_, "now").status());
  ASSERT_OK(CreateTag(*table_, "same", "first").status());
  for (const auto& [tag, rows] : std::map<std::string, int64_t>{{"first", 3}, {"now", 9}, {"same", 3}}) {
    ASSERT_OK_AND_ASSIGN(const auto opened, OpenBy(tag));
    EXPECT_EQ(world_.Rows(*opened), MakeRows(0, rows)) << tag;
    EXPECT_TRUE(opened->is_pinned());
    ASSERT_OK_AND_ASSIGN(const auto found, Checkout(*table_, tag));
    EXPECT_EQ(found->version(), opened->version());
  }
  ASSERT_OK(UpdateTag(*table_, "first", Number(2)).status());
  ASSERT_OK_AND_ASSIGN(const auto moved, OpenBy("first"));
  EXPECT_EQ(moved->version(), TableVersion(2));
  ExpectError(CreateTag(*table_, "x", Number(9)).status(), ErrorKind::kNotFound, "version 9");
  ExpectError(CreateTag(*table_, "x", OnBranch{"nowhere", TableVersion(1)}).status(), ErrorKind::kNotFound,
              "no branch 'nowhere'");
  ExpectError(CreateTag(*table_, "a/b").status(), ErrorKind::kInvalidInput, "name for a tag");
}

TEST_P(ReferencesOfDatasets, AnUnknownNameTellsTheNearest) {
  ASSERT_OK(CreateTag(*table_, "release-1").status());
  ASSERT_OK(CreateBranch(*table_, "feature/a").status());
  for (const auto& result : {OpenBy("relaese-1"), Checkout(*table_, "relaese-1")})
    ExpectError(result.status(), ErrorKind::kNotFound, "no tag 'relaese-1'; did you mean 'release-1'?");
  for (const auto& result : {OpenBy(Newest("feature/b")), Checkout(*table_, Newest("feature/b"))})
    ExpectError(result.status(), ErrorKind::kNotFound, "no branch 'feature/b'; did you mean 'feature/a'?");
  EXPECT_EQ(OpenBy("something else entirely").status().message().find("did you mean"), std::string::npos);
  ExpectError(OpenBy(Newest("../u")).status(), ErrorKind::kInvalidInput, "name for a branch");
  ExpectError(OpenBy("tag", "test://nothing").status(), ErrorKind::kNotFound, "there is no table");
}

TEST_P(ReferencesOfDatasets, ABranchGoesItsOwnWay) {
  ASSERT_OK_AND_ASSIGN(auto branch, CreateBranch(*table_, "b", Number(2)));
  EXPECT_EQ(branch->version(), TableVersion(2));
  EXPECT_EQ(branch->uri(), "test://t/tree/b");
  EXPECT_EQ(BranchOf(*branch), "b");
  EXPECT_EQ(RootOf(*branch).root, "t");
  EXPECT_EQ(RootOf(*branch).uri, "test://t");
  ASSERT_OK_AND_ASSIGN(branch, Append(*branch, 100));
  auto rows = MakeRows(0, 6);
  for (const TestRow& row : MakeRows(100, 3)) rows.push_back(row);
  EXPECT_EQ(world_.Rows(*branch), rows);
  EXPECT_EQ(branch->version(), TableVersion(3));
  ASSERT_OK_AND_ASSIGN(const auto newest, table_->CheckoutLatest());
  EXPECT_EQ(world_.Rows(*newest), MakeRows(0, 9)) << "main stays as it was";

  // From either handle, and opened anew by either URI.
  for (const auto& from : {table_, branch}) {
    ASSERT_OK_AND_ASSIGN(const auto there, Checkout(*from, Newest("b")));
    EXPECT_EQ(world_.Rows(*there), rows);
    EXPECT_FALSE(there->is_pinned());
    for (const auto& main : {std::optional<std::string>(), std::optional<std::string>("main")}) {
      ASSERT_OK_AND_ASSIGN(const auto back, Checkout(*from, Newest(main)));
      EXPECT_EQ(world_.Rows(*back), MakeRows(0, 9));
      EXPECT_EQ(back->uri(), "test://t");
    }
  }
  for (const char* uri : {"test://t", "test://t/tree/b"}) {
    ASSERT_OK_AND_ASSIGN(const auto there, OpenBy(Newest("b"), uri));
    EXPECT_EQ(world_.Rows(*there), rows);
    ASSERT_OK_AND_ASSIGN(const auto main, OpenBy(OnBranch{std::nullopt, TableVersion(3)}, uri));
    EXPECT_EQ(world_.Rows(*main), MakeRows(0, 9));
  }
  // A number is one of the branch.
  ASSERT_OK_AND_ASSIGN(const auto third, Checkout(*branch, Number(3)));
  EXPECT_EQ(world_.Rows(*third), rows);
  ExpectError(Checkout(*branch, Number(1)).status(), ErrorKind::kNotFound, "version 1");
  ASSERT_OK_AND_ASSIGN(const auto latest, (*Checkout(*branch, Number(2)))->CheckoutLatest());
  EXPECT_EQ(world_.Rows(*latest), rows);

  // Tags lie in the root, whoever makes them.
  ASSERT_OK(CreateTag(*branch, "of-branch").status());
  ASSERT_OK_AND_ASSIGN(const auto tags, table::ListTags(RootOf(*table_)));
  ASSERT_THAT(tags, ElementsAre(Key("of-branch")));
  EXPECT_EQ(tags.at("of-branch").branch, "b");
  for (const char* uri : {"test://t", "test://t/tree/b"}) {
    ASSERT_OK_AND_ASSIGN(const auto tagged, OpenBy("of-branch", uri));
    EXPECT_EQ(world_.Rows(*tagged), rows);
  }
  ExpectError(table::DeleteBranch(RootOf(*table_), "b"), ErrorKind::kInvalidInput, "tag 'of-branch' names version 3");
  ASSERT_OK(table::DeleteTag(RootOf(*branch), "of-branch"));
  ASSERT_OK(table::DeleteBranch(RootOf(*branch), "b"));
}

TEST_P(ReferencesOfDatasets, BranchesOfBranchesReadFromAllOfThem) {
  ASSERT_OK_AND_ASSIGN(auto one, CreateBranch(*table_, "one", Number(1)));
  ASSERT_OK_AND_ASSIGN(one, Append(*one, 10));
  ASSERT_OK_AND_ASSIGN(auto two, CreateBranch(*one, "two"));
  EXPECT_EQ(two->uri(), "test://t/tree/two");
  ASSERT_OK_AND_ASSIGN(two, Append(*two, 20));
  std::vector<TestRow> rows;
  for (const int64_t first : {0, 10, 20}) {
    for (const TestRow& row : MakeRows(first, 3)) rows.push_back(row);
  }
  EXPECT_EQ(world_.Rows(*two), rows);
  ASSERT_OK_AND_ASSIGN(const table::Branch stored, table::LoadBranch(RootOf(*two), "two"));
  EXPECT_EQ(stored.parent_branch, "one");
  EXPECT_EQ(stored.parent_version, TableVersion(2));
  // Its own changes: metadata and a restore stay on the branch.
  ASSERT_OK_AND_ASSIGN(two, ChangeMetadata(*two, {.config = table::MapUpdate{{{"k", "v"}}, false}}));
  ASSERT_OK_AND_ASSIGN(const auto old, Checkout(*two, Number(2)));
  ASSERT_OK_AND_ASSIGN(two, RestoreVersion(*old));
  EXPECT_EQ(two->version(), TableVersion(5));
  EXPECT_EQ(BranchOf(*two), "two");
  EXPECT_THAT(two->manifest().config, IsEmpty());
  rows.resize(6);
  EXPECT_EQ(world_.Rows(*two), rows);
}

TEST_P(ReferencesOfDatasets, AClonesFilesStayWhereTheyAre) {
  ASSERT_OK_AND_ASSIGN(auto branch, CreateBranch(*table_, "b", Number(2)));
  ASSERT_OK_AND_ASSIGN(branch, Append(*branch, 100));
  ASSERT_OK_AND_ASSIGN(auto clone, ShallowClone(*table_, "test://clone", Newest("b")));
  EXPECT_EQ(clone->version(), TableVersion(3));
  EXPECT_EQ(BranchOf(*clone), std::nullopt);
  EXPECT_EQ(clone->manifest().base_paths.back().path, "test://t/tree/b");
  EXPECT_EQ(clone->manifest().base_paths.back().name, "b");
  EXPECT_EQ(world_.Rows(*clone), world_.Rows(*branch));
  ASSERT_OK_AND_ASSIGN(clone, Append(*clone, 200));
  auto rows = world_.Rows(*branch);
  for (const TestRow& row : MakeRows(200, 3)) rows.push_back(row);
  EXPECT_EQ(world_.Rows(*clone), rows);
  ASSERT_OK_AND_ASSIGN(const auto reopened, Dataset::Open(world_.session(), "test://clone"));
  EXPECT_EQ(world_.Rows(*reopened), rows);
  ASSERT_OK_AND_ASSIGN(const auto tags, table::ListTags(RootOf(*clone)));
  EXPECT_THAT(tags, IsEmpty());
  ExpectError(ShallowClone(*table_, "test://clone").status(), ErrorKind::kAlreadyExists, "test://clone");
  ExpectError(ShallowClone(*table_, "test://other", Number(9)).status(), ErrorKind::kNotFound, "version 9");
  // A branch of a clone has the clone for its root.
  ASSERT_OK_AND_ASSIGN(const auto grandchild, CreateBranch(*clone, "c"));
  EXPECT_EQ(RootOf(*grandchild).uri, "test://clone");
  EXPECT_EQ(world_.Rows(*grandchild), rows);
}

TEST_P(ReferencesOfDatasets, VersionsByTime) {
  ASSERT_OK_AND_ASSIGN(const auto versions, table_->Versions());
  for (const auto& version : versions) {
    ASSERT_OK_AND_ASSIGN(const auto then, OpenAsOf(world_.session(), "test://t", version.timestamp_ns));
    EXPECT_GE(then->version(), version.version);
    EXPECT_EQ(then->manifest().timestamp_ns, version.timestamp_ns);
    EXPECT_TRUE(then->is_pinned());
  }
  ExpectError(OpenAsOf(world_.session(), "test://t", versions[0].timestamp_ns - 1).status(), ErrorKind::kNotFound,
              "after");
}

TEST_P(ReferencesOfDatasets, Requests) {
  ASSERT_OK(CreateTag(*table_, "first", Number(1)).status());
  const auto requests = [&](const std::function<arrow::Status()>& call) {
    const auto before = world_.counting().counts().total();
    const arrow::Status status = call();
    EXPECT_TRUE(status.ok()) << status.ToString();
    return world_.counting().counts().total() - before;
  };
  EXPECT_EQ(requests([&] { return Checkout(*table_, Number(3)).status(); }), 0u) << "it is there";
  EXPECT_EQ(requests([&] { return Checkout(*table_, Number(1)).status(); }), 1u);
  EXPECT_EQ(requests([&] { return Checkout(*table_, "first").status(); }), 2u) << "the tag, the manifest";
  EXPECT_EQ(requests([&] { return OpenBy("first").status(); }), 2u);
  EXPECT_EQ(requests([&] { return CreateTag(*table_, "x", Number(2)).status(); }), 2u) << "HEAD, PUT";
}

// ---- faults ----

// Every request of making a branch fails once, or loses its answer once. Success = it is there; failure = it is not,
// and after taking away what is left of it trying again works.
TEST_P(ReferencesOfDatasets, TheNthRequestOfABranchFails) {
  for (auto action : {FaultRule::Action::kFail, FaultRule::Action::kLoseAnswer}) {
    uint64_t faults = 1;
    for (uint64_t n = 1; faults != 0; ++n) {
      SCOPED_TRACE(fmt::format("lose answer {} request {}", action == FaultRule::Action::kLoseAnswer, n));
      DatasetWorld world(GetParam());
      ASSERT_NO_FATAL_FAILURE(Fill(world));
      world.faults().AddRule({.first = n, .action = action});
      auto branch = CreateBranch(*table_, "b", Number(2));
      faults = world.faults().faults();
      world.faults().ClearRules();
      if (!branch.ok()) {
        EXPECT_EQ(KindOf(branch.status()), ErrorKind::kTransient) << branch.status().ToString();
        const arrow::Status removed = table::DeleteBranch(RootOf(*table_), "b");
        EXPECT_TRUE(removed.ok() || HasKind(removed, ErrorKind::kNotFound)) << removed.ToString();
        ASSERT_OK_AND_ASSIGN(branch, CreateBranch(*table_, "b", Number(2)));
      }
      ASSERT_OK_AND_ASSIGN(const auto found, Checkout(*table_, Newest("b")));
      EXPECT_EQ(world.Rows(*found), MakeRows(0, 6));
      ASSERT_OK_AND_ASSIGN(const auto branches, table::ListBranches(RootOf(*table_)));
      EXPECT_THAT(branches, ElementsAre(Key("b")));
    }
  }
}

// ---- a model ----

struct Model {
  struct Table {
    std::map<uint64_t, std::vector<TestRow>> versions;
    uint64_t newest() const { return versions.rbegin()->first; }
  };
  std::map<std::string, Table> tables;  // by branch; "" = main
  std::map<std::string, std::pair<std::string, uint64_t>> tags;
};

TEST_P(ReferencesOfDatasets, ARandomStoryAgreesWithAModel) {
  for (uint32_t seed = 1; seed <= 8; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    DatasetWorld world(GetParam());
    ASSERT_NO_FATAL_FAILURE(Fill(world));
    std::mt19937 random(seed);
    const auto below = [&](size_t limit) { return static_cast<size_t>(random() % limit); };
    const auto any = [&](auto& map) { return std::next(map.begin(), below(map.size())); };
    Model model;
    for (uint64_t version = 1; version <= 3; ++version)
      model.tables[""].versions[version] = MakeRows(0, 3 * static_cast<int64_t>(version));
    const auto at = [](const std::string& branch, std::optional<uint64_t> version) -> VersionReference {
      return OnBranch{branch.empty() ? std::nullopt : std::optional(branch),
                      version ? std::optional(TableVersion(*version)) : std::nullopt};
    };
    int64_t next_row = 1000;
    std::shared_ptr<Dataset> handle = table_;  // wherever the last step left it
    for (int step = 0; step < 60; ++step) {
      const auto place = any(model.tables);
      const auto version = any(place->second.versions);
      switch (below(7)) {
        case 0:
        case 1: {
          ASSERT_OK_AND_ASSIGN(handle, Checkout(*handle, at(place->first, std::nullopt)));
          EXPECT_EQ(world.Rows(*handle), place->second.versions.rbegin()->second);
          ASSERT_OK_AND_ASSIGN(handle, Append(*handle, next_row));
          auto rows = place->second.versions.rbegin()->second;
          for (const TestRow& row : MakeRows(next_row, 3)) rows.push_back(row);
          place->second.versions[handle->version().value()] = rows;
          next_row += 3;
          break;
        }
        case 2: {
          ASSERT_OK_AND_ASSIGN(handle, Checkout(*handle, at(place->first, version->first)));
          ASSERT_OK_AND_ASSIGN(handle, RestoreVersion(*handle));
          ASSERT_EQ(handle->version().value(), place->second.newest() + 1);
          const auto rows = version->second;
          place->second.versions[handle->version().value()] = rows;
          break;
        }
        case 3: {
          const std::string name = fmt::format("t{}", below(4));
          const auto known = model.tags.find(name);
          const auto reference = at(place->first, version->first);
          ASSERT_OK((known == model.tags.end() ? CreateTag : UpdateTag)(*handle, name, reference).status());
          model.tags[name] = {place->first, version->first};
          break;
        }
        case 4: {
          if (model.tags.empty()) break;
          const auto tag = any(model.tags);
          ASSERT_OK_AND_ASSIGN(handle, Checkout(*handle, tag->first));
          EXPECT_EQ(world.Rows(*handle), model.tables.at(tag->second.first).versions.at(tag->second.second));
          if (below(2) == 0) break;
          ASSERT_OK(table::DeleteTag(RootOf(*handle), tag->first));
          model.tags.erase(tag);
          break;
        }
        case 5: {
          const std::string name = fmt::format("b{}", below(3));
          const bool is_new = !model.tables.contains(name);
          const auto rows = version->second;
          const uint64_t number = version->first;
          const auto made = CreateBranch(*handle, name, at(place->first, number));
          ASSERT_EQ(made.ok(), is_new) << made.status().ToString();
          if (!is_new) break;
          handle = *made;
          model.tables[name].versions[number] = rows;
          break;
        }
        case 6: {
          ASSERT_OK_AND_ASSIGN(handle, Checkout(*handle, at(place->first, version->first)));
          EXPECT_EQ(world.Rows(*handle), version->second);
          break;
        }
      }
      ASSERT_FALSE(HasFatalFailure());
    }
    ASSERT_OK_AND_ASSIGN(const auto tags, table::ListTags(RootOf(*handle)));
    EXPECT_EQ(tags.size(), model.tags.size());
    for (const auto& [branch, table] : model.tables) {
      for (const auto& [version, rows] : table.versions) {
        ASSERT_OK_AND_ASSIGN(const auto there, Checkout(*handle, at(branch, version)));
        EXPECT_EQ(world.Rows(*there), rows) << branch << " " << version;
      }
    }
  }
}

}  // namespace
}  // namespace javelin
