// The rows of the crash matrix about sealing: one exact moment, one exact outcome.

#include "crash_matrix.h"

namespace javelin::simulation {
namespace {

using std::chrono::seconds;

class CrashMatrixSeal : public CrashMatrix {
 protected:
  // A writer with two acknowledged rows, one of them in an SSTable, that goes on after 20 s.
  void StartIncumbent(arrow::Status* afterwards) {
    Process("incumbent", [=, this](ShardUser& user) {
      ASSERT_TRUE(user.Open(Quick()).ok());
      ASSERT_TRUE(user.Put({{4}}).ok());
      ASSERT_TRUE(user.Publish().ok());
      ASSERT_TRUE(user.Put({{5}}).ok());
      world.runtime().Sleep(seconds(20));
      *afterwards = user.Put({{6}});
    });
  }

  void ExpectRowsIntact() {
    const TableState seen = Reopened();
    EXPECT_EQ(seen.at(4), (RowVersion{1, 0}));
    EXPECT_EQ(seen.at(5), (RowVersion{2, 0}));
    EXPECT_FALSE(seen.contains(6));
  }
};

TEST_F(CrashMatrixSeal, SE1_ACrashBeforeTheMarkLeavesAClaimedShard) {
  arrow::Status afterwards;
  StartIncumbent(&afterwards);
  const auto crashed = CrashOnceAt("seal.fenced");
  Process("sealer", [](ShardUser& user) { (void)user.Seal(); }, seconds(10));
  Run();
  ASSERT_TRUE(*crashed);
  EXPECT_EQ(KindOf(afterwards), ErrorKind::kFencedPeerClaimedEpoch);
  EXPECT_FALSE(world.IsSealed());
  EXPECT_EQ(Newest().writer_epoch, Epoch(2));
  ExpectRowsIntact();
}

TEST_F(CrashMatrixSeal, SE2_SE3_ASealedShardIsReadAndTakesNoWriterUntilItIsUnsealed) {
  arrow::Status afterwards;
  StartIncumbent(&afterwards);
  const auto crashed = CrashOnceAt("seal.committed");
  Process("sealer", [](ShardUser& user) { (void)user.Seal(); }, seconds(10));
  Run();
  ASSERT_TRUE(*crashed);
  EXPECT_EQ(KindOf(afterwards), ErrorKind::kFencedPeerClaimedEpoch);
  EXPECT_TRUE(world.IsSealed());

  Process("others", [&](ShardUser& user) {
    const auto before = ShardBytes();
    EXPECT_EQ(KindOf(user.Open(Quick())), ErrorKind::kSealed);
    EXPECT_TRUE(user.Seal().ok());  // it is already
    EXPECT_EQ(ShardBytes(), before);
    EXPECT_EQ(user.ReadPublished().ValueOrDie().at(4), (RowVersion{1, 0}));
    EXPECT_EQ(user.Compact().ValueOrDie().passes, 1u);
    EXPECT_EQ(user.ReadBase().ValueOrDie().at(4), (RowVersion{1, 0}));
    EXPECT_TRUE(user.Unseal().ok());
  });
  Run();
  EXPECT_FALSE(world.IsSealed());
  ExpectRowsIntact();
}

}  // namespace
}  // namespace javelin::simulation
