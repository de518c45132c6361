#include "src/mem_wal.h"

#include <limits>

#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "javelin/dataset/dataset.h"
#include "javelin/memwal/compactor.h"
#include "javelin/memwal/initialize.h"
#include "javelin/table/mem_wal_details.h"
#include "src/handle.h"

namespace javelin::python {

namespace {

// ---- options ----

template <typename Number>
void ReadNumber(const char* name, nb::handle value, std::optional<Number>* out) {
  Number result{};
  if (!nb::try_cast(value, result)) {
    const std::string text = nb::str(value).c_str();  // what range holds is the library's to say
    const bool negative = text[0] == '-';
    Check(InvalidInput("{} is {}; it must not be {}", name, text, negative ? "negative" : "so large"));
  }
  *out = result;
}

void ReadBool(const char* /*name*/, nb::handle value, std::optional<bool>* out) { *out = nb::cast<bool>(value); }

void ReadMilliseconds(const char* name, nb::handle value, std::optional<Duration>* out) {
  std::optional<uint64_t> number;
  ReadNumber(name, value, &number);
  constexpr uint64_t kMost = std::numeric_limits<int64_t>::max() / 1'000'000;
  if (*number > kMost) Check(InvalidInput("{} must be at most {}, got {}", name, kMost, *number));
  *out = std::chrono::milliseconds(*number);
}

void ReadCommitMode(const char* name, nb::handle value, std::optional<memwal::CommitMode>* out) {
  const auto text = nb::cast<std::string>(value);
  if (text == "interval") {
    *out = memwal::CommitMode::kInterval;
  } else if (text == "eager") {
    *out = memwal::CommitMode::kEager;
  } else {
    Check(InvalidInput("{} must be 'interval' or 'eager', got '{}'", name, text));
  }
}

using ReadOption = void (*)(const char* name, nb::handle value, memwal::WriterOptions* options);

struct Option {
  const char* name;
  ReadOption read;
};

#define JAVELIN_OPTION(name, reader, field)                                                      \
  Option {                                                                                       \
    name, [](const char* n, nb::handle v, memwal::WriterOptions* o) { reader(n, v, &o->field); } \
  }
constexpr Option kOptions[] = {
    JAVELIN_OPTION("shard_spec_id", ReadNumber, shard_spec_id),
    JAVELIN_OPTION("durable_write", ReadBool, durable_write),
    JAVELIN_OPTION("commit_mode", ReadCommitMode, commit_mode),
    JAVELIN_OPTION("max_wal_buffer_size", ReadNumber, max_wal_buffer_size),
    JAVELIN_OPTION("max_wal_flush_interval_ms", ReadMilliseconds, max_wal_flush_interval),
    JAVELIN_OPTION("max_wal_persist_retries", ReadNumber, max_wal_persist_retries),
    JAVELIN_OPTION("wal_persist_retry_base_delay_ms", ReadMilliseconds, wal_persist_retry_base_delay),
    JAVELIN_OPTION("max_memtable_size", ReadNumber, max_memtable_size),
    JAVELIN_OPTION("max_memtable_rows", ReadNumber, max_memtable_rows),
    JAVELIN_OPTION("max_memtable_batches", ReadNumber, max_memtable_batches),
    JAVELIN_OPTION("max_unflushed_memtable_bytes", ReadNumber, max_unflushed_memtable_bytes),
    JAVELIN_OPTION("manifest_scan_batch_size", ReadNumber, manifest_scan_batch_size),
    JAVELIN_OPTION("backpressure_log_interval_ms", ReadMilliseconds, backpressure_log_interval),
    JAVELIN_OPTION("frozen_memtable_grace_ms", ReadMilliseconds, frozen_memtable_grace),
    JAVELIN_OPTION("enable_memtable", ReadBool, enable_memtable),
};
#undef JAVELIN_OPTION

const Option& FindOption(const std::string& name) {
  for (const Option& option : kOptions) {
    if (name == option.name) return option;
  }
  throw nb::type_error(fmt::format("unknown writer option '{}'", name).c_str());
}

// ---- the table's entry ----

Handle<Dataset> Initialize(const Handle<Dataset>& self,
                           const std::optional<std::vector<std::string>>& maintained_indexes,
                           const std::optional<std::string>& bucket_column, std::optional<uint32_t> num_buckets,
                           const std::optional<std::string>& identity_column, bool unsharded, bool adopt_sstables,
                           const nb::dict& writer_defaults) {
  const Dataset& dataset = *self;
  memwal::InitializeOptions options;
  options.maintained_indexes = maintained_indexes;
  options.unsharded = unsharded;
  options.bucket_column = bucket_column;
  options.num_buckets = num_buckets;
  options.identity_column = identity_column;
  options.adopt_sstables = adopt_sstables;
  options.writer_defaults = ParseWriterOptions(writer_defaults);
  auto changed = WithoutGil([&] { return memwal::Initialize(dataset, options); });
  return Handle<Dataset>(self.session(), Unwrap(std::move(changed)));
}

nb::dict ToDict(const table::ShardingField& field) {
  nb::dict dict;
  dict["field_id"] = field.field_id;
  dict["source_ids"] = field.source_ids;
  dict["transform"] = field.transform;
  dict["expression"] = field.expression;
  dict["result_type"] = field.result_type;
  dict["parameters"] = field.parameters;
  return dict;
}

std::optional<nb::dict> Details(const Handle<Dataset>& self) {
  const auto details = Unwrap(table::ReadMemWalDetails(self.object()->manifest()));
  if (!details.has_value()) return std::nullopt;
  nb::list specs;
  for (const auto& spec : details->sharding_specs) {
    nb::list fields;
    for (const auto& field : spec.fields) fields.append(ToDict(field));
    nb::dict dict;
    dict["spec_id"] = spec.spec_id;
    dict["fields"] = fields;
    specs.append(dict);
  }
  nb::dict dict;
  dict["num_shards"] = details->num_shards;
  dict["maintained_indexes"] = details->maintained_indexes;
  dict["maintain_all_indexes"] = details->maintain_all_indexes.value_or(false);
  dict["writer_config_defaults"] = details->writer_config_defaults;
  dict["sharding_specs"] = specs;
  return dict;
}

// ---- compaction ----

std::vector<uint64_t> Numbers(const std::vector<Generation>& generations) {
  std::vector<uint64_t> numbers;
  for (const Generation generation : generations) numbers.push_back(generation.value());
  return numbers;
}

nb::dict ToDict(const memwal::ShardCompaction& shard) {
  nb::dict dict;
  dict["shard_id"] = shard.shard.ToString();
  dict["passes"] = shard.passes;
  dict["generations"] = Numbers(shard.generations);
  dict["rows_read"] = shard.rows_read;
  dict["rows_upserted"] = shard.rows_upserted;
  dict["rows_deleted"] = shard.rows_deleted;
  dict["compacted_through"] = shard.compacted_through.value();
  dict["retired"] = Numbers(shard.retired);
  dict["awaiting_indexes"] = shard.awaiting_indexes;
  dict["folders_deleted"] = shard.folders_deleted;
  dict["skipped"] = shard.skipped.empty() ? nb::none() : nb::cast(shard.skipped);
  return dict;
}

// The table's newest version, and what was done to each shard.
nb::tuple Compact(const Handle<Dataset>& self, const std::optional<std::string>& shard,
                  std::optional<uint64_t> max_bytes, bool dry_run, std::optional<int64_t> retired_grace_ms) {
  memwal::CompactOptions options;
  if (shard.has_value()) options.shard = Unwrap(table::Uuid::Parse(*shard));
  if (max_bytes.has_value()) options.max_bytes_per_pass = *max_bytes;
  if (retired_grace_ms.has_value()) options.retired_grace = std::chrono::milliseconds(*retired_grace_ms);
  options.dry_run = dry_run;
  static_cast<void>(*self);  // in a forked child: Closed
  auto report = WaitInSlices<memwal::CompactionReport>(
      self.session(), [table = self.object(), options] { return memwal::CompactShards(*table, options); });
  nb::list shards;
  for (const memwal::ShardCompaction& entry : report.shards) shards.append(ToDict(entry));
  return nb::make_tuple(nb::cast(Handle<Dataset>(self.session(), std::move(report.dataset))), shards);
}

}  // namespace

memwal::WriterOptions ParseWriterOptions(const nb::dict& given) {
  memwal::WriterOptions options;
  for (auto [key, value] : given) {
    const Option& option = FindOption(nb::cast<std::string>(key));
    option.read(option.name, value, &options);
  }
  return options;
}

nb::dict ToDict(const memwal::ShardManifest& manifest) {
  nb::list sstables;
  for (const auto& entry : manifest.sstables) {
    nb::dict sstable;
    sstable["generation"] = entry.generation.value();
    sstable["path"] = entry.path;
    sstable["in_memory_bytes"] = entry.in_memory_bytes;
    sstable["physical_rows"] = entry.physical_rows;
    sstable["primary_key_bytes"] = entry.primary_key_bytes;
    sstables.append(sstable);
  }
  nb::dict fields;
  for (const auto& [name, bytes] : manifest.shard_fields) fields[name.c_str()] = nb::bytes(bytes.data(), bytes.size());
  nb::dict dict;
  dict["shard_id"] = manifest.shard_id.ToString();
  dict["version"] = manifest.version.value();
  dict["shard_spec_id"] = manifest.shard_spec_id;
  dict["shard_fields"] = fields;
  dict["writer_epoch"] = manifest.writer_epoch.value();
  dict["replay_after"] = manifest.replay_after.value();
  dict["wal_position_last_seen"] = manifest.wal_position_last_seen.value();
  dict["current_generation"] = manifest.current_generation.value();
  dict["sstables"] = sstables;
  dict["status"] = manifest.status == memwal::ShardStatus::kSealed ? "sealed" : "active";
  return dict;
}

void RegisterMemWal(nb::module_& module) {
  module.def("initialize_mem_wal", &Initialize, nb::arg("dataset"), nb::kw_only(), nb::arg("maintained_indexes").none(),
             nb::arg("bucket_column").none(), nb::arg("num_buckets").none(), nb::arg("identity_column").none(),
             nb::arg("unsharded"), nb::arg("adopt_sstables"), nb::arg("writer_defaults"));
  module.def("mem_wal_details", &Details, nb::arg("dataset"));
  module.def("compact_shards", &Compact, nb::arg("dataset"), nb::kw_only(), nb::arg("shard").none(),
             nb::arg("max_bytes").none(), nb::arg("dry_run"), nb::arg("retired_grace_ms").none());
}

}  // namespace javelin::python
