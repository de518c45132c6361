#include "javelin/memwal/fresh_view.h"

#include "javelin/base/error.h"
#include "javelin/memwal/fresh_view_internal.h"
#include "javelin/memwal/shard_listing.h"
#include "javelin/memwal/writer_registry.h"
#include "javelin/table/mem_wal_details.h"

namespace javelin::memwal {

namespace {

using Manifests = std::vector<ShardManifest>;

// Step 1: what the writers of this session hold. A writer that ends meanwhile has left its rows in the log, like one of
// another process.
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
// knows the writer's own commits without a request; nobody else's store may answer from what it has seen earlier.
arrow::Result<Manifests> ReadManifests(const Dataset& dataset, WriterRegistry& registry,
                                       const std::vector<ShardMemory>& memory) {
  ARROW_ASSIGN_OR_RAISE(const auto shards, ListShards(dataset));
  Manifests manifests;
  for (const Uuid& shard : shards) {
    const bool live =
        std::any_of(memory.begin(), memory.end(), [&](const ShardMemory& held) { return held.shard == shard; });
    ARROW_ASSIGN_OR_RAISE(auto manifest,
                          live ? registry.ManifestStore(dataset.location(), shard)->Latest()
                               : registry.ReaderManifestStore(dataset.location(), shard)->RefreshLatest());
    if (manifest.has_value()) manifests.push_back(std::move(*manifest));
  }
  return manifests;
}

// A writer that was overtaken holds rows and generations that mean nothing any more. It learns of it here.
arrow::Status CheckNotOvertaken(const Manifests& manifests, const std::vector<ShardMemory>& shards) {
  for (const ShardManifest& manifest : manifests) {
    for (const ShardMemory& memory : shards) {
      if (memory.shard != manifest.shard_id || memory.writer->epoch() >= manifest.writer_epoch) continue;
      memory.writer->Poison(
          MakeError(ErrorKind::kFencedPeerClaimedEpoch,
                    fmt::format("shard {}: the writer in this session holds epoch {}, another one has claimed epoch "
                                "{}; close this writer to read what the other one published",
                                memory.shard.ToString(), memory.writer->epoch(), manifest.writer_epoch)));
      return memory.writer->poison();
    }
  }
  return arrow::Status::OK();
}

// Step 4: every generation must be in the base table or in memory; reading a part of a shard would lose rows silently.
arrow::Status CheckNothingElse(const Manifests& manifests, const std::vector<ShardMemory>& shards,
                               const Dataset& base) {
  ARROW_ASSIGN_OR_RAISE(const auto details, table::ReadMemWalDetails(base.manifest()));
  for (const ShardManifest& manifest : manifests) {
    const Generation compacted = details.has_value() ? details->CompactedThrough(manifest.shard_id) : Generation(0);
    std::optional<Generation> oldest_in_memory;
    for (const auto& memory : shards) {
      if (memory.shard == manifest.shard_id && !memory.tables.empty())
        oldest_in_memory = memory.tables.back().generation;
    }
    for (const auto& sstable : manifest.sstables) {
      if (sstable.generation <= compacted) continue;
      if (oldest_in_memory.has_value() && sstable.generation >= *oldest_in_memory) continue;
      const std::string shard = manifest.shard_id.ToString();
      return MakeError(
          ErrorKind::kNotSupported,
          fmt::format(
              "shard {} holds generation {} in the SSTable {}, which is not compacted into the table yet; reading "
              "SSTables is not handled yet",
              shard, sstable.generation, sstable.path),
          {{"shard", shard}, {"generation", fmt::format("{}", sstable.generation)}, {"path", sstable.path}});
    }
  }
  return arrow::Status::OK();
}

// The key of the base table must be the one that the MemTables index.
arrow::Status CheckKeys(const FreshView::Impl& view, const std::vector<const file::Field*>& key) {
  for (const ShardMemory& memory : view.shards) {
    for (const MemTableView& table : memory.tables) {
      const ShardSchemas& schemas = table.table->schemas();
      bool same = schemas.key_columns().size() == key.size();
      for (size_t i = 0; same && i < key.size(); ++i) {
        const file::Field& field = schemas.storage_fields().fields()[schemas.key_columns()[i]];
        same = field.id == key[i]->id && field.type->Equals(key[i]->type);
      }
      if (!same)
        return NotSupported("the primary key of {} was changed while shard {} has a writer", view.base->uri(),
                            memory.shard.ToString());
    }
  }
  return arrow::Status::OK();
}

arrow::Result<std::shared_ptr<const FreshView::Impl>> Assemble(std::vector<ShardMemory> shards,
                                                               const Manifests& manifests,
                                                               std::shared_ptr<Dataset> base) {
  ARROW_RETURN_NOT_OK(CheckNotOvertaken(manifests, shards));
  ARROW_RETURN_NOT_OK(CheckNothingElse(manifests, shards, *base));
  auto view = std::make_shared<FreshView::Impl>();
  view->base = std::move(base);
  view->shards = std::move(shards);
  const auto key = view->base->schema().PrimaryKey();
  ARROW_RETURN_NOT_OK(CheckKeys(*view, key));
  std::vector<std::shared_ptr<arrow::DataType>> types;
  for (const file::Field* field : key) {
    view->key_names.push_back(field->name);
    types.push_back(field->type);
  }
  const bool usable = std::all_of(types.begin(), types.end(), [](const auto& type) { return index::IsKeyType(*type); });
  if (!types.empty() && usable) {
    ARROW_ASSIGN_OR_RAISE(view->keys, index::KeyEncoder::Make(std::move(types)));
  }
  return view;
}

}  // namespace

arrow::Result<std::shared_ptr<FreshView>> FreshView::Open(const Dataset& dataset) {
  ARROW_RETURN_NOT_OK(dataset.session()->runtime().CheckProcess());
  const auto registry = WriterRegistry::Of(*dataset.session());
  const auto writers = registry->Writers(dataset.location());
  ARROW_ASSIGN_OR_RAISE(auto shards, ReadMemory(writers));
  ARROW_ASSIGN_OR_RAISE(const Manifests manifests, ReadManifests(dataset, *registry, shards));
  ARROW_ASSIGN_OR_RAISE(auto base, dataset.CheckoutLatest());
  ARROW_ASSIGN_OR_RAISE(auto impl, Assemble(std::move(shards), manifests, std::move(base)));
  return std::shared_ptr<FreshView>(new FreshView(std::move(impl)));
}

arrow::Result<std::shared_ptr<FreshView>> FreshView::OpenForWriter(const ShardWriter& writer) {
  ARROW_RETURN_NOT_OK(writer.dataset().session()->runtime().CheckProcess());
  const std::shared_ptr<WriterState> state = writer.state();
  ARROW_ASSIGN_OR_RAISE(auto tables, state->Snapshot());
  ARROW_ASSIGN_OR_RAISE(auto manifest, writer.manifest_store()->Latest());
  if (!manifest.has_value()) return NotFound("shard {} has no manifest any more", writer.shard_id());
  ARROW_ASSIGN_OR_RAISE(auto base, writer.dataset().CheckoutLatest());
  ShardMemory memory{manifest->shard_id, state, std::move(tables)};
  ARROW_ASSIGN_OR_RAISE(auto impl, Assemble({std::move(memory)}, {*std::move(manifest)}, std::move(base)));
  return std::shared_ptr<FreshView>(new FreshView(std::move(impl)));
}

const Dataset& FreshView::base() const { return *impl_->base; }
std::shared_ptr<arrow::Schema> FreshView::arrow_schema() const { return impl_->base->arrow_schema(); }

arrow::Result<std::shared_ptr<arrow::RecordBatchReader>> FreshView::Scan(const ScanOptions& options) const {
  if (!impl_->has_memory()) return impl_->base->Scan(options);
  return MakeFreshScan(impl_, options);
}

arrow::Result<std::shared_ptr<arrow::RecordBatch>> FreshView::Get(
    const arrow::RecordBatch& keys, const std::optional<std::vector<std::string>>& columns) const {
  return GetFresh(*impl_, keys, columns);
}

arrow::Result<uint64_t> FreshView::CountRows() const {
  if (!impl_->has_memory()) return impl_->base->CountRows();
  ScanOptions options;
  options.columns.emplace();
  ARROW_ASSIGN_OR_RAISE(const auto rows, Scan(options));
  uint64_t count = 0;
  while (true) {
    std::shared_ptr<arrow::RecordBatch> batch;
    ARROW_RETURN_NOT_OK(rows->ReadNext(&batch));
    if (batch == nullptr) return count;
    count += static_cast<uint64_t>(batch->num_rows());
  }
}

// ---- what scan and get share ----

bool ShardMemory::Holds(const index::HashedKey& key, size_t newer) const {
  for (size_t i = 0; i < newer; ++i) {
    if (tables[i].table->key_index()->Contains(key, tables[i].visible_rows)) return true;
  }
  return false;
}

bool FreshView::Impl::has_memory() const {
  for (const ShardMemory& memory : shards) {
    for (const MemTableView& table : memory.tables) {
      if (table.visible_rows > 0) return true;
    }
  }
  return false;
}

bool FreshView::Impl::Blocks(const index::HashedKey& key) const {
  return std::any_of(shards.begin(), shards.end(),
                     [&](const ShardMemory& memory) { return memory.Holds(key, memory.tables.size()); });
}

arrow::Result<file::Schema> FreshView::Impl::Project(const std::optional<std::vector<std::string>>& columns) const {
  if (!columns.has_value()) return base->schema();
  return base->schema().Select(*columns);
}

arrow::Result<std::shared_ptr<arrow::RecordBatch>> Filter(const std::shared_ptr<arrow::RecordBatch>& batch,
                                                          const std::vector<bool>& keep) {
  const int64_t kept = std::count(keep.begin(), keep.end(), true);
  if (kept == batch->num_rows()) return batch;
  if (batch->num_columns() == 0 || kept == 0) return batch->Slice(0, kept);
  arrow::BooleanBuilder mask;
  ARROW_RETURN_NOT_OK(mask.AppendValues(keep));
  ARROW_ASSIGN_OR_RAISE(const auto selected, mask.Finish());
  ARROW_ASSIGN_OR_RAISE(const arrow::Datum filtered, arrow::compute::Filter(batch, selected));
  return filtered.record_batch();
}

arrow::Status MemoryRows::Prepare(const ShardSchemas& schemas) {
  if (source_ == schemas.storage()) return arrow::Status::OK();
  columns_.clear();
  std::vector<std::shared_ptr<arrow::Field>> fields;
  for (int i = 0; i < schemas.storage()->num_fields(); ++i) {
    const file::Field& field = schemas.storage_fields().fields()[i];
    const auto wanted = [&](const file::Field& target) { return target.id == field.id; };
    if (field.id.value() < 0 || std::none_of(target_.fields().begin(), target_.fields().end(), wanted)) continue;
    columns_.push_back(i);
    fields.push_back(schemas.storage()->field(i));
  }
  ARROW_ASSIGN_OR_RAISE(alignment_, file::SchemaAlignment::Make(*arrow::schema(std::move(fields)), target_));
  source_ = schemas.storage();
  return arrow::Status::OK();
}

arrow::Result<std::shared_ptr<arrow::RecordBatch>> MemoryRows::Take(const MemTable& table,
                                                                    const arrow::RecordBatch& batch,
                                                                    const std::vector<bool>& keep) {
  ARROW_RETURN_NOT_OK(Prepare(table.schemas()));
  ARROW_ASSIGN_OR_RAISE(const auto selected, batch.SelectColumns(columns_));
  ARROW_ASSIGN_OR_RAISE(const auto rows, Filter(selected, keep));
  return alignment_->Apply(*rows);
}

}  // namespace javelin::memwal
