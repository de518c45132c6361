#include "recovery.h"

#include <fmt/format.h>

namespace javelin::simulation {

namespace {

using StateResult = arrow::Result<TableState>;
using DatasetResult = arrow::Result<std::shared_ptr<Dataset>>;

class Recovery {
 public:
  Recovery(World& world, std::vector<BaseVersion>* base) : world_(world), base_(base) {}

  void Run() {
    const auto expected = RecoverAsWriter();
    if (!expected.has_value()) return;
    CheckFreshView("after the writer was closed", *expected);
    Compact();
    CheckBaseAlone(*expected);
    CheckFreshView("after the compaction", *expected);
    CheckNothingIsLeft();
    KeepBaseVersions();
  }

 private:
  // In a session of its own, which has seen nothing yet.
  DatasetResult OpenTable() {
    auto dataset = world_.OpenTable(world_.NewSession(false));
    world_.Expect("opening the table at the end", dataset.status(), {});
    return dataset;
  }

  std::optional<TableState> RecoverAsWriter() {
    const auto dataset = OpenTable();
    if (!dataset.ok()) return std::nullopt;
    if (world_.IsSealed()) {
      const auto unsealed = memwal::UnsealShard(**dataset, std::string(kShard));
      world_.Expect("unsealing the shard at the end", unsealed.status(), {});
    }
    const int number = world_.history.StartOpen("recovery", true);
    auto writer = memwal::ShardWriter::Open(**dataset, std::string(kShard));
    world_.Expect("opening the shard at the end", writer.status(), {});
    if (!writer.ok()) return std::nullopt;
    world_.history.Opened(world_.runtime(), number, (*writer)->epoch());
    ReadOnce(world_, **writer, number);
    CheckEveryRowOnce(**writer);
    const auto view = memwal::FreshView::OpenForWriter(**writer);
    const auto state = view.ok() ? ScanAll(**view) : StateResult(view.status());
    world_.Expect("reading at the end", state.status(), {});
    world_.Expect("closing the writer at the end", (*writer)->Close(), {});
    return state.ok() ? std::optional(*state) : std::nullopt;
  }

  // Every row of the log is in memory or was published, once.
  void CheckEveryRowOnce(const memwal::ShardWriter& writer) {
    // First the memory: what is flushed meanwhile is counted in neither or both places otherwise.
    // An actor may stall for up to 20 minutes.
    for (int attempt = 0; attempt < 10'000 && writer.memtable_stats().frozen_count > 0; ++attempt)
      world_.runtime().Sleep(std::chrono::seconds(1));
    const auto views = writer.Snapshot();
    const auto shard = world_.Load();
    if (!views.ok() || !shard.ok()) return world_.history.Violated("no snapshot at the end");
    uint64_t found = 0, in_log = 0;
    for (const memwal::MemTableView& view : *views) found += view.visible_rows;
    std::map<Generation, uint64_t> published;  // also what was retired since
    for (const auto& manifest : shard->manifests) {
      for (const auto& sstable : manifest.sstables) published[sstable.generation] = sstable.physical_rows.value_or(0);
    }
    for (const auto& [generation, rows] : published) found += rows;
    for (const LogEntry& entry : shard->log) in_log += entry.entry.num_rows();
    if (found != in_log)
      world_.history.Violated(fmt::format("the log holds {} rows, memory and SSTables {}", in_log, found));
  }

  void Compare(const std::string& what, const StateResult& seen, const TableState& expected) {
    world_.Expect(what, seen.status(), {});
    if (seen.ok() && *seen != expected)
      world_.history.Violated(what + " shows " + Describe(*seen) + ", memory was " + Describe(expected));
  }

  void CheckFreshView(const std::string& when, const TableState& expected) {
    const auto dataset = OpenTable();
    const auto view = dataset.ok() ? memwal::FreshView::Open(**dataset) : dataset.status();
    Compare("a scan " + when, view.ok() ? ScanAll(**view) : StateResult(view.status()), expected);
    Compare("lookups " + when, view.ok() ? LookUpAll(**view) : StateResult(view.status()), expected);
  }

  void Compact() {
    const auto dataset = OpenTable();
    if (!dataset.ok()) return;
    memwal::CompactOptions options;
    options.retired_grace = Duration::zero();
    world_.Expect("the compaction at the end", memwal::CompactShards(**dataset, options).status(), {});
  }

  void CheckBaseAlone(const TableState& expected) {
    const auto dataset = OpenTable();
    const auto reader = dataset.ok() ? (*dataset)->Scan() : dataset.status();
    Compare("the base alone", reader.ok() ? ReadAll(**reader) : StateResult(reader.status()), expected);
  }

  void CheckNothingIsLeft() {
    const auto shard = world_.Load();
    if (!shard.ok() || shard->manifests.empty()) return world_.history.Violated("no shard at the end");
    for (const auto& [folder, objects] : shard->folders)
      world_.history.Violated(fmt::format("{} objects of {} are left after the compaction", objects, folder));
    if (!shard->manifests.back().sstables.empty()) world_.history.Violated("SSTables are listed after the compaction");
  }

  void KeepBaseVersions() {
    const auto dataset = OpenTable();
    auto versions = dataset.ok() ? LoadBaseVersions(**dataset, table::Uuid::Parse(kShard).ValueOrDie())
                                 : arrow::Result<std::vector<BaseVersion>>(dataset.status());
    world_.Expect("reading all versions of the base", versions.status(), {});
    if (versions.ok()) *base_ = *std::move(versions);
  }

  World& world_;
  std::vector<BaseVersion>* const base_;
};

}  // namespace

void Recover(World& world, std::vector<BaseVersion>* base) { Recovery(world, base).Run(); }

}  // namespace javelin::simulation
