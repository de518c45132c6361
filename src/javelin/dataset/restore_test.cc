// Going back to an older version, and metadata.
#include "javelin/dataset/restore.h"

#include "javelin/dataset/dataset_world_internal.h"
#include "javelin/dataset/metadata.h"
#include "javelin/table/transaction.h"

namespace javelin {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

class Restores : public testing::TestWithParam<StoreKind> {
 protected:
  static void Fill(DatasetWorld& world) {
    ASSERT_OK(world.Write(MakeRows(0, 3), WriteMode::kCreate).status());
    ASSERT_OK(world.Write(MakeRows(3, 3), WriteMode::kAppend).status());
  }
  arrow::Result<std::shared_ptr<Dataset>> Old(const DatasetWorld& world, uint64_t version = 1) {
    return Dataset::OpenAt(world.session(), world.location(), {.version = TableVersion(version)});
  }
  DatasetWorld world_{GetParam()};
};
INSTANTIATE_TEST_SUITE_P(Stores, Restores, testing::Values(StoreKind::kMemory, StoreKind::kLocal),
                         [](const auto& info) { return info.param == StoreKind::kMemory ? "Memory" : "Local"; });

TEST_P(Restores, AnOlderVersionIsTheNewestAgain) {
  ASSERT_NO_FATAL_FAILURE(Fill(world_));
  ASSERT_OK_AND_ASSIGN(const auto old, Old(world_));
  const auto before = world_.counting().counts().total();
  ASSERT_OK_AND_ASSIGN(const auto restored, RestoreVersion(*old));
  const auto after = world_.counting().counts().total();
  const uint64_t hint = world_.location().store->lists_in_order() ? 0 : 1;
  EXPECT_EQ(after - before, 6u + hint) << "LIST, GET newest; GET this one, LIST, PUT transaction, PUT manifest";
  EXPECT_EQ(restored->version(), TableVersion(3));
  EXPECT_FALSE(restored->is_pinned());
  EXPECT_EQ(world_.Rows(*restored), MakeRows(0, 3));
  ASSERT_OK_AND_ASSIGN(const auto opened, world_.Open());
  EXPECT_EQ(world_.Rows(*opened), MakeRows(0, 3));
  ASSERT_OK_AND_ASSIGN(const auto second, Old(world_, 2));
  EXPECT_EQ(world_.Rows(*second), MakeRows(0, 6)) << "nothing is lost";
  ASSERT_OK_AND_ASSIGN(const auto again, RestoreVersion(*second));
  EXPECT_EQ(world_.Rows(*again), MakeRows(0, 6));
}

TEST_P(Restores, WhoMayFollowIsAskedBeforeEveryAttempt) {
  ASSERT_NO_FATAL_FAILURE(Fill(world_));
  ASSERT_OK_AND_ASSIGN(const auto old, Old(world_));
  std::vector<uint64_t> asked;
  const auto restored = RestoreVersion(*old, [&](const table::Manifest& newest) {
    asked.push_back(newest.version.value());
    // Somebody else is faster.
    return asked.size() == 1 ? world_.Write(MakeRows(6, 3), WriteMode::kAppend).status() : arrow::Status::OK();
  });
  ASSERT_OK(restored.status());
  EXPECT_THAT(asked, ElementsAre(2, 3));
  EXPECT_EQ((*restored)->version(), TableVersion(4));
  ExpectError(RestoreVersion(*old, [](const table::Manifest&) { return InvalidInput("not now"); }).status(),
              ErrorKind::kInvalidInput, "not now");
  ASSERT_OK_AND_ASSIGN(const auto opened, world_.Open());
  EXPECT_EQ(opened->version(), TableVersion(4));
}

// Every request of a restore fails once, or loses its answer once. Success = it is done; failure = nothing was, and
// trying again works.
TEST_P(Restores, TheNthRequestFails) {
  for (auto action : {FaultRule::Action::kFail, FaultRule::Action::kLoseAnswer}) {
    uint64_t faults = 1;
    for (uint64_t n = 1; faults != 0; ++n) {
      SCOPED_TRACE(fmt::format("lose answer {} request {}", action == FaultRule::Action::kLoseAnswer, n));
      DatasetWorld world(GetParam());
      ASSERT_NO_FATAL_FAILURE(Fill(world));
      ASSERT_OK_AND_ASSIGN(const auto old, Old(world));
      world.faults().AddRule({.first = n, .action = action});
      auto restored = RestoreVersion(*old);
      faults = world.faults().faults();
      world.faults().ClearRules();
      if (!restored.ok()) {
        EXPECT_EQ(KindOf(restored.status()), ErrorKind::kTransient) << restored.status().ToString();
        ASSERT_OK_AND_ASSIGN(const auto opened, world.Open());
        EXPECT_EQ(opened->version(), TableVersion(2));
        ASSERT_OK_AND_ASSIGN(restored, RestoreVersion(*old));
      }
      EXPECT_EQ((*restored)->version(), TableVersion(3));
      ASSERT_OK_AND_ASSIGN(const auto opened, world.Open());
      EXPECT_EQ(opened->version(), TableVersion(3));
      EXPECT_EQ(world.Rows(*opened), MakeRows(0, 3));
    }
  }
}

// ---- metadata ----

table::MapUpdate Update(std::map<std::string, std::optional<std::string>> entries, bool replaces = false) {
  return {std::move(entries), replaces};
}

TEST_P(Restores, MetadataIsSetAndRemoved) {
  ASSERT_OK_AND_ASSIGN(auto table, world_.Write(MakeRows(0, 3), WriteMode::kCreate));
  ASSERT_OK_AND_ASSIGN(table, ChangeMetadata(*table, {.config = Update({{"a", "1"}, {"b", "2"}}),
                                                      .table_metadata = Update({{"t", "1"}}),
                                                      .schema_metadata = Update({{"s", "1"}}),
                                                      .field_metadata = {{"s", Update({{"f", "1"}})}}}));
  EXPECT_THAT(table->manifest().config, ElementsAre(Pair("a", "1"), Pair("b", "2")));
  EXPECT_THAT(table->manifest().table_metadata, ElementsAre(Pair("t", "1")));
  EXPECT_THAT(table->schema().metadata(), ElementsAre(Pair("s", "1")));
  EXPECT_THAT(table->schema().FindByName("s")->metadata, ElementsAre(Pair("f", "1")));
  ASSERT_OK_AND_ASSIGN(table, ChangeMetadata(*table, {.config = Update({{"a", std::nullopt}, {"c", "3"}})}));
  EXPECT_THAT(table->manifest().config, ElementsAre(Pair("b", "2"), Pair("c", "3")));
  ASSERT_OK_AND_ASSIGN(table, ChangeMetadata(*table, {.config = Update({{"d", "4"}, {"b", std::nullopt}}, true)}));
  EXPECT_THAT(table->manifest().config, ElementsAre(Pair("d", "4")));
  EXPECT_THAT(table->schema().metadata(), ElementsAre(Pair("s", "1"))) << "the rest stays";
  ASSERT_OK_AND_ASSIGN(table, ChangeMetadata(*table, {.field_metadata = {{"s", Update({}, true)}}}));
  EXPECT_THAT(table->schema().FindByName("s")->metadata, IsEmpty());
  EXPECT_EQ(world_.Rows(*table), MakeRows(0, 3));
  ExpectError(ChangeMetadata(*table, {.field_metadata = {{"idd", Update({{"f", "1"}})}}}).status(),
              ErrorKind::kInvalidInput, "column 'idd' does not exist; did you mean 'id'?");
}

TEST_P(Restores, TheSameKeyIsNotChangedTwiceAtOnce) {
  ASSERT_OK_AND_ASSIGN(const auto table, world_.Write(MakeRows(0, 3), WriteMode::kCreate));
  ASSERT_OK(ChangeMetadata(*table, {.config = Update({{"a", "1"}})}).status());
  ExpectError(ChangeMetadata(*table, {.config = Update({{"a", "2"}})}).status(), ErrorKind::kIncompatibleConflict, "");
  ASSERT_OK_AND_ASSIGN(const auto both, ChangeMetadata(*table, {.config = Update({{"b", "2"}})}));
  EXPECT_THAT(both->manifest().config, ElementsAre(Pair("a", "1"), Pair("b", "2")));
}

}  // namespace
}  // namespace javelin
