#include "javelin/memwal/initialize.h"

#include <arrow/type.h>

#include "javelin/base/error.h"
#include "javelin/file/data_file_writer.h"
#include "javelin/memwal/bucket_hash.h"
#include "javelin/memwal/column_history.h"
#include "javelin/memwal/shard_listing.h"
#include "javelin/memwal/shard_schemas.h"
#include "javelin/memwal/sharding.h"
#include "javelin/memwal/sstable_cache.h"
#include "javelin/memwal/writer_registry.h"
#include "javelin/table/data_format.h"
#include "javelin/table/mem_wal_details.h"
#include "javelin/table/transaction.h"

namespace javelin::memwal {

namespace {

constexpr uint32_t kOnlySpec = 1;
constexpr uint32_t kMaxBuckets = 1024;

// A column by dotted path; every level but the last is a struct.
arrow::Result<const file::Field*> FindColumn(const file::Schema& schema, const std::string& path) {
  const std::vector<file::Field>* level = &schema.fields();
  const file::Field* found = nullptr;
  size_t start = 0;
  while (start <= path.size()) {
    size_t dot = std::min(path.find('.', start), path.size());
    std::string_view name = std::string_view(path).substr(start, dot - start);
    auto next =
        std::find_if(level->begin(), level->end(), [&](const file::Field& field) { return field.name == name; });
    if (next == level->end()) return InvalidInput("sharding column '{}' is not a column of the table", path);
    found = &*next;
    level = &found->children;
    start = dot + 1;
  }
  return found;
}

arrow::Status UnusableType(const std::string& column, const file::Field& field) {
  return InvalidInput("sharding column '{}' has type {}, which cannot be used as a shard key", column,
                      field.type->ToString());
}

// The spec of the chosen mode and how many shards it makes (0 = open-ended).
struct Sharding {
  std::vector<table::ShardingSpec> specs;
  uint32_t num_shards = 0;
};

Sharding OneField(table::ShardingField field, uint32_t num_shards) {
  field.field_id = "bucket";
  return {.specs = {{.spec_id = kOnlySpec, .fields = {std::move(field)}}}, .num_shards = num_shards};
}

arrow::Result<Sharding> ResolveSharding(const file::Schema& schema, const InitializeOptions& options) {
  const bool bucket = options.bucket_column.has_value() || options.num_buckets.has_value();
  if (bucket + options.identity_column.has_value() + options.unsharded > 1) {
    return InvalidInput("at most one of unsharded, bucket_column with num_buckets, and identity_column may be given");
  }
  if (options.unsharded) return OneField({.transform = "unsharded", .result_type = "int32"}, 1);
  if (bucket) {
    if (!options.bucket_column || !options.num_buckets) {
      return InvalidInput("bucket sharding needs both bucket_column and num_buckets; {} is missing",
                          options.bucket_column ? "num_buckets" : "bucket_column");
    }
    if (*options.num_buckets < 1 || *options.num_buckets > kMaxBuckets) {
      return InvalidInput("num_buckets is {}; it must be from 1 to {}", *options.num_buckets, kMaxBuckets);
    }
    ARROW_ASSIGN_OR_RAISE(const file::Field* column, FindColumn(schema, *options.bucket_column));
    if (!IsBucketType(*column->type)) return UnusableType(*options.bucket_column, *column);
    return OneField({.source_ids = {column->id.value()},
                     .transform = "bucket",
                     .result_type = "int32",
                     .parameters = {{"num_buckets", fmt::to_string(*options.num_buckets)}}},
                    *options.num_buckets);
  }
  if (options.identity_column) {
    ARROW_ASSIGN_OR_RAISE(const file::Field* column, FindColumn(schema, *options.identity_column));
    std::string_view type_name = IdentityTypeName(*column->type);
    if (type_name.empty()) return UnusableType(*options.identity_column, *column);
    return OneField(
        {.source_ids = {column->id.value()}, .transform = "identity", .result_type = std::string(type_name)}, 0);
  }
  return Sharding{};
}

// The named indexes, each once, in the order given.
arrow::Result<std::vector<std::string>> CheckMaintained(const table::Manifest& manifest,
                                                        const std::vector<std::string>& names) {
  std::vector<std::string> maintained;
  for (const std::string& name : names) {
    const table::IndexEntry* index = manifest.FindIndex(name);
    if (index == nullptr || index->fields.empty()) {
      return InvalidInput("Index '{}' from maintained_indexes not found on dataset", name);
    }
    if (std::find(maintained.begin(), maintained.end(), name) == maintained.end()) maintained.push_back(name);
  }
  return maintained;
}

arrow::Result<std::map<std::string, std::string>> StoredDefaults(const WriterOptions& options) {
  if (options == WriterOptions{}) return std::map<std::string, std::string>{};
  if (options.shard_spec_id.has_value())
    return InvalidInput("shard_spec_id belongs to one writer; it cannot be a default of the table");
  ARROW_ASSIGN_OR_RAISE(ResolvedWriterOptions resolved, ResolveWriterOptions(options, {}));
  if (!resolved.enable_memtable) {
    return NotSupported(
        "enable_memtable = false cannot be a default of the table: no writer here works without MemTables yet, so none "
        "could be opened; leave enable_memtable out or set it to true");
  }
  return ToStoredDefaults(resolved);
}

// Are these columns those of the table, or gone from it? Without MemWAL a table may cast a column, which then has
// another id, and an overwrite may give ids again.
arrow::Status CheckAdoptable(const Dataset& dataset, const Uuid& shard, const SsTableEntry& entry) {
  const ShardPaths paths(dataset.location().root, shard);
  const auto cache = SsTableCache::Of(*dataset.session());
  ARROW_ASSIGN_OR_RAISE(const auto sstable,
                        cache->Get(dataset.location().store, JoinKey(paths.shard_folder, entry.path)));
  for (const file::Field& then : sstable->schema().fields()) {
    if (then.name == kTombstoneColumn) continue;
    const file::Field* by_id = dataset.schema().FindById(then.id);
    const file::Field* by_name = dataset.schema().FindByName(then.name);
    if (by_id == by_name && (by_id == nullptr || by_id->type->Equals(then.type))) continue;
    return WithField(
        InvalidInput("SSTable {} of shard {} was written for another column '{}' than {} has now; its rows "
                     "cannot be taken over, remove the shard's folder",
                     entry.path, shard.ToString(), then.name, dataset.uri()),
        "shard", shard.ToString());
  }
  if (!HaveColumnLeft(dataset.schema(), NamesOf(sstable->schema()))) {
    return WithField(
        InvalidInput("SSTable {} of shard {} has no column that {} has now; its rows cannot be taken over, "
                     "remove the shard's folder",
                     entry.path, shard.ToString(), dataset.uri()),
        "shard", shard.ToString());
  }
  std::vector<file::Field> key;
  for (const file::Field* field : dataset.schema().PrimaryKey()) key.push_back(*field);
  return sstable->CheckKey(key);
}

// What the table holds of shards that were there before: with the MemWAL entry the record of it went. All that a shard
// has flushed and does not list any more was compacted; whether the table holds what it lists, nobody knows.
arrow::Result<std::vector<table::CompactedSsTable>> FlushedBefore(const Dataset& dataset, bool adopt_sstables) {
  const auto registry = WriterRegistry::Of(*dataset.session());
  ARROW_ASSIGN_OR_RAISE(const std::vector<Uuid> shards, ListShards(dataset));
  std::vector<table::CompactedSsTable> compacted;
  for (const Uuid& shard : shards) {
    const auto store = registry->ReaderManifestStore(dataset.location(), shard);
    ARROW_ASSIGN_OR_RAISE(const std::optional<ShardManifest> manifest, store->RefreshLatest());
    if (!manifest.has_value()) continue;
    if (!manifest->sstables.empty() && !adopt_sstables) {
      return WithField(
          InvalidInput(
              "shard {} lists {} SSTables from before MemWAL was taken off {}; their rows would hide newer ones "
              "of the table. Remove the shard's folder if the table holds them or they are not wanted, or set "
              "adopt_sstables if they are to count as newer than the table's",
              shard.ToString(), manifest->sstables.size(), dataset.uri()),
          "shard", shard.ToString());
    }
    for (const SsTableEntry& sstable : manifest->sstables) ARROW_RETURN_NOT_OK(CheckAdoptable(dataset, shard, sstable));
    Generation oldest = manifest->current_generation;
    for (const SsTableEntry& sstable : manifest->sstables) oldest = std::min(oldest, sstable.generation);
    if (oldest > Generation(1)) compacted.push_back({shard, Generation(oldest.value() - 1)});
  }
  return compacted;
}

arrow::Status AlreadyInitialized(const Dataset& dataset) {
  return InvalidInput("MemWAL is already initialized on {}; its sharding cannot be changed", dataset.uri());
}

}  // namespace

arrow::Result<std::shared_ptr<Dataset>> Initialize(const Dataset& dataset, const InitializeOptions& options) {
  const table::Manifest& manifest = dataset.manifest();
  ARROW_ASSIGN_OR_RAISE(Sharding sharding, ResolveSharding(dataset.schema(), options));
  ARROW_RETURN_NOT_OK(ShardSchemas::Make(dataset.schema()));
  ARROW_RETURN_NOT_OK(CheckRowsCanMove(dataset));
  if (manifest.FindIndex(table::kMemWalIndexName) != nullptr) return AlreadyInitialized(dataset);

  table::MemWalDetails details;
  details.num_shards = sharding.num_shards;
  details.sharding_specs = std::move(sharding.specs);
  details.maintain_all_indexes = !options.maintained_indexes.has_value();
  if (options.maintained_indexes) {
    ARROW_ASSIGN_OR_RAISE(details.maintained_indexes, CheckMaintained(manifest, *options.maintained_indexes));
  }
  ARROW_ASSIGN_OR_RAISE(details.writer_config_defaults, StoredDefaults(options.writer_defaults));
  ARROW_ASSIGN_OR_RAISE(details.compacted_sstables, FlushedBefore(dataset, options.adopt_sstables));

  Runtime& runtime = dataset.session()->runtime();
  auto uuid = table::Uuid::Random(runtime.Random(), runtime.Random());
  int64_t now_ms = std::chrono::duration_cast<std::chrono::milliseconds>(runtime.WallTime()).count();
  table::Transaction transaction;
  transaction.read_version = dataset.version();
  transaction.operation = table::CreateIndex{
      .new_indices = {table::MakeMemWalIndexEntry(details, uuid, dataset.version().value(), now_ms)}};
  auto committed = dataset.Commit(std::move(transaction));
  if (HasKind(committed.status(), ErrorKind::kRetryableConflict)) {
    ARROW_ASSIGN_OR_RAISE(auto latest, dataset.CheckoutLatest());
    if (latest->manifest().FindIndex(table::kMemWalIndexName) != nullptr) return AlreadyInitialized(dataset);
  }
  return committed;
}

arrow::Result<table::MemWalDetails> DetailsOf(const Dataset& dataset) {
  ARROW_ASSIGN_OR_RAISE(auto details, table::ReadMemWalDetails(dataset.manifest()));
  if (!details.has_value())
    return NotFound("MemWAL is not initialized on {}: there are no shards; initialize it first", dataset.uri());
  return *std::move(details);
}

arrow::Status CheckRowsCanMove(const Dataset& dataset) {
  ARROW_ASSIGN_OR_RAISE(const file::FileVersion version, table::DataFormatOf(dataset.manifest()));
  return CheckStorable(dataset.schema(), version);
}

arrow::Status KeepFieldIds(const Dataset& dataset) {
  if (dataset.manifest().max_allocated_field_id.has_value()) return arrow::Status::OK();
  ARROW_ASSIGN_OR_RAISE(const auto latest, dataset.CheckoutLatest());
  ARROW_RETURN_NOT_OK(CheckColumnsStaySince(dataset, *latest));
  if (latest->manifest().max_allocated_field_id.has_value()) return arrow::Status::OK();
  table::Transaction transaction;
  transaction.read_version = latest->version();
  transaction.operation = table::Update{};
  return latest->Commit(std::move(transaction)).status();
}

}  // namespace javelin::memwal
