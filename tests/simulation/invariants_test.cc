#include "invariants.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <arrow/api.h>

#include "javelin/base/resources.h"

namespace javelin::simulation {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// A batch as the log holds it: with every column of the table and `_tombstone`.
std::shared_ptr<arrow::RecordBatch> AsStored(const arrow::RecordBatch& batch, bool tombstone) {
  auto schema = TableSchema();
  arrow::FieldVector fields;
  arrow::ArrayVector columns;
  for (const auto& field : schema->fields()) {
    auto column = batch.GetColumnByName(field->name());
    fields.push_back(field);
    columns.push_back(column ? column : arrow::MakeArrayOfNull(field->type(), batch.num_rows()).ValueOrDie());
  }
  fields.push_back(arrow::field("_tombstone", arrow::boolean(), false));
  columns.push_back(arrow::MakeArrayFromScalar(arrow::BooleanScalar(tombstone), batch.num_rows()).ValueOrDie());
  return arrow::RecordBatch::Make(arrow::schema(fields), batch.num_rows(), columns);
}

// A healthy shard and history: writer 0 (epoch 1) ran operations 1-3, writer 1 (epoch 2) ran 4 and 5, of which 5 is
// unknown. Each test breaks one thing.
class InvariantsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    int first = history.StartOpen("A", true);
    history.Opened(*runtime, first, Epoch(1));
    Run(first, false, {{1, 2}, {3}});
    Run(first, false, {{2}});
    Run(first, true, {{1}});
    Scan(first, {{2, {2, 0}}, {3, {1, 2}}, {9, {0, 0}}});
    int second = history.StartOpen("B", true);
    history.Opened(*runtime, second, Epoch(2));
    Run(second, false, {{4}});
    Scan(second, {{2, {2, 0}}, {3, {1, 2}}, {4, {4, 0}}, {9, {0, 0}}});
    history.Start(second, false, {{4}, {5}});

    AddManifest(1, 1);
    AddManifest(2, 2);
    AddEntry(1, {1, 2});
    AddEntry(1, {3});
    AddSentinel(2);
    AddEntry(2, {4});
    AddEntry(2, {5});
    memwal::ShardManifest cursor = shard.manifests.back();
    cursor.version = ManifestVersion(3);
    cursor.wal_position_last_seen = WalPosition(3);
    shard.manifests.push_back(cursor);
    shard.manifest_names.push_back(ManifestVersion(3));
  }

  void Run(int writer, bool is_delete, std::vector<std::vector<int64_t>> batches) {
    int64_t id = history.Start(writer, is_delete, std::move(batches)).id;
    history.Finished(*runtime, id, arrow::Status::OK());
  }

  void Scan(int writer, TableState state) {
    Moment now = history.Now();
    history.Scanned(*runtime, {writer, now, history.Now(), std::move(state)});
  }

  void AddManifest(uint64_t version, uint64_t epoch) {
    memwal::ShardManifest manifest;
    manifest.version = ManifestVersion(version);
    manifest.writer_epoch = Epoch(epoch);
    shard.manifests.push_back(manifest);
    shard.manifest_names.push_back(manifest.version);
  }

  void AddClaim() {
    memwal::ShardManifest manifest = shard.manifests.back();
    manifest.version = manifest.version.Next();
    manifest.writer_epoch = manifest.writer_epoch.Next();
    shard.manifests.push_back(manifest);
    shard.manifest_names.push_back(manifest.version);
  }

  LogEntry& AddEntry(uint64_t epoch, const std::vector<int64_t>& operations) {
    LogEntry entry;
    entry.position = WalPosition(shard.log.size() + 1);
    entry.digest = std::to_string(shard.log.size());
    entry.entry.writer_epoch = Epoch(epoch);
    entry.entry.generation = Generation(1);
    for (int64_t id : operations) {
      const Operation& operation = history.operations().at(id);
      for (const auto& batch : MakeBatches(operation))
        entry.entry.batches.push_back(AsStored(*batch, operation.is_delete));
    }
    shard.log.push_back(entry);
    return shard.log.back();
  }

  void AddSentinel(uint64_t epoch) {
    LogEntry& entry = AddEntry(epoch, {});
    entry.entry.generation.reset();
    entry.entry.fence_sentinel = true;
  }

  void ExpectViolation(const std::string& text) {
    EXPECT_THAT(CheckEverything(shard, history), Contains(HasSubstr(text)));
  }

  std::shared_ptr<Runtime> runtime = MakeThreadRuntime();
  History history{TableState{{9, {0, 0}}}};
  ShardObjects shard;
};

TEST_F(InvariantsTest, AHealthyShardHasNone) {
  EXPECT_THAT(CheckEverything(shard, history), IsEmpty());
  Violations violations;
  EXPECT_EQ(Replayed(TraceLog(shard, history, &violations), history),
            (TableState{{2, {2, 0}}, {3, {1, 2}}, {4, {5, 0}}, {5, {5, 1}}, {9, {0, 0}}}));
  EXPECT_THAT(violations, IsEmpty());
}

TEST_F(InvariantsTest, ManifestVersionMissing) {
  shard.manifests.erase(shard.manifests.begin() + 1);
  shard.manifest_names.erase(shard.manifest_names.begin() + 1);
  ExpectViolation("manifest versions have a gap before 3");
}

TEST_F(InvariantsTest, ManifestUnderAnotherName) {
  shard.manifests[1].version = ManifestVersion(3);
  ExpectViolation("manifest file 2 says version 3");
}

TEST_F(InvariantsTest, EpochFallsOrSkips) {
  shard.manifests[2].writer_epoch = Epoch(1);
  ExpectViolation("manifest 3: epoch 1 follows 2");
  shard.manifests[2].writer_epoch = Epoch(4);
  ExpectViolation("manifest 3: epoch 4 follows 2");
}

TEST_F(InvariantsTest, ClaimChangesMore) {
  shard.manifests[1].wal_position_last_seen = WalPosition(1);
  ExpectViolation("manifest 2: a claim changed more than the epoch");
}

TEST_F(InvariantsTest, CursorsFall) {
  shard.manifests[1].wal_position_last_seen = WalPosition(5);
  ExpectViolation("manifest 3: last seen falls");
  shard.manifests[1].current_generation = Generation(2);
  ExpectViolation("manifest 3: current_generation falls");
  shard.manifests[1].replay_after = WalPosition(2);
  ExpectViolation("manifest 3: replay_after falls");
}

TEST_F(InvariantsTest, LastSeenAheadOfTheLog) {
  shard.manifests[2].wal_position_last_seen = WalPosition(9);
  ExpectViolation("last seen 9 is ahead of the log");
}

TEST_F(InvariantsTest, ObjectDoesNotDecode) {
  shard.undecodable.push_back("wal/x: torn");
  ExpectViolation("does not decode: wal/x");
}

TEST_F(InvariantsTest, HoleInTheLog) {
  shard.log.erase(shard.log.begin() + 1);
  ExpectViolation("the log has a gap before position 3");
}

TEST_F(InvariantsTest, RowsOfALowerEpochAboveASentinel) {
  shard.log[3].entry.writer_epoch = Epoch(1);
  ExpectViolation("entry 4: rows of epoch 1 above the sentinel of epoch 2");
}

TEST_F(InvariantsTest, EpochOfRowsFalls) {
  shard.log[1].entry.writer_epoch = Epoch(2);
  shard.log[3].entry.writer_epoch = Epoch(1);
  ExpectViolation("entry 4: epoch falls from 2 to 1");
}

TEST_F(InvariantsTest, ALateSentinelIsNoViolation) {
  AddClaim();
  AddClaim();
  AddSentinel(4);
  AddSentinel(3);
  EXPECT_THAT(CheckEverything(shard, history), IsEmpty());
}

TEST_F(InvariantsTest, EpochNobodyClaimed) {
  shard.log[4].entry.writer_epoch = Epoch(7);
  ExpectViolation("epoch 7 was never claimed");
}

TEST_F(InvariantsTest, GenerationFalls) {
  shard.log[0].entry.generation = Generation(2);
  ExpectViolation("entry 2: generation missing, or falls from 2");
}

TEST_F(InvariantsTest, RowsInASentinel) {
  shard.log[2].entry.batches = shard.log[0].entry.batches;
  ExpectViolation("entry 3: rows in a sentinel");
}

TEST_F(InvariantsTest, SentinelMissing) {
  shard.log[2] = shard.log[1];
  shard.log[2].position = WalPosition(3);
  ExpectViolation("epoch 2 opened without a sentinel");
}

TEST_F(InvariantsTest, OperationCutInTwo) {
  shard.log[0].entry.batches.erase(shard.log[0].entry.batches.begin() + 1);
  ExpectViolation("operation 1 is not whole at its batch 1");
}

TEST_F(InvariantsTest, OperationTwice) {
  shard.log[4].entry.batches = shard.log[3].entry.batches;
  ExpectViolation("operation 4 is in the log twice");
}

TEST_F(InvariantsTest, OperationUnderAnotherEpoch) {
  shard.log[3].entry.batches = shard.log[1].entry.batches;
  ExpectViolation("operation 3 of epoch 1 is in an entry of epoch 2");
}

TEST_F(InvariantsTest, RefusedOperationInTheLog) {
  history.Finished(*runtime, 5, InvalidInput("no"));
  ExpectViolation("operation 5 was refused, but is in the log");
}

TEST_F(InvariantsTest, AcknowledgedOperationMissing) {
  shard.log.pop_back();
  shard.log.pop_back();
  ExpectViolation("operation 4 was acknowledged as durable, but is not in the log");
}

TEST_F(InvariantsTest, PrefixBroken) {
  shard.log[3].entry.batches = shard.log[4].entry.batches;
  shard.log.pop_back();
  ExpectViolation("operation 5 is in the log, but 4, accepted before it started, is not");
}

TEST_F(InvariantsTest, OrderTurned) {
  std::swap(shard.log[3].entry.batches, shard.log[4].entry.batches);
  ExpectViolation("operation 4 lies behind 5 in the log");
}

TEST_F(InvariantsTest, ScanLacksAnAcknowledgedRow) {
  Scan(1, {{2, {2, 0}}, {3, {1, 2}}, {9, {0, 0}}});
  ExpectViolation("is no state it may have seen");
}

TEST_F(InvariantsTest, ScanLacksAReplayedRow) {
  Scan(1, {{2, {2, 0}}, {4, {4, 0}}, {9, {0, 0}}});
  ExpectViolation("is no state it may have seen");
}

TEST_F(InvariantsTest, ScanShowsADeletedRow) {
  Scan(1, {{1, {1, 0}}, {2, {2, 0}}, {3, {1, 2}}, {4, {4, 0}}, {9, {0, 0}}});
  ExpectViolation("is no state it may have seen");
}

TEST_F(InvariantsTest, ScanShowsHalfAnOperation) {
  Scan(1, {{2, {2, 0}}, {3, {1, 2}}, {4, {5, 0}}, {9, {0, 0}}});
  ExpectViolation("is no state it may have seen");
}

TEST_F(InvariantsTest, ScanMayShowWhatIsNotAcknowledged) {
  Scan(1, {{2, {2, 0}}, {3, {1, 2}}, {4, {5, 0}}, {5, {5, 1}}, {9, {0, 0}}});
  EXPECT_THAT(CheckEverything(shard, history), IsEmpty());
}

TEST_F(InvariantsTest, RowsOfAWriterThatIsNotDurable) {
  int third = history.StartOpen("C", false);
  history.Opened(*runtime, third, Epoch(3));
  AddClaim();
  AddSentinel(3);
  Run(third, false, {{2}});  // never reaches the log: allowed, but visible to its own writer
  TableState after{{2, {6, 0}}, {3, {1, 2}}, {4, {5, 0}}, {5, {5, 1}}, {9, {0, 0}}};
  Scan(third, after);
  EXPECT_THAT(CheckEverything(shard, history), IsEmpty());
  after[2] = {2, 0};
  Scan(third, after);
  ExpectViolation("is no state it may have seen");
}

TEST_F(InvariantsTest, BaseScanSeesRowsOfTheLog) {
  Scan(-1, {{9, {0, 0}}});
  EXPECT_THAT(CheckEverything(shard, history), IsEmpty());
  Scan(-1, {{4, {4, 0}}, {9, {0, 0}}});
  ExpectViolation("a scan without a writer saw");
}

// ---- compaction: manifest 4 publishes generation 1, the base takes it over, manifest 5 lists it no more ----

class CompactionInvariants : public InvariantsTest {
 protected:
  void SetUp() override {
    InvariantsTest::SetUp();
    memwal::ShardManifest flushed = shard.manifests.back();
    flushed.version = ManifestVersion(4);
    flushed.current_generation = Generation(2);
    flushed.replay_after = flushed.wal_position_last_seen = WalPosition(5);
    flushed.sstables.push_back({.generation = Generation(1), .path = kFolder});
    memwal::ShardManifest retired = flushed;
    retired.version = ManifestVersion(5);
    retired.sstables.clear();
    shard.manifests.insert(shard.manifests.end(), {flushed, retired});
    shard.manifest_names.insert(shard.manifest_names.end(), {ManifestVersion(4), ManifestVersion(5)});
    shard.manifest_written_ns = {10, 20, 30, 40, 60};
    base = {{TableVersion(1), 0, Generation(0), history.base()}, {TableVersion(2), 50, Generation(1), kCompacted}};
  }

  void ExpectViolation(const std::string& text) {
    EXPECT_THAT(CheckEverything(shard, history, base), Contains(HasSubstr(text)));
  }

  static constexpr const char* kFolder = "00000000_gen_1";
  const TableState kCompacted{{2, {2, 0}}, {3, {1, 2}}, {4, {5, 0}}, {5, {5, 1}}, {9, {0, 0}}};
  std::vector<BaseVersion> base;
};

TEST_F(CompactionInvariants, AHealthyShardHasNone) {
  history.DeletionSent(kFolder, ManifestVersion(5));
  EXPECT_THAT(CheckEverything(shard, history, base), IsEmpty());
}

TEST_F(CompactionInvariants, BaseHoldsOtherRowsThanItsMarkSays) {
  base[1].rows[2] = {1, 1};
  ExpectViolation("base 2: holds {2=1/1");
  base[1].rows = history.base();
  ExpectViolation("base 2: holds {9=0/0}");
  base[1] = {TableVersion(2), 50, Generation(0), kCompacted};
  ExpectViolation("but the rows up to generation 0 are {9=0/0}");
}

TEST_F(CompactionInvariants, MarkFallsOrIsOfNothing) {
  base.push_back({TableVersion(3), 70, Generation(0), history.base()});
  ExpectViolation("base 3: its mark falls from 1 to 0");
  base[2] = {TableVersion(3), 70, Generation(2), kCompacted};
  ExpectViolation("base 3: generation 2 was never published");
}

TEST_F(CompactionInvariants, RetiredBeforeTheBaseHeldIt) {
  base[1].written_ns = 61;
  ExpectViolation("manifest 5: generation 1 is not listed, but the base held 0 by then");
}

TEST_F(CompactionInvariants, RetiringChangesMore) {
  shard.manifests[4].wal_position_last_seen = WalPosition(4);
  ExpectViolation("manifest 5: taking SSTables out changed more than the list");
}

TEST_F(CompactionInvariants, PublishedTwice) {
  shard.manifests[4].sstables.push_back({.generation = Generation(1), .path = "11111111_gen_1"});
  ExpectViolation("manifest 5: generation 1 is in 11111111_gen_1, but was in 00000000_gen_1");
}

TEST_F(CompactionInvariants, FolderDeletedBeforeItWasRetired) {
  history.DeletionSent(kFolder, ManifestVersion(4));
  ExpectViolation("manifest 4: lists 00000000_gen_1, which was deleted when manifest 4 was the newest");
}

TEST_F(CompactionInvariants, ListedFolderIsMissing) {
  shard.manifests.pop_back();
  ExpectViolation("the newest manifest lists 00000000_gen_1, which is not there");
  shard.folders[kFolder] = 6;
  EXPECT_THAT(CheckEverything(shard, history, base), IsEmpty());
}

// Manifest 5 seals the shard, 6 takes that back.
TEST_F(CompactionInvariants, ASealedShardIsLeftAlone) {
  shard.manifests[4] = shard.manifests[3];
  shard.manifests[4].version = ManifestVersion(5);
  shard.manifests[4].status = memwal::ShardStatus::kSealed;
  shard.folders[kFolder] = 6;
  shard.manifests.push_back(shard.manifests[3]);
  shard.manifests[5].version = ManifestVersion(6);
  shard.manifest_names.push_back(ManifestVersion(6));
  shard.manifest_written_ns.push_back(70);
  ExpectViolation("manifest 5: sealed, but nobody seals here");
  history.SealsMayHappen();
  EXPECT_THAT(CheckEverything(shard, history, base), IsEmpty());
  shard.log[4].written_ns = 65;
  ExpectViolation("entry 5: rows that came while manifest 5 was sealed");
  shard.manifests[5].writer_epoch = Epoch(3);
  ExpectViolation("manifest 6: claimed while it is sealed");
  shard.manifests[5].writer_epoch = Epoch(2);
  shard.manifests[5].wal_position_last_seen = WalPosition(4);
  ExpectViolation("manifest 6: a seal or its end changed more than the status");
}

TEST_F(CompactionInvariants, AScanWithoutAWriterSeesWholeGenerations) {
  history.Scanned(*runtime, {-1, 0, 0, kCompacted, Generation(0), Generation(1)});
  history.Scanned(*runtime, {-1, 0, 0, history.base(), Generation(0), Generation(1)});
  EXPECT_THAT(CheckEverything(shard, history, base), IsEmpty());
  history.Scanned(*runtime, {-1, 0, 0, history.base(), Generation(1), Generation(1)});
  ExpectViolation("which no number of SSTables from 1 to 1 makes");
}

TEST_F(InvariantsTest, TailStopsEarlyOrReadsSomethingElse) {
  Moment now = history.Now();
  history.Tailed(*runtime, {now, history.Now(), WalPosition(6), {"0", "1", "2", "3", "4"}});
  EXPECT_THAT(CheckEverything(shard, history), IsEmpty());
  history.Tailed(*runtime, {now, history.Now(), WalPosition(4), {"0", "1", "2"}});
  ExpectViolation("stopped at 4, below operation 4 at 4");
  history.Tailed(*runtime, {now, history.Now(), WalPosition(6), {"0", "1", "2", "3", "x"}});
  ExpectViolation("read an entry 5 that is not the one in the log");
}

TEST_F(InvariantsTest, FirstTerminalFailureIsReplaced) {
  auto fenced = MakeError(ErrorKind::kFencedPeerClaimedEpoch, "claimed");
  history.CallEnded(*runtime, 0, history.Now(), fenced, "put");
  history.CallEnded(*runtime, 0, history.Now(), fenced, "scan");
  EXPECT_THAT(CheckEverything(shard, history), IsEmpty());
  history.CallEnded(*runtime, 0, history.Now(), arrow::Status::OK(), "scan");
  ExpectViolation("a later scan ended with 'OK'");
  history.CallEnded(*runtime, 0, history.Now(), MakeError(ErrorKind::kFencedPersistenceFailure, "lost"), "put");
  ExpectViolation("a later put ended with");
}

}  // namespace
}  // namespace javelin::simulation
