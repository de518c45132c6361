#include "javelin/memwal/fresh_view.h"

#include "javelin/base/error.h"
#include "javelin/memwal/fresh_view_internal.h"
#include "javelin/memwal/seen_tables_internal.h"
#include "javelin/memwal/shard_listing.h"
#include "javelin/memwal/sources_internal.h"
#include "javelin/memwal/writer_registry.h"
#include "javelin/table/mem_wal_details.h"

namespace javelin::memwal {

namespace {

using Manifests = std::vector<ShardManifest>;

// What one shard holds in memory, newest generation first; each MemTable bounded to what was visible when the view was
// made.
struct ShardMemory {
  Uuid shard;
  std::shared_ptr<WriterState> writer;
  std::vector<MemTableView> tables;
};

const ShardMemory* FindMemory(const std::vector<ShardMemory>& memory, const Uuid& shard) {
  const auto found = std::find_if(memory.begin(), memory.end(), [&](const auto& held) { return held.shard == shard; });
  return found == memory.end() ? nullptr : &*found;
}

FreshView::Impl::Logs HeldOfLogs(const Manifests& manifests, const std::vector<ShardMemory>& memory) {
  FreshView::Impl::Logs logs;
  for (const ShardMemory& shard : memory) logs.in_memory.insert(shard.shard);
  for (const ShardManifest& manifest : manifests) {
    logs.covered_through.emplace(manifest.shard_id, manifest.replay_after);
  }
  return logs;
}

// Step 1: what the writers of this session hold. A writer that ends meanwhile has left its rows in the log or in an
// SSTable, like one of another process.
arrow::Result<std::vector<ShardMemory>> ReadMemory(const std::vector<std::shared_ptr<WriterState>>& writers) {
  std::vector<ShardMemory> shards;
  for (const auto& writer : writers) {
    auto tables = writer->Snapshot();
    if (!tables.ok() && writer->poison().ok() && writer->ended()) continue;
    ARROW_RETURN_NOT_OK(tables);
    shards.push_back({writer->manifests()->shard(), writer, std::move(*tables)});
  }
  return shards;
}

// Step 2: the manifests of all shards of the table. That of a shard in memory comes from its writer's store, which
// knows the writer's own commits without a request. The others are looked up in storage from where the last view of the
// session found them; that version is read again, because the shard may not be the same one any more.
arrow::Result<Manifests> ReadManifests(const Dataset& dataset, WriterRegistry& registry, const SeenTable* seen,
                                       const std::vector<ShardMemory>& memory) {
  ARROW_ASSIGN_OR_RAISE(const auto shards, ListShards(dataset));
  const auto find = [&](const Uuid& shard) -> arrow::Result<std::optional<ShardManifest>> {
    if (FindMemory(memory, shard) != nullptr) return registry.ManifestStore(dataset.location(), shard)->Latest();
    const auto reader = registry.ReaderManifestStore(dataset.location(), shard);
    const ShardManifest* known = seen == nullptr ? nullptr : seen->FindShard(shard);
    return known == nullptr ? reader->RefreshLatest() : reader->LatestFrom(known->version);
  };
  Manifests manifests;
  for (const Uuid& shard : shards) {
    ARROW_ASSIGN_OR_RAISE(auto manifest, find(shard));
    if (manifest.has_value()) manifests.push_back(std::move(*manifest));
  }
  return manifests;
}

// A writer that was overtaken holds rows and generations that mean nothing any more. It learns of it here.
arrow::Status CheckNotOvertaken(const Manifests& manifests, const std::vector<ShardMemory>& shards) {
  for (const ShardManifest& manifest : manifests) {
    const ShardMemory* memory = FindMemory(shards, manifest.shard_id);
    if (memory == nullptr || memory->writer->epoch() >= manifest.writer_epoch) continue;
    memory->writer->Poison(
        MakeError(ErrorKind::kFencedPeerClaimedEpoch,
                  fmt::format("shard {}: the writer in this session holds epoch {}, another one has claimed epoch "
                              "{}; close this writer to read what the other one published",
                              memory->shard.ToString(), memory->writer->epoch(), manifest.writer_epoch)));
    return memory->writer->poison();
  }
  return arrow::Status::OK();
}

// The base, read last, may hold generations that were not published when the manifest was seen. A flush of the writer
// came in between, or one of another writer: what that put does not go with what this one has in memory.
arrow::Status CheckWhoPublished(const Dataset& base, const Manifests& manifests,
                                const std::vector<ShardMemory>& shards) {
  ARROW_ASSIGN_OR_RAISE(const auto details, table::ReadMemWalDetails(base.manifest()));
  if (!details.has_value()) return arrow::Status::OK();
  for (const ShardManifest& manifest : manifests) {
    const ShardMemory* memory = FindMemory(shards, manifest.shard_id);
    if (memory == nullptr || details->CompactedThrough(memory->shard) < manifest.current_generation) continue;
    const arrow::Status claim = memory->writer->manifests()->CheckFenced(memory->writer->epoch());
    if (!HasKind(claim, ErrorKind::kFencedPeerClaimedEpoch)) {
      ARROW_RETURN_NOT_OK(claim);
      continue;
    }
    memory->writer->Poison(claim);
    return memory->writer->poison();
  }
  return arrow::Status::OK();
}

// The key of the base table must be the one that the MemTables index.
arrow::Status CheckKeys(const Dataset& base, const std::vector<ShardMemory>& shards,
                        const std::vector<file::Field>& key) {
  for (const ShardMemory& memory : shards) {
    for (const MemTableView& table : memory.tables) {
      const ShardSchemas& schemas = table.table->schemas();
      bool same = schemas.key_columns().size() == key.size();
      for (size_t i = 0; same && i < key.size(); ++i) {
        const file::Field& field = schemas.storage_fields().fields()[schemas.key_columns()[i]];
        same = field.id == key[i].id && field.type->Equals(key[i].type);
      }
      if (!same)
        return NotSupported("the primary key of {} was changed while shard {} has a writer", base.uri(),
                            memory.shard.ToString());
    }
  }
  return arrow::Status::OK();
}

// Field ids say which column is which as long as the table keeps its rules for shards. Without MemWAL it may have cast
// a column, which then has another id, or begun anew with the same ids for other columns.
arrow::Status CheckSameColumns(const Dataset& base, const std::vector<ShardMemory>& shards) {
  ARROW_ASSIGN_OR_RAISE(const auto present, ShardSchemas::Make(base.schema()));
  for (const ShardMemory& memory : shards) {
    for (const MemTableView& table : memory.tables) {
      if (table.table->schemas() == present) continue;
      return NotSupported(
          "the columns of {} were changed after MemWAL was taken off it, while shard {} has a writer; "
          "close the writer to read the table",
          base.uri(), memory.shard.ToString());
    }
  }
  return arrow::Status::OK();
}

// Empty without a primary key that rows can be looked up by.
std::vector<file::Field> KeyOf(const Dataset& base) {
  std::vector<file::Field> key;
  for (const file::Field* field : base.schema().PrimaryKey()) {
    if (!index::IsKeyType(*field->type)) return {};
    key.push_back(*field);
  }
  return key;
}

// Puts the tiers of each shard in order (step 4): MemTables, then SSTables that memory does not hold any more and the
// base does not hold yet.
class Assembly {
 public:
  explicit Assembly(std::shared_ptr<Dataset> base)
      : base_(std::move(base)), key_(KeyOf(*base_)), cache_(SsTableCache::Of(*base_->session())) {}

  arrow::Status Start() {
    ARROW_ASSIGN_OR_RAISE(details_, table::ReadMemWalDetails(base_->manifest()));
    return arrow::Status::OK();
  }
  const std::vector<file::Field>& key() const { return key_; }
  bool has_mem_wal() const { return details_.has_value(); }

  // A table without MemWAL was overwritten, and what its shards hold belongs to what was there before. Only a writer
  // that is still at work shows its rows.
  void AddShard(const Uuid& shard, std::vector<SsTableEntry> sstables, const ShardMemory* memory) {
    if (!details_.has_value() && memory == nullptr) return;
    query::Shard sources;
    const Generation compacted = details_.has_value() ? details_->CompactedThrough(shard) : Generation(0);
    std::optional<Generation> oldest_in_memory;
    if (memory != nullptr) {
      for (const MemTableView& view : memory->tables) {
        // One in grace may be in the base already, where its rows may have changed since.
        if (view.generation <= compacted) break;
        oldest_in_memory = view.generation;
        if (view.visible_rows == 0) continue;
        sources.push_back(MakeMemTableSource(view));
        tiers_.push_back(fmt::format("MemTable of shard {}: generation {}, {} rows", shard.ToString(), view.generation,
                                     view.visible_rows));
      }
    }
    std::erase_if(sstables, [&](const SsTableEntry& sstable) {
      return sstable.generation <= compacted ||
             (oldest_in_memory.has_value() && sstable.generation >= *oldest_in_memory);
    });
    std::sort(sstables.begin(), sstables.end(),
              [](const SsTableEntry& a, const SsTableEntry& b) { return a.generation > b.generation; });
    const ShardPaths paths(base_->location().root, shard);
    const auto folder_of = [&](const SsTableEntry& sstable) { return JoinKey(paths.shard_folder, sstable.path); };
    for (const SsTableEntry& sstable : sstables) {
      SsTablePlace place{folder_of(sstable), sstable.generation};
      // Most lookups are of what came last: the newest one is opened at once.
      if (&sstable != &sstables.front() && KeyFilterPays(sstable)) place.filtered_since = folder_of(sstables.back());
      sources.push_back(MakeSsTableSource(cache_, base_, std::move(place), key_));
      tiers_.push_back(
          fmt::format("SSTable of shard {}: generation {}, {}", shard.ToString(), sstable.generation, sstable.path));
    }
    if (!sources.empty()) shards_.push_back(std::move(sources));
  }

  arrow::Result<std::shared_ptr<FreshView::Impl>> Finish() {
    auto view = std::make_shared<FreshView::Impl>();
    view->base = base_;
    for (const file::Field* field : base_->schema().PrimaryKey()) view->key_names.push_back(field->name);
    std::vector<std::shared_ptr<arrow::DataType>> types;
    for (const file::Field& field : key_) types.push_back(field.type);
    if (!types.empty()) {
      ARROW_ASSIGN_OR_RAISE(view->keys, index::KeyEncoder::Make(std::move(types)));
    }
    view->only_base = shards_.empty();
    view->tiers = std::move(tiers_);
    view->tiers.push_back(fmt::format("Base table: version {}", base_->version()));
    auto base = MakeBaseSource(base_, view->keys, view->key_names);
    view->fold = std::make_unique<query::Fold>(std::move(shards_), std::move(base), view->keys.has_value());
    return view;
  }

 private:
  const std::shared_ptr<Dataset> base_;
  const std::vector<file::Field> key_;
  const std::shared_ptr<SsTableCache> cache_;
  std::optional<table::MemWalDetails> details_;
  std::vector<query::Shard> shards_;
  std::vector<std::string> tiers_;
};

// `others`: shards that are not among the manifests.
arrow::Result<std::shared_ptr<FreshView::Impl>> Assemble(const std::vector<ShardMemory>& shards,
                                                         const Manifests& manifests, std::shared_ptr<Dataset> base,
                                                         const std::vector<ShardSnapshot>& others = {}) {
  ARROW_RETURN_NOT_OK(CheckNotOvertaken(manifests, shards));
  ARROW_RETURN_NOT_OK(CheckWhoPublished(*base, manifests, shards));
  Assembly assembly(base);
  ARROW_RETURN_NOT_OK(assembly.Start());
  ARROW_RETURN_NOT_OK(CheckKeys(*base, shards, assembly.key()));
  if (!assembly.has_mem_wal() && !shards.empty()) ARROW_RETURN_NOT_OK(CheckSameColumns(*base, shards));
  for (const ShardManifest& manifest : manifests) {
    assembly.AddShard(manifest.shard_id, manifest.sstables, FindMemory(shards, manifest.shard_id));
  }
  for (const ShardSnapshot& snapshot : others) assembly.AddShard(snapshot.shard, snapshot.sstables, nullptr);
  return assembly.Finish();
}

arrow::Status CheckSnapshots(const std::vector<ShardSnapshot>& snapshots) {
  std::set<Uuid> shards;
  for (const ShardSnapshot& snapshot : snapshots) {
    const std::string shard = snapshot.shard.ToString();
    if (!shards.insert(snapshot.shard).second) return InvalidInput("shard {} is given twice", shard);
    std::set<Generation> generations;
    for (const SsTableEntry& sstable : snapshot.sstables) {
      if (sstable.generation == Generation(0))
        return InvalidInput("shard {}: generations count from 1, SSTable '{}' is given 0", shard, sstable.path);
      if (!generations.insert(sstable.generation).second)
        return InvalidInput("shard {}: generation {} is given twice", shard, sstable.generation);
      if (sstable.path.find('/') != std::string::npos || !CheckKey(sstable.path).ok())
        return InvalidInput("shard {}: '{}' is no name of a folder below the shard", shard, sstable.path);
    }
  }
  return arrow::Status::OK();
}

}  // namespace

arrow::Result<std::shared_ptr<FreshView>> FreshView::Open(const Dataset& dataset, const FreshOptions& options) {
  Runtime& runtime = dataset.session()->runtime();
  ARROW_RETURN_NOT_OK(runtime.CheckProcess());
  const auto registry = WriterRegistry::Of(*dataset.session());
  const auto writers = registry->Writers(dataset.location());
  const auto seen_tables = SeenTables::Of(*dataset.session());
  const auto seen = seen_tables->Find(dataset.location());
  const TimePoint now = runtime.Now();
  const auto view_of = [&](const std::vector<ShardMemory>& memory, const Manifests& manifests,
                           std::shared_ptr<Dataset> base) -> arrow::Result<std::shared_ptr<FreshView>> {
    ARROW_ASSIGN_OR_RAISE(auto impl, Assemble(memory, manifests, std::move(base)));
    impl->logs = HeldOfLogs(manifests, memory);
    return std::shared_ptr<FreshView>(new FreshView(std::move(impl)));
  };
  const bool may_be_old = options.max_staleness.has_value() && writers.empty();
  if (may_be_old && seen != nullptr && !seen->with_memory && now - seen->taken_at <= *options.max_staleness)
    return view_of({}, seen->manifests, dataset.At(seen->base));
  ARROW_ASSIGN_OR_RAISE(const auto memory, ReadMemory(writers));
  const auto known = seen == nullptr ? nullptr : dataset.At(seen->base);
  const auto latest = [&] { return known == nullptr ? dataset.CheckoutLatest() : known->CheckoutLatest(); };
  const bool too_early = runtime.PlantedBug("view.base_before_manifests");
  const auto early_base = too_early ? latest() : nullptr;
  ARROW_ASSIGN_OR_RAISE(const Manifests manifests, ReadManifests(dataset, *registry, seen.get(), memory));
  ARROW_ASSIGN_OR_RAISE(auto base, too_early ? early_base : latest());
  seen_tables->Keep(dataset.location(),
                    std::make_shared<const SeenTable>(SeenTable{base->loaded(), manifests, !memory.empty(), now}));
  return view_of(memory, manifests, std::move(base));
}

arrow::Result<std::shared_ptr<FreshView>> FreshView::OpenForWriter(const ShardWriter& writer,
                                                                   const std::vector<ShardSnapshot>& others) {
  ARROW_RETURN_NOT_OK(writer.dataset().session()->runtime().CheckProcess());
  ARROW_RETURN_NOT_OK(CheckSnapshots(others));
  const std::shared_ptr<WriterState> state = writer.state();
  ARROW_ASSIGN_OR_RAISE(auto tables, state->Snapshot());
  ARROW_ASSIGN_OR_RAISE(auto manifest, writer.manifest_store()->Latest());
  if (!manifest.has_value()) return NotFound("shard {} has no manifest any more", writer.shard_id());
  ARROW_ASSIGN_OR_RAISE(auto base, writer.dataset().CheckoutLatest());
  const ShardMemory memory{manifest->shard_id, state, std::move(tables)};
  std::vector<ShardSnapshot> foreign = others;
  std::erase_if(foreign, [&](const ShardSnapshot& snapshot) { return snapshot.shard == memory.shard; });
  ARROW_ASSIGN_OR_RAISE(auto impl, Assemble({memory}, {*std::move(manifest)}, std::move(base), foreign));
  return std::shared_ptr<FreshView>(new FreshView(std::move(impl)));
}

arrow::Result<std::shared_ptr<FreshView>> FreshView::OfSnapshots(std::shared_ptr<Dataset> base,
                                                                 const std::vector<ShardSnapshot>& snapshots) {
  ARROW_RETURN_NOT_OK(CheckSnapshots(snapshots));
  Assembly assembly(std::move(base));
  ARROW_RETURN_NOT_OK(assembly.Start());
  for (const ShardSnapshot& snapshot : snapshots) assembly.AddShard(snapshot.shard, snapshot.sstables, nullptr);
  ARROW_ASSIGN_OR_RAISE(auto impl, assembly.Finish());
  return std::shared_ptr<FreshView>(new FreshView(std::move(impl)));
}

const std::vector<std::string>& FreshView::tiers() const { return impl_->tiers; }
const Dataset& FreshView::base() const { return *impl_->base; }
std::shared_ptr<arrow::Schema> FreshView::arrow_schema() const { return impl_->base->arrow_schema(); }

namespace {
// Keeps the view alive for as long as its reader.
class ViewReader final : public arrow::RecordBatchReader {
 public:
  ViewReader(std::shared_ptr<const FreshView::Impl> view, std::shared_ptr<arrow::RecordBatchReader> reader)
      : view_(std::move(view)), reader_(std::move(reader)) {}
  std::shared_ptr<arrow::Schema> schema() const override { return reader_->schema(); }
  arrow::Status ReadNext(std::shared_ptr<arrow::RecordBatch>* batch) override { return reader_->ReadNext(batch); }

 private:
  const std::shared_ptr<const FreshView::Impl> view_;
  const std::shared_ptr<arrow::RecordBatchReader> reader_;
};
}  // namespace

arrow::Result<std::shared_ptr<arrow::RecordBatchReader>> FreshView::Scan(const ScanOptions& options,
                                                                         bool with_generation) const {
  if (impl_->only_base && !with_generation) return impl_->base->Scan(options);
  query::SourceScan scan;
  ARROW_ASSIGN_OR_RAISE(scan.columns, impl_->Project(options.columns));
  scan.offset = options.offset;
  scan.limit = options.limit;
  scan.batch_rows = options.batch_rows;
  scan.batch_bytes = options.batch_bytes;
  scan.with_row_id = options.with_row_id;
  scan.with_row_address = options.with_row_address;
  ARROW_ASSIGN_OR_RAISE(auto reader, impl_->fold->Scan(std::move(scan), with_generation));
  return std::make_shared<ViewReader>(impl_, std::move(reader));
}

arrow::Result<std::shared_ptr<arrow::RecordBatch>> FreshView::Get(
    const arrow::RecordBatch& keys, const std::optional<std::vector<std::string>>& columns) const {
  ARROW_ASSIGN_OR_RAISE(const auto encoded, impl_->EncodeKeys(keys));
  ARROW_ASSIGN_OR_RAISE(const auto target, impl_->Project(columns));
  return impl_->fold->Get(encoded, target);
}

arrow::Result<uint64_t> FreshView::CountRows() const { return impl_->fold->CountRows(); }

arrow::Result<file::Schema> FreshView::Impl::Project(const std::optional<std::vector<std::string>>& columns) const {
  if (!columns.has_value()) return base->schema();
  return base->schema().Select(*columns);
}

arrow::Result<std::vector<std::string>> FreshView::Impl::EncodeKeys(const arrow::RecordBatch& batch) const {
  if (key_names.empty()) return InvalidInput("{} has no primary key; rows cannot be looked up by key", base->uri());
  if (!keys.has_value()) return NotSupported("the primary key of {} has a type that cannot be looked up", base->uri());
  arrow::ArrayVector columns;
  for (const std::string& name : key_names) {
    auto column = batch.GetColumnByName(name);
    if (column == nullptr) return InvalidInput("the keys must hold the column '{}' exactly once", name);
    const auto& type = base->schema().FindByName(name)->type;
    if (!column->type()->Equals(type)) {
      return InvalidInput("key column '{}' is {}, the table's is {}", name, column->type()->ToString(),
                          type->ToString());
    }
    if (column->null_count() > 0) return InvalidInput("key column '{}' holds a null", name);
    columns.push_back(std::move(column));
  }
  std::vector<std::string> encoded;
  ARROW_RETURN_NOT_OK(keys->Encode(columns, &encoded));
  return encoded;
}

}  // namespace javelin::memwal
