// Commits of operation Update: rows that go, rows that come, and compaction progress.
#include "javelin/table/commit.h"

#include "javelin/table/compaction_progress.h"
#include "javelin/table/feature_flags.h"
#include "javelin/table/index_entry.h"
#include "javelin/table/row_lineage.h"
#include "javelin/table/table_world_internal.h"
#include "lanceproto/table.pb.h"

namespace javelin::table {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

const Uuid kShard = Uuid::Random(1, 1), kOther = Uuid::Random(2, 2);

IndexEntry Index(std::string name, const OffsetSet& fragments) {
  ::lance::table::IndexMetadata message;
  message.mutable_uuid()->set_uuid(std::string(16, name[0]));
  message.set_name(name);
  message.add_fields(0);
  message.set_fragment_bitmap(EncodeRoaring(fragments));
  IndexEntry entry;
  entry.uuid = std::string(16, name[0]);
  entry.name = std::move(name);
  entry.fields = {FieldId(0)};
  entry.encoded = message.SerializeAsString();
  return entry;
}

IndexEntry MemWal() {
  MemWalDetails details;
  details.num_shards = 1;
  return MakeMemWalIndexEntry(details, Uuid::Random(9, 9), 1, 5);
}

Transaction Of(Update update) {
  Transaction transaction;
  transaction.operation = std::move(update);
  return transaction;
}

Transaction Indices(std::vector<IndexEntry> added) {
  Transaction transaction;
  transaction.operation = CreateIndex{std::move(added), {}};
  return transaction;
}

Transaction Progress(std::vector<CompactedSsTable> compacted) {
  Update update;
  update.compacted_sstables = std::move(compacted);
  return Of(update);
}

class Updates : public testing::Test {
 protected:
  // Fragments 0 to 2 of 10, 11 and 12 rows.
  void SetUp() override {
    Transaction create = TableWorld::CreateOf(10);
    std::get<Overwrite>(create.operation).fragments = {TableWorld::Rows(10), TableWorld::Rows(11),
                                                       TableWorld::Rows(12)};
    ASSERT_OK_AND_ASSIGN(head_, CommitTransaction(world_.resources(), world_.location(), nullptr, create));
  }

  Fragment Masked(uint64_t id, uint64_t rows, uint64_t file = 1) {
    Fragment fragment = head_.manifest->fragments.at(id);
    fragment.deletion_file = {DeletionFileType::kArrowArray, head_.manifest->version.value(), file, rows, std::nullopt};
    return fragment;
  }
  arrow::Status Advance(Transaction transaction) {
    ARROW_ASSIGN_OR_RAISE(head_, world_.Commit(head_, std::move(transaction)));
    return arrow::Status::OK();
  }
  LoadedManifest Latest() { return LoadLatestVersion(world_.location()).ValueOrDie(); }
  const std::vector<Fragment>& Fragments() { return head_.manifest->fragments; }
  MemWalDetails Details() { return *ReadMemWalDetails(*head_.manifest).ValueOrDie(); }
  // Switches stable row ids on, as no operation of ours does: row i of fragment f has id 100 f + i.
  void MakeRowIdsStable() {
    world_.PlantVersion(head_, FromHex("08 01 12 01 78 da 06 02 08 01"), [](Manifest& next) {
      next.reader_feature_flags = next.writer_feature_flags = flag::kStableRowIds;
      for (size_t i = 0; i < next.fragments.size(); ++i)
        next.fragments[i].lineage = LineageOfNewRows(100 * i, next.fragments[i].physical_rows, TableVersion(1));
      next.next_row_id = 1000;
    });
    head_ = Latest();
  }

  TableWorld world_;
  LoadedManifest head_;
};

TEST_F(Updates, MasksRemovesAndAdds) {
  Update update;
  update.updated_fragments = {Masked(1, 4)};
  update.removed_fragment_ids = {FragmentId(0)};
  update.new_fragments = {TableWorld::Rows(5), TableWorld::Rows(6)};
  const std::vector<Fragment> before = Fragments();
  ASSERT_OK(Advance(Of(update)));
  Fragment first = TableWorld::Rows(5), second = TableWorld::Rows(6);
  first.id = FragmentId(3);
  second.id = FragmentId(4);
  EXPECT_THAT(Fragments(), ElementsAre(update.updated_fragments[0], before[2], first, second));
  EXPECT_EQ(head_.manifest->max_fragment_id, 4u);
  EXPECT_EQ(head_.manifest->reader_feature_flags, flag::kDeletionFiles);
  EXPECT_EQ(head_.manifest->writer_feature_flags, flag::kDeletionFiles);
  EXPECT_EQ(Latest().manifest->fragments, Fragments());
  // The flag goes with the last deletion file.
  Update removal;
  removal.removed_fragment_ids = {FragmentId(1)};
  ASSERT_OK(Advance(Of(removal)));
  EXPECT_EQ(head_.manifest->reader_feature_flags, 0u);
}

TEST_F(Updates, FragmentIdsOfRemovedFragmentsAreNotUsedAgain) {
  Update update;
  update.removed_fragment_ids = {FragmentId(0), FragmentId(1), FragmentId(2)};
  ASSERT_OK(Advance(Of(update)));
  EXPECT_THAT(Fragments(), IsEmpty());
  ASSERT_OK(Advance(TableWorld::AppendOf(1)));
  EXPECT_EQ(Fragments()[0].id, FragmentId(3));
  // Manifests of old writers may lack the mark.
  world_.PlantVersion(head_, FromHex("08 01 12 01 78 da 06 02 08 01"),
                      [](Manifest& next) { next.max_fragment_id.reset(); });
  head_ = Latest();
  update.removed_fragment_ids = {FragmentId(3)};
  ASSERT_OK(Advance(Of(update)));
  EXPECT_EQ(head_.manifest->max_fragment_id, 3u);
}

TEST_F(Updates, AnEmptyUpdateIsAVersion) {
  const std::vector<Fragment> before = Fragments();
  ASSERT_OK(Advance(Of({})));
  EXPECT_EQ(head_.manifest->version, TableVersion(2));
  EXPECT_EQ(Fragments(), before);
}

TEST_F(Updates, IndicesStayByteForByte) {
  const IndexEntry index = Index("i", OffsetSet::FromUnsorted({0, 1, 2}));
  ASSERT_OK(Advance(Indices({index, MemWal()})));
  Update update;
  update.updated_fragments = {Masked(1, 4)};
  update.removed_fragment_ids = {FragmentId(0)};
  update.new_fragments = {TableWorld::Rows(5)};
  ASSERT_OK(Advance(Of(update)));
  EXPECT_EQ(head_.manifest->indices[0].encoded, index.encoded);
  EXPECT_EQ(head_.manifest->indices[1].encoded, MemWal().encoded);
}

TEST_F(Updates, WhatCannotBeMeantIsRefused) {
  auto refused = [&](Update update, const std::string& part) {
    ExpectError(world_.Commit(head_, Of(std::move(update))).status(), ErrorKind::kInvalidInput, part);
  };
  Fragment unknown = Masked(0, 1);
  unknown.id = FragmentId(7);
  refused({{}, {unknown}, {}, {}, {}}, "fragment 7");
  refused({{FragmentId(7)}, {}, {}, {}, {}}, "fragment 7");
  refused({{FragmentId(0)}, {Masked(0, 1)}, {}, {}, {}}, "twice");
  refused({{FragmentId(0), FragmentId(0)}, {}, {}, {}, {}}, "twice");
  refused({{}, {Fragments()[0]}, {}, {}, {}}, "without a deletion file");
  refused({{}, {}, {TableWorld::Rows(1, {0, 5})}, {}, {}}, "field id 5");
  EXPECT_EQ(Latest().manifest->version, TableVersion(1));
}

TEST_F(Updates, AStaleUpdateLandsBehindWhatItDoesNotTouch) {
  const LoadedManifest read = head_;
  ASSERT_OK(Advance(TableWorld::AppendOf(1)));
  Update other;
  other.updated_fragments = {Masked(2, 3)};
  ASSERT_OK(Advance(Of(other)));
  Update update;
  update.updated_fragments = {Masked(0, 2)};
  update.removed_fragment_ids = {FragmentId(1)};
  update.new_fragments = {TableWorld::Rows(5)};
  ASSERT_OK_AND_ASSIGN(const LoadedManifest last, world_.Commit(read, Of(update)));
  ASSERT_EQ(last.manifest->fragments.size(), 4u);
  EXPECT_EQ(last.manifest->fragments[0].deletion_file, update.updated_fragments[0].deletion_file);
  EXPECT_EQ(last.manifest->fragments[1].deletion_file, other.updated_fragments[0].deletion_file);
  EXPECT_EQ(last.manifest->fragments[2].id, FragmentId(3));
  EXPECT_EQ(last.manifest->fragments[3].id, FragmentId(4));
  // The same fragment again, through the old handle: its rows are no longer what was read.
  ExpectError(world_.Commit(read, Of(update)).status(), ErrorKind::kRetryableConflict, "Update");
  EXPECT_EQ(Latest().manifest->version, TableVersion(4));
}

// The record of the commit in between does not say what it changed; the fragment itself does.
TEST_F(Updates, AFragmentThatChangedUnsaidIsNotMasked) {
  const LoadedManifest read = head_;
  const std::string reserve = FromHex("08 01 12 01 78 da 06 02 08 01");
  Update update;
  update.updated_fragments = {Masked(0, 2)};
  world_.PlantVersion(head_, reserve,
                      [&](Manifest& next) { next.fragments[0].deletion_file = Masked(0, 1, 99).deletion_file; });
  ExpectError(world_.Commit(read, Of(update)).status(), ErrorKind::kRetryableConflict, "fragment 0");
  update.updated_fragments.clear();
  update.removed_fragment_ids = {FragmentId(0)};
  ExpectError(world_.Commit(read, Of(update)).status(), ErrorKind::kRetryableConflict, "fragment 0");
  world_.PlantVersion(Latest(), reserve, [&](Manifest& next) { next.fragments.erase(next.fragments.begin()); });
  ExpectError(world_.Commit(read, Of(update)).status(), ErrorKind::kRetryableConflict, "fragment 0");
}

// Another commit dropped a column meanwhile, and the fragment's file with it.
TEST_F(Updates, OnlyTheDeletionFileOfAFragmentIsTaken) {
  const LoadedManifest read = head_;
  world_.PlantVersion(head_, FromHex("08 01 12 01 78 da 06 02 08 01"),
                      [&](Manifest& next) { next.fragments[0].files[0].path = "another.lance"; });
  Update update;
  update.updated_fragments = {Masked(0, 2)};
  ASSERT_OK_AND_ASSIGN(const LoadedManifest last, world_.Commit(read, Of(update)));
  EXPECT_EQ(last.manifest->fragments[0].files[0].path, "another.lance");
  EXPECT_EQ(last.manifest->fragments[0].deletion_file, update.updated_fragments[0].deletion_file);
}

TEST_F(Updates, NewRowsWhoseColumnsChangedMeaningRunAgain) {
  const LoadedManifest read = head_;
  world_.PlantVersion(head_, FromHex("08 01 12 01 78 da 06 02 08 01"), [](Manifest& next) {
    next.schema = file::Schema::FromArrow(
                      *arrow::schema({arrow::field("a", arrow::int64(), false), arrow::field("c", arrow::float32())}))
                      .ValueOrDie();
  });
  Update update;
  update.new_fragments = {TableWorld::Rows(5)};
  ExpectError(world_.Commit(read, Of(update)).status(), ErrorKind::kRetryableConflict, "column 'b'");
}

TEST_F(Updates, RowsWithStableIds) {
  MakeRowIdsStable();
  const std::string lineage = Fragments()[1].lineage;
  Update update;
  update.updated_fragments = {Masked(1, 4)};
  update.removed_fragment_ids = {FragmentId(0)};
  update.new_fragments = {TableWorld::Rows(5)};
  ASSERT_OK(Advance(Of(update)));
  EXPECT_EQ(Fragments()[0].lineage, lineage);
  EXPECT_EQ(Fragments()[2].lineage, LineageOfNewRows(1000, 5, TableVersion(3)));
  EXPECT_EQ(head_.manifest->next_row_id, 1005u);
}

TEST_F(Updates, ReplacedRowsKeepTheirIds) {
  Update update;
  update.updated_fragments = {Masked(1, 2)};
  update.new_fragments = {TableWorld::Rows(3)};
  update.new_fragments[0].lineage = LineageOfReplacedRows(std::vector<RowOrigin>{{104, 1}, {102, 1}});
  // A table without ids of its own has no use for them.
  ASSERT_OK_AND_ASSIGN(const LoadedManifest plain, world_.Commit(head_, Of(update)));
  EXPECT_EQ(plain.manifest->fragments[3].lineage, "");
  head_ = plain;
  MakeRowIdsStable();
  update.updated_fragments = {Masked(2, 2)};
  ASSERT_OK(Advance(Of(update)));
  std::vector<uint64_t> ids(3);
  ASSERT_OK_AND_ASSIGN(const RowIdSequence sequence, DecodeRowIds(Fragments()[4], 3));
  sequence.Read(0, ids);
  EXPECT_THAT(ids, ElementsAre(104, 102, 1000));
  EXPECT_EQ(head_.manifest->next_row_id, 1001u);
}

// ---- compaction progress ----

TEST_F(Updates, ProgressIsRecordedByShard) {
  ASSERT_OK(Advance(Indices({Index("i", {}), MemWal()})));
  ASSERT_OK(Advance(Progress({{kShard, Generation(3)}})));
  EXPECT_THAT(Details().compacted_sstables, ElementsAre(CompactedSsTable{kShard, Generation(3)}));
  const IndexEntry* entry = head_.manifest->FindIndex(kMemWalIndexName);
  EXPECT_EQ(entry, &head_.manifest->indices[1]);
  EXPECT_NE(entry->uuid, MemWal().uuid);  // readers keep decoded entries by UUID
  EXPECT_EQ(entry->dataset_version, 3u);
  Update update;
  update.new_fragments = {TableWorld::Rows(5)};
  update.compacted_sstables = {{kOther, Generation(1)}, {kShard, Generation(7)}};
  ASSERT_OK(Advance(Of(update)));
  EXPECT_THAT(Details().compacted_sstables,
              ElementsAre(CompactedSsTable{kShard, Generation(7)}, CompactedSsTable{kOther, Generation(1)}));
  EXPECT_EQ(Details().num_shards, 1u);
  EXPECT_EQ(Latest().manifest->indices[1].encoded, head_.manifest->indices[1].encoded);
}

TEST_F(Updates, ProgressThatIsNoneFailsTheWholeCommit) {
  ExpectError(world_.Commit(head_, Progress({{kShard, Generation(1)}})).status(), ErrorKind::kInvalidInput,
              "not initialized");
  ASSERT_OK(Advance(Indices({MemWal()})));
  ASSERT_OK(Advance(Progress({{kShard, Generation(3)}})));
  ExpectError(world_.Commit(head_, Progress({{kShard, Generation(4)}, {kShard, Generation(5)}})).status(),
              ErrorKind::kInvalidInput, "twice");
  for (uint64_t generation : {0u, 2u, 3u}) {
    Update update;
    update.new_fragments = {TableWorld::Rows(5)};
    update.compacted_sstables = {{kOther, Generation(1)}, {kShard, Generation(generation)}};
    const arrow::Status status = world_.Commit(head_, Of(update)).status();
    ExpectError(status, ErrorKind::kInvalidInput, "stale");
    EXPECT_EQ(FieldsOf(status), (ErrorFields{{"shard", kShard.ToString()},
                                             {"generation", fmt::format("{}", generation)},
                                             {"recorded_generation", "3"}}));
    EXPECT_EQ(FieldsOf(CheckProgress(update.compacted_sstables, *head_.manifest)), FieldsOf(status));
  }
  EXPECT_EQ(Latest().manifest->version, TableVersion(3));
}

TEST_F(Updates, OneOfTwoCompactionsOfAShardWins) {
  ASSERT_OK(Advance(Indices({MemWal()})));
  const LoadedManifest read = head_;
  ASSERT_OK(Advance(Progress({{kShard, Generation(3)}})));
  ExpectError(world_.Commit(read, Progress({{kShard, Generation(3)}})).status(), ErrorKind::kIncompatibleConflict,
              "Update at version 3");
  ExpectError(world_.Commit(read, Progress({{kShard, Generation(4)}})).status(), ErrorKind::kRetryableConflict,
              "Update at version 3");
  ASSERT_OK_AND_ASSIGN(head_, world_.Commit(read, Progress({{kOther, Generation(4)}})));
  EXPECT_THAT(Details().compacted_sstables,
              ElementsAre(CompactedSsTable{kShard, Generation(3)}, CompactedSsTable{kOther, Generation(4)}));
}

// Progress lands on whatever entry the newest version has: on one that was installed meanwhile, and not on one that was
// dropped.
TEST_F(Updates, ProgressNeedsTheEntryWhereItLands) {
  const LoadedManifest without = head_;
  ASSERT_OK(Advance(Indices({MemWal()})));
  ASSERT_OK(world_.Commit(without, Progress({{kShard, Generation(1)}})).status());
  const LoadedManifest with = Latest();
  Transaction drop;
  drop.operation = CreateIndex{{}, {with.manifest->indices[0]}};
  ASSERT_OK(world_.Commit(with, drop).status());
  ExpectError(world_.Commit(with, Progress({{kShard, Generation(2)}})).status(), ErrorKind::kInvalidInput,
              "not initialized");
}

// An index over all fragments that were there when the progress was read has caught up with it; the commit that makes
// the progress proves nothing yet.
TEST_F(Updates, CatchUpIsDerivedAfterProgress) {
  ASSERT_OK(Advance(Indices({Index("i", OffsetSet::FromUnsorted({0, 1, 2})), MemWal()})));
  ASSERT_OK(Advance(Progress({{kShard, Generation(3)}})));
  EXPECT_THAT(Details().index_catchup, IsEmpty());
  ASSERT_OK(Advance(Of({})));  // any commit
  EXPECT_THAT(Details().index_catchup, ElementsAre(IndexCatchup{"i", {{kShard, Generation(3)}}}));
  // New rows with the next generation: the index keeps what it had.
  Update update;
  update.new_fragments = {TableWorld::Rows(5)};
  update.compacted_sstables = {{kShard, Generation(4)}};
  ASSERT_OK(Advance(Of(update)));
  EXPECT_THAT(Details().index_catchup, ElementsAre(IndexCatchup{"i", {{kShard, Generation(3)}}}));
  ASSERT_OK(Advance(Of({})));
  EXPECT_THAT(Details().index_catchup, ElementsAre(IndexCatchup{"i", {{kShard, Generation(3)}}}));
}

}  // namespace
}  // namespace javelin::table
