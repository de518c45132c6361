#include "javelin/table/commit.h"

#include "javelin/table/feature_flags.h"
#include "javelin/table/index_entry.h"
#include "javelin/table/manifest_codec.h"
#include "javelin/table/row_lineage.h"
#include "javelin/table/table_world_internal.h"
#include "lanceproto/table.pb.h"

namespace javelin::table {

void TableWorld::PlantVersion(const LoadedManifest& head, const std::optional<std::string>& transaction,
                              const std::function<void(Manifest&)>& change) {
  Manifest next = *head.manifest;
  next.version = next.version.Next();
  next.transaction_file.clear();
  if (change) change(next);
  std::string file = ToText(EncodeManifestFile(next, transaction.value_or("")).ValueOrDie());
  if (!transaction) {
    // Without an inline transaction: the manifest message alone.
    ::lance::table::Manifest message;
    const DecodedManifest ours = DecodeManifestFile(file).ValueOrDie();
    int64_t position;
    std::memcpy(&position, file.data() + file.size() - 16, 8);
    ASSERT_TRUE(message.ParseFromString(file.substr(position + 4, file.size() - 16 - position - 4)));
    message.clear_transaction_section();
    const std::string bytes = message.SerializeAsString();
    const uint32_t length = static_cast<uint32_t>(bytes.size());
    file =
        std::string(reinterpret_cast<const char*>(&length), 4) + bytes + FromHex("0000000000000000 0000 0200") + "LANC";
  }
  ASSERT_OK(inner_->PutIfAbsent(ManifestKey(location_, {next.version, head.scheme}), arrow::Buffer::FromString(file)));
}

namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::MatchesRegex;

std::vector<uint64_t> Ids(const LoadedManifest& loaded) {
  std::vector<uint64_t> ids;
  for (const Fragment& fragment : loaded.manifest->fragments) ids.push_back(fragment.id.value());
  return ids;
}
std::vector<uint64_t> RowCounts(const LoadedManifest& loaded) {
  std::vector<uint64_t> rows;
  for (const Fragment& fragment : loaded.manifest->fragments) rows.push_back(fragment.physical_rows);
  return rows;
}

IndexEntry Index(std::string name, char uuid, std::vector<int32_t> fields = {0}, std::string extra = "") {
  ::lance::table::IndexMetadata message;
  message.mutable_uuid()->set_uuid(std::string(16, uuid));
  message.set_name(name);
  IndexEntry entry;
  entry.uuid = std::string(16, uuid);
  entry.name = std::move(name);
  for (int32_t field : fields) {
    message.add_fields(field);
    entry.fields.push_back(FieldId(field));
  }
  entry.encoded = message.SerializeAsString() + extra;
  return entry;
}

Transaction Indices(std::vector<IndexEntry> added, std::vector<IndexEntry> removed = {}) {
  Transaction transaction;
  transaction.operation = CreateIndex{std::move(added), std::move(removed)};
  return transaction;
}

const Uuid kShard = Uuid::Random(1, 1);

IndexEntry MemWal(uint64_t progress, uint64_t uuid) {
  MemWalDetails details;
  details.num_shards = 1;
  if (progress != 0) details.compacted_sstables = {{kShard, Generation(progress)}};
  return MakeMemWalIndexEntry(details, Uuid::Random(uuid, uuid), 1, 5);
}

class Commits : public testing::TestWithParam<StoreKind> {
 protected:
  LoadedManifest Latest() { return LoadLatestVersion(world_.location()).ValueOrDie(); }
  void ExpectUnchanged(uint64_t version) { EXPECT_EQ(Latest().manifest->version, TableVersion(version)); }

  TableWorld world_{GetParam()};
};
INSTANTIATE_TEST_SUITE_P(Stores, Commits, testing::Values(StoreKind::kMemory, StoreKind::kLocal),
                         [](const auto& info) { return info.param == StoreKind::kMemory ? "Memory" : "Local"; });

TEST_P(Commits, CreateThenAppend) {
  ASSERT_OK_AND_ASSIGN(const LoadedManifest first, world_.Create(3));
  EXPECT_EQ(first.manifest->version, TableVersion(1));
  EXPECT_EQ(first.manifest->max_fragment_id, 0u);
  EXPECT_EQ(first.manifest->data_format_version, "2.2");
  EXPECT_EQ(first.manifest->writer_version->library, "javelin");
  EXPECT_THAT(first.manifest->writer_version->version, MatchesRegex("[0-9]+\\.[0-9]+\\.[0-9]+"));
  EXPECT_GT(first.manifest->timestamp_ns, 1'600'000'000'000'000'000);
  EXPECT_THAT(first.manifest->transaction_file, MatchesRegex("0-[0-9a-f-]{36}\\.txn"));

  ASSERT_OK_AND_ASSIGN(const LoadedManifest second, world_.Commit(first, TableWorld::AppendOf(4)));
  EXPECT_THAT(Ids(second), ElementsAre(0, 1));
  EXPECT_THAT(RowCounts(second), ElementsAre(3, 4));
  EXPECT_EQ(second.manifest->max_fragment_id, 1u);

  // What was returned is what is stored, and the inline transaction is the file's.
  const LoadedManifest stored = Latest();
  EXPECT_EQ(stored.manifest->fragments, second.manifest->fragments);
  EXPECT_EQ(stored.transaction, second.transaction);
  ASSERT_OK_AND_ASSIGN(const BufferPtr file,
                       world_.inner().Get("t/_transactions/" + second.manifest->transaction_file));
  EXPECT_EQ(ToText(file), *second.transaction);
  ASSERT_OK_AND_ASSIGN(const Transaction transaction, LoadTransaction(world_.location(), stored));
  EXPECT_EQ(transaction.read_version, TableVersion(1));
}

TEST_P(Commits, RequestsOfCreateAndAppend) {
  const std::vector<std::string> hint = GetParam() == StoreKind::kLocal
                                            ? std::vector<std::string>{"put t/_versions/latest_version_hint.json"}
                                            : std::vector<std::string>{};
  auto expect = [&](const LoadedManifest& made, std::vector<std::string> more) {
    std::vector<std::string> requests = {"list t/_versions/"};
    requests.insert(requests.end(), more.begin(), more.end());
    requests.push_back("put t/_transactions/" + made.manifest->transaction_file);
    requests.push_back("put_if_absent " + ManifestKey(world_.location(), {made.manifest->version, made.scheme}));
    requests.insert(requests.end(), hint.begin(), hint.end());
    EXPECT_EQ(world_.counting().LogText(), requests);
    world_.counting().Reset();
  };
  ASSERT_OK_AND_ASSIGN(const LoadedManifest first, world_.Create());
  expect(first, {});
  ASSERT_OK_AND_ASSIGN(const LoadedManifest second, world_.Commit(first, TableWorld::AppendOf(1)));
  expect(second, {});
  // One version behind: its manifest, whose inline transaction saves the .txn request.
  ASSERT_OK_AND_ASSIGN(const LoadedManifest third, world_.Commit(first, TableWorld::AppendOf(1)));
  expect(third, {"get " + ManifestKey(world_.location(), {TableVersion(2), second.scheme})});
}

TEST_P(Commits, TheSchemeOfTheTableIsKept) {
  ASSERT_OK_AND_ASSIGN(const LoadedManifest first, world_.Create(1, {.scheme_of_new_table = NamingScheme::kV1}));
  ASSERT_OK_AND_ASSIGN(const LoadedManifest second, world_.Commit(first, TableWorld::AppendOf(2)));
  EXPECT_EQ(second.scheme, NamingScheme::kV1);
  ASSERT_OK(world_.Commit(first, TableWorld::AppendOf(3)).status());
  ASSERT_OK(world_.inner().Head("t/_versions/3.manifest").status());
  EXPECT_THAT(RowCounts(Latest()), ElementsAre(1, 2, 3));
}

TEST_P(Commits, CreatingTwiceIsRefused) {
  ASSERT_OK(world_.Create().status());
  ExpectError(world_.Create().status(), ErrorKind::kAlreadyExists, "already exists");
  ExpectUnchanged(1);
}

TEST_P(Commits, AStaleAppendLandsBehindTheOthers) {
  ASSERT_OK_AND_ASSIGN(const LoadedManifest first, world_.Create(1));
  ASSERT_OK_AND_ASSIGN(LoadedManifest head, world_.Commit(first, TableWorld::AppendOf(2)));
  ASSERT_OK_AND_ASSIGN(head, world_.Commit(head, TableWorld::AppendOf(3)));
  ASSERT_OK_AND_ASSIGN(const LoadedManifest last, world_.Commit(first, TableWorld::AppendOf(4)));
  EXPECT_EQ(last.manifest->version, TableVersion(4));
  EXPECT_THAT(RowCounts(last), ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(Ids(last), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(last.manifest->transaction_file, HasSubstr("1-"));  // an append keeps the version it was built against
}

TEST_P(Commits, AnAppendAfterAnOverwriteIsIncompatible) {
  ASSERT_OK_AND_ASSIGN(const LoadedManifest first, world_.Create(1));
  ASSERT_OK_AND_ASSIGN(const LoadedManifest second, world_.Commit(first, TableWorld::CreateOf(9)));
  EXPECT_THAT(Ids(second), ElementsAre(1));  // fragment ids are never used again
  ExpectError(world_.Commit(first, TableWorld::AppendOf(2)).status(), ErrorKind::kIncompatibleConflict,
              "Overwrite at version 2");
  ExpectUnchanged(2);
}

TEST_P(Commits, OverwriteDropsIndicesAndKeepsConfiguration) {
  ASSERT_OK_AND_ASSIGN(const LoadedManifest first, world_.Create(1));
  ASSERT_OK_AND_ASSIGN(LoadedManifest head, world_.Commit(first, Indices({Index("i", 'i')})));
  Transaction overwrite = TableWorld::CreateOf(5);
  std::get<Overwrite>(overwrite.operation).config_upserts = {{"a", "1"}};
  ASSERT_OK_AND_ASSIGN(head, world_.Commit(head, overwrite));
  EXPECT_THAT(head.manifest->indices, IsEmpty());
  EXPECT_EQ(head.manifest->writer_feature_flags, flag::kTableConfig);
  overwrite = TableWorld::CreateOf(6);
  std::get<Overwrite>(overwrite.operation).config_upserts = {{"b", "2"}};
  ASSERT_OK_AND_ASSIGN(head, world_.Commit(head, overwrite));
  EXPECT_EQ(head.manifest->config, (std::map<std::string, std::string>{{"a", "1"}, {"b", "2"}}));
  EXPECT_EQ(head.manifest->max_fragment_id, 2u);
}

TEST_P(Commits, AStrictOverwriteRefusesAnyNewerVersion) {
  ASSERT_OK_AND_ASSIGN(const LoadedManifest first, world_.Create(1));
  ASSERT_OK(world_.Commit(first, TableWorld::AppendOf(2)).status());
  ExpectError(world_.Commit(first, TableWorld::CreateOf(3), {.max_retries = 0}).status(), ErrorKind::kRetryableConflict,
              "version 2");
  ASSERT_OK(world_.Commit(first, TableWorld::CreateOf(3)).status());
  EXPECT_THAT(RowCounts(Latest()), ElementsAre(3));
}

TEST_P(Commits, AppendCarriesEveryIndexEntryByteForByte) {
  ASSERT_OK_AND_ASSIGN(const LoadedManifest first, world_.Create(1));
  const IndexEntry odd = Index("odd", 'o', {0}, FromHex("ea 04 02 7878"));
  ASSERT_OK_AND_ASSIGN(const LoadedManifest second, world_.Commit(first, Indices({odd, MemWal(7, 3)})));
  ASSERT_OK_AND_ASSIGN(const LoadedManifest third, world_.Commit(second, TableWorld::AppendOf(1)));
  ASSERT_EQ(third.manifest->indices.size(), 2u);
  EXPECT_EQ(Latest().manifest->indices[0].encoded, odd.encoded);
  EXPECT_EQ(Latest().manifest->indices[1].encoded, MemWal(7, 3).encoded);
}

TEST_P(Commits, OneOfTwoMemWalInstallsWins) {
  ASSERT_OK_AND_ASSIGN(const LoadedManifest first, world_.Create(1));
  ASSERT_OK(world_.Commit(first, Indices({MemWal(0, 1)})).status());
  ExpectError(world_.Commit(first, Indices({MemWal(0, 2)})).status(), ErrorKind::kRetryableConflict,
              "CreateIndex at version 2");
  ExpectError(world_.Commit(Latest(), Indices({MemWal(0, 2)})).status(), ErrorKind::kInvalidInput,
              "already initialized");
  ExpectUnchanged(2);
}

TEST_P(Commits, AMemWalInstallPassesAppendsAndIndices) {
  ASSERT_OK_AND_ASSIGN(const LoadedManifest first, world_.Create(1));
  ASSERT_OK_AND_ASSIGN(const LoadedManifest second, world_.Commit(first, TableWorld::AppendOf(1)));
  ASSERT_OK(world_.Commit(second, Indices({Index("i", 'i')})).status());
  ASSERT_OK_AND_ASSIGN(const LoadedManifest installed, world_.Commit(first, Indices({MemWal(0, 1)})));
  EXPECT_EQ(installed.manifest->version, TableVersion(4));
  EXPECT_EQ(installed.manifest->indices[1].encoded, MemWal(0, 1).encoded);
}

TEST_P(Commits, AReplacedMemWalEntryTakesItsProgressFromTheHead) {
  ASSERT_OK_AND_ASSIGN(const LoadedManifest first, world_.Create(1));
  ASSERT_OK_AND_ASSIGN(const LoadedManifest second, world_.Commit(first, Indices({MemWal(0, 1), Index("i", 'i')})));
  // Progress made meanwhile, by a commit that rewrote the entry under another UUID.
  ASSERT_OK_AND_ASSIGN(const std::string reserve, [] {
    ::lance::table::IndexMetadata unused;
    return arrow::Result<std::string>(
        FromHex("08 02 12 01 78 da 06 02 08 01"));  // read_version 2, uuid "x", ReserveFragments{1}
  }());
  world_.PlantVersion(second, reserve, [](Manifest& next) { next.indices[0] = MemWal(8, 2); });
  IndexEntry replacement = MemWal(0, 3);
  ASSERT_OK_AND_ASSIGN(const LoadedManifest last,
                       world_.Commit(second, Indices({replacement}, {second.manifest->indices[0]})));
  EXPECT_EQ(last.manifest->indices[0].uuid, replacement.uuid);
  EXPECT_EQ(last.manifest->indices[1].name, "i");  // in the place of the old one
  ASSERT_OK_AND_ASSIGN(const auto details, ReadMemWalDetails(*Latest().manifest));
  EXPECT_EQ(details->CompactedThrough(kShard), Generation(8));
}

TEST_P(Commits, IndicesAreReplacedAndDroppedByUuid) {
  ASSERT_OK_AND_ASSIGN(LoadedManifest head, world_.Create(1));
  ASSERT_OK_AND_ASSIGN(head, world_.Commit(head, Indices({Index("i", '1'), Index("j", '2')})));
  ASSERT_OK_AND_ASSIGN(head, world_.Commit(head, Indices({Index("i", '3')}, {Index("i", '1')})));
  EXPECT_EQ(head.manifest->FindIndex("i")->uuid, std::string(16, '3'));
  ExpectError(world_.Commit(head, Indices({Index("k", '3')})).status(), ErrorKind::kInvalidInput,
              "'k' has a UUID that is in use");
  // Already gone under this UUID, but the name lives on: not the index that was meant.
  ExpectError(world_.Commit(head, Indices({}, {Index("i", '1')})).status(), ErrorKind::kRetryableConflict,
              "'i' was rebuilt");
  ASSERT_OK_AND_ASSIGN(head, world_.Commit(head, Indices({}, {Index("i", '3'), Index("gone", '9')})));
  EXPECT_EQ(head.manifest->FindIndex("i"), nullptr);
  ExpectError(world_.Commit(head, Indices({Index("k", '5', {77})})).status(), ErrorKind::kRetryableConflict,
              "field id 77");
}

TEST_P(Commits, StableRowIdsAreAssignedInOrder) {
  ASSERT_OK_AND_ASSIGN(const LoadedManifest first, world_.Create(3));
  const std::string reserve = FromHex("08 01 12 01 78 da 06 02 08 01");
  world_.PlantVersion(first, reserve, [](Manifest& next) {
    next.reader_feature_flags = next.writer_feature_flags = flag::kStableRowIds;
    next.fragments[0].lineage = LineageOfNewRows(0, 3, TableVersion(1));
    next.next_row_id = 10;
  });
  ASSERT_OK_AND_ASSIGN(const LoadedManifest last, world_.Commit(Latest(), TableWorld::AppendOf(4)));
  EXPECT_EQ(last.manifest->next_row_id, 14u);
  EXPECT_EQ(last.manifest->fragments[1].lineage, LineageOfNewRows(10, 4, TableVersion(3)));
  EXPECT_EQ(last.manifest->reader_feature_flags, flag::kStableRowIds);
  ASSERT_OK_AND_ASSIGN(const LoadedManifest over, world_.Commit(last, TableWorld::CreateOf(2)));
  EXPECT_EQ(over.manifest->next_row_id, 16u);
  EXPECT_EQ(over.manifest->fragments[0].lineage, LineageOfNewRows(14, 2, TableVersion(4)));
}

TEST_P(Commits, AnAppendWhoseColumnsChangedMeaningRunsAgain) {
  ASSERT_OK_AND_ASSIGN(const LoadedManifest first, world_.Create(1));
  const std::string reserve = FromHex("08 01 12 01 78 da 06 02 08 01");
  // Column b (id 1) was dropped and its id given to another column.
  world_.PlantVersion(first, reserve, [](Manifest& next) {
    next.schema = file::Schema::FromArrow(
                      *arrow::schema({arrow::field("a", arrow::int64(), false), arrow::field("c", arrow::float32())}))
                      .ValueOrDie();
  });
  ExpectError(world_.Commit(first, TableWorld::AppendOf(2)).status(), ErrorKind::kRetryableConflict,
              "field id 1 was column 'b' and is now 'c'");
  ExpectUnchanged(2);
}

TEST_P(Commits, AnAppendThatLacksANewRequiredColumnRunsAgain) {
  ASSERT_OK_AND_ASSIGN(const LoadedManifest first, world_.Create(1));
  world_.PlantVersion(first, FromHex("08 01 12 01 78 da 06 02 08 01"), [](Manifest& next) {
    next.schema = file::Schema::FromArrow(
                      *arrow::schema({arrow::field("a", arrow::int64(), false), arrow::field("b", arrow::utf8()),
                                      arrow::field("d", arrow::int8(), false)}))
                      .ValueOrDie();
  });
  ExpectError(world_.Commit(first, TableWorld::AppendOf(2)).status(), ErrorKind::kRetryableConflict, "'d'");
}

TEST_P(Commits, FieldsTheTableDoesNotKnowAreRefused) {
  ASSERT_OK_AND_ASSIGN(const LoadedManifest first, world_.Create(1));
  Transaction transaction;
  transaction.operation = Append{{TableWorld::Rows(1, {0, 5})}};
  ExpectError(world_.Commit(first, transaction).status(), ErrorKind::kInvalidInput, "field id 5");
}

TEST_P(Commits, AnUnknownOperationMeanwhileIsIncompatible) {
  ASSERT_OK_AND_ASSIGN(const LoadedManifest first, world_.Create(1));
  world_.PlantVersion(first, FromHex("08 01 12 01 78 a2 07 00"));
  ExpectError(world_.Commit(first, TableWorld::AppendOf(2)).status(), ErrorKind::kIncompatibleConflict,
              "Unknown at version 2");
}

TEST_P(Commits, AVersionWithoutTransactionRecordIsNotRebasedOver) {
  ASSERT_OK_AND_ASSIGN(const LoadedManifest first, world_.Create(1));
  world_.PlantVersion(first, std::nullopt);
  ExpectError(world_.Commit(first, TableWorld::AppendOf(2)).status(), ErrorKind::kRetryableConflict,
              "no transaction record");
  ASSERT_OK(world_.Commit(Latest(), TableWorld::AppendOf(2)).status());
}

TEST_P(Commits, AHoleInTheVersionsIsNotRebasedOver) {
  ASSERT_OK_AND_ASSIGN(const LoadedManifest first, world_.Create(1));
  ASSERT_OK_AND_ASSIGN(const LoadedManifest second, world_.Commit(first, TableWorld::AppendOf(2)));
  ASSERT_OK(world_.Commit(second, TableWorld::AppendOf(2)).status());
  ASSERT_OK(world_.inner().Delete(ManifestKey(world_.location(), {TableVersion(2), second.scheme})));
  ExpectError(world_.Commit(first, TableWorld::AppendOf(2)).status(), ErrorKind::kRetryableConflict,
              "version 2 of 'test://t' is gone");
  ExpectUnchanged(3);
}

// A version number that was cleaned up must not be taken again below the newest version: its rows would be nowhere.
TEST_P(Commits, AVersionBelowTheHeadIsNeverMade) {
  ASSERT_OK_AND_ASSIGN(const LoadedManifest first, world_.Create(1));
  ASSERT_OK_AND_ASSIGN(LoadedManifest head, world_.Commit(first, TableWorld::AppendOf(2)));
  ASSERT_OK_AND_ASSIGN(head, world_.Commit(head, TableWorld::AppendOf(2)));
  for (uint64_t version : {1, 2}) {
    ASSERT_OK(world_.inner().Delete(ManifestKey(world_.location(), {TableVersion(version), head.scheme})));
  }
  ExpectError(world_.Commit(first, TableWorld::AppendOf(9)).status(), ErrorKind::kRetryableConflict, "is gone");
  EXPECT_THAT(RowCounts(Latest()), ElementsAre(1, 2, 2));
}

TEST_P(Commits, WriterFlagsAreCheckedBeforeAnythingIsWritten) {
  ASSERT_OK_AND_ASSIGN(const LoadedManifest first, world_.Create(1));
  const std::string reserve = FromHex("08 01 12 01 78 da 06 02 08 01");
  world_.PlantVersion(first, reserve, [](Manifest& next) { next.writer_feature_flags = 4096; });
  world_.counting().Reset();
  ExpectError(world_.Commit(Latest(), TableWorld::AppendOf(2)).status(), ErrorKind::kNotSupported, "4096");
  ExpectError(world_.Commit(first, TableWorld::AppendOf(2)).status(), ErrorKind::kNotSupported, "4096");
  const RequestCounts counts = world_.counting().counts();
  EXPECT_EQ(counts.put + counts.put_if_absent, 0u);
}

TEST_P(Commits, StickyBitsAndTheFieldIdMarkSurvive) {
  ASSERT_OK_AND_ASSIGN(const LoadedManifest first, world_.Create(1));
  world_.PlantVersion(first, FromHex("08 01 12 01 78 da 06 02 08 01"), [](Manifest& next) {
    next.reader_feature_flags = 256 | 16384 | 4;
    next.writer_feature_flags = 256 | 16384 | 32768 | 32;
    next.max_allocated_field_id = 8;
  });
  ASSERT_OK_AND_ASSIGN(const LoadedManifest last, world_.Commit(Latest(), TableWorld::AppendOf(2)));
  EXPECT_EQ(Latest().manifest->reader_feature_flags, 256u | 16384u);
  EXPECT_EQ(Latest().manifest->writer_feature_flags, 256u | 16384u | 32768u);
  EXPECT_EQ(Latest().manifest->max_allocated_field_id, 8);
  // Its columns would have ids that were given to others.
  ExpectError(world_.Commit(last, TableWorld::CreateOf(1)).status(), ErrorKind::kRetryableConflict, "field id 0");
  Transaction replace = TableWorld::CreateOf(1);
  auto& overwrite = std::get<Overwrite>(replace.operation);
  overwrite.schema = file::Schema::FromArrow(*TableWorld::TwoColumns().ToArrow(), FieldId(9)).ValueOrDie();
  overwrite.fragments = {TableWorld::Rows(3, {9, 10})};
  ASSERT_OK(world_.Commit(last, replace).status());
  EXPECT_EQ(Latest().manifest->max_allocated_field_id, 10);
}

// Rows that wait in a shard hold ids that no data file names.
TEST_P(Commits, ATableWithMemWalKeepsItsFieldIds) {
  ASSERT_OK_AND_ASSIGN(const LoadedManifest first, world_.Create(1));
  EXPECT_EQ(first.manifest->max_allocated_field_id, std::nullopt);
  world_.PlantVersion(first, FromHex("08 01 12 01 78 da 06 02 08 01"),
                      [](Manifest& next) { next.fragments[0].files[0].fields = {0, 7}; });  // 7 was dropped
  Transaction initialize;
  initialize.operation = CreateIndex{.new_indices = {MakeMemWalIndexEntry({}, Uuid::Random(1, 2), 2, 0)}};
  ASSERT_OK_AND_ASSIGN(const LoadedManifest marked, world_.Commit(Latest(), initialize));
  EXPECT_EQ(Latest().manifest->max_allocated_field_id, 7);
  EXPECT_EQ(Latest().manifest->writer_feature_flags & 32768u, 32768u);
  EXPECT_EQ(Latest().manifest->reader_feature_flags & 32768u, 0u);

  // One that another library initialised.
  world_.PlantVersion(Latest(), FromHex("08 01 12 01 78 da 06 02 08 01"), [](Manifest& next) {
    next.max_allocated_field_id.reset();
    next.writer_feature_flags &= ~uint64_t{32768};
  });
  ASSERT_OK(world_.Commit(Latest(), TableWorld::AppendOf(2)).status());
  EXPECT_EQ(Latest().manifest->max_allocated_field_id, 7);
}

// Another writer gets in between our listing and our manifest, as often as `races` says.
class RacingStore final : public ForwardingStore {
 public:
  RacingStore(std::shared_ptr<ObjectStore> inner, int races, std::function<void()> competitor)
      : ForwardingStore(std::move(inner)), races_(races), competitor_(std::move(competitor)) {}
  arrow::Status PutIfAbsent(const std::string& key, const BufferPtr& bytes) override {
    if (races_-- > 0) competitor_();
    return ForwardingStore::PutIfAbsent(key, bytes);
  }

 private:
  int races_;
  std::function<void()> competitor_;
};

TEST_P(Commits, LostRacesAreRebasedAndTriedAgain) {
  ASSERT_OK_AND_ASSIGN(const LoadedManifest first, world_.Create(1));
  StoreLocation racing = world_.location();
  racing.store = std::make_shared<RacingStore>(
      world_.location().store, 3, [this] { ASSERT_OK(world_.Commit(Latest(), TableWorld::AppendOf(7)).status()); });
  ASSERT_OK_AND_ASSIGN(const LoadedManifest last, CommitTransaction(world_.resources(), racing, &first,
                                                                    TableWorld::AppendOf(2), {.max_retries = 3}));
  EXPECT_THAT(RowCounts(last), ElementsAre(1, 7, 7, 7, 2));
  EXPECT_THAT(RowCounts(Latest()), ElementsAre(1, 7, 7, 7, 2));
}

TEST_P(Commits, TooManyLostRacesAreReported) {
  ASSERT_OK_AND_ASSIGN(const LoadedManifest first, world_.Create(1));
  StoreLocation racing = world_.location();
  racing.store = std::make_shared<RacingStore>(
      world_.location().store, 100, [this] { ASSERT_OK(world_.Commit(Latest(), TableWorld::AppendOf(7)).status()); });
  ExpectError(
      CommitTransaction(world_.resources(), racing, &first, TableWorld::AppendOf(2), {.max_retries = 3}).status(),
      ErrorKind::kRetryableConflict, "4 attempts");
  ExpectUnchanged(5);
}

TEST_P(Commits, ALostRaceAgainstAnOverwriteIsIncompatible) {
  ASSERT_OK_AND_ASSIGN(const LoadedManifest first, world_.Create(1));
  StoreLocation racing = world_.location();
  racing.store = std::make_shared<RacingStore>(
      world_.location().store, 1, [this] { ASSERT_OK(world_.Commit(Latest(), TableWorld::CreateOf(7)).status()); });
  ExpectError(CommitTransaction(world_.resources(), racing, &first, TableWorld::AppendOf(2)).status(),
              ErrorKind::kIncompatibleConflict, "Overwrite at version 2");
  EXPECT_THAT(RowCounts(Latest()), ElementsAre(7));
}

// A store that claims a version to be taken which then is not there.
TEST_P(Commits, ATakenVersionThatIsNotThereEndsTyped) {
  ASSERT_OK_AND_ASSIGN(const LoadedManifest first, world_.Create(1));
  world_.faults().AddRule({.method = "put_if_absent", .times = 100, .kind = ErrorKind::kAlreadyExists});
  ExpectError(world_.Commit(first, TableWorld::AppendOf(2)).status(), ErrorKind::kRetryableConflict, "version 2");
  ExpectUnchanged(1);
}

// ---- lost answers ----

TEST_P(Commits, ALostAnswerIsSettledByReading) {
  for (bool create : {true, false}) {
    TableWorld world(GetParam());
    std::optional<LoadedManifest> first;
    if (!create) {
      ASSERT_OK_AND_ASSIGN(first, world.Create(1));
    }
    world.faults().AddRule({.method = "put_if_absent", .action = FaultRule::Action::kLoseAnswer});
    const auto made = create ? world.Create(1) : world.Commit(*first, TableWorld::AppendOf(2));
    ASSERT_OK(made.status());
    EXPECT_EQ(made->manifest->version, TableVersion(create ? 1 : 2));
    EXPECT_EQ(world.faults().faults(), 1u);
    ASSERT_OK_AND_ASSIGN(const auto versions, ListVersions(world.location()));
    EXPECT_EQ(versions.size(), create ? 1u : 2u);
  }
}

// A decorator below may have sent the manifest twice and report the second answer.
TEST_P(Commits, ExistsMayBeOurOwnManifest) {
  ASSERT_OK_AND_ASSIGN(const LoadedManifest first, world_.Create(1));
  world_.faults().AddRule(
      {.method = "put_if_absent", .action = FaultRule::Action::kLoseAnswer, .kind = ErrorKind::kAlreadyExists});
  ASSERT_OK_AND_ASSIGN(const LoadedManifest second, world_.Commit(first, TableWorld::AppendOf(2)));
  EXPECT_EQ(second.manifest->version, TableVersion(2));
  EXPECT_THAT(RowCounts(Latest()), ElementsAre(1, 2));
}

TEST_P(Commits, ExistsMayBeOurOwnCreate) {
  world_.faults().AddRule(
      {.method = "put_if_absent", .action = FaultRule::Action::kLoseAnswer, .kind = ErrorKind::kAlreadyExists});
  ASSERT_OK(world_.Create(1).status());
  EXPECT_THAT(RowCounts(Latest()), ElementsAre(1));
}

TEST_P(Commits, AManifestThatNeverArrivedIsSentAgain) {
  ASSERT_OK_AND_ASSIGN(const LoadedManifest first, world_.Create(1));
  world_.faults().AddRule({.method = "put_if_absent", .times = 2, .action = FaultRule::Action::kFail});
  ASSERT_OK_AND_ASSIGN(const LoadedManifest last, world_.Commit(first, TableWorld::AppendOf(2)));
  EXPECT_EQ(last.manifest->version, TableVersion(2));
  EXPECT_THAT(RowCounts(Latest()), ElementsAre(1, 2));
}

// The lost request had lost the race: the version is somebody else's, so ours can no longer land there.
TEST_P(Commits, AnUnknownOutcomeThatSomebodyElseTook) {
  ASSERT_OK_AND_ASSIGN(const LoadedManifest first, world_.Create(1));
  for (bool overwrite : {false, true}) {
    const LoadedManifest read = Latest();
    StoreLocation racing = world_.location();
    racing.store = std::make_shared<RacingStore>(world_.location().store, 1, [&] {
      ASSERT_OK(world_.Commit(Latest(), overwrite ? TableWorld::CreateOf(8) : TableWorld::AppendOf(7)).status());
      world_.faults().AddRule({.method = "put_if_absent", .action = FaultRule::Action::kFail});
    });
    const auto last = CommitTransaction(world_.resources(), racing, &read, TableWorld::AppendOf(2));
    if (overwrite) {
      ExpectError(last.status(), ErrorKind::kIncompatibleConflict, "Overwrite");
      EXPECT_THAT(RowCounts(Latest()), ElementsAre(8));
    } else {
      ASSERT_OK(last.status());
      EXPECT_THAT(RowCounts(Latest()), ElementsAre(1, 7, 2));
    }
  }
}

TEST_P(Commits, WhatReadingCannotSettleIsOutcomeUnknown) {
  ASSERT_OK_AND_ASSIGN(const LoadedManifest first, world_.Create(1));
  world_.faults().AddRule({.method = "put_if_absent", .times = 100, .action = FaultRule::Action::kFail});
  const arrow::Status status = world_.Commit(first, TableWorld::AppendOf(2)).status();
  ExpectError(status, ErrorKind::kOutcomeUnknown, "version 2");
  EXPECT_THAT(FieldsOf(status)["transaction"], MatchesRegex("[0-9a-f-]{36}"));
  world_.faults().ClearRules();
  // Reads that fail after the lost answer leave it open too.
  world_.faults().AddRule({.method = "put_if_absent", .action = FaultRule::Action::kLoseAnswer});
  world_.faults().AddRule({.method = "list", .first = 2, .times = 100});
  ExpectError(world_.Commit(first, TableWorld::AppendOf(2)).status(), ErrorKind::kOutcomeUnknown,
              "look for transaction");
  world_.faults().ClearRules();
  EXPECT_THAT(RowCounts(Latest()), ElementsAre(1, 2));
}

// Every request of an append fails once, or loses its answer once: the rows are in the table exactly when the commit
// says so.
TEST_P(Commits, TheNthRequestFails) {
  for (auto action : {FaultRule::Action::kFail, FaultRule::Action::kLoseAnswer}) {
    for (uint64_t n = 1; n <= 8; ++n) {
      TableWorld world(GetParam());
      ASSERT_OK_AND_ASSIGN(const LoadedManifest first, world.Create(1));
      ASSERT_OK_AND_ASSIGN(const LoadedManifest second, world.Commit(first, TableWorld::AppendOf(2)));
      world.faults().ClearRules();
      world.faults().AddRule({.first = n, .action = action});
      const auto third = world.Commit(first, TableWorld::AppendOf(3));  // one version behind
      world.faults().ClearRules();
      ASSERT_OK_AND_ASSIGN(const LoadedManifest stored, LoadLatestVersion(world.location()));
      if (third.ok()) {
        EXPECT_THAT(RowCounts(stored), ElementsAre(1, 2, 3)) << n;
      } else {
        EXPECT_EQ(KindOf(third.status()), ErrorKind::kTransient) << n;
        EXPECT_THAT(RowCounts(stored), ElementsAre(1, 2)) << n;
      }
      ASSERT_OK_AND_ASSIGN(const LoadedManifest again, world.Commit(stored, TableWorld::AppendOf(4)));
      EXPECT_EQ(RowCounts(again).back(), 4u);
    }
  }
}

// ---- many writers ----

TEST_P(Commits, ConcurrentAppendsAllLand) {
  constexpr int kTasks = 8, kAppends = 5;
  ASSERT_OK(world_.Create(1000).status());
  std::vector<TaskHandle> tasks;
  std::vector<arrow::Status> results(kTasks);
  for (int task = 0; task < kTasks; ++task) {
    tasks.push_back(world_.resources().runtime->Spawn("append", [this, task, &results] {
      auto head = LoadLatestVersion(world_.location());
      for (int i = 0; i < kAppends && head.ok(); ++i) {
        head = world_.Commit(*head, TableWorld::AppendOf(static_cast<uint64_t>(task * kAppends + i)),
                             {.max_retries = 200});
      }
      results[task] = head.status();
    }));
  }
  for (TaskHandle& task : tasks) task.Join();
  for (const arrow::Status& status : results) ASSERT_OK(status);

  std::vector<uint64_t> rows = RowCounts(Latest());
  ASSERT_EQ(rows.size(), 1u + kTasks * kAppends);
  std::sort(rows.begin(), rows.end());
  for (uint64_t i = 0; i < kTasks * kAppends; ++i) EXPECT_EQ(rows[i], i);
  std::vector<uint64_t> ids = Ids(Latest());
  for (uint64_t i = 0; i < ids.size(); ++i) EXPECT_EQ(ids[i], i);
  ASSERT_OK_AND_ASSIGN(const auto versions, ListVersions(world_.location()));
  ASSERT_EQ(versions.size(), 1u + kTasks * kAppends);
  for (uint64_t i = 0; i < versions.size(); ++i) EXPECT_EQ(versions[i].version, TableVersion(i + 1));
}

TEST_P(Commits, OneOfManyCreatorsWins) {
  std::vector<TaskHandle> tasks;
  std::vector<arrow::Status> results(6);
  for (size_t task = 0; task < results.size(); ++task) {
    tasks.push_back(world_.resources().runtime->Spawn(
        "create", [this, task, &results] { results[task] = world_.Create(task + 1).status(); }));
  }
  for (TaskHandle& task : tasks) task.Join();
  const auto won =
      std::count_if(results.begin(), results.end(), [](const arrow::Status& status) { return status.ok(); });
  EXPECT_EQ(won, 1);
  for (const arrow::Status& status : results) {
    EXPECT_TRUE(status.ok() || KindOf(status) == ErrorKind::kAlreadyExists) << status.ToString();
  }
  ExpectUnchanged(1);
}

}  // namespace
}  // namespace javelin::table
