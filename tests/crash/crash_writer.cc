// A writer process to be killed at any moment, and the check of what it leaves behind (kill_loop.py drives both).
//
//   crash_writer create URI
//   crash_writer write  URI SHARD JOURNAL durable|pretended interval|eager SEED    puts and deletes until it is killed;
//                                            pretended: without durable_write, though the journal claims it
//   crash_writer check  URI SHARD JOURNAL      opens the shard, compares, prints one JSON object
//   crash_writer rows   URI SHARD JOURNAL      the rows that a reader of the log must see, "key operation ordinal" a
//   line
//
// Exit code: 0 fine, 1 violations, 2 could not do it.
#include <atomic>
#include <cstdio>
#include <string>
#include <vector>

#include <arrow/api.h>
#include <arrow/compute/initialize.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "invariants.h"
#include "javelin/base/seeded_random.h"
#include "javelin/dataset/dataset.h"
#include "javelin/memwal/fresh_view.h"
#include "javelin/memwal/initialize.h"
#include "javelin/memwal/shard_writer.h"
#include "journal.h"
#include "table_reading.h"

namespace javelin::crash {
namespace {

using simulation::History;
using simulation::ShardObjects;
using simulation::TableState;

constexpr int kBaseKeys = 5;
constexpr int kKeys = 40;
constexpr int kTasks = 4;

TableState BaseState() {
  TableState state;
  for (int32_t key = 0; key < kBaseKeys; ++key) state[key] = {0, key};
  return state;
}

struct Place {
  std::string uri, shard, journal;
};

arrow::Status Create(const std::string& uri) {
  std::vector<int64_t> keys;
  for (const auto& [key, version] : BaseState()) keys.push_back(key);
  ARROW_ASSIGN_OR_RAISE(auto rows, arrow::RecordBatchReader::Make({simulation::MakePutBatch(0, 0, keys)}));
  ARROW_ASSIGN_OR_RAISE(auto dataset, Dataset::Write(Session::Make(), uri, *rows));
  return memwal::Initialize(*dataset, {.unsharded = true}).status();
}

// One task of a writer: operations one after the other, each announced and confirmed in the journal.
class Putter {
 public:
  Putter(std::shared_ptr<memwal::ShardWriter> writer, const Journal& journal, int64_t number,
         std::atomic<int64_t>& last_operation, uint64_t seed, int task)
      : writer_(std::move(writer)),
        journal_(journal),
        number_(number),
        last_operation_(last_operation),
        random_(seed, static_cast<uint64_t>(task) + 1) {}

  // Returns when the writer takes no more.
  void Run() {
    while (RunOne()) {}
  }

 private:
  bool RunOne() {
    simulation::Operation operation;
    operation.id = ++last_operation_;
    operation.is_delete = random_.OneIn(4);
    int64_t batches = random_.OneIn(3) ? random_.Between(2, 4) : 1;
    for (int64_t batch = 0; batch < batches; ++batch) {
      operation.batches.emplace_back();
      for (int64_t row = random_.Between(1, 6); row > 0; --row)
        operation.batches.back().push_back(random_.Between(0, kKeys - 1));
    }
    journal_.Append(fmt::format("S {} {} {} {}", operation.id, number_, operation.is_delete ? 'D' : 'P',
                                FormatBatches(operation.batches)));
    auto rows = simulation::MakeBatches(operation);
    arrow::Status status = operation.is_delete ? writer_->Delete(rows) : writer_->Put(rows);
    if (status.ok()) {
      journal_.Append(fmt::format("A {}", operation.id));
    } else if (HasKind(status, ErrorKind::kBackpressure)) {
      journal_.Append(fmt::format("R {}", operation.id));
    } else {
      journal_.Append(
          fmt::format("F {} {}", operation.id, KindOf(status) == ErrorKind::kInternal ? status.ToString() : "lost"));
    }
    return status.ok();
  }

  std::shared_ptr<memwal::ShardWriter> writer_;
  const Journal& journal_;
  int64_t number_;
  std::atomic<int64_t>& last_operation_;
  SeededRandom random_;
};

arrow::Status Write(const Place& place, bool durable, bool eager, uint64_t seed) {
  auto session = Session::Make();
  ARROW_ASSIGN_OR_RAISE(JournalEnd end, FindEnd(place.journal));
  ARROW_ASSIGN_OR_RAISE(Journal journal, Journal::OpenToAppend(place.journal));
  ARROW_ASSIGN_OR_RAISE(auto dataset, Dataset::Open(session, place.uri));
  memwal::WriterOptions options;
  options.durable_write = durable;
  options.commit_mode = eager ? memwal::CommitMode::kEager : memwal::CommitMode::kInterval;
  options.max_wal_flush_interval = std::chrono::milliseconds(durable ? 2 : 1000);
  options.max_memtable_rows = 60;
  options.max_memtable_batches = 25;
  journal.Append(fmt::format("W {} 1", end.writers));
  ARROW_ASSIGN_OR_RAISE(auto writer, memwal::ShardWriter::Open(*dataset, place.shard, options));
  journal.Append(fmt::format("O {} {}", end.writers, writer->epoch()));

  std::atomic<int64_t> last_operation{end.operation};
  std::vector<TaskHandle> tasks;
  for (int task = 0; task < kTasks; ++task) {
    auto putter = std::make_shared<Putter>(writer, journal, end.writers, last_operation, seed, task);
    tasks.push_back(session->runtime().Spawn(fmt::format("putter {}", task), [putter] { putter->Run(); }));
  }
  for (TaskHandle& task : tasks) task.Join();
  return arrow::Status::Invalid("the writer took no more before the process was killed; the journal says why");
}

struct Found {
  ShardObjects shard;
  History history;
  simulation::Violations violations;
  TableState expected;
};

arrow::Result<Found> Inspect(const Place& place, const Dataset& dataset) {
  ARROW_ASSIGN_OR_RAISE(auto shard_id, table::Uuid::Parse(place.shard));
  ARROW_ASSIGN_OR_RAISE(auto shard, simulation::LoadShard(*dataset.location().store,
                                                          memwal::ShardPaths(dataset.location().root, shard_id)));
  ARROW_ASSIGN_OR_RAISE(auto history, ReadJournal(dataset.session()->runtime(), place.journal, BaseState()));
  Found found{std::move(shard), std::move(history), {}, {}};
  found.violations = simulation::CheckEverything(found.shard, found.history);
  simulation::Violations ignored;
  found.expected = simulation::Replayed(simulation::TraceLog(found.shard, found.history, &ignored), found.history);
  return found;
}

std::vector<int64_t> AllKeys() {
  std::vector<int64_t> keys;
  for (int64_t key = 0; key < kKeys; ++key) keys.push_back(key);
  return keys;
}

void Compare(const std::string& what, const TableState& expected, const TableState& seen,
             simulation::Violations* violations) {
  if (seen != expected) {
    violations->push_back(
        fmt::format("{} {} but the log says {}", what, simulation::Describe(seen), simulation::Describe(expected)));
  }
}

// The opening is one more of the journal's, so that its epoch and sentinel are accounted for.
arrow::Status Check(const Place& place, bool* healthy) {
  auto session = Session::Make();
  ARROW_ASSIGN_OR_RAISE(JournalEnd end, FindEnd(place.journal));
  ARROW_ASSIGN_OR_RAISE(Journal journal, Journal::OpenToAppend(place.journal));
  ARROW_ASSIGN_OR_RAISE(auto dataset, Dataset::Open(session, place.uri));
  journal.Append(fmt::format("W {} 1", end.writers));
  ARROW_ASSIGN_OR_RAISE(auto writer, memwal::ShardWriter::Open(*dataset, place.shard));
  journal.Append(fmt::format("O {} {}", end.writers, writer->epoch()));
  ARROW_ASSIGN_OR_RAISE(auto view, memwal::FreshView::OpenForWriter(*writer));
  ARROW_ASSIGN_OR_RAISE(TableState scanned, simulation::ScanAll(*view));
  ARROW_ASSIGN_OR_RAISE(TableState looked_up, simulation::LookUp(*view, AllKeys()));
  ARROW_RETURN_NOT_OK(writer->Close());

  ARROW_ASSIGN_OR_RAISE(Found found, Inspect(place, *dataset));
  Compare("a scan sees", found.expected, scanned, &found.violations);
  Compare("lookups see", found.expected, looked_up, &found.violations);
  *healthy = found.violations.empty();
  uint64_t acknowledged = 0;
  for (const auto& [id, operation] : found.history.operations())
    acknowledged += operation.outcome == simulation::Outcome::kAcknowledged;
  nlohmann::json result = {{"violations", found.violations},   {"operations", found.history.operations().size()},
                           {"acknowledged", acknowledged},     {"entries", found.shard.log.size()},
                           {"epoch", writer->epoch().value()}, {"rows", scanned.size()}};
  fmt::print("{}\n", result.dump());
  return arrow::Status::OK();
}

arrow::Status PrintRows(const Place& place) {
  ARROW_ASSIGN_OR_RAISE(auto dataset, Dataset::Open(Session::Make(), place.uri));
  ARROW_ASSIGN_OR_RAISE(Found found, Inspect(place, *dataset));
  for (const auto& [key, version] : found.expected) fmt::print("{} {} {}\n", key, version.operation, version.ordinal);
  return arrow::Status::OK();
}

int Main(const std::vector<std::string>& words) {
  arrow::Status status = arrow::compute::Initialize();
  bool healthy = true;
  if (words.size() == 2 && words[0] == "create") {
    status &= Create(words[1]);
  } else if (words.size() == 7 && words[0] == "write") {
    status &= Write({words[1], words[2], words[3]}, words[4] == "durable", words[5] == "eager",
                    std::strtoull(words[6].c_str(), nullptr, 10));
  } else if (words.size() == 4 && words[0] == "check") {
    status &= Check({words[1], words[2], words[3]}, &healthy);
  } else if (words.size() == 4 && words[0] == "rows") {
    status &= PrintRows({words[1], words[2], words[3]});
  } else {
    status = arrow::Status::Invalid("usage: crash_writer create|write|check|rows ...; see crash_writer.cc");
  }
  if (!status.ok()) {
    fmt::print(stderr, "{}\n", status.ToString());
    return 2;
  }
  return healthy ? 0 : 1;
}

}  // namespace
}  // namespace javelin::crash

int main(int argc, char** argv) { return javelin::crash::Main({argv + 1, argv + argc}); }
