// Views that are made while rows move from memory over SSTables into the base.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "javelin/memwal/compactor_test_world.h"

namespace javelin::memwal {
namespace {

using namespace test;

// What its successor put is in the base, while it still holds what it had: neither alone nor together is that a state
// of the table.
TEST(FreshViewRace, AnOvertakenWriterDoesNotReadWhatItsSuccessorCompacted) {
  World world;
  world.CreateTable("[]");
  world.Run([&](Process& process) {
    const auto writer = process.Open(Eager());
    ASSERT_OK(writer->Put({Rows(R"([[1, "old"], [2, "old"]])")}));
    Process other(world.sim.runtime(), world.store);
    {
      const auto successor = other.Open(Eager());
      ASSERT_OK(successor->Put({Rows(R"([[1, "new"], [3, "new"]])")}));
      EXPECT_EQ(ReadBack(*writer), "1:old 2:old");  // nothing of it is in the base
      ASSERT_OK(successor->Close());
    }
    Compact(other, AtOnce());
    const arrow::Status fenced = FreshView::OpenForWriter(*writer).status();
    EXPECT_EQ(KindOf(fenced), ErrorKind::kFencedPeerClaimedEpoch) << fenced.ToString();
    EXPECT_EQ(KindOf(writer->Put({Row(4, "late")})), ErrorKind::kFencedPeerClaimedEpoch);
    EXPECT_EQ(other.Fresh(), "1:new 2:old 3:new");
  });
}

// Put n writes n to one of two keys in turn. A view that has read memory when more is put, flushed and compacted would
// show numbers that were never there together.
class RowsMovePastAView : public testing::TestWithParam<uint64_t> {};

TEST_P(RowsMovePastAView, ItIsStillOneMoment) {
  WriterOptions options = Eager();
  options.max_memtable_batches = GetParam();
  for (uint64_t seed = 1; seed <= 10; ++seed) {  // the slow listing of some sees the base as it is afterwards
    SCOPED_TRACE(fmt::format("seed {}", seed));
    World world(seed);
    world.CreateTable(R"([[0, "0"], [1, "1"]])");
    world.Run([&](Process& process) {
      const auto writer = process.Open(options);
      const auto put_number = [&](int64_t number) {
        const auto row = Row(number % 2, fmt::format("{}", number));
        ASSERT_OK(writer->Put({row, row}));
      };
      put_number(2);
      bool has_memory = false;
      world.fault = [&](const RequestHit& hit) -> std::optional<RequestFault> {
        if (has_memory || hit.method != "list" || hit.key != "table/_versions/") return RequestFault::kNone;
        has_memory = true;
        return RequestFault::kSlow;
      };
      auto mover = process.runtime().Spawn("mover", [&] {
        while (!has_memory) process.runtime().Sleep(std::chrono::milliseconds(1));
        for (int64_t number = 3; number < 6; ++number) put_number(number);
        ASSERT_OK(writer->Flush());
        Compact(process, AtOnce());
      });
      const auto view = Must(FreshView::OpenForWriter(*writer));
      EXPECT_THAT((std::vector<std::string>{"0:2 1:1", "0:4 1:5"}), testing::Contains(Sorted(Scan(*view))));
      mover.Join();
    });
    if (HasFailure()) return;
  }
}

// All in one generation, each in its own, and each in its own that is active until the next one comes.
INSTANTIATE_TEST_SUITE_P(BatchesOfAMemTable, RowsMovePastAView, testing::Values(1000, 2, 3));

}  // namespace
}  // namespace javelin::memwal
