// Power is lost at every system call of a script that writes, flushes, compacts and collects on a local store; what
// the disk then holds is opened again and must have every acknowledged row once. JAVELIN_SEED=N runs one seed.
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <optional>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <arrow/api.h>
#include <arrow/compute/initialize.h>
#include <arrow/json/from_string.h>

#include "invariants.h"
#include "javelin/dataset/dataset.h"
#include "javelin/dataset/row_change.h"
#include "javelin/memwal/compactor.h"
#include "javelin/memwal/fresh_view.h"
#include "javelin/memwal/initialize.h"
#include "javelin/memwal/shard_writer.h"
#include "javelin/memwal/sstable_files_test_support.h"
#include "javelin/table/mem_wal_details.h"
#include "shadow_disk.h"
#include "system_calls.h"

namespace javelin::power_loss {
namespace {

namespace fs = std::filesystem;
using Batches = std::vector<std::shared_ptr<arrow::RecordBatch>>;
using Rows = std::vector<std::pair<int64_t, std::string>>;  // sorted
using Calls = std::vector<SystemCall>;

constexpr char kShard[] = "11111111-2222-4333-8444-555555555555";
constexpr int64_t kNewRow = 999;

template <typename T>
T Must(arrow::Result<T> result) {
  if (!result.ok()) throw std::runtime_error(result.status().ToString());
  return std::move(result).ValueOrDie();
}
void Must(const arrow::Status& status) {
  if (!status.ok()) throw std::runtime_error(status.ToString());
}

std::shared_ptr<arrow::Schema> SchemaOf(bool keyed) {
  auto key = keyed ? arrow::key_value_metadata({{std::string(file::kPrimaryKeyMetadata), "true"}}) : nullptr;
  return arrow::schema({arrow::field("id", arrow::int64(), false, key), arrow::field("text", arrow::utf8())});
}
std::shared_ptr<arrow::RecordBatch> BatchOf(bool keyed, const Rows& rows) {
  arrow::Int64Builder ids;
  arrow::StringBuilder texts;
  for (const auto& [id, text] : rows) {
    Must(ids.Append(id));
    Must(texts.Append(text));
  }
  return arrow::RecordBatch::Make(SchemaOf(keyed), static_cast<int64_t>(rows.size()),
                                  {Must(ids.Finish()), Must(texts.Finish())});
}
std::shared_ptr<arrow::RecordBatch> KeysOf(const std::vector<int64_t>& keys) {
  arrow::Int64Builder ids;
  Must(ids.AppendValues(keys));
  return arrow::RecordBatch::Make(arrow::schema({arrow::field("id", arrow::int64(), false)}),
                                  static_cast<int64_t>(keys.size()), {Must(ids.Finish())});
}
Rows RowsOf(const arrow::RecordBatch& batch) {
  Rows rows;
  const auto& ids = static_cast<const arrow::Int64Array&>(*batch.GetColumnByName("id"));
  const auto& texts = static_cast<const arrow::StringArray&>(*batch.GetColumnByName("text"));
  for (int64_t i = 0; i < batch.num_rows(); ++i) rows.emplace_back(ids.Value(i), texts.GetString(i));
  std::sort(rows.begin(), rows.end());
  return rows;
}
Rows Collect(const std::shared_ptr<arrow::RecordBatchReader>& reader) {
  return RowsOf(*Must(Must(reader->ToTable())->CombineChunksToBatch()));
}
std::string Text(const Rows& rows) {
  std::vector<std::string> texts;
  for (const auto& [id, text] : rows) texts.push_back(fmt::format("{}:{}", id, text));
  return fmt::format("{}", fmt::join(texts, " "));
}

// What an operation does to the rows of the table: these ids go, these rows come.
struct Effect {
  std::vector<int64_t> gone;
  Rows come;
};
Rows After(Rows rows, const Effect& effect, bool keyed) {
  const auto goes = [&](int64_t id) {
    return std::count(effect.gone.begin(), effect.gone.end(), id) > 0 ||
           (keyed &&
            std::any_of(effect.come.begin(), effect.come.end(), [&](const auto& row) { return row.first == id; }));
  };
  std::erase_if(rows, [&](const auto& row) { return goes(row.first); });
  rows.insert(rows.end(), effect.come.begin(), effect.come.end());
  std::sort(rows.begin(), rows.end());
  return rows;
}

// In memory where the system has such a place: thousands of small trees are made and removed.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    const fs::path memory = "/dev/shm";
    std::string pattern =
        ((fs::is_directory(memory) ? memory : fs::temp_directory_path()) / "javelin-power-XXXXXX").string();
    path_ = ::mkdtemp(pattern.data());
  }
  ~TemporaryFolder() { fs::remove_all(path_); }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// One table of a folder as processes use it, one after the other. Marks among the recorded calls say where an operation
// began ("begin n") and where it was acknowledged ("done n").
class Script {
 public:
  // `effects`: of the operations before.
  Script(bool keyed, const std::string& folder, bool sync = true, std::vector<Effect> effects = {})
      : keyed_(keyed),
        uri_(folder + "/table"),
        options_({{"sync", sync ? "true" : "false"}}),
        effects_(std::move(effects)) {}

  void Run() {
    NewProcess();
    Do({{}, {{1, "base"}, {2, "base"}, {3, "base"}}}, [&](const Effect& effect) { Create(effect.come); });
    Do({}, [&](const Effect&) { Must(memwal::Initialize(*Table(), {.unsharded = true}).status()); });
    Open();
    Put({{10, "a"}});
    Put({{2, "a"}, {11, "a"}}, {{12, "a"}});
    Delete({3, 10});
    Put({{10, "b"}});  // the fourth batch or later: a MemTable is full, and flushed beside the next puts
    Put({{13, "b"}});
    Flush();
    Put({{11, "c"}, {14, "c"}});
    Close();
    NewProcess();
    Open();
    Put({{15, "d"}});
    Drop();
    NewProcess();
    Open();
    Delete({12});
    Put({{16, "e"}});
    Flush();
    Do({{}, {{100, "direct"}}}, [&](const Effect& effect) { Append(effect.come); });
    Compact();
    Put({{17, "f"}, {2, "f"}});
    Close();
    NewProcess();
    Compact();  // retires, deletes folders
    Open();
    Put({{18, "g"}});
    Drop();
  }

  static memwal::WriterOptions Options() {
    memwal::WriterOptions options;
    options.commit_mode = memwal::CommitMode::kEager;
    options.max_memtable_batches = 4;
    return options;
  }
  static memwal::CompactOptions AtOnce() {
    memwal::CompactOptions options;
    options.retired_grace = Duration::zero();
    return options;
  }

  bool keyed() const { return keyed_; }
  const std::string& uri() const { return uri_; }
  const std::vector<Effect>& effects() const { return effects_; }

  // SSTables go into the table as a program does it that never syncs, such as the released peer; then ours retires
  // them.
  void RunBesideOneThatDoesNotSync() {
    NewProcess();
    Do({{}, {{1, "base"}}}, [&](const Effect& effect) { Create(effect.come); });
    Do({}, [&](const Effect&) { Must(memwal::Initialize(*Table(), {.unsharded = true}).status()); });
    Open();
    const Rows flushed = {{10, "a"}, {11, "a"}};
    Put(flushed);
    Close();
    NewProcess();
    options_["sync"] = "false";
    Do({}, [&](const Effect&) {
      const auto rows = Must(arrow::RecordBatchReader::Make({BatchOf(keyed_, flushed)}));
      const RowChange change{.new_rows = rows.get(), .compacted = {{Must(table::Uuid::Parse(kShard)), Generation(1)}}};
      Must(CommitRowChange(*Table(), change).status());
    });
    NewProcess();
    options_["sync"] = "true";
    Compact();
  }

  // Another process, after the one at work was killed somewhere in Run.
  void GoOn(bool compacts_first) {
    NewProcess();
    const auto table = Dataset::Open(session_, uri_, {.storage_options = options_});
    if (HasKind(table.status(), ErrorKind::kNotFound)) return;
    if (!Must(table::ReadMemWalDetails(Must(table)->manifest())).has_value()) return;
    if (compacts_first) Compact();
    Open();
    Put({{19, "next"}, {11, "next"}});
    Close();
    Compact();
  }

 private:
  void Compact() {
    Do({}, [&](const Effect&) { Must(CompactShards(*Table(), AtOnce()).status()); });
  }
  void NewProcess() {
    writer_ = nullptr;
    session_ = Session::Make();
  }
  void Open() {
    Do({}, [&](const Effect&) { writer_ = Must(memwal::ShardWriter::Open(*Table(), kShard, Options())); });
  }
  void Drop() { writer_->Abort(); }
  void Do(Effect effect, const std::function<void(const Effect&)>& act) {
    effects_.push_back(effect);
    Mark(fmt::format("begin {}", effects_.size() - 1));
    act(effect);
    Mark(fmt::format("done {}", effects_.size() - 1));
  }
  std::shared_ptr<Dataset> Table() const { return Must(Dataset::Open(session_, uri_, {.storage_options = options_})); }
  void Create(const Rows& rows) {
    auto reader = Must(arrow::RecordBatchReader::Make({BatchOf(keyed_, rows)}));
    Must(Dataset::Write(session_, uri_, *reader, {.storage_options = options_}).status());
  }
  void Append(const Rows& rows) {
    auto reader = Must(arrow::RecordBatchReader::Make({BatchOf(keyed_, rows)}));
    Must(Table()->Append(*reader).status());
  }
  void Put(const Rows& first, const Rows& second = {}) {
    Effect effect{{}, first};
    effect.come.insert(effect.come.end(), second.begin(), second.end());
    Batches batches = {BatchOf(keyed_, first)};
    if (!second.empty()) batches.push_back(BatchOf(keyed_, second));
    Do(effect, [&](const Effect&) { Must(writer_->Put(batches)); });
  }
  void Delete(const std::vector<int64_t>& keys) {
    if (keyed_) Do({keys, {}}, [&](const Effect& effect) { Must(writer_->Delete({KeysOf(effect.gone)})); });
  }
  void Flush() {
    Do({}, [&](const Effect&) { Must(writer_->Flush()); });
  }
  void Close() {
    Do({}, [&](const Effect&) { Must(writer_->Close()); });
  }

  const bool keyed_;
  const std::string uri_;
  std::map<std::string, std::string> options_;
  std::shared_ptr<Session> session_;
  std::shared_ptr<memwal::ShardWriter> writer_;
  std::vector<Effect> effects_;
};

// What must be there after some calls of a recording.
class Progress {
 public:
  Progress(const Script& script) : script_(&script) {}

  void Apply(const SystemCall& call) {
    if (call.kind != SystemCall::Kind::kMark) return;
    const size_t operation = std::stoul(call.path.substr(call.path.find(' ')));
    in_flight_ = std::nullopt;
    if (call.path.starts_with("begin")) {
      in_flight_ = script_->effects().at(operation);
    } else {
      done_ = operation + 1;
      for (Rows& rows : rows_) rows = After(rows, script_->effects().at(operation), script_->keyed());
    }
  }
  // The process was killed; operations of `next` follow. What was under way may be there or not from here on.
  Progress KilledBefore(const Script& next) const {
    Progress progress = *this;
    progress.script_ = &next;
    progress.rows_ = Allowed();
    progress.in_flight_ = std::nullopt;
    return progress;
  }

  bool keyed() const { return script_->keyed(); }
  bool table_exists() const { return done_ >= 1; }
  bool shards_exist() const { return done_ >= 2; }
  // With the operation that is under way undone, and done.
  std::vector<Rows> Allowed() const {
    std::vector<Rows> allowed = rows_;
    if (in_flight_.has_value())
      for (const Rows& rows : rows_) allowed.push_back(After(rows, *in_flight_, script_->keyed()));
    return allowed;
  }

 private:
  const Script* script_;
  size_t done_ = 0;
  std::vector<Rows> rows_ = {{}};
  std::optional<Effect> in_flight_;
};

// Opens what is left in a folder as a process does after the power came back.
class Survivor {
 public:
  Survivor(const Progress& progress, std::string folder)
      : keyed_(progress.keyed()), progress_(progress), uri_(std::move(folder) + "/table") {}

  // What is wrong; empty if nothing is.
  std::string Check() {
    try {
      Look();
    } catch (const std::runtime_error& failure) {
      return failure.what();
    }
    return "";
  }

 private:
  void Look() {
    const auto opened = Dataset::Open(session_, uri_);
    if (!progress_.table_exists() && HasKind(opened.status(), ErrorKind::kNotFound)) return;
    Must(opened.status());
    const auto writer = memwal::ShardWriter::Open(**opened, kShard, Script::Options());
    if (!progress_.shards_exist() && HasKind(writer.status(), ErrorKind::kNotFound))
      return (void)Expect("the table", Collect(Must((*opened)->Scan())));
    Must(writer.status());
    LookAtObjects(**opened);
    const Rows rows = Read(**writer);
    GoOn(**writer, rows);
  }

  void LookAtObjects(const Dataset& table) {
    const memwal::ShardPaths paths(table.location().root, Must(table::Uuid::Parse(kShard)));
    const auto shard = Must(simulation::LoadShard(*table.location().store, paths));
    for (const std::string& object : shard.undecodable) throw std::runtime_error("does not decode: " + object);
    for (const auto& violation : simulation::CheckManifests(shard)) throw std::runtime_error(violation);
    for (const auto& violation : simulation::CheckLog(shard)) throw std::runtime_error(violation);
    Must(memwal::CheckSsTableFiles(session_->resources(), table.location().store, paths, shard.manifests.back()));
  }

  Rows Read(const memwal::ShardWriter& writer) {
    const auto view = Must(memwal::FreshView::OpenForWriter(writer));
    const Rows rows = Expect("a scan", Collect(Must(view->Scan())));
    if (Must(view->CountRows()) != rows.size()) throw std::runtime_error("count_rows counts something else");
    if (keyed_) {
      std::vector<int64_t> keys = {kNewRow};
      for (int64_t key = 0; key < 30; ++key) keys.push_back(key);
      keys.push_back(100);
      if (RowsOf(*Must(view->Get(*KeysOf(keys)))) != rows) throw std::runtime_error("lookups see something else");
    }
    return rows;
  }

  // The shard goes on: what is put now is not hidden by what was there, and all of it gets into the table once.
  void GoOn(memwal::ShardWriter& writer, const Rows& before) {
    const Effect effect{{}, {{kNewRow, "new"}}};
    const Rows after = After(before, effect, keyed_);
    Must(writer.Put({BatchOf(keyed_, effect.come)}));
    Must(writer.Close());
    auto table = Must(Dataset::Open(session_, uri_));
    Expect("a view of what is flushed", Collect(Must(Must(memwal::FreshView::Open(*table))->Scan())), {after});
    Must(CompactShards(*table, Script::AtOnce()).status());
    Expect("the table after a compaction", Collect(Must(Must(Dataset::Open(session_, uri_))->Scan())), {after});
  }

  Rows Expect(const std::string& what, Rows seen) { return Expect(what, std::move(seen), progress_.Allowed()); }
  Rows Expect(const std::string& what, Rows seen, const std::vector<Rows>& allowed) {
    if (std::count(allowed.begin(), allowed.end(), seen) == 0)
      throw std::runtime_error(fmt::format("{} has [{}], not [{}]", what, Text(seen), Text(allowed.back())));
    return seen;
  }

  const bool keyed_;
  const Progress& progress_;
  const std::string uri_;
  const std::shared_ptr<Session> session_ = Session::Make();
};

std::string CheckTree(const Progress& progress, const FolderTree& tree) {
  const TemporaryFolder folder;
  Materialize(tree, folder.path());
  return Survivor(progress, folder.path()).Check();
}

bool IsSync(const SystemCall& call) {
  return call.kind == SystemCall::Kind::kSyncFile || call.kind == SystemCall::Kind::kSyncFolder;
}
bool IsMark(const SystemCall& call) { return call.kind == SystemCall::Kind::kMark; }

// Power is lost after each call. What is wrong then, until so many faults are found. Without a seed only what was
// synced survives.
std::vector<std::string> LosePower(const Script& script, const Calls& calls, std::optional<uint64_t> seed,
                                   size_t most_faults = 3) {
  std::vector<std::string> faults;
  ShadowDisk disk;
  Progress progress(script);
  for (size_t i = 0; i < calls.size() && faults.size() < most_faults; ++i) {
    disk.Apply(calls[i]);
    progress.Apply(calls[i]);
    // A disk that holds only what was synced changes by syncs, and what must be on it by marks.
    if (!seed.has_value() && !IsSync(calls[i]) && !IsMark(calls[i])) continue;
    std::optional<SeededRandom> random;
    if (seed.has_value()) random.emplace(*seed, i);
    const std::string wrong = CheckTree(progress, random ? disk.Random(*random) : disk.Synced());
    if (!wrong.empty()) faults.push_back(fmt::format("call {} ({}): {}", i, Describe(calls[i]), wrong));
  }
  return faults;
}

// The folders by whose names one process learns what another one did.
bool IsCommit(const SystemCall& call) {
  return call.kind == SystemCall::Kind::kSyncFolder &&
         (call.path.ends_with("/_versions") || call.path.ends_with("/manifest"));
}

// A process goes on from what another one left that was killed at such a moment; power is lost after each of its
// operations and commits.
std::string LosePowerLater(const Script& before, const ShadowDisk& left, const Progress& killed, bool compacts_first) {
  const TemporaryFolder folder;
  Materialize(left.Live(), folder.path());
  Script script(before.keyed(), folder.path(), /*sync=*/true, before.effects());
  StartRecording(folder.path());
  script.GoOn(compacts_first);
  const Calls calls = StopRecording();
  ShadowDisk disk = left;
  Progress progress = killed.KilledBefore(script);
  for (const SystemCall& call : calls) {
    disk.Apply(call);
    progress.Apply(call);
    if (!IsCommit(call) && !(IsMark(call) && call.path.starts_with("done"))) continue;
    const std::string wrong = CheckTree(progress, disk.Synced());
    if (!wrong.empty()) return fmt::format("after '{}' of the next process: {}", Describe(call), wrong);
  }
  return "";
}

// ---- what a store might get wrong, as it would show in the calls ----

template <typename Predicate>
Calls Without(const Calls& calls, const Predicate& unwanted) {
  Calls kept;
  std::copy_if(calls.begin(), calls.end(), std::back_inserter(kept), [&](const auto& call) { return !unwanted(call); });
  return kept;
}
Calls WithoutAny(const Calls& calls, SystemCall::Kind kind) {
  return Without(calls, [&](const SystemCall& call) { return call.kind == kind; });
}
// Folders above the one in which a file was named are not synced.
Calls WithoutOuterFolders(const Calls& calls) {
  const SystemCall* last = nullptr;
  return Without(calls, [&](const SystemCall& call) {
    const bool outer = call.kind == SystemCall::Kind::kSyncFolder && last != nullptr &&
                       last->kind == SystemCall::Kind::kSyncFolder && last->path.starts_with(call.path);
    last = &call;
    return outer;
  });
}
// Files get their names first and are synced then.
Calls WithLateFileSyncs(const Calls& calls) {
  Calls late, waiting;
  for (const SystemCall& call : calls) {
    if (call.kind == SystemCall::Kind::kSyncFile) {
      waiting.push_back(call);
      continue;
    }
    late.push_back(call);
    if (call.kind != SystemCall::Kind::kSyncFolder) continue;
    late.insert(late.end(), waiting.begin(), waiting.end());
    waiting.clear();
  }
  return late;
}

std::vector<uint64_t> Seeds() {
  if (const char* one = std::getenv("JAVELIN_SEED")) return {std::strtoull(one, nullptr, 10)};
  std::vector<uint64_t> seeds = {1};
  if (const char* drawn = std::getenv("JAVELIN_SEED_START")) seeds.push_back(std::strtoull(drawn, nullptr, 10));
  return seeds;
}

class PowerLoss : public testing::TestWithParam<bool> {
 protected:
  PowerLoss() : script_(GetParam(), folder_.path()) { EXPECT_TRUE(arrow::compute::Initialize().ok()); }

  Calls Record(Script& script, const std::string& folder) {
    StartRecording(folder);
    script.Run();
    return StopRecording();
  }

  const TemporaryFolder folder_;
  Script script_;
};

TEST_P(PowerLoss, WhatWasSyncedIsEnough) {
  const Calls calls = Record(script_, folder_.path());
  EXPECT_GT(calls.size(), 200u);
  EXPECT_THAT(LosePower(script_, calls, std::nullopt), testing::IsEmpty());
}

TEST_P(PowerLoss, WhateverElseSurvives) {
  const Calls calls = Record(script_, folder_.path());
  for (const uint64_t seed : Seeds())
    EXPECT_THAT(LosePower(script_, calls, seed), testing::IsEmpty()) << "JAVELIN_SEED=" << seed;
}

// A process may have read what a killed one wrote and did not sync, and have acted on it.
TEST_P(PowerLoss, AfterAProcessWasKilled) {
  const Calls calls = Record(script_, folder_.path());
  ShadowDisk disk;
  Progress progress(script_);
  uint64_t kills = 0;
  for (size_t i = 0; i < calls.size(); ++i) {
    disk.Apply(calls[i]);
    progress.Apply(calls[i]);
    if (calls[i].kind != SystemCall::Kind::kLink) continue;
    for (const bool compacts_first : {false, true}) {
      if (compacts_first && !progress.shards_exist()) continue;  // it would find nothing, and acknowledge nothing
      EXPECT_EQ(LosePowerLater(script_, disk, progress, compacts_first), "")
          << "killed after call " << i << ", " << Describe(calls[i]);
      ++kills;
    }
  }
  EXPECT_GT(kills, 50u);
}

TEST_P(PowerLoss, RowsOfAVersionThatNobodySyncedAreNotTakenAway) {
  StartRecording(folder_.path());
  script_.RunBesideOneThatDoesNotSync();
  const Calls calls = StopRecording();
  EXPECT_THAT(LosePower(script_, calls, std::nullopt), testing::IsEmpty());
}

// ---- the tests can fail ----

TEST_P(PowerLoss, OmissionsAreFound) {
  using Kind = SystemCall::Kind;
  const Calls calls = Record(script_, folder_.path());
  const auto faults = [&](const Calls& wrong) { return LosePower(script_, wrong, std::nullopt, 1).size(); };
  EXPECT_EQ(faults(WithoutAny(calls, Kind::kSyncFile)), 1u);
  EXPECT_EQ(faults(WithoutAny(calls, Kind::kSyncFolder)), 1u);
  EXPECT_EQ(faults(WithoutOuterFolders(calls)), 1u);
  EXPECT_EQ(faults(WithLateFileSyncs(calls)), 1u);
  std::vector<std::string> folders = {"table/_versions", "table/data",      "/wal", "/manifest", "_gen_1",
                                      "_gen_1/data",     "_gen_1/_versions"};
  if (GetParam()) folders.insert(folders.end(), {"table/_deletions", "_gen_1/_deletions", "_gen_1/_pk_index"});
  for (const std::string& folder : folders) {
    EXPECT_EQ(faults(Without(calls,
                             [&](const SystemCall& call) {
                               return call.kind == Kind::kSyncFolder && call.path.ends_with(folder);
                             })),
              1u)
        << folder;
  }
}

TEST_P(PowerLoss, AStoreThatDoesNotSyncIsFound) {
  const TemporaryFolder folder;
  Script script(GetParam(), folder.path(), /*sync=*/false);
  const Calls calls = Record(script, folder.path());
  EXPECT_TRUE(std::none_of(calls.begin(), calls.end(), IsSync));
  EXPECT_EQ(LosePower(script, calls, std::nullopt, 1).size(), 1u);
}

INSTANTIATE_TEST_SUITE_P(Tables, PowerLoss, testing::Bool(),
                         [](const auto& tested) { return tested.param ? "WithAKey" : "WithoutAKey"; });

}  // namespace
}  // namespace javelin::power_loss
