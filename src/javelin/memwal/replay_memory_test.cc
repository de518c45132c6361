// How much of a log is in memory while it is replayed (row V10).
#include "javelin/memwal/writer_test_world.h"
#include "javelin/store/forwarding_store.h"

namespace javelin::memwal {
namespace {

using namespace test;

// Bytes of log entries that somebody still holds. MemTables hold the rows of a log in the bytes that were read.
struct Held {
  int64_t now = 0;
  int64_t peak = 0;
};

class HeldBuffer final : public arrow::Buffer {
 public:
  HeldBuffer(BufferPtr bytes, std::shared_ptr<Held> held)
      : arrow::Buffer(bytes->data(), bytes->size()), bytes_(std::move(bytes)), held_(std::move(held)) {
    held_->now += size();
    held_->peak = std::max(held_->peak, held_->now);
  }
  ~HeldBuffer() override { held_->now -= size(); }

 private:
  const BufferPtr bytes_;
  const std::shared_ptr<Held> held_;
};

class HoldingStore final : public ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;
  arrow::Result<BufferPtr> Get(const std::string& key) override { return Hold(key, ForwardingStore::Get(key)); }
  std::vector<arrow::Result<BufferPtr>> GetMany(std::span<const std::string> keys) override {
    auto answers = ForwardingStore::GetMany(keys);
    for (size_t i = 0; i < keys.size(); ++i) answers[i] = Hold(keys[i], std::move(answers[i]));
    return answers;
  }
  const std::shared_ptr<Held> held = std::make_shared<Held>();

 private:
  arrow::Result<BufferPtr> Hold(const std::string& key, arrow::Result<BufferPtr> bytes) const {
    if (!bytes.ok() || key.find("/wal/") == std::string::npos) return bytes;
    return std::make_shared<HeldBuffer>(*std::move(bytes), held);
  }
};

TEST(ReplayMemory, AboutTwoMemTablesHoweverLongTheLogIs) {
  constexpr int kPutsPerTable = 20;
  constexpr int kTables = 10;
  constexpr int64_t kReadAhead = 16;
  World world;
  world.CreateTable();
  WriterOptions options = Eager();
  options.max_memtable_batches = kPutsPerTable;
  options.max_memtable_size = 400'000;
  options.max_unflushed_memtable_bytes = 100'000'000;
  world.HoldFlushes();
  world.Run([&](Process& process) {
    auto writer = process.Open(options);
    for (int i = 0; i < kPutsPerTable * kTables; ++i) ASSERT_OK(writer->Put({Row(i, std::string(20'000, 'x'))}));
    EXPECT_EQ(writer->memtable_stats().frozen_count, static_cast<uint64_t>(kTables));
  });
  world.ReleaseFlushes();
  const int64_t entry = Must(world.store->raw().Head(EntryKey(1))).size;
  const int64_t table = kPutsPerTable * entry;
  ASSERT_GE(table, 400'000);
  world.Run([&](Process& process) {
    uint64_t flushed = 0;
    world.sim.OnSyncPoint("open.flushed", [&](const SyncHit&) {
      ++flushed;
      return SyncAction::Continue();
    });
    const auto store = std::make_shared<HoldingStore>(world.store);
    Process measured(process.session->resources().runtime, store);
    const auto writer = measured.Open(options);
    EXPECT_EQ(flushed, kTables - 1u);
    EXPECT_GT(store->held->peak, table) << "measured at all";
    EXPECT_LE(store->held->peak, 2 * table + kReadAhead * entry);
    EXPECT_LE(store->held->now, 2 * table) << "what stays";
    EXPECT_EQ(Must(Must(FreshView::OpenForWriter(*writer))->CountRows()), uint64_t{kPutsPerTable * kTables});
  });
}

}  // namespace
}  // namespace javelin::memwal
