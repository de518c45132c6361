#include "javelin/table/conflicts.h"

#include "javelin/table/index_entry.h"
#include "javelin/table/test_support_internal.h"
#include "lanceproto/table.pb.h"

namespace javelin::table {
namespace {

// Verdicts: '.' = may be committed, 'r' = run again, 'X' = incompatible.
char Verdict(Operation ours, const Operation& other) {
  Transaction transaction;
  transaction.operation = std::move(ours);
  Transaction committed;
  committed.operation = other;
  const arrow::Status status = Rebase(transaction, committed, TableVersion(7));
  if (status.ok()) return '.';
  EXPECT_EQ(FieldsOf(status)["version"], "7");
  EXPECT_EQ(FieldsOf(status)["operation"], NameOf(other));
  EXPECT_THAT(status.message(), testing::HasSubstr(std::string(NameOf(other))));
  return KindOf(status) == ErrorKind::kRetryableConflict      ? 'r'
         : KindOf(status) == ErrorKind::kIncompatibleConflict ? 'X'
                                                              : '?';
}

IndexEntry Index(std::string name, std::vector<int32_t> fields = {}, std::optional<std::vector<uint32_t>> coverage = {},
                 char uuid = 'u') {
  ::lance::table::IndexMetadata message;
  message.mutable_uuid()->set_uuid(std::string(16, uuid));
  message.set_name(name);
  if (coverage) message.set_fragment_bitmap(EncodeRoaring(OffsetSet::FromUnsorted(*coverage)));
  IndexEntry entry;
  entry.uuid = std::string(16, uuid);
  entry.name = std::move(name);
  for (int32_t field : fields) entry.fields.push_back(FieldId(field));
  entry.encoded = message.SerializeAsString();
  return entry;
}

Fragment WithId(uint64_t id) { return {FragmentId(id), {}, {}, 1, ""}; }

Overwrite WithConfig(std::map<std::string, std::string> upserts) {
  Overwrite overwrite;
  overwrite.config_upserts = std::move(upserts);
  return overwrite;
}

UpdateConfig Config(std::set<std::string> keys, bool replaces = false) {
  UpdateConfig config;
  config.config.emplace();
  for (const std::string& key : keys) config.config->entries[key] = "v";
  config.config->replaces = replaces;
  return config;
}

Update Columns(std::vector<uint64_t> fragments, std::vector<int32_t> fields) {
  Update update;
  update.rewrites_columns = true;
  for (uint64_t id : fragments) update.updated_fragments.push_back(WithId(id));
  for (int32_t field : fields) update.fields_modified.push_back(FieldId(field));
  return update;
}

const IndexEntry kMemWal = Index(std::string(kMemWalIndexName));
Rewrite Rewriting(std::vector<uint64_t> fragments) {
  Rewrite rewrite;
  rewrite.groups.emplace_back();
  for (uint64_t id : fragments) rewrite.groups[0].old_fragments.push_back(WithId(id));
  return rewrite;
}

Merge Merging(bool preserves_nullability) { return {{}, {}, preserves_nullability}; }
Project Projecting(bool preserves_nullability) { return {{}, preserves_nullability}; }

DataReplacement Replacing(uint64_t fragment, int32_t field) {
  return {{{FragmentId(fragment), DataFile{"new.lance", {field}, {0}, {2, 2}, 1, std::nullopt}}}};
}

// Inserted keys that nothing is known of.
Update Guarded(Update update) {
  update.inserted_keys.emplace();
  return update;
}

const CompactedSsTable kProgress{Uuid::Random(1, 1), Generation(3)};

struct Row {
  std::string what;
  Operation other;
  // Verdict for ours = Append, Overwrite, CreateIndex of a user index on field 1 over fragments {0, 1}, CreateIndex of
  // MemWAL, Update of rows of fragment 0, removal of fragment 1 and new rows.
  std::string verdicts;
};

std::vector<Row> Matrix() {
  return {
      {"append", Append{{WithId(0)}}, "....."},
      {"overwrite", Overwrite{}, "XrXXX"},
      {"another index", CreateIndex{{Index("other", {2})}, {}}, "....."},
      {"the same index", CreateIndex{{Index("mine", {1})}, {}}, "..r.."},
      {"that index dropped", CreateIndex{{}, {Index("mine", {1})}}, "..r.."},
      {"MemWAL installed", CreateIndex{{kMemWal}, {}}, "...r."},
      {"MemWAL dropped", CreateIndex{{}, {kMemWal}}, "...r."},
      {"delete in a fragment of ours", Delete{{WithId(0)}, {}, ""}, "....r"},
      {"delete in the fragment we remove", Delete{{WithId(1)}, {}, {}}, "....r"},
      {"delete of a whole fragment of ours", Delete{{}, {FragmentId(0)}, {}}, "....r"},
      {"delete elsewhere", Delete{{WithId(2)}, {FragmentId(3)}, {}}, "....."},
      {"update of rows", Update{{FragmentId(1)}, {WithId(0)}, {WithId(0)}, {}, {}, false}, "....r"},
      {"update that removes a fragment of ours", Update{{FragmentId(0)}, {}, {WithId(0)}, {}, {}, false}, "....r"},
      {"update elsewhere", Update{{FragmentId(3)}, {WithId(2)}, {WithId(0)}, {}, {}, false}, "....."},
      {"update that found no row for its keys", Guarded(Update{{}, {}, {WithId(0)}, {}, {}, false}), "....r"},
      {"update of rows with progress", Update{{}, {}, {}, {}, {kProgress}, false}, "....."},
      {"update of another column", Columns({0}, {2}), "....r"},
      {"rewrite of covered fragments", Rewriting({1, 2}), "..r.r"},
      {"rewrite of other fragments", Rewriting({2}), "....."},
      {"merge that keeps nullability", Merging(true), "...rr"},
      {"merge that does not", Merging(false), "r..rr"},
      {"project that keeps nullability", Projecting(true), "....."},
      {"project that does not", Projecting(false), "r...r"},
      {"restore", Restore{}, "X.XXX"},
      {"reserve fragments", ReserveFragments{3}, "....."},
      {"update config", Config({"k"}), "....."},
      {"replacement of the indexed field", Replacing(0, 1), "..r.r"},
      {"replacement of another field", Replacing(0, 2), "....r"},
      {"replacement in another fragment", Replacing(2, 2), "....."},
      {"MemWAL progress alone", UpdateMemWalState{{kProgress}}, "XX..."},
      {"clone", Clone{}, "XXXXX"},
      {"update bases", UpdateBases{}, "....."},
      {"data overlay", DataOverlay{}, "..rrr"},
      {"unknown operation", UnknownOperation{116}, "XXXXX"},
  };
}

TEST(Conflicts, EveryPair) {
  const std::vector<std::pair<std::string, Operation>> ours = {
      {"Append", Append{}},
      {"Overwrite", Overwrite{}},
      {"CreateIndex", CreateIndex{{Index("mine", {1}, {{0, 1}})}, {}}},
      {"CreateIndex of MemWAL", CreateIndex{{kMemWal}, {}}},
      {"Update", Update{{FragmentId(1)}, {WithId(0)}, {WithId(0)}, {}, {}}}};
  std::set<size_t> seen;
  for (const Row& row : Matrix()) {
    seen.insert(row.other.index());
    for (size_t i = 0; i < ours.size(); ++i) {
      EXPECT_EQ(Verdict(ours[i].second, row.other), row.verdicts[i]) << ours[i].first << " after " << row.what;
    }
  }
  EXPECT_EQ(seen.size(), std::variant_size_v<Operation>) << "an operation is missing in the table";
}

TEST(Conflicts, OverwriteAndConfigurationKeys) {
  const Overwrite ours = WithConfig({{"a", "1"}});
  EXPECT_EQ(Verdict(ours, WithConfig({{"a", "2"}})), 'X');
  EXPECT_EQ(Verdict(ours, WithConfig({{"b", "2"}})), 'r');
  EXPECT_EQ(Verdict(ours, Config({"a"})), 'X');
  EXPECT_EQ(Verdict(ours, Config({"b"})), '.');
  EXPECT_EQ(Verdict(ours, Config({}, /*replaces=*/true)), 'X');
  EXPECT_EQ(Verdict(Overwrite{}, Config({}, /*replaces=*/true)), '.');
}

TEST(Conflicts, DroppingAndReplacingIndices) {
  const IndexEntry old = Index("mine", {1}, {{0}}, 'o'), fresh = Index("mine", {1}, {{0}}, 'n');
  const CreateIndex drop{{}, {old}}, replace{{fresh}, {old}};
  EXPECT_EQ(Verdict(drop, drop), '.');
  EXPECT_EQ(Verdict(drop, replace), 'r');
  EXPECT_EQ(Verdict(replace, drop), 'r');
  EXPECT_EQ(Verdict(replace, replace), 'r');
  EXPECT_EQ(Verdict(drop, CreateIndex{{Index("another")}, {}}), '.');
  EXPECT_EQ(Verdict(CreateIndex{{kMemWal}, {kMemWal}}, CreateIndex{{kMemWal}, {kMemWal}}), 'r');
  EXPECT_EQ(Verdict(drop, Rewriting({0})), '.');
  EXPECT_EQ(Verdict(drop, DataOverlay{}), '.');
  const IndexEntry reuse = Index(std::string(kFragmentReuseIndexName));
  EXPECT_EQ(Verdict(CreateIndex{{reuse}, {}}, CreateIndex{{reuse}, {}}), 'r');
}

TEST(Conflicts, AnIndexWithoutCoverageFearsEveryRewrite) {
  EXPECT_EQ(Verdict(CreateIndex{{Index("mine", {1})}, {}}, Rewriting({9})), 'r');
  EXPECT_EQ(Verdict(CreateIndex{{Index("mine", {1})}, {}}, Columns({9}, {1})), 'r');
}

TEST(Conflicts, ColumnsRewrittenInPlaceLeaveTheCoverage) {
  Transaction ours;
  ours.operation = CreateIndex{{Index("mine", {1}, {{0, 1, 4}}), Index("second", {2}, {{0, 1}})}, {}};
  Transaction other;
  other.operation = Columns({1, 4}, {1, 3});
  ASSERT_OK(Rebase(ours, other, TableVersion(3)));
  const auto& indices = std::get<CreateIndex>(ours.operation).new_indices;
  EXPECT_EQ(CoverageOf(indices[0]), OffsetSet::FromUnsorted({0}));
  EXPECT_EQ(indices[1].encoded, Index("second", {2}, {{0, 1}}).encoded);
}

Update Progress(std::vector<CompactedSsTable> compacted, std::vector<Fragment> updated = {}) {
  Update update;
  update.compacted_sstables = std::move(compacted);
  update.updated_fragments = std::move(updated);
  return update;
}

TEST(Conflicts, ProgressMustStillBeProgress) {
  const Uuid shard = Uuid::Random(1, 1), another = Uuid::Random(2, 2);
  const Update ours = Progress({{another, Generation(9)}, {shard, Generation(5)}});
  for (uint64_t generation : {1u, 4u, 5u, 6u}) {
    const std::vector<CompactedSsTable> theirs = {{shard, Generation(generation)}};
    const char expected = generation < 5 ? 'r' : 'X';
    EXPECT_EQ(Verdict(ours, Progress(theirs)), expected) << generation;
    EXPECT_EQ(Verdict(ours, UpdateMemWalState{theirs}), expected) << generation;
    EXPECT_EQ(Verdict(Progress({{another, Generation(5)}}), Progress(theirs)), '.');
    EXPECT_EQ(Verdict(Progress({{another, Generation(5)}}), UpdateMemWalState{theirs}), '.');
    EXPECT_EQ(Verdict(Progress({}), UpdateMemWalState{theirs}), '.');
  }
  // Never is worse than again, whichever is found first.
  EXPECT_EQ(Verdict(Progress({{shard, Generation(5)}}, {WithId(0)}), Progress({{shard, Generation(5)}}, {WithId(0)})),
            'X');
}

TEST(Conflicts, AnUpdateThatOnlyRecordsProgressMeetsNoRows) {
  const Update ours = Progress({kProgress});
  EXPECT_EQ(Verdict(ours, Delete{{WithId(0)}, {FragmentId(1)}, {}}), '.');
  EXPECT_EQ(Verdict(ours, Guarded(Update{{}, {WithId(0)}, {WithId(0)}, {}, {}, false})), '.');
  EXPECT_EQ(Verdict(ours, DataOverlay{}), '.');
}

TEST(Conflicts, OperationsThatWeDoNotCommit) {
  for (const Operation& operation : std::vector<Operation>{Clone{}, DataOverlay{}, UnknownOperation{}}) {
    Transaction ours, other;
    ours.operation = operation;
    ExpectError(Rebase(ours, other, TableVersion(3)), ErrorKind::kNotSupported, std::string(NameOf(operation)));
  }
}

// ---- the operations that change tables, each against each ----

UpdateConfig OnSchema() {
  UpdateConfig config;
  config.schema_metadata = MapUpdate{{{"a", "1"}}, false};
  return config;
}
UpdateConfig OnField(int32_t field) {
  UpdateConfig config;
  config.field_metadata[FieldId(field)] = MapUpdate{{{"a", "1"}}, false};
  return config;
}
UpdateConfig OnTable(std::string key) {
  UpdateConfig config;
  config.table_metadata = MapUpdate{{{std::move(key), "1"}}, false};
  return config;
}
Project Keeping(std::vector<int32_t> fields) {
  std::vector<file::Field> columns;
  for (int32_t id : fields) {
    file::Field& field = columns.emplace_back();
    field.id = FieldId(id);
    field.name = fmt::format("c{}", id);
    field.type = arrow::int64();
  }
  return {file::Schema(columns, {}), true};
}
const Update kRows{{}, {WithId(0)}, {WithId(0)}, {}, {}, false};
const UpdateMemWalState kState{{kProgress}};

struct Other {
  std::string what;
  Operation other;
  // Verdict for ours = Delete in fragment 0, Rewrite of fragments {0, 1}, Merge, Project, Restore, ReserveFragments,
  // UpdateConfig of key "k", of schema metadata, DataReplacement of field 2 in fragment 0, UpdateMemWalState of the
  // shard, UpdateBases.
  std::string verdicts;
};

TEST(Conflicts, EveryPairOfTheOthers) {
  Project strict = Keeping({2});
  strict.preserves_nullability = false;
  const std::vector<std::pair<std::string, Operation>> ours = {{"Delete", Delete{{WithId(0)}, {}, ""}},
                                                               {"Rewrite", Rewriting({0, 1})},
                                                               {"Merge", Merging(true)},
                                                               {"Project", strict},
                                                               {"Restore", Restore{TableVersion(1)}},
                                                               {"ReserveFragments", ReserveFragments{1}},
                                                               {"UpdateConfig", Config({"k"})},
                                                               {"UpdateConfig of the schema", OnSchema()},
                                                               {"DataReplacement", Replacing(0, 2)},
                                                               {"UpdateMemWalState", kState},
                                                               {"UpdateBases", UpdateBases{{{1, "n", true, "/p"}}}}};
  const std::vector<Other> others = {
      {"append", Append{{WithId(0)}}, "..rr.....X."},
      {"overwrite", Overwrite{}, "XXXX.X.XXX."},
      {"overwrite that sets the key", WithConfig({{"k", "1"}}), "XXXX.XXXXX."},
      {"an index over fragment 0", CreateIndex{{Index("i", {1}, {{0}})}, {}}, ".r........."},
      {"an index over fragment 5", CreateIndex{{Index("i", {1}, {{5}})}, {}}, "..........."},
      {"an index on the replaced field", CreateIndex{{Index("i", {2}, {{5}})}, {}}, "........r.."},
      {"MemWAL installed", CreateIndex{{kMemWal}, {}}, "..r........"},
      {"delete in fragment 0", Delete{{WithId(0)}, {}, ""}, "rrr......X."},
      {"delete of fragment 0", Delete{{}, {FragmentId(0)}, ""}, "rrr.....XX."},
      {"delete elsewhere", Delete{{WithId(5)}, {}, ""}, "..r......X."},
      {"update of rows of fragment 0", kRows, "rrrr....r.."},
      {"update that removes fragment 0", Update{{FragmentId(0)}, {}, {WithId(0)}, {}, {}}, "rrrr....X.."},
      {"update elsewhere", Update{{FragmentId(5)}, {}, {WithId(0)}, {}, {}}, "..rr......."},
      {"update with the same progress", Progress({kProgress}), "..rr.....X."},
      {"update with less progress", Progress({{kProgress.shard_id, Generation(2)}}), "..rr.....r."},
      {"rewrite of fragment 0", Rewriting({0}), "rrr.....r.."},
      {"rewrite elsewhere", Rewriting({5}), "..r........"},
      {"merge", Merging(true), "rrrr...rrX."},
      {"project that keeps the field", Keeping({2}), "..Xr.....X."},
      {"project that drops the field", Keeping({1}), "..Xr....XX."},
      {"restore", Restore{}, "XXXX.X.XXX."},
      {"reserve fragments", ReserveFragments{1}, "..........."},
      {"update of that key", Config({"k"}), "......X...."},
      {"update of another key", Config({"l"}), "..........."},
      {"update of table metadata", OnTable("k"), "..........."},
      {"update of schema metadata", OnSchema(), "..r.X..X..."},
      {"update of field metadata", OnField(1), "..rrX......"},
      {"replacement of that field", Replacing(0, 2), "rrrr....rX."},
      {"replacement of another field", Replacing(0, 1), "rrrr.....X."},
      {"replacement elsewhere", Replacing(5, 2), "..rr.....X."},
      {"the same progress", kState, "X.XXX...XX."},
      {"less progress", UpdateMemWalState{{{kProgress.shard_id, Generation(2)}}}, "X.XXX...Xr."},
      {"progress of another shard", UpdateMemWalState{{{Uuid::Random(5, 5), Generation(9)}}}, "X.XXX...X.."},
      {"clone", Clone{}, "XXXXXXXXXXX"},
      {"bases of the same id", UpdateBases{{{1, "m", true, "/q"}}}, "..........X"},
      {"bases of the same name", UpdateBases{{{2, "n", true, "/q"}}}, "..........X"},
      {"bases of the same path", UpdateBases{{{2, "m", true, "/p"}}}, "..........X"},
      {"other bases", UpdateBases{{{2, "m", true, "/q"}}}, "..........."},
      {"overlay of fragment 0", DataOverlay{{FragmentId(0)}}, "rrr.....r.."},
      {"unknown operation", UnknownOperation{116}, "XXXXXXXXXXX"},
  };
  std::set<size_t> seen;
  for (const Other& row : others) {
    seen.insert(row.other.index());
    for (size_t i = 0; i < ours.size(); ++i)
      EXPECT_EQ(Verdict(ours[i].second, row.other), row.verdicts[i]) << ours[i].first << " after " << row.what;
  }
  EXPECT_EQ(seen.size(), std::variant_size_v<Operation>) << "an operation is missing in the table";
}

TEST(Conflicts, ConfigurationOfTheSameThing) {
  EXPECT_EQ(Verdict(OnTable("a"), OnTable("a")), 'X');
  EXPECT_EQ(Verdict(OnTable("a"), OnTable("b")), '.');
  EXPECT_EQ(Verdict(OnTable("a"), Config({"a"})), '.');
  EXPECT_EQ(Verdict(OnField(1), OnField(1)), 'X');
  EXPECT_EQ(Verdict(OnField(1), OnField(2)), '.');
  EXPECT_EQ(Verdict(Config({"a"}), Config({}, /*replaces=*/true)), 'X');
  EXPECT_EQ(Verdict(Config({}, /*replaces=*/true), Config({"a"})), 'X');
  EXPECT_EQ(Verdict(Config({}), Config({"a"})), '.');
}

// Ours says which rows it masks.
char VerdictOfRows(Operation ours, const Operation& other) {
  Transaction transaction, committed;
  transaction.operation = std::move(ours);
  transaction.affected_rows = RowsByFragment{{FragmentId(0), OffsetSet::FromUnsorted({3})}};
  committed.operation = other;
  const arrow::Status status = Rebase(transaction, committed, TableVersion(7));
  return status.ok() ? '.' : KindOf(status) == ErrorKind::kRetryableConflict ? 'r' : '?';
}

TEST(Conflicts, MasksOfOneFragmentAreMergedLaterIfOursAreKnown) {
  const Delete deletion{{WithId(0)}, {}, ""};
  Fragment other_files = WithId(0);
  other_files.files.push_back({"new.lance", {5}, {0}, {2, 2}, 1, std::nullopt});
  for (const Operation& ours : std::vector<Operation>{deletion, kRows}) {
    EXPECT_EQ(VerdictOfRows(ours, deletion), '.');
    EXPECT_EQ(VerdictOfRows(ours, kRows), '.');
    EXPECT_EQ(VerdictOfRows(ours, Delete{{}, {FragmentId(0)}, ""}), 'r') << "it is gone";
    EXPECT_EQ(VerdictOfRows(ours, Delete{{other_files}, {}, ""}), 'r') << "its files changed";
    EXPECT_EQ(VerdictOfRows(ours, Columns({0}, {1})), 'r');
    EXPECT_EQ(VerdictOfRows(ours, Rewriting({0})), 'r');
  }
  EXPECT_EQ(VerdictOfRows(Delete{{WithId(1)}, {}, ""}, Delete{{WithId(1)}, {}, ""}), 'r')
      << "our rows of it are unknown";
  EXPECT_EQ(VerdictOfRows(Delete{{}, {FragmentId(0)}, ""}, deletion), 'r') << "ours removes it";
  EXPECT_EQ(VerdictOfRows(Columns({0}, {1}), deletion), 'r');
}

TEST(Conflicts, InsertedKeys) {
  const auto keys = [](std::vector<uint64_t> hashes, bool with_rows = true) {
    Update update;
    if (with_rows) update.new_fragments = {WithId(0)};
    update.inserted_keys = KeyFilter{{FieldId(0)}, KeyFilter::Exact{std::move(hashes)}};
    return update;
  };
  Update plain;
  plain.new_fragments = {WithId(0)};
  EXPECT_EQ(Verdict(keys({1}), keys({1, 2})), 'r');
  EXPECT_EQ(Verdict(keys({1}), keys({2})), '.');
  EXPECT_EQ(Verdict(keys({1}), plain), 'r');
  EXPECT_EQ(Verdict(keys({1}), Update{}), '.') << "without new rows nothing was inserted";
  EXPECT_EQ(Verdict(keys({1}), Append{{WithId(0)}}), 'r');
  EXPECT_EQ(Verdict(plain, keys({1})), 'r');
  EXPECT_EQ(Verdict(plain, plain), '.');
}

TEST(Conflicts, RewritesThatKeepIndicesByTranslation) {
  Rewrite ours = Rewriting({0, 1});
  ours.fragment_reuse = Index(std::string(kFragmentReuseIndexName));
  EXPECT_EQ(Verdict(ours, CreateIndex{{Index("i", {1}, {{0, 1, 2}})}, {}}), '.') << "translated";
  EXPECT_EQ(Verdict(ours, CreateIndex{{Index("i", {1}, {{0}})}, {}}), 'r') << "covers the group in part";
  EXPECT_EQ(Verdict(ours, CreateIndex{{*ours.fragment_reuse}, {}}), 'r');
  EXPECT_EQ(Verdict(ours, Rewriting({5})), 'r') << "its transaction does not say whether it brought one";
}

}  // namespace
}  // namespace javelin::table
