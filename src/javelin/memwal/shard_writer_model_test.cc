// Random operations on one shard against a plain map, with crashes and reopens.
#include "javelin/memwal/writer_test_world.h"

namespace javelin::memwal {
namespace {

using namespace test;

using State = std::map<int64_t, std::string>;

// One seed: a history of states, one after each operation; what the writer shows must be the last one, and what a crash
// leaves must be one of those since the last that is known to be durable.
class ModelRun {
 public:
  explicit ModelRun(uint64_t seed) : world_(seed), random_(world_.sim.plan_random()) {}

  void Run() {
    world_.CreateTable(R"([[0, "base"], [1, "base"], [2, "base"], [3, "base"]])");
    states_ = {{{0, "base"}, {1, "base"}, {2, "base"}, {3, "base"}}};
    world_.Run([this](Process& process) {
      process_ = &process;
      Reopen();
      for (int step = 0; step < 60 && !testing::Test::HasFailure(); ++step) Step();
      ASSERT_OK(writer_->Close());
      durable_ = states_.size() - 1;
      Reopen();
      writer_.reset();
    });
    CheckLog();
  }

 private:
  uint64_t Below(uint64_t limit) { return random_.Below(limit); }

  void Reopen() {
    WriterOptions options;
    options.durable_write = Below(3) != 0;
    if (Below(2) == 0) options.commit_mode = CommitMode::kEager;
    options.max_memtable_batches = 1 + Below(6);
    options.max_memtable_rows = 6 + Below(10);
    if (Below(2) == 0) options.max_memtable_size = 40 + Below(200);
    options.max_wal_buffer_size = Below(2) == 0 ? 0 : 50 + Below(200);
    durable_write_ = *options.durable_write;
    batches_per_put_ = *options.max_memtable_batches;
    writer_.reset();
    writer_ = process_->Open(options);
    const State found = Read();
    size_t match = states_.size();
    for (size_t i = durable_; i < states_.size() && match == states_.size(); ++i) {
      if (states_[i] == found) match = i;
    }
    ASSERT_LT(match, states_.size()) << "what was recovered is no state since the last durable one";
    states_ = {found};
    durable_ = 0;
  }

  void Step() {
    switch (Below(12)) {
      case 0:
      case 1:
      case 2:
      case 3: return Put();
      case 4: return Delete();
      case 5: return process_->runtime().Sleep(std::chrono::milliseconds(Below(250)));
      case 6:
        ASSERT_OK(writer_->FlushWal());
        durable_ = states_.size() - 1;
        return;
      case 7: return CheckGet();
      case 8: return CheckSlice();
      case 9: EXPECT_EQ(Must(Must(FreshView::OpenForWriter(*writer_))->CountRows()), states_.back().size()); return;
      case 10:
        if (Below(3) != 0) return;
        if (Below(2) == 0) {
          ASSERT_OK(writer_->Close());
          durable_ = states_.size() - 1;
        } else {
          writer_->Abort();
        }
        return Reopen();
      default: return TakeOver();
    }
  }

  void Put() {
    std::vector<std::shared_ptr<arrow::RecordBatch>> batches;
    State next = states_.back();
    const uint64_t count = 1 + Below(std::min<uint64_t>(3, batches_per_put_));
    for (uint64_t i = 0; i < count; ++i) {
      std::string json;
      const uint64_t rows = 1 + Below(2);
      for (uint64_t row = 0; row < rows; ++row) {
        const auto id = static_cast<int64_t>(Below(8));
        const std::string text = fmt::format("v{}", ++version_);
        json += fmt::format("{}[{}, \"{}\"]", row == 0 ? "" : ", ", id, text);
        next[id] = text;
      }
      batches.push_back(Rows("[" + json + "]"));
    }
    ASSERT_OK(writer_->Put(batches));
    Acknowledged(std::move(next));
  }

  void Delete() {
    State next = states_.back();
    std::string json;
    const uint64_t rows = 1 + Below(3);
    for (uint64_t row = 0; row < rows; ++row) {
      const auto id = static_cast<int64_t>(Below(8));
      json += fmt::format("{}[{}]", row == 0 ? "" : ", ", id);
      next.erase(id);
    }
    ASSERT_OK(writer_->Delete({Keys("[" + json + "]")}));
    Acknowledged(std::move(next));
  }

  void Acknowledged(State next) {
    states_.push_back(std::move(next));
    if (durable_write_) durable_ = states_.size() - 1;
    EXPECT_EQ(Read(), states_.back());
  }

  // Another process claims the shard: this writer is fenced from its next durable operation on.
  void TakeOver() {
    if (Below(4) != 0) return;
    Process peer(world_.sim.runtime(), world_.store);
    auto successor = peer.Open();
    WriterOptions options;
    const auto status = writer_->Put({Row(99, "fenced")});
    if (durable_write_) ExpectError(status, ErrorKind::kFencedPeerClaimedEpoch, "epoch");
    successor.reset();
    Reopen();
  }

  State Read() const {
    State state;
    const auto rows = Collect(Must(FreshView::OpenForWriter(*writer_))->Scan());
    const auto& ids = static_cast<const arrow::Int64Array&>(*rows->column(0));
    const auto& texts = static_cast<const arrow::StringArray&>(*rows->column(1));
    for (int64_t i = 0; i < rows->num_rows(); ++i) {
      EXPECT_TRUE(state.emplace(ids.Value(i), texts.GetString(i)).second) << "key " << ids.Value(i) << " twice";
    }
    return state;
  }

  void CheckGet() {
    std::string json, expected;
    std::set<int64_t> seen;
    const uint64_t count = Below(6);
    for (uint64_t i = 0; i < count; ++i) {
      const auto id = static_cast<int64_t>(Below(9));
      json += fmt::format("{}[{}]", i == 0 ? "" : ", ", id);
      const auto found = states_.back().find(id);
      if (found == states_.back().end() || !seen.insert(id).second) continue;
      expected += fmt::format("{}{}:{}", expected.empty() ? "" : " ", id, found->second);
    }
    EXPECT_EQ(Text(*Must(Must(FreshView::OpenForWriter(*writer_))->Get(*Keys("[" + json + "]")))), expected);
  }

  void CheckSlice() {
    const auto view = Must(FreshView::OpenForWriter(*writer_));
    const auto all = Collect(view->Scan());
    ScanOptions options;
    options.offset = Below(10);
    options.limit = Below(10);
    options.batch_rows = 1 + Below(5);
    options.columns = {"text"};
    const auto texts = Must(all->SelectColumns({1}));
    EXPECT_EQ(Scan(*view, options),
              Text(*texts->Slice(std::min<int64_t>(options.offset, all->num_rows()), *options.limit)));
  }

  // Generations and epochs along the log never fall, and no entry is empty but a sentinel.
  void CheckLog() {
    Generation generation(0);
    Epoch epoch(0);
    for (const auto& entry : world_.Log()) {
      EXPECT_GE(entry.writer_epoch, epoch);
      epoch = entry.writer_epoch;
      EXPECT_EQ(entry.fence_sentinel, entry.batches.empty());
      if (entry.fence_sentinel) continue;
      EXPECT_GE(*entry.generation, generation);
      generation = *entry.generation;
    }
  }

  World world_;
  SeededRandom& random_;
  Process* process_ = nullptr;
  std::shared_ptr<ShardWriter> writer_;
  bool durable_write_ = true;
  uint64_t batches_per_put_ = 1;
  int version_ = 0;
  std::vector<State> states_;
  size_t durable_ = 0;  // index of the newest state that is certainly in the log
};

TEST(ShardWriterModel, RandomOperationsMatchAMap) {
  for (const uint64_t seed : Seeds(20)) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    ModelRun(seed).Run();
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace javelin::memwal
