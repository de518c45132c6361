// What each operation makes of a table, through real commits. Append, Overwrite, CreateIndex: commit_test.cc; Update of
// rows: commit_update_test.cc; Delete: row_rebase_test.cc.
#include "javelin/table/feature_flags.h"
#include "javelin/table/index_entry.h"
#include "javelin/table/row_lineage.h"
#include "javelin/table/table_world_internal.h"
#include "lanceproto/table.pb.h"

namespace javelin::table {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

const Uuid kShard = Uuid::Random(1, 1);

IndexEntry Index(std::string name, int32_t field, std::vector<uint32_t> fragments, char uuid = 0) {
  ::lance::table::IndexMetadata message;
  const std::string id(16, uuid == 0 ? name[0] : uuid);
  message.mutable_uuid()->set_uuid(id);
  message.set_name(name);
  message.add_fields(field);
  message.set_fragment_bitmap(EncodeRoaring(OffsetSet::FromUnsorted(std::move(fragments))));
  IndexEntry entry;
  entry.uuid = id;
  entry.name = std::move(name);
  entry.fields = {FieldId(field)};
  entry.encoded = message.SerializeAsString();
  return entry;
}

IndexEntry MemWal() { return MakeMemWalIndexEntry({}, Uuid::Random(9, 9), 1, 5); }

DataFile File(std::string path, std::vector<int32_t> fields) {
  DataFile file{std::move(path), std::move(fields), {}, {2, 2}, 10, std::nullopt};
  for (size_t i = 0; i < file.fields.size(); ++i) file.column_indices.push_back(static_cast<int32_t>(i));
  return file;
}

class Operations : public testing::Test {
 protected:
  // Columns a (0) and b (1); fragments 0 and 1 of 10 rows, each with a file for each column.
  void SetUp() override { Make(false); }
  void Make(bool stable_row_ids) {
    Transaction create = TableWorld::CreateOf(10);
    auto& fragments = std::get<Overwrite>(create.operation).fragments;
    fragments = {TableWorld::Rows(10), TableWorld::Rows(10)};
    for (size_t i = 0; i < 2; ++i)
      fragments[i].files = {File(fmt::format("a{}", i), {0}), File(fmt::format("b{}", i), {1})};
    world_.emplace();
    ASSERT_OK_AND_ASSIGN(head_, CommitTransaction(world_->resources(), world_->location(), nullptr, create,
                                                  {.row_ids_of_new_table = stable_row_ids}));
  }
  arrow::Status Advance(Operation operation) {
    Transaction transaction;
    transaction.operation = std::move(operation);
    ARROW_ASSIGN_OR_RAISE(const LoadedManifest made, world_->Commit(head_, std::move(transaction)));
    ARROW_ASSIGN_OR_RAISE(head_, LoadLatestVersion(world_->location()));  // as it is stored
    return made.manifest->fragments == head_.manifest->fragments ? arrow::Status::OK()
                                                                 : arrow::Status::Invalid("what was stored differs");
  }
  const Manifest& Now() { return *head_.manifest; }
  std::vector<std::string> Paths(size_t fragment) {
    std::vector<std::string> paths;
    for (const DataFile& file : Now().fragments.at(fragment).files) paths.push_back(file.path);
    return paths;
  }
  std::vector<std::pair<std::string, std::string>> Coverage() {
    std::vector<std::pair<std::string, std::string>> all;
    for (const IndexEntry& index : Now().indices) {
      std::string ids;
      if (const auto coverage = CoverageOf(index)) {
        for (const auto& run : coverage->runs()) {
          for (uint64_t id = run.first; id <= run.last; ++id) ids += fmt::format("{} ", id);
        }
      }
      all.emplace_back(index.name, ids);
    }
    return all;
  }
  std::vector<uint64_t> Updated(size_t fragment) {
    std::vector<uint64_t> versions(10);
    (*DecodeUpdatedVersions(Now().fragments.at(fragment)).ValueOrDie()).Read(0, versions);
    return versions;
  }
  file::Schema Columns(std::vector<std::pair<int32_t, std::string>> columns) {
    std::vector<file::Field> fields;
    for (const auto& [id, name] : columns) {
      file::Field field = Now().schema.fields().back();
      field.id = FieldId(id);
      field.name = name;
      fields.push_back(field);
    }
    return {fields, Now().schema.metadata()};
  }

  std::optional<TableWorld> world_;
  LoadedManifest head_;
};

// ---- Rewrite ----

Rewrite Joining(const Manifest& manifest, uint64_t new_id) {
  Fragment joined = TableWorld::Rows(20);
  joined.id = FragmentId(new_id);
  return {{{manifest.fragments, {joined}}}, {}};
}

TEST_F(Operations, ReservedIdsAreForARewrite) {
  ExpectError(Advance(Joining(Now(), 2)), ErrorKind::kInvalidInput, "not reserved");
  const LoadedManifest planned = head_;
  ASSERT_OK(Advance(ReserveFragments{1}));
  EXPECT_EQ(Now().max_fragment_id, 2u);
  EXPECT_EQ(Now().fragments, planned.manifest->fragments);
  Transaction rewrite;
  rewrite.operation = Joining(*planned.manifest, 2);
  ASSERT_OK_AND_ASSIGN(head_, world_->Commit(planned, rewrite));  // over the reservation
  ASSERT_EQ(Now().fragments.size(), 1u);
  EXPECT_EQ(Now().fragments[0].id, FragmentId(2));
  ASSERT_OK(Advance(Append{{TableWorld::Rows(1)}}));
  EXPECT_EQ(Now().fragments[1].id, FragmentId(3));
}

TEST_F(Operations, IndicesFollowARewrite) {
  ASSERT_OK(Advance(CreateIndex{{Index("i", 0, {0, 1}), Index("other", 1, {})}, {}}));
  ASSERT_OK(Advance(ReserveFragments{1}));
  Rewrite rewrite = Joining(Now(), 2);
  ExpectError(Advance(rewrite), ErrorKind::kInvalidInput, "'i'");
  const IndexEntry before = *Now().FindIndex("i");
  rewrite.rewritten_indices = {
      {std::string(16, 'i'), std::string(16, 'n'), "/lance.table.BTreeIndexDetails", "d", 1, {{"page.lance", 7}}}};
  ASSERT_OK(Advance(rewrite));
  EXPECT_THAT(Coverage(), ElementsAre(Pair("i", "2 "), Pair("other", "")));
  const IndexEntry& after = *Now().FindIndex("i");
  EXPECT_EQ(after.uuid, std::string(16, 'n'));
  EXPECT_EQ(after.details, "d");
  EXPECT_EQ(after.dataset_version, before.dataset_version);
  ::lance::table::IndexMetadata message;
  ASSERT_TRUE(message.ParseFromString(after.encoded));
  EXPECT_EQ(message.files(0).path(), "page.lance");
  EXPECT_EQ(message.index_version(), 1);
}

TEST_F(Operations, AnIndexOverPartOfAGroupIsRefused) {
  ASSERT_OK(Advance(CreateIndex{{Index("i", 0, {0})}, {}}));
  ASSERT_OK(Advance(ReserveFragments{1}));
  Rewrite rewrite = Joining(Now(), 2);
  rewrite.rewritten_indices = {{std::string(16, 'i'), std::string(16, 'n'), "", "", 0, {}}};
  ExpectError(Advance(rewrite), ErrorKind::kInvalidInput, "in part");
}

TEST_F(Operations, WithAReuseEntryIndicesStayAsTheyAre) {
  ASSERT_OK(Advance(CreateIndex{{Index("i", 0, {0, 1})}, {}}));
  ASSERT_OK(Advance(ReserveFragments{1}));
  Rewrite rewrite = Joining(Now(), 2);
  IndexEntry reuse = Index(std::string(kFragmentReuseIndexName), 0, {2}, 'r');
  reuse.fields.clear();
  rewrite.fragment_reuse = reuse;
  ASSERT_OK(Advance(rewrite));
  EXPECT_THAT(Coverage(), ElementsAre(Pair("i", "0 1 "), Pair(std::string(kFragmentReuseIndexName), "2 ")));
}

TEST_F(Operations, RowIdsMoveWithARewrite) {
  Make(/*stable_row_ids=*/true);
  EXPECT_EQ(Now().next_row_id, 20u);
  ASSERT_OK(Advance(CreateIndex{{Index("i", 0, {0, 1})}, {}}));
  ASSERT_OK(Advance(ReserveFragments{1}));
  Rewrite rewrite = Joining(Now(), 2);
  ExpectError(Advance(rewrite), ErrorKind::kInvalidInput, "row ids");
  rewrite.groups[0].new_fragments[0].lineage = LineageOfNewRows(0, 20, TableVersion(1));
  ASSERT_OK(Advance(rewrite));
  EXPECT_THAT(Coverage(), ElementsAre(Pair("i", "2 "))) << "ids did not change, so the index need not";
  EXPECT_EQ(Now().next_row_id, 20u);
}

// ---- Merge, Project, DataReplacement, columns rewritten ----

TEST_F(Operations, MergeBringsColumns) {
  ASSERT_OK(Advance(CreateIndex{{Index("a", 0, {0, 1}), Index("b", 1, {0, 1})}, {}}));
  Merge merge{Now().fragments, Columns({{0, "a"}, {1, "b"}, {2, "c"}}), true};
  merge.fragments[0].files.push_back(File("c0", {2}));
  merge.fragments[1].files[1] = File("b1-new", {1});
  ASSERT_OK(Advance(merge));
  EXPECT_THAT(Paths(0), ElementsAre("a0", "b0", "c0"));
  EXPECT_EQ(Now().schema.fields().size(), 3u);
  EXPECT_THAT(Coverage(), ElementsAre(Pair("a", "0 1 "), Pair("b", "0 ")));
  // A column cast gets a new id: its index goes, and files with nothing else.
  merge = {Now().fragments, Columns({{0, "a"}, {2, "c"}, {3, "b"}}), true};
  for (Fragment& fragment : merge.fragments) fragment.files[1].fields = {-2};
  ASSERT_OK(Advance(merge));
  EXPECT_THAT(Paths(0), ElementsAre("a0", "c0"));
  EXPECT_THAT(Coverage(), ElementsAre(Pair("a", "0 1 ")));
  merge.fragments[0].id = FragmentId(7);
  ExpectError(Advance(merge), ErrorKind::kInvalidInput, "fragment 7");
}

TEST_F(Operations, ProjectDropsFilesWithoutColumns) {
  ASSERT_OK(Advance(CreateIndex{{Index("a", 0, {0, 1}), Index("b", 1, {0, 1})}, {}}));
  ASSERT_OK(Advance(Project{Columns({{1, "renamed"}}), true}));
  EXPECT_THAT(Paths(0), ElementsAre("b0"));
  EXPECT_THAT(Coverage(), ElementsAre(Pair("b", "0 1 ")));
  EXPECT_EQ(Now().schema.fields()[0].name, "renamed");
  ExpectError(Advance(Project{Columns({{0, "x"}, {1, "x"}}), true}), ErrorKind::kInvalidInput, "'x'");
}

TEST_F(Operations, DataReplacement) {
  Make(/*stable_row_ids=*/true);
  ASSERT_OK(Advance(CreateIndex{{Index("a", 0, {0, 1}), Index("b", 1, {0, 1})}, {}}));
  ASSERT_OK(Advance(table::DataReplacement{{{FragmentId(0), File("b0-new", {1})}}}));
  EXPECT_THAT(Paths(0), ElementsAre("a0", "b0-new"));
  EXPECT_THAT(Coverage(), ElementsAre(Pair("a", "0 1 "), Pair("b", "1 ")));
  EXPECT_THAT(Updated(0), testing::Each(3u));
  EXPECT_THAT(Updated(1), testing::Each(1u));
  // Not a file of the same columns: beside the others, whose values no longer count.
  ASSERT_OK(Advance(table::DataReplacement{{{FragmentId(1), File("both", {0, 1})}}}));
  EXPECT_THAT(Paths(1), ElementsAre("both"));
  EXPECT_THAT(Coverage(), ElementsAre(Pair("a", "0 "), Pair("b", "")));
  ExpectError(Advance(table::DataReplacement{{{FragmentId(1), File("x", {5})}}}), ErrorKind::kInvalidInput, "id 5");
}

TEST_F(Operations, ColumnsRewrittenInPlace) {
  Make(/*stable_row_ids=*/true);
  ASSERT_OK(Advance(CreateIndex{{Index("a", 0, {0, 1}), Index("b", 1, {0, 1})}, {}}));
  Update update;
  update.rewrites_columns = true;
  update.fields_modified = {FieldId(1)};
  update.updated_fragments = Now().fragments;
  for (Fragment& fragment : update.updated_fragments) {
    fragment.files[1].fields = {-2};
    fragment.files.push_back(File(fragment.files[1].path + "-new", {1}));
  }
  update.updated_offsets[FragmentId(0)] = OffsetSet::FromUnsorted({2, 3, 9});
  ASSERT_OK(Advance(update));
  EXPECT_THAT(Paths(0), ElementsAre("a0", "b0-new"));
  EXPECT_THAT(Coverage(), ElementsAre(Pair("a", "0 1 "), Pair("b", "")));
  EXPECT_THAT(Updated(0), ElementsAre(1, 1, 3, 3, 1, 1, 1, 1, 1, 3));
  EXPECT_THAT(Updated(1), testing::Each(3u));
}

// ---- configuration ----

TEST_F(Operations, AllFourMaps) {
  UpdateConfig config;
  config.config = MapUpdate{{{"k", "1"}, {"l", "2"}}, false};
  config.table_metadata = MapUpdate{{{"t", "1"}}, false};
  config.schema_metadata = MapUpdate{{{"s", "1"}}, false};
  config.field_metadata[FieldId(1)] = MapUpdate{{{"f", "1"}}, false};
  ASSERT_OK(Advance(config));
  EXPECT_THAT(Now().config, ElementsAre(Pair("k", "1"), Pair("l", "2")));
  EXPECT_THAT(Now().table_metadata, ElementsAre(Pair("t", "1")));
  EXPECT_THAT(Now().schema.metadata(), ElementsAre(Pair("s", "1")));
  EXPECT_THAT(Now().schema.FindById(FieldId(1))->metadata, ElementsAre(Pair("f", "1")));
  EXPECT_EQ(Now().writer_feature_flags, flag::kTableConfig);
  UpdateConfig removal;
  removal.config = MapUpdate{{}, /*replaces=*/true};
  removal.field_metadata[FieldId(1)] = MapUpdate{{{"f", std::nullopt}}, false};
  ASSERT_OK(Advance(removal));
  EXPECT_THAT(Now().config, IsEmpty());
  EXPECT_EQ(Now().writer_feature_flags, 0u);
  EXPECT_THAT(Now().schema.FindById(FieldId(1))->metadata, IsEmpty());
  UpdateConfig unknown, key;
  unknown.field_metadata[FieldId(9)] = {};
  key.field_metadata[FieldId(0)] = MapUpdate{{{"lance-schema:unenforced-primary-key", "true"}}, false};
  ExpectError(Advance(unknown), ErrorKind::kInvalidInput, "id 9");
  ExpectError(Advance(key), ErrorKind::kInvalidInput, "'a'");
}

TEST_F(Operations, BasesGetIdsFromOne) {
  ASSERT_OK(Advance(UpdateBases{{{0, "x", true, "/x"}, {0, std::nullopt, false, "/y"}}}));
  EXPECT_THAT(Now().base_paths, ElementsAre(BasePath{1, "x", true, "/x"}, BasePath{2, std::nullopt, false, "/y"}));
  EXPECT_EQ(Now().reader_feature_flags, flag::kBasePaths);
  ExpectError(Advance(UpdateBases{{{0, "x", true, "/z"}}}), ErrorKind::kInvalidInput, "/z");
}

TEST_F(Operations, ProgressAloneKeepsTheFragments) {
  ASSERT_OK(Advance(CreateIndex{{MemWal()}, {}}));
  const auto fragments = Now().fragments;
  ASSERT_OK(Advance(UpdateMemWalState{{{kShard, Generation(3)}}}));
  EXPECT_EQ(Now().fragments, fragments);
  EXPECT_EQ(ReadMemWalDetails(Now()).ValueOrDie()->CompactedThrough(kShard), Generation(3));
  ExpectError(Advance(UpdateMemWalState{{{kShard, Generation(3)}}}), ErrorKind::kInvalidInput, "generation 3");
}

TEST_F(Operations, SegmentsWithoutFragmentsGo) {
  ASSERT_OK(Advance(CreateIndex{{Index("i", 0, {0}, '1'), Index("i", 0, {1}, '2'), Index("single", 1, {0})}, {}}));
  ASSERT_OK(Advance(Delete{{}, {FragmentId(0)}, "a < 10"}));
  EXPECT_THAT(Coverage(), ElementsAre(Pair("i", "1 "), Pair("single", "0 ")));
  ASSERT_OK(Advance(Delete{{}, {FragmentId(1)}, "a < 20"}));
  EXPECT_THAT(Coverage(), ElementsAre(Pair("i", "1 "), Pair("single", "0 ")));
  EXPECT_EQ(Now().max_fragment_id, 1u);
}

// ---- Restore ----

TEST_F(Operations, RestoreBringsAnOldVersionBack) {
  const Manifest old = Now();
  ASSERT_OK(Advance(Append{{TableWorld::Rows(1)}}));
  ASSERT_OK(Advance(Delete{{}, {FragmentId(0), FragmentId(2)}, ""}));
  ASSERT_OK(Advance(Restore{TableVersion(1)}));
  EXPECT_EQ(Now().version, TableVersion(4));
  EXPECT_EQ(Now().fragments, old.fragments);
  EXPECT_GT(Now().timestamp_ns, old.timestamp_ns);
  EXPECT_EQ(Now().max_fragment_id, 2u) << "no id is given twice";
  ExpectError(Advance(Restore{TableVersion(9)}), ErrorKind::kNotFound, "version 9");
}

TEST_F(Operations, RestoreKeepsRowIdsAndTheirMark) {
  const LoadedManifest before = head_;
  Make(/*stable_row_ids=*/true);
  ASSERT_OK(Advance(Append{{TableWorld::Rows(5)}}));
  ASSERT_OK(Advance(Restore{TableVersion(1)}));
  EXPECT_EQ(Now().next_row_id, 25u);
  EXPECT_EQ(Now().reader_feature_flags, flag::kStableRowIds);
  // A version without them, which only another program can have made.
  world_->PlantVersion(head_, std::nullopt, [&](Manifest& next) {
    next.reader_feature_flags = next.writer_feature_flags = 0;
    for (Fragment& fragment : next.fragments) fragment.lineage.clear();
  });
  ASSERT_OK_AND_ASSIGN(head_, LoadLatestVersion(world_->location()));
  ExpectError(Advance(Restore{TableVersion(1)}), ErrorKind::kInvalidInput, "stable row ids");
}

TEST_F(Operations, RestoreGoesNotBehindMemWal) {
  ASSERT_OK(Advance(CreateIndex{{MemWal()}, {}}));
  ASSERT_OK(Advance(UpdateMemWalState{{{kShard, Generation(3)}}}));
  ASSERT_OK(Advance(UpdateMemWalState{{{kShard, Generation(5)}}}));
  ExpectError(Advance(Restore{TableVersion(1)}), ErrorKind::kInvalidInput, "MemWAL");
  ASSERT_OK(Advance(Restore{TableVersion(3)}));
  EXPECT_EQ(ReadMemWalDetails(Now()).ValueOrDie()->CompactedThrough(kShard), Generation(3));
}

// ---- feature bits that stay for good ----

TEST_F(Operations, StickyBitsSurviveEveryOperation) {
  constexpr uint64_t kSticky = flag::kMixedFileVersions | flag::kTaggedReuseIndex | flag::kManagedBlobs;
  world_->PlantVersion(head_, FromHex("08 01 12 01 78 da 06 02 08 01"),
                       [](Manifest& next) { next.reader_feature_flags = next.writer_feature_flags = kSticky; });
  ASSERT_OK_AND_ASSIGN(head_, LoadLatestVersion(world_->location()));
  UpdateConfig config;
  config.config = MapUpdate{{{"k", "1"}}, false};
  const std::vector<Operation> operations = {
      Append{{TableWorld::Rows(1)}}, Delete{{}, {FragmentId(2)}, ""},     config,
      ReserveFragments{1},           UpdateBases{{{0, "x", true, "/x"}}}, Project{Columns({{0, "a"}, {1, "b"}}), true},
      Restore{TableVersion(1)},      CreateIndex{{MemWal()}, {}},         UpdateMemWalState{{{kShard, Generation(1)}}}};
  for (const Operation& operation : operations) {
    ASSERT_OK(Advance(operation));
    EXPECT_EQ(Now().reader_feature_flags & kSticky, kSticky) << NameOf(operation);
    EXPECT_EQ(Now().writer_feature_flags & kSticky, kSticky) << NameOf(operation);
  }
  Clone clone;
  clone.ref_path = "/t";
  ASSERT_OK_AND_ASSIGN(const LoadedManifest cloned,
                       CommitClone(world_->resources(), {world_->location().store, "u", "u"}, head_, clone));
  EXPECT_EQ(cloned.manifest->reader_feature_flags & kSticky, kSticky);
  EXPECT_EQ(cloned.manifest->writer_feature_flags & kSticky, kSticky);
}

TEST_F(Operations, EveryOperationFindsItsLostAnswer) {
  UpdateConfig config;
  config.config = MapUpdate{{{"k", "1"}}, false};
  const std::vector<Operation> operations = {config,
                                             ReserveFragments{1},
                                             UpdateBases{{{0, "x", true, "/x"}}},
                                             Project{Columns({{0, "a"}, {1, "b"}}), true},
                                             Merge{Now().fragments, Now().schema, true},
                                             table::DataReplacement{{{FragmentId(0), File("b0-new", {1})}}},
                                             Delete{{}, {FragmentId(1)}, ""},
                                             Restore{TableVersion(1)},
                                             CreateIndex{{MemWal()}, {}},
                                             UpdateMemWalState{{{kShard, Generation(1)}}}};
  uint64_t version = 1;
  for (const Operation& operation : operations) {
    world_->faults().ClearRules();
    world_->faults().AddRule({.method = "put_if_absent", .action = FaultRule::Action::kLoseAnswer});
    ASSERT_OK(Advance(operation));
    EXPECT_EQ(Now().version, TableVersion(++version)) << NameOf(operation);
  }
}

TEST_F(Operations, ATableIsNeeded) {
  for (const Operation& operation : std::vector<Operation>{Delete{}, Project{}, Restore{}, UpdateConfig{}}) {
    Transaction transaction;
    transaction.operation = operation;
    ExpectError(CommitTransaction(world_->resources(), {world_->location().store, "none", "none"}, nullptr, transaction)
                    .status(),
                std::holds_alternative<Restore>(operation) ? ErrorKind::kNotFound : ErrorKind::kInvalidInput, "");
  }
}

}  // namespace
}  // namespace javelin::table
