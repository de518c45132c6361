// Random puts, deletions, flushes, compactions, collections, crashes and reopens of two shards against a plain map.
#include "javelin/dataset/row_change.h"
#include "javelin/memwal/compactor_test_world.h"

namespace javelin::memwal {
namespace {

using namespace test;

constexpr char kSecondShard[] = "22222222-2222-4333-8444-555555555555";

// Ids of even number belong to the first shard, odd ones to the second.
class CompactorModel {
 public:
  explicit CompactorModel(uint64_t seed) : world_(seed), random_(world_.sim.plan_random()) {}

  void Run() {
    world_.CreateTable(R"([[0, "base"], [1, "base"], [2, "base"], [0, "twice"]])");
    rows_ = {{0, "twice"}, {1, "base"}, {2, "base"}};
    doubled_ = true;
    world_.Run([this](Process& process) {
      process_ = &process;
      for (size_t shard : {0, 1}) Reopen(shard);
      for (int step = 0; step < 80 && !testing::Test::HasFailure(); ++step) Step();
      for (auto& writer : writers_) ASSERT_OK(writer->Close());
      Compact(AtOnce());
      for (auto& writer : writers_) writer.reset();
      EXPECT_EQ(Sorted(Base(process)), Fresh());
      EXPECT_EQ(process.Fresh(), Fresh());
      EXPECT_EQ(SsTableObjects(world_), 0u);
    });
  }

  uint64_t passes() const { return passes_; }

 private:
  uint64_t Below(uint64_t limit) { return random_.Below(limit); }

  void Reopen(size_t shard) {
    WriterOptions options = Eager();  // no ticker: the clock leaps here
    options.max_memtable_batches = 2 + Below(6);
    writers_[shard].reset();
    writers_[shard] = Must(process_->TryOpen(options, shard == 0 ? kShard : kSecondShard));
  }

  void Step() {
    const size_t shard = Below(2);
    switch (Below(10)) {
      case 0:
      case 1:
      case 2:
      case 3: Put(shard); break;
      case 4: Delete(shard); break;
      case 5: ASSERT_OK(writers_[shard]->Flush()); break;
      case 6: Compact(RandomOptions()); break;
      case 7: ASSERT_OK(CollectRetired(*process_->Table(), RandomOptions()).status()); break;
      case 8:
        if (Below(2) == 0) {
          ASSERT_OK(writers_[shard]->Close());
        } else {
          writers_[shard]->Abort();
        }
        Reopen(shard);
        break;
      default: process_->runtime().Sleep(std::chrono::minutes(Below(15)));
    }
    if (testing::Test::HasFailure()) return;
    EXPECT_EQ(process_->Fresh(), Fresh());
  }

  void Put(size_t shard) {
    std::string json;
    const uint64_t count = 1 + Below(3);
    for (uint64_t i = 0; i < count; ++i) {
      const auto id = static_cast<int64_t>(shard + 2 * Below(4));
      const std::string text = fmt::format("v{}", ++version_);
      json += fmt::format("{}[{}, \"{}\"]", i == 0 ? "" : ", ", id, text);
      rows_[id] = text;
      if (id == 0) doubled_ = false;
    }
    ASSERT_OK(writers_[shard]->Put({Rows("[" + json + "]")}));
  }

  void Delete(size_t shard) {
    const auto id = static_cast<int64_t>(shard + 2 * Below(4));
    rows_.erase(id);
    if (id == 0) doubled_ = false;
    ASSERT_OK(writers_[shard]->Delete({Keys(fmt::format("[[{}]]", id))}));
  }

  CompactOptions RandomOptions() {
    CompactOptions options;
    if (Below(2) == 0) options.max_bytes_per_pass = 1 + Below(200);
    if (Below(2) == 0) options.retired_grace = std::chrono::minutes(Below(20));
    if (Below(3) == 0) options.shard = Must(Uuid::Parse(Below(2) == 0 ? kShard : kSecondShard));
    return options;
  }

  // Of this session, beside its own writers, or of another process.
  void Compact(const CompactOptions& options) {
    Process other(world_.sim.runtime(), world_.store);
    const auto report = Must(CompactShards(*(Below(2) == 0 ? process_ : &other)->Table(), options));
    for (const ShardCompaction& shard : report.shards) {
      passes_ += shard.passes;
      EXPECT_EQ(shard.generations.size() == 0, shard.passes == 0);
    }
    EXPECT_EQ(report.dataset->version(), process_->Table()->version());
  }

  std::string Expected() const {
    std::vector<std::string> rows;
    for (const auto& [id, text] : rows_) rows.push_back(fmt::format("{}:{}", id, text));
    return Sorted(fmt::format("{}", fmt::join(rows, " ")));
  }
  // As long as nobody wrote the key that the base holds twice, both its rows are shown.
  std::string Fresh() const {
    const std::string rows = Expected();
    return doubled_ ? Sorted(rows + " 0:base") : rows;
  }

  World world_;
  SeededRandom& random_;
  Process* process_ = nullptr;
  std::array<std::shared_ptr<ShardWriter>, 2> writers_;
  std::map<int64_t, std::string> rows_;
  bool doubled_ = false;
  int version_ = 0;
  uint64_t passes_ = 0;
};

TEST(CompactModel, RandomOperationsMatchAMap) {
  uint64_t passes = 0;
  for (const uint64_t seed : Seeds(10)) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    CompactorModel model(seed);
    model.Run();
    passes += model.passes();
    if (HasFailure()) return;
  }
  EXPECT_GT(passes, Seeds(10).size()) << "the runs compact too little to show anything";
}

}  // namespace
}  // namespace javelin::memwal
