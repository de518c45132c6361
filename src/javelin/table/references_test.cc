// Tags, branches, clones, detached versions, and versions by time.
#include "javelin/table/branches.h"
#include "javelin/table/feature_flags.h"
#include "javelin/table/table_world_internal.h"
#include "javelin/table/tags.h"
#include "javelin/table/version_lookup.h"

namespace javelin::table {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Key;

class References : public testing::TestWithParam<StoreKind> {
 protected:
  void SetUp() override {
    ASSERT_OK_AND_ASSIGN(head_, world_.Create(10));
    ASSERT_OK_AND_ASSIGN(head_, world_.Commit(head_, TableWorld::AppendOf(5)));
  }
  const StoreLocation& Root() { return world_.location(); }
  Runtime& Clock() { return *world_.resources().runtime; }
  std::string Text(const std::string& key) { return ToText(world_.inner().Get("t/" + key).ValueOrDie()); }
  void Put(const std::string& key, const std::string& text) {
    ASSERT_OK(world_.inner().Put("t/" + key, arrow::Buffer::FromString(text)));
  }
  arrow::Result<LoadedManifest> MakeBranch(std::string_view name, const LoadedManifest& source,
                                           std::optional<std::string> parent = {}) {
    return CreateBranch(world_.resources(), Root(), name, source, parent, "/the/table");
  }

  TableWorld world_{GetParam()};
  LoadedManifest head_;
};
INSTANTIATE_TEST_SUITE_P(Stores, References, testing::Values(StoreKind::kMemory, StoreKind::kLocal),
                         [](const auto& info) { return info.param == StoreKind::kMemory ? "Memory" : "Local"; });

// ---- tags ----

TEST_P(References, TagsNameVersions) {
  ASSERT_OK_AND_ASSIGN(const Tag made, CreateTag(Clock(), Root(), "v-1", TableVersion(1)));
  EXPECT_EQ(made.version, TableVersion(1));
  EXPECT_EQ(made.manifest_size, Text("_versions/" + ToFileName({TableVersion(1), NamingScheme::kV2})).size());
  EXPECT_THAT(made.created_at, testing::MatchesRegex("[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]{8}\\.[0-9]{9}Z"));
  ASSERT_OK_AND_ASSIGN(const Tag loaded, LoadTag(Root(), "v-1"));
  EXPECT_EQ(loaded, made);
  ExpectError(CreateTag(Clock(), Root(), "v-1", TableVersion(2)).status(), ErrorKind::kAlreadyExists, "v-1");
  ASSERT_OK_AND_ASSIGN(const Tag moved, UpdateTag(Clock(), Root(), "v-1", TableVersion(2)));
  EXPECT_EQ(moved.version, TableVersion(2));
  EXPECT_EQ(moved.created_at, made.created_at);
  EXPECT_GE(moved.updated_at, made.updated_at);
  ASSERT_OK(CreateTag(Clock(), Root(), "b", TableVersion(1)).status());
  ASSERT_OK_AND_ASSIGN(const auto tags, ListTags(Root()));
  EXPECT_THAT(tags, ElementsAre(Key("b"), Key("v-1")));
  EXPECT_EQ(tags.at("v-1"), moved);
  ASSERT_OK(DeleteTag(Root(), "v-1"));
  ExpectError(LoadTag(Root(), "v-1").status(), ErrorKind::kNotFound, "v-1");
  ExpectError(DeleteTag(Root(), "v-1"), ErrorKind::kNotFound, "v-1");
  ExpectError(UpdateTag(Clock(), Root(), "v-1", TableVersion(1)).status(), ErrorKind::kNotFound, "v-1");
}

TEST_P(References, TagsOfVersionsThatAreNotThere) {
  ExpectError(CreateTag(Clock(), Root(), "x", TableVersion(9)).status(), ErrorKind::kNotFound, "version 9");
  ExpectError(CreateTag(Clock(), Root(), "x", TableVersion(1), "no-branch").status(), ErrorKind::kNotFound,
              "version 1");
  ASSERT_OK_AND_ASSIGN(const auto tags, ListTags(Root()));
  EXPECT_THAT(tags, IsEmpty());
}

TEST_P(References, MetadataOfTagsAndBranches) {
  ASSERT_OK_AND_ASSIGN(Tag tag, CreateTag(Clock(), Root(), "v-1", TableVersion(1)));
  ASSERT_OK(MakeBranch("b/c", head_).status());
  ASSERT_OK_AND_ASSIGN(Branch branch, LoadBranch(Root(), "b/c"));
  for (const std::map<std::string, std::string>& metadata :
       {std::map<std::string, std::string>{{"a", "1"}, {"b", "2"}}, {{"c", "3"}}, {}}) {
    tag.metadata = branch.metadata = metadata;
    ASSERT_OK(ReplaceTagMetadata(Root(), "v-1", metadata).status());
    ASSERT_OK(ReplaceBranchMetadata(Root(), "b/c", metadata).status());
    ASSERT_OK_AND_ASSIGN(const Tag stored_tag, LoadTag(Root(), "v-1"));
    EXPECT_EQ(stored_tag, tag) << "times stay";
    ASSERT_OK_AND_ASSIGN(const Branch stored_branch, LoadBranch(Root(), "b/c"));
    EXPECT_EQ(stored_branch, branch);
  }
  ExpectError(ReplaceTagMetadata(Root(), "v-2", {}).status(), ErrorKind::kNotFound, "did you mean 'v-1'?");
  ExpectError(ReplaceBranchMetadata(Root(), "b/d", {}).status(), ErrorKind::kNotFound, "did you mean 'b/c'?");
}

TEST_P(References, ABranchIsKeptForItsTags) {
  ASSERT_OK(MakeBranch("a", head_).status());
  ASSERT_OK(CreateTag(Clock(), Root(), "t", TableVersion(2), "a").status());
  ASSERT_OK(CreateTag(Clock(), Root(), "u", TableVersion(2)).status());
  ExpectError(DeleteBranch(Root(), "a"), ErrorKind::kInvalidInput, "tag 't' names version 2 of branch 'a'");
  ASSERT_OK(DeleteTag(Root(), "t"));
  ASSERT_OK(DeleteBranch(Root(), "a"));
}

TEST_P(References, NamesOfTags) {
  for (const char* name : {"a", "v1.0", "A_b-c", "a.lock.b"}) EXPECT_TRUE(CheckTagName(name).ok()) << name;
  for (const char* name : {"", ".a", "a.", "a..b", "a/b", "a b", "a.lock", "ä", "../a"}) {
    ExpectError(CheckTagName(name), ErrorKind::kInvalidInput, "name for a tag");
    EXPECT_FALSE(LoadTag(Root(), name).ok());
    EXPECT_FALSE(CreateTag(Clock(), Root(), name, TableVersion(1)).ok());
  }
}

TEST_P(References, TagsOfOlderWriters) {
  Put("_refs/tags/old.json", R"({"branch":null,"version":2,"manifestSize":494})");
  ASSERT_OK_AND_ASSIGN(const Tag tag, LoadTag(Root(), "old"));
  EXPECT_EQ(tag, (Tag{std::nullopt, TableVersion(2), "", "", 494, {}}));
  for (const char* text : {"", "[]", "{}", R"({"version":"2"})", R"({"version":-1})"}) {
    Put("_refs/tags/bad.json", text);
    ExpectError(LoadTag(Root(), "bad").status(), ErrorKind::kCorruption, "bad");
  }
}

// ---- branches ----

TEST_P(References, ABranchGoesItsOwnWay) {
  ASSERT_OK_AND_ASSIGN(const LoadedManifest branch, MakeBranch("feat/a", head_));
  EXPECT_EQ(branch.manifest->version, head_.manifest->version);
  EXPECT_EQ(branch.manifest->branch, "feat/a");
  ASSERT_EQ(branch.manifest->base_paths.size(), 1u);
  EXPECT_EQ(branch.manifest->base_paths[0], (BasePath{0, std::nullopt, true, "/the/table"}));
  EXPECT_EQ(branch.manifest->fragments[0].files[0].base_id, 0u);
  EXPECT_NE(branch.manifest->reader_feature_flags & flag::kBasePaths, 0u);
  const StoreLocation location = BranchLocation(Root(), "feat/a");
  ASSERT_OK_AND_ASSIGN(const LoadedManifest next,
                       CommitTransaction(world_.resources(), location, &branch, TableWorld::AppendOf(7)));
  EXPECT_EQ(next.manifest->version, TableVersion(3));
  EXPECT_EQ(next.manifest->branch, "feat/a");
  EXPECT_EQ(next.manifest->fragments[2].files[0].base_id, std::nullopt);
  ASSERT_OK_AND_ASSIGN(const LoadedManifest main, LoadLatestVersion(Root()));
  EXPECT_EQ(main.manifest->version, TableVersion(2));
  ASSERT_OK_AND_ASSIGN(const Branch stored, LoadBranch(Root(), "feat/a"));
  EXPECT_EQ(stored.parent_branch, std::nullopt);
  EXPECT_EQ(stored.parent_version, TableVersion(2));
  ASSERT_EQ(stored.version_mapping.size(), 1u);
  EXPECT_EQ(stored.version_mapping[0].second.size(), 32u);
  EXPECT_EQ(Text("_refs/branches/feat%2Fa.json").substr(0, 24), "{\n  \"parentBranch\": null");
  ASSERT_OK(CreateTag(Clock(), Root(), "t", TableVersion(3), "feat/a").status());
  ASSERT_OK_AND_ASSIGN(const Tag tag, LoadTag(Root(), "t"));
  EXPECT_EQ(tag.branch, "feat/a");
}

TEST_P(References, BranchesOfBranches) {
  ASSERT_OK_AND_ASSIGN(const LoadedManifest parent, MakeBranch("a", head_));
  ASSERT_OK_AND_ASSIGN(const LoadedManifest child, MakeBranch("b", parent, "a"));
  EXPECT_EQ(child.manifest->base_paths.size(), 2u);
  EXPECT_EQ(child.manifest->fragments[0].files[0].base_id, 0u) << "files of the root stay there";
  ASSERT_OK_AND_ASSIGN(const Branch a, LoadBranch(Root(), "a"));
  ASSERT_OK_AND_ASSIGN(const Branch b, LoadBranch(Root(), "b"));
  ASSERT_EQ(b.version_mapping.size(), 2u);
  EXPECT_EQ(b.version_mapping[0], a.version_mapping[0]);
  EXPECT_EQ(b.parent_branch, "a");
  ExpectError(DeleteBranch(Root(), "a"), ErrorKind::kInvalidInput, "'b'");
  ASSERT_OK(DeleteBranch(Root(), "b"));
  ASSERT_OK(DeleteBranch(Root(), "a"));
  ASSERT_OK_AND_ASSIGN(const auto branches, ListBranches(Root()));
  EXPECT_THAT(branches, IsEmpty());
  EXPECT_THAT(ListAll(world_.inner(), {.prefix = "t/tree/"}).ValueOrDie().objects, IsEmpty());
  ExpectError(DeleteBranch(Root(), "a"), ErrorKind::kNotFound, "'a'");
  ASSERT_OK(MakeBranch("a", head_).status());
}

TEST_P(References, ABranchIsMadeOnce) {
  ASSERT_OK(MakeBranch("a", head_).status());
  ExpectError(MakeBranch("a", head_).status(), ErrorKind::kAlreadyExists, "'a'");
  // Files without a name, as a crash may leave them.
  ASSERT_OK(world_.inner().Delete("t/_refs/branches/a.json"));
  ExpectError(MakeBranch("a", head_).status(), ErrorKind::kAlreadyExists, "delete it first");
  ASSERT_OK(DeleteBranch(Root(), "a"));
  ASSERT_OK(MakeBranch("a", head_).status());
}

TEST_P(References, NamesOfBranches) {
  for (const char* name : {"a", "feat/a", "a/b/c", "v1.0", "mainly"}) EXPECT_TRUE(CheckBranchName(name).ok()) << name;
  for (const char* name : {"", "main", "/a", "a/", "a//b", "a/../b", "a\\b", "a b", "a.lock", "a.lock/b", "ä"})
    ExpectError(CheckBranchName(name), ErrorKind::kInvalidInput, "name for a branch");
}

// ---- detached versions and time ----

TEST_P(References, ADetachedVersionIsNobodysNext) {
  ASSERT_OK_AND_ASSIGN(const LoadedManifest detached,
                       CommitDetached(world_.resources(), Root(), head_, TableWorld::AppendOf(7)));
  EXPECT_TRUE(IsDetached(detached.manifest->version));
  EXPECT_EQ(detached.manifest->fragments.size(), 3u);
  ASSERT_OK_AND_ASSIGN(const LoadedManifest loaded, LoadVersion(Root(), detached.manifest->version));
  EXPECT_EQ(loaded.manifest->fragments, detached.manifest->fragments);
  ASSERT_OK_AND_ASSIGN(const LoadedManifest latest, LoadLatestVersion(Root()));
  EXPECT_EQ(latest.manifest->version, TableVersion(2));
  ExpectError(world_.Commit(detached, TableWorld::AppendOf(1)).status(), ErrorKind::kNotSupported, "detached");
  ExpectError(CommitDetached(world_.resources(), Root(), detached, TableWorld::AppendOf(1)).status(),
              ErrorKind::kNotSupported, "detached");
}

TEST_P(References, ADetachedVersionWhoseAnswerIsLostIsFound) {
  world_.faults().AddRule({.method = "put_if_absent", .action = FaultRule::Action::kLoseAnswer});
  ASSERT_OK_AND_ASSIGN(const LoadedManifest detached,
                       CommitDetached(world_.resources(), Root(), head_, TableWorld::AppendOf(7)));
  EXPECT_EQ(detached.manifest->fragments.size(), 3u);
}

TEST_P(References, VersionsByTime) {
  std::vector<LoadedManifest> versions = {LoadVersion(Root(), TableVersion(1)).ValueOrDie(), head_};
  for (int i = 0; i < 6; ++i) versions.push_back(world_.Commit(versions.back(), TableWorld::AppendOf(1)).ValueOrDie());
  for (const LoadedManifest& version : versions) {
    ASSERT_OK_AND_ASSIGN(const LoadedManifest found, LoadVersionAt(Root(), version.manifest->timestamp_ns));
    EXPECT_GE(found.manifest->version, version.manifest->version);
    EXPECT_EQ(found.manifest->timestamp_ns, version.manifest->timestamp_ns);
  }
  ASSERT_OK_AND_ASSIGN(const LoadedManifest newest, LoadVersionAt(Root(), INT64_MAX));
  EXPECT_EQ(newest.manifest->version, TableVersion(8));
  ExpectError(LoadVersionAt(Root(), versions[0].manifest->timestamp_ns - 1).status(), ErrorKind::kNotFound, "after");
}

// ---- clones ----

TEST_P(References, AClonesAnswerMayBeLost) {
  const StoreLocation target{world_.location().store, "u", "test://u"};
  world_.faults().AddRule({.method = "put_if_absent", .action = FaultRule::Action::kLoseAnswer});
  Clone clone;
  clone.ref_path = "/the/table";
  ASSERT_OK_AND_ASSIGN(const LoadedManifest made, CommitClone(world_.resources(), target, head_, clone));
  EXPECT_EQ(made.manifest->version, TableVersion(2));
  ASSERT_OK_AND_ASSIGN(const LoadedManifest loaded, LoadLatestVersion(target));
  EXPECT_EQ(loaded.manifest->version, TableVersion(2));
  ASSERT_OK_AND_ASSIGN(const Transaction transaction, LoadTransaction(target, loaded));
  EXPECT_EQ(std::get<Clone>(transaction.operation), (Clone{true, std::nullopt, TableVersion(2), "/the/table", {}}));
  EXPECT_EQ(transaction.read_version, TableVersion(2));
  ExpectError(CommitClone(world_.resources(), target, head_, clone).status(), ErrorKind::kAlreadyExists, "exists");
}

}  // namespace
}  // namespace javelin::table
