// The writer on real threads: races for ThreadSanitizer, and the fork rule.
#include <sys/wait.h>
#include <unistd.h>

#include "javelin/memwal/index_task.h"
#include "javelin/memwal/schema_change_test_support.h"
#include "javelin/memwal/wal_task.h"
#include "javelin/memwal/writer_test_world.h"

namespace javelin::memwal {
namespace {

using namespace test;

struct ThreadWorld {
  ThreadWorld() : runtime(MakeThreadRuntime()), process(runtime, MakeMemoryStore(MakeResources(runtime))) {
    process.Create(KeyedSchema(), "[]", {});
  }
  std::shared_ptr<Runtime> runtime;
  Process process;
};

// Putters, a deleter and readers at once, with a freeze every few batches. Every read holds a prefix of each caller's
// puts.
TEST(WriterThreads, PutScanGetAndFreezeTogether) {
  ThreadWorld world;
  WriterOptions options = Eager();
  options.max_memtable_batches = 16;
  auto writer = world.process.Open(options);
  constexpr int kCallers = 3;
  constexpr int kPuts = 60;
  std::atomic<int> running{kCallers};
  std::atomic<int> acknowledged[kCallers] = {};
  std::vector<TaskHandle> tasks;
  for (int caller = 0; caller < kCallers; ++caller) {
    tasks.push_back(world.runtime->Spawn("putter", [&, caller] {
      for (int i = 0; i < kPuts; ++i) {
        // Key `caller` counts the puts; the others are written once.
        ASSERT_OK(writer->Put({Row(caller, std::to_string(i + 1)), Row(1'000 * (caller + 1) + i, "x")}));
        acknowledged[caller].store(i + 1);
      }
      running.fetch_sub(1);
    }));
  }
  const auto count_of = [](const arrow::RecordBatch& row) {
    return row.num_rows() == 0 ? 0 : std::stoi(static_cast<const arrow::StringArray&>(*row.column(1)).GetString(0));
  };
  tasks.push_back(world.runtime->Spawn("getter", [&] {
    while (running.load() > 0) {
      for (int caller = 0; caller < kCallers; ++caller) {
        const int before = acknowledged[caller].load();
        const auto row = Must(Must(FreshView::OpenForWriter(*writer))->Get(*Keys(fmt::format("[[{}]]", caller))));
        EXPECT_GE(count_of(*row), before) << "an acknowledged put is not read";
      }
    }
  }));
  tasks.push_back(world.runtime->Spawn("scanner", [&] {
    while (running.load() > 0) {
      const auto rows = Collect(Must(FreshView::Open(*world.process.Table()))->Scan());
      std::map<int64_t, int> rows_of;
      std::map<int64_t, int> count;
      for (int64_t i = 0; i < rows->num_rows(); ++i) {
        const int64_t id = static_cast<const arrow::Int64Array&>(*rows->column(0)).Value(i);
        if (id < kCallers) {
          EXPECT_TRUE(count.emplace(id, count_of(*rows->Slice(i, 1))).second) << "key " << id << " twice";
        } else {
          ++rows_of[id / 1'000 - 1];
        }
      }
      for (int64_t caller = 0; caller < kCallers; ++caller) EXPECT_EQ(rows_of[caller], count[caller]) << "half a put";
      (void)writer->memtable_stats();
      (void)writer->stats();
    }
  }));
  for (auto& task : tasks) task.Join();
  EXPECT_GT(writer->memtable_stats().generation, 5u);
  ASSERT_OK(writer->Close());
  EXPECT_EQ(writer->stats().memtable_flush_rows, static_cast<uint64_t>(kCallers * kPuts * 2));
  EXPECT_EQ(Must(Must(FreshView::OpenForWriter(*world.process.Open()))->CountRows()),
            static_cast<uint64_t>(kCallers * (kPuts + 1)));
}

// Puts, changes of the columns, evolves by two callers, flushes that stay in grace, and reads at once.
TEST(WriterThreads, EvolveBesidePutsAndReads) {
  ThreadWorld world;
  WriterOptions options = Eager();
  options.max_memtable_batches = 8;
  options.frozen_memtable_grace = std::chrono::milliseconds(100);
  const auto writer = world.process.Open(options);
  constexpr int kPuts = 120;
  std::atomic<bool> done{false};
  std::atomic<int> acknowledged{0};
  std::vector<TaskHandle> tasks;
  tasks.push_back(world.runtime->Spawn("putter", [&] {
    for (int i = 0; i < kPuts;) {
      const auto schema = writer->arrow_schema();
      arrow::ArrayVector columns{Keys(fmt::format("[[{}]]", i))->column(0)};
      for (int column = 1; column < schema->num_fields(); ++column)
        columns.push_back(Must(arrow::MakeArrayOfNull(schema->field(column)->type(), 1)));
      const auto put = writer->Put({arrow::RecordBatch::Make(schema, 1, columns)});
      if (!put.ok()) {
        ExpectError(put, ErrorKind::kInvalidInput, "evolve the writer");  // it changed in between
        continue;
      }
      acknowledged.store(++i);
    }
    done.store(true);
  }));
  tasks.push_back(world.runtime->Spawn("table", [&] {
    for (int32_t id = 2; id < 14; ++id) {
      world.runtime->Sleep(std::chrono::milliseconds(3));
      const auto table = world.process.Table();
      const auto version = WithColumns(*table, [id](auto& columns) {
        if (columns.size() > 4) columns.erase(columns.begin() + 1);
        columns.push_back(Column(fmt::format("c{}", id), id, arrow::int32()));
      });
      ASSERT_OK(table->location().store->PutIfAbsent(version.key, version.bytes));
    }
  }));
  for (int caller = 0; caller < 2; ++caller) {
    tasks.push_back(world.runtime->Spawn("evolver", [&] {
      while (!done.load()) ASSERT_OK(writer->Evolve().status());
    }));
  }
  tasks.push_back(world.runtime->Spawn("reader", [&] {
    while (!done.load()) {
      const auto at_least = static_cast<uint64_t>(acknowledged.load());
      EXPECT_GE(Must(Must(FreshView::Open(*world.process.Table()))->CountRows()), at_least);
      (void)writer->memtable_stats();
    }
  }));
  for (auto& task : tasks) task.Join();
  ASSERT_OK(writer->Evolve().status());
  EXPECT_TRUE(writer->arrow_schema()->Equals(*world.process.Table()->arrow_schema(), true));
  ASSERT_OK(writer->Close());
  EXPECT_EQ(Must(Must(FreshView::Open(*world.process.Table()))->CountRows()), static_cast<uint64_t>(kPuts));
}

TEST(WriterThreads, TicketsCallBackAndAbortWakesThem) {
  ThreadWorld world;
  WriterOptions options;
  options.max_wal_flush_interval = std::chrono::milliseconds(2);
  auto writer = world.process.Open(options);
  std::atomic<int> acknowledged{0}, failed{0};
  std::vector<TaskHandle> tasks;
  for (int caller = 0; caller < 3; ++caller) {
    tasks.push_back(world.runtime->Spawn("putter", [&, caller] {
      for (int i = 0; i < 1'000; ++i) {
        const auto ticket = writer->PutAsync({Row(caller * 1'000 + i, "x")});
        if (!ticket.ok()) return;
        ticket->OnDone([&](const arrow::Status& status) { ++(status.ok() ? acknowledged : failed); });
        if (i % 50 == 49) (void)ticket->Wait();
      }
    }));
  }
  while (acknowledged.load() < 300) world.runtime->Sleep(std::chrono::milliseconds(1));
  const auto put_count = [&] { return static_cast<int>(writer->stats().put_count); };
  writer->Abort();
  for (auto& task : tasks) task.Join();
  EXPECT_GE(acknowledged.load() + failed.load(), put_count()) << "every ticket was answered";
  const int certain = acknowledged.load();
  writer.reset();
  EXPECT_GE(Must(Must(FreshView::OpenForWriter(*world.process.Open()))->CountRows()), static_cast<uint64_t>(certain));
}

TEST(WriterThreads, AForkedChildIsRefused) {
  ThreadWorld world;
  auto writer = world.process.Open();
  ASSERT_OK(writer->Put({Row(1, "a")}));
  const Ticket ticket = Must(writer->PutAsync({Row(2, "b")}));
  const auto table = world.process.Table();
  const auto row = Row(3, "c");
  const auto keys = Keys("[[1]]");
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    int wrong = 0;
    const auto closed = [&](const arrow::Status& status) { wrong += !HasKind(status, ErrorKind::kClosed); };
    closed(writer->Put({row}));
    closed(writer->Delete({keys}));
    closed(writer->FlushWal());
    closed(writer->Evolve().status());
    closed(writer->Close());
    closed(writer->Snapshot().status());
    closed(writer->Manifest().status());
    closed(writer->RefreshManifest().status());
    closed(FreshView::OpenForWriter(*writer).status());
    closed(FreshView::Open(*table).status());
    closed(ShardWriter::Open(*table, kShard).status());
    closed(ticket.Wait());
    writer->Abort();
    writer.reset();
    _exit(wrong);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0) << "calls that did not answer Closed";
  ASSERT_OK(ticket.Wait());
  ASSERT_OK(writer->Close());
}

// ---- the tasks alone: ranges that do not exist (row V13) ----

struct Tasks {
  Tasks() {
    auto store = MakeMemoryStore(resources);
    auto manifests = std::make_shared<ShardManifestStore>(resources, store, "table", Must(Uuid::Parse(kShard)));
    const auto manifest = Must(manifests->ClaimEpoch(0));
    state = std::make_shared<WriterState>(resources, manifests, manifest, std::make_shared<MonotonicCount>(),
                                          TableVersion(1));
    auto schemas = Must(ShardSchemas::Make(Must(file::Schema::FromArrow(*KeyedSchema()))));
    auto context = std::make_shared<MemTableContext>();
    context->keys = Must(RowKeyEncoder::Make(schemas));
    context->schemas = std::make_shared<const ShardSchemas>(std::move(schemas));
    context->durable = state->durable();
    table = std::make_shared<MemTable>(context, Generation(1), GlobalBatch(0));
    state->ReplaceResident({{table}});
    counters.emplace(*resources.runtime);
    WalLog log(resources, store, manifests, "table", manifest.writer_epoch);
    log.SetNextPosition(WalPosition(1));
    wal.emplace(state, &*counters, std::move(log), ResolvedWriterOptions{});
    index.emplace(state, &*counters);
  }
  void Insert(int64_t id) { table->Insert({Must(table->schemas().ShapePut(*Row(id, "x")))}); }

  Resources resources = MakeResources(MakeThreadRuntime());
  std::shared_ptr<WriterState> state;
  std::shared_ptr<MemTable> table;
  std::optional<WriterCounters> counters;
  std::optional<WalTask> wal;
  std::optional<IndexTask> index;
};

TEST(WriterTasks, AnAppendOfBatchesThatDoNotExistIsTerminalAndMovesNoCursor) {
  Tasks tasks;
  tasks.Insert(1);
  ASSERT_OK(tasks.wal->AppendThrough(GlobalBatch(1)).Get().status());
  EXPECT_EQ(tasks.state->durable_end(), GlobalBatch(1));
  const std::string word = "batches [1, 5) are to be appended, but only 1 are committed";
  ExpectError(tasks.wal->AppendThrough(GlobalBatch(5)).Get().status(), ErrorKind::kFencedPersistenceFailure, word);
  EXPECT_EQ(tasks.state->durable_end(), GlobalBatch(1));
  tasks.Insert(2);
  ExpectError(tasks.wal->AppendThrough(GlobalBatch(2)).Get().status(), ErrorKind::kFencedPersistenceFailure, word);
  EXPECT_EQ(tasks.state->durable_end(), GlobalBatch(1)) << "a failed writer appends nothing";
}

TEST(WriterTasks, AnIndexApplyOfBatchesThatDoNotExistPoisons) {
  Tasks tasks;
  tasks.Insert(1);
  ASSERT_OK(tasks.index->ApplyThrough(GlobalBatch(1)).Get().status());
  ASSERT_OK(tasks.index->ApplyThrough(GlobalBatch(1)).Get().status());
  EXPECT_EQ(tasks.counters->Get().index_update_count, 1u) << "nothing left to do is no update";
  const std::string word = "batches [1, 4) are to be indexed, but only 1 are committed";
  ExpectError(tasks.index->ApplyThrough(GlobalBatch(4)).Get().status(), ErrorKind::kFencedPersistenceFailure, word);
  ExpectError(tasks.state->Usable(), ErrorKind::kFencedPersistenceFailure, word);
}

// Many racing putters: the one consumer sees contiguous ranges, each row once.
TEST(WriterTasks, RacingRequestsIndexEveryRowOnce) {
  Tasks tasks;
  Mutex mutex(*tasks.resources.runtime);
  std::vector<TaskHandle> callers;
  for (int caller = 0; caller < 4; ++caller) {
    callers.push_back(tasks.resources.runtime->Spawn("caller", [&, caller] {
      for (int i = 0; i < 100; ++i) {
        GlobalBatch end;
        {
          std::lock_guard lock(mutex);
          tasks.Insert(caller * 100 + i);
          end = tasks.table->store().global_end();
        }
        tasks.index->Request(end);
      }
    }));
  }
  for (auto& caller : callers) caller.Join();
  ASSERT_OK(tasks.index->ApplyThrough(GlobalBatch(400)).Get().status());
  EXPECT_EQ(tasks.table->key_index()->num_rows(), 400u);
  EXPECT_FALSE(tasks.table->key_index()->has_overrides());
  EXPECT_EQ(tasks.counters->Get().index_update_rows, 400u);
}

}  // namespace
}  // namespace javelin::memwal
