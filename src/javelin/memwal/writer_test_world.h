// A table with shards on a simulated store, for the tests of writers and views: processes, requests, rows as JSON.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <arrow/api.h>
#include <arrow/compute/initialize.h>
#include <arrow/json/from_string.h>

#include "javelin/base/error.h"
#include "javelin/base/simulation.h"
#include "javelin/dataset/dataset.h"
#include "javelin/memwal/fresh_view.h"
#include "javelin/memwal/initialize.h"
#include "javelin/memwal/mem_table.h"
#include "javelin/memwal/shard_writer.h"
#include "javelin/memwal/wal_entry.h"
#include "javelin/store/sim_store.h"
#include "javelin/table/manifest_codec.h"
#include "javelin/table/mem_wal_details.h"
#include "javelin/table/transaction.h"

namespace javelin::memwal::test {

inline constexpr char kTableUri[] = "test://t/table";
inline constexpr char kShard[] = "11111111-2222-4333-8444-555555555555";

inline ShardPaths Paths() { return ShardPaths("table", Uuid::Parse(kShard).ValueOrDie()); }
inline std::string ManifestKey(uint64_t version) { return Paths().Manifest(ManifestVersion(version)); }
inline std::string EntryKey(uint64_t position) { return Paths().WalEntry(WalPosition(position)); }

#define ASSERT_OK(expression)                        \
  do {                                               \
    const ::arrow::Status status_ = (expression);    \
    ASSERT_TRUE(status_.ok()) << status_.ToString(); \
  } while (false)

// The value, or the end of the test program with the error: for what the test itself relies on.
template <typename T>
T Must(arrow::Result<T> result) {
  if (!result.ok()) ADD_FAILURE() << result.status().ToString();
  return std::move(result).ValueOrDie();
}

inline void ExpectError(const arrow::Status& status, ErrorKind kind, const std::string& word) {
  ASSERT_FALSE(status.ok()) << "expected " << ToString(kind) << " (" << word << ")";
  EXPECT_EQ(ToString(KindOf(status)), ToString(kind)) << status.ToString();
  EXPECT_THAT(status.message(), ::testing::HasSubstr(word));
}

inline std::shared_ptr<arrow::Schema> KeyedSchema() {
  return arrow::schema({arrow::field("id", arrow::int64(), false,
                                     arrow::key_value_metadata({{std::string(file::kPrimaryKeyMetadata), "true"}})),
                        arrow::field("text", arrow::utf8())});
}
inline std::shared_ptr<arrow::Schema> KeylessSchema() {
  return arrow::schema({arrow::field("id", arrow::int64(), false), arrow::field("text", arrow::utf8())});
}
inline std::shared_ptr<arrow::RecordBatch> Batch(const std::shared_ptr<arrow::Schema>& schema,
                                                 const std::string& json) {
  auto rows = arrow::json::ArrayFromJSONString(arrow::struct_(schema->fields()), json).ValueOrDie();
  return arrow::RecordBatch::FromStructArray(rows).ValueOrDie();
}
// [[1, "a"], ...]
inline std::shared_ptr<arrow::RecordBatch> Rows(const std::string& json) { return Batch(KeylessSchema(), json); }
inline std::shared_ptr<arrow::RecordBatch> Row(int64_t id, const std::string& text) {
  return Rows(fmt::format("[[{}, \"{}\"]]", id, text));
}
// [[1], ...]
inline std::shared_ptr<arrow::RecordBatch> Keys(const std::string& json) {
  return Batch(arrow::schema({arrow::field("id", arrow::int64(), false)}), json);
}

// A batch as text, row by row: "1:a 2:null".
inline std::string Text(const arrow::RecordBatch& batch) {
  std::string text;
  for (int64_t row = 0; row < batch.num_rows(); ++row) {
    if (row > 0) text += " ";
    for (int column = 0; column < batch.num_columns(); ++column) {
      if (column > 0) text += ":";
      text += batch.column(column)->GetScalar(row).ValueOrDie()->ToString();
    }
  }
  return text;
}
inline std::shared_ptr<arrow::RecordBatch> Collect(
    const arrow::Result<std::shared_ptr<arrow::RecordBatchReader>>& reader) {
  const auto table = Must(Must(reader)->ToTable());
  return Must(table->CombineChunksToBatch());
}
// All rows of a scan in its order / sorted.
inline std::string Scan(const FreshView& view, const ScanOptions& options = {}) {
  return Text(*Collect(view.Scan(options)));
}
inline std::string Sorted(const std::string& text) {
  std::vector<std::string> rows;
  size_t begin = 0;
  while (begin < text.size()) {
    const size_t end = std::min(text.find(' ', begin), text.size());
    rows.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  std::sort(rows.begin(), rows.end());
  return fmt::format("{}", fmt::join(rows, " "));
}

// What one process holds. Everything in it dies with its actor.
class Process {
 public:
  Process(std::shared_ptr<Runtime> runtime, std::shared_ptr<ObjectStore> store)
      : session(std::make_shared<Session>(MakeResources(std::move(runtime)))) {
    EXPECT_TRUE(arrow::compute::Initialize().ok());
    session->stores().Register("test://t/", std::move(store));
  }
  Runtime& runtime() const { return session->runtime(); }

  std::shared_ptr<Dataset> Create(const std::shared_ptr<arrow::Schema>& schema, const std::string& json,
                                  const InitializeOptions& options) const {
    auto rows = Must(Batch(schema, json)->ReplaceSchema(schema));
    auto reader = Must(arrow::RecordBatchReader::Make({rows}, schema));
    return Must(Initialize(*Must(Dataset::Write(session, kTableUri, *reader)), options));
  }
  std::shared_ptr<Dataset> Table() const { return Must(Dataset::Open(session, kTableUri)); }
  arrow::Result<std::shared_ptr<ShardWriter>> TryOpen(const WriterOptions& options = {},
                                                      const std::string& shard = kShard) const {
    return ShardWriter::Open(*Table(), shard, options);
  }
  std::shared_ptr<ShardWriter> Open(const WriterOptions& options = {}) const { return Must(TryOpen(options)); }
  std::string Fresh() const { return Sorted(Scan(*Must(FreshView::Open(*Table())))); }

  const std::shared_ptr<Session> session;
};

// What a writer itself reads, sorted.
inline std::string ReadBack(const ShardWriter& writer) { return Sorted(Scan(*Must(FreshView::OpenForWriter(writer)))); }

inline std::string Get(const ShardWriter& writer, int64_t id) {
  return Text(*Must(Must(FreshView::OpenForWriter(writer))->Get(*Keys(fmt::format("[[{}]]", id)))));
}

// One simulated store with one table, and the requests that it got.
class World {
 public:
  explicit World(uint64_t seed = 1, uint32_t page_size = 1'000)
      : sim(seed, {.stalls = false}),
        store(std::make_shared<SimStore>(sim, SimStoreOptions{.faults = false, .page_size = page_size})) {
    store->OnRequest([this](const RequestHit& hit) -> std::optional<RequestFault> {
      requests.push_back(fmt::format("{} {}", hit.method, hit.key));
      return fault == nullptr ? RequestFault::kNone : fault(hit);
    });
  }

  // Runs the bodies as processes of their own, side by side, until everything in them has ended.
  void Run(std::vector<std::function<void(Process&)>> bodies) {
    for (auto& body : bodies) Start(body);
    const auto ended = sim.RunAll();
    EXPECT_TRUE(ended.ok()) << ended.ToString();
  }
  void Run(const std::function<void(Process&)>& body) { Run(std::vector<std::function<void(Process&)>>{body}); }
  ActorId Start(std::function<void(Process&)> body, Duration delay = {}) {
    return sim.StartActor("process", delay, [this, body = std::move(body)] {
      Process process(sim.runtime(), store);
      body(process);
    });
  }
  void CreateTable(const std::string& json = "[]", const InitializeOptions& options = {},
                   const std::shared_ptr<arrow::Schema>& schema = KeyedSchema()) {
    Run([&](Process& process) { process.Create(schema, json, options); });
  }

  // Frozen MemTables stay in memory from here on: flushes fail before they do anything, and are tried again and again.
  void HoldFlushes() {
    flushes_held_ = true;
    sim.OnSyncPoint("flush.begin", [this](const SyncHit&) {
      return flushes_held_ ? SyncAction::Fail(arrow::Status::IOError("flushes are held")) : SyncAction::Continue();
    });
  }
  void ReleaseFlushes() { flushes_held_ = false; }

  // Requests since the last call whose text holds `part`.
  std::vector<std::string> Take(const std::string& part = "") {
    std::vector<std::string> taken;
    for (const auto& request : requests) {
      if (request.find(part) != std::string::npos) taken.push_back(request);
    }
    requests.clear();
    return taken;
  }
  // The log of the shard as it lies in the store.
  std::vector<WalEntry> Log() {
    std::vector<WalEntry> entries;
    for (uint64_t position = 1;; ++position) {
      auto bytes = store->raw().Get(EntryKey(position));
      if (!bytes.ok()) return entries;
      entries.push_back(Must(DecodeWalEntry(*bytes)));
    }
  }
  uint64_t RowsInLog() {
    uint64_t rows = 0;
    for (const auto& entry : Log()) rows += entry.num_rows();
    return rows;
  }
  // Every object with its bytes: equal snapshots = nothing was touched.
  std::vector<std::pair<std::string, std::string>> Objects() {
    std::vector<std::pair<std::string, std::string>> objects;
    for (const auto& object : Must(ListAll(store->raw(), {})).objects) {
      objects.emplace_back(object.key, Must(store->raw().Get(object.key))->ToString());
    }
    return objects;
  }

  Simulation sim;
  std::shared_ptr<SimStore> store;
  std::vector<std::string> requests;
  std::function<std::optional<RequestFault>(const RequestHit&)> fault;

 private:
  bool flushes_held_ = false;
};

// Rewrites what the system index says, as somebody else may have: the entry is dropped and made again.
inline void ReplaceDetails(Process& process, const std::function<void(table::MemWalDetails&)>& change) {
  auto table = process.Table();
  auto details = *Must(table::ReadMemWalDetails(table->manifest()));
  change(details);
  table = Must(
      table->Commit({.read_version = table->version(),
                     .operation = table::CreateIndex{{}, {*table->manifest().FindIndex(table::kMemWalIndexName)}}}));
  const auto entry = table::MakeMemWalIndexEntry(details, Uuid::Random(1, 2), table->version().value(), 0);
  ASSERT_OK(table->Commit({.read_version = table->version(), .operation = table::CreateIndex{{entry}, {}}}).status());
}

// Puts MemWAL on a table without asking whether it can have shards, as somebody else may do.
inline void PlantMemWal(Process& process) {
  const auto table = process.Table();
  const auto entry = table::MakeMemWalIndexEntry({}, Uuid::Random(1, 2), table->version().value(), 0);
  ASSERT_OK(table->Commit({.read_version = table->version(), .operation = table::CreateIndex{{entry}, {}}}).status());
}

inline WriterOptions NotDurable() {
  WriterOptions options;
  options.durable_write = false;
  return options;
}
inline WriterOptions BatchesPerTable(uint64_t batches) {
  WriterOptions options;
  options.max_memtable_batches = batches;
  return options;
}
inline WriterOptions Eager() {
  WriterOptions options;
  options.commit_mode = CommitMode::kEager;
  return options;
}

}  // namespace javelin::memwal::test
