#include "javelin/table/row_rebase.h"

#include "javelin/store/forwarding_store.h"
#include "javelin/table/deletion_vector.h"
#include "javelin/table/table_world_internal.h"

namespace javelin::table {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

OffsetSet Rows(std::vector<uint32_t> offsets) { return OffsetSet::FromUnsorted(std::move(offsets)); }

// Two fragments of 10 rows; deletions through handles that may be stale.
class RowRebase : public testing::TestWithParam<StoreKind> {
 protected:
  void SetUp() override {
    Transaction create = TableWorld::CreateOf(10);
    std::get<Overwrite>(create.operation).fragments = {TableWorld::Rows(10), TableWorld::Rows(10)};
    ASSERT_OK_AND_ASSIGN(first_, CommitTransaction(world_.resources(), world_.location(), nullptr, create));
  }

  // A deletion of these rows, by fragment, prepared on `read`: its deletion files are written.
  Transaction Deletion(const LoadedManifest& read, const RowsByFragment& rows) {
    Delete deletion;
    for (const auto& [id, offsets] : rows) {
      Fragment fragment = read.manifest->fragments.at(id.value());
      const OffsetSet all = fragment.deletion_file ? Deleted(fragment).With(offsets) : offsets;
      if (all.size() == fragment.physical_rows) {
        deletion.deleted_fragment_ids.push_back(id);
        continue;
      }
      const EncodedDeletionFile encoded = EncodeDeletionFile(all).ValueOrDie();
      fragment.deletion_file =
          DeletionFile{encoded.type, read.manifest->version.value(), ++last_file_, all.size(), std::nullopt};
      EXPECT_TRUE(
          world_.inner().Put("t/_deletions/" + DeletionFileName(id, *fragment.deletion_file), encoded.bytes).ok());
      deletion.updated_fragments.push_back(std::move(fragment));
    }
    Transaction transaction;
    transaction.operation = std::move(deletion);
    transaction.affected_rows = rows;
    return transaction;
  }
  OffsetSet Deleted(const Fragment& fragment) {
    if (!fragment.deletion_file) return {};
    const auto bytes = world_.inner().Get("t/_deletions/" + DeletionFileName(fragment.id, *fragment.deletion_file));
    return DecodeDeletionFile(*fragment.deletion_file, bytes.ValueOrDie(), fragment.physical_rows).ValueOrDie();
  }
  size_t DeletionFilesStored() {
    return ListAll(world_.inner(), {.prefix = "t/_deletions/"}).ValueOrDie().objects.size();
  }
  arrow::Result<LoadedManifest> Commit(const LoadedManifest& read, const RowsByFragment& rows) {
    return world_.Commit(read, Deletion(read, rows));
  }

  TableWorld world_{GetParam()};
  LoadedManifest first_;
  uint64_t last_file_ = 0;
};
INSTANTIATE_TEST_SUITE_P(Stores, RowRebase, testing::Values(StoreKind::kMemory, StoreKind::kLocal),
                         [](const auto& info) { return info.param == StoreKind::kMemory ? "Memory" : "Local"; });

// Somebody else commits right before the first manifest of ours.
class RacingStore : public ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;
  arrow::Status PutIfAbsent(const std::string& key, const BufferPtr& bytes) override {
    if (race) std::exchange(race, nullptr)();
    return ForwardingStore::PutIfAbsent(key, bytes);
  }
  std::function<void()> race;
};

const FragmentId kFirst(0), kSecond(1);

TEST_P(RowRebase, DeletionsOfOtherRowsAreMerged) {
  ASSERT_OK(Commit(first_, {{kFirst, Rows({1, 2})}}).status());
  ASSERT_OK(Commit(first_, {{kFirst, Rows({5})}, {kSecond, Rows({0})}}).status());
  ASSERT_OK_AND_ASSIGN(const LoadedManifest last, Commit(first_, {{kFirst, Rows({9})}}));
  EXPECT_EQ(last.manifest->version, TableVersion(4));
  const auto& fragments = last.manifest->fragments;
  EXPECT_EQ(Deleted(fragments[0]), Rows({1, 2, 5, 9}));
  EXPECT_EQ(fragments[0].deletion_file->num_deleted_rows, 4u);
  EXPECT_EQ(fragments[0].deletion_file->read_version, 3u);
  EXPECT_EQ(Deleted(fragments[1]), Rows({0}));
  ASSERT_OK_AND_ASSIGN(const Transaction stored, LoadTransaction(world_.location(), last));
  EXPECT_EQ(std::get<Delete>(stored.operation).updated_fragments[0].deletion_file, fragments[0].deletion_file);
}

TEST_P(RowRebase, TheSameRowRunsAgain) {
  ASSERT_OK(Commit(first_, {{kFirst, Rows({1, 2})}}).status());
  ExpectError(Commit(first_, {{kFirst, Rows({2, 3})}}).status(), ErrorKind::kRetryableConflict, "fragment 0");
  ExpectError(Commit(first_, {{kSecond, Rows({4})}, {kFirst, Rows({1})}}).status(), ErrorKind::kRetryableConflict,
              "fragment 0");
}

TEST_P(RowRebase, AFragmentWithoutRowsLeftIsRemoved) {
  ASSERT_OK(Commit(first_, {{kFirst, Rows({0, 1, 2, 3, 4})}}).status());
  ASSERT_OK_AND_ASSIGN(const LoadedManifest last, Commit(first_, {{kFirst, Rows({5, 6, 7, 8, 9})}}));
  ASSERT_EQ(last.manifest->fragments.size(), 1u);
  EXPECT_EQ(last.manifest->fragments[0].id, kSecond);
  EXPECT_EQ(last.manifest->max_fragment_id, 1u);
  ASSERT_OK_AND_ASSIGN(const Transaction stored, LoadTransaction(world_.location(), last));
  EXPECT_THAT(std::get<Delete>(stored.operation).deleted_fragment_ids, ElementsAre(kFirst));
  EXPECT_THAT(std::get<Delete>(stored.operation).updated_fragments, IsEmpty());
  // Removed by one, masked by the other: the rows were the same.
  ExpectError(Commit(first_, {{kFirst, Rows({5})}}).status(), ErrorKind::kRetryableConflict, "Delete");
}

TEST_P(RowRebase, UpdatesAreMergedToo) {
  ASSERT_OK(Commit(first_, {{kFirst, Rows({1})}}).status());
  Transaction deletion = Deletion(first_, {{kFirst, Rows({7})}});
  Update update;
  update.updated_fragments = std::get<Delete>(deletion.operation).updated_fragments;
  update.new_fragments = {TableWorld::Rows(1)};
  Transaction transaction;
  transaction.operation = update;
  transaction.affected_rows = deletion.affected_rows;
  ASSERT_OK_AND_ASSIGN(const LoadedManifest last, world_.Commit(first_, transaction));
  ASSERT_EQ(last.manifest->fragments.size(), 3u);
  EXPECT_EQ(Deleted(last.manifest->fragments[0]), Rows({1, 7}));
  EXPECT_EQ(last.manifest->fragments[2].id, FragmentId(2));
}

// Lost to another deletion between the merge and the manifest: merged again, and nothing of the first merge is left.
TEST_P(RowRebase, ARaceIsMergedAgain) {
  ASSERT_OK(Commit(first_, {{kFirst, Rows({1})}}).status());
  const Transaction ours = Deletion(first_, {{kFirst, Rows({7})}});
  ASSERT_OK_AND_ASSIGN(const LoadedManifest second, LoadLatestVersion(world_.location()));
  const Transaction theirs = Deletion(second, {{kFirst, Rows({4})}});
  const auto racing = std::make_shared<RacingStore>(world_.location().store);
  racing->race = [&] { ASSERT_OK(world_.Commit(second, theirs).status()); };
  ASSERT_OK_AND_ASSIGN(const LoadedManifest last,
                       CommitTransaction(world_.resources(), {racing, "t", "test://t"}, &first_, ours));
  EXPECT_FALSE(racing->race);
  EXPECT_EQ(Deleted(last.manifest->fragments[0]), Rows({1, 4, 7}));
  // Of the three commits their own files, and the one that the last merge made.
  EXPECT_EQ(DeletionFilesStored(), 4u);
}

TEST_P(RowRebase, NothingIsLeftOfARefusedMerge) {
  ASSERT_OK(Commit(first_, {{kFirst, Rows({1})}, {kSecond, Rows({1})}}).status());
  const Transaction ours = Deletion(first_, {{kFirst, Rows({7})}, {kSecond, Rows({1})}});
  const size_t before = DeletionFilesStored();
  ExpectError(world_.Commit(first_, ours).status(), ErrorKind::kRetryableConflict, "fragment 1");
  EXPECT_EQ(DeletionFilesStored(), before);
}

}  // namespace
}  // namespace javelin::table
