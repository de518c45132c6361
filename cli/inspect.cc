// `javelin inspect`: one JSON document; for people it is laid out as text.
#include <iostream>

#include <arrow/api.h>
#include <arrow/compute/api.h>

#include "cli/commands.h"
#include "cli/json_values.h"
#include "cli/shard_states.h"
#include "javelin/dataset/dataset.h"
#include "javelin/memwal/compaction_mark.h"
#include "javelin/table/manifest.h"
#include "javelin/table/mem_wal_details.h"

namespace javelin::cli {

namespace {

// Nanoseconds since the Unix epoch as "2026-11-29 14:50:33.765890000Z".
std::string TimeText(int64_t nanoseconds) {
  return arrow::TimestampScalar(nanoseconds, arrow::timestamp(arrow::TimeUnit::NANO, "UTC")).ToString();
}

Json SchemaJson(const file::Schema& schema) {
  Json fields = Json::array();
  for (const file::Field& field : schema.fields()) {
    fields.push_back({{"name", field.name},
                      {"type", field.type->ToString()},
                      {"nullable", field.nullable},
                      {"id", field.id.value()},
                      {"primary_key", field.primary_key}});
  }
  return fields;
}

Json FragmentsJson(const table::Manifest& manifest) {
  Json fragments = Json::array();
  for (const table::Fragment& fragment : manifest.fragments) {
    Json files = Json::array();
    for (const table::DataFile& file : fragment.files) {
      files.push_back(
          {{"path", file.path}, {"version", file::ToString(file.version)}, {"size_bytes", file.size_bytes}});
    }
    fragments.push_back({{"id", fragment.id.value()},
                         {"physical_rows", fragment.physical_rows},
                         {"deleted_rows", fragment.deletion_file ? fragment.deletion_file->num_deleted_rows : 0},
                         {"files", std::move(files)}});
  }
  return fragments;
}

Json IndexesJson(const table::Manifest& manifest) {
  Json indexes = Json::array();
  for (const table::IndexEntry& index : manifest.indices) {
    Json columns = Json::array();
    for (const FieldId id : index.fields) {
      const file::Field* field = manifest.schema.FindById(id);
      columns.push_back(field != nullptr ? field->name : fmt::format("field {}", id));
    }
    const size_t slash = index.details_type_url.rfind('/');
    indexes.push_back({{"name", index.name},
                       {"type", index.details_type_url.substr(slash == std::string::npos ? 0 : slash + 1)},
                       {"columns", std::move(columns)},
                       {"dataset_version", index.dataset_version}});
  }
  return indexes;
}

Json CompactedJson(const std::vector<table::CompactedSsTable>& entries) {
  Json list = Json::array();
  for (const auto& entry : entries) {
    list.push_back({{"shard_id", entry.shard_id.ToString()}, {"generation", entry.generation.value()}});
  }
  return list;
}

Json MemWalJson(const table::MemWalDetails& details) {
  Json specs = Json::array();
  for (const table::ShardingSpec& spec : details.sharding_specs) {
    Json fields = Json::array();
    for (const table::ShardingField& field : spec.fields) {
      fields.push_back({{"field_id", field.field_id},
                        {"source_ids", field.source_ids},
                        {"transform", field.transform ? Json(*field.transform) : Json(nullptr)},
                        {"result_type", field.result_type},
                        {"parameters", field.parameters}});
    }
    specs.push_back({{"spec_id", spec.spec_id}, {"fields", std::move(fields)}});
  }
  Json catch_up = Json::array();
  for (const table::IndexCatchup& index : details.index_catchup) {
    catch_up.push_back({{"index", index.index_name}, {"caught_up", CompactedJson(index.caught_up)}});
  }
  return {{"num_shards", details.num_shards},
          {"sharding_specs", std::move(specs)},
          {"maintain_all_indexes", details.maintain_all_indexes.value_or(false)},
          {"maintained_indexes", details.maintained_indexes},
          {"compacted_sstables", CompactedJson(details.compacted_sstables)},
          {"index_catchup", std::move(catch_up)},
          {"writer_config_defaults", details.writer_config_defaults}};
}

Json ShardJson(const ShardState& state) {
  Json shard = {{"shard_id", state.manifest.shard_id.ToString()}};
  shard.update(ManifestJson(state.manifest));
  shard["wal_tip"] = state.backlog.tip.value();
  shard["wal_backlog_entries"] = state.backlog.entries_with_rows;
  shard["retired_folders"] = Json::array();
  for (const memwal::RetiredFolder& folder : state.retired) {
    shard["retired_folders"].push_back({{"path", folder.name}, {"bytes", folder.bytes}});
  }
  return shard;
}

// The table was read before its shards, so a mark ahead of one is no flush and compaction that came in between.
Json WarningsJson(const table::MemWalDetails& details, const std::vector<ShardState>& states) {
  Json warnings = Json::array();
  for (const ShardState& state : states) {
    const auto& shard = state.manifest;
    const auto mark =
        memwal::CheckMark(shard.shard_id, details.CompactedThrough(shard.shard_id), shard.current_generation);
    if (!mark.ok()) warnings.push_back(mark.message());
  }
  return warnings;
}

arrow::Result<Json> Describe(const Dataset& dataset) {
  const table::Manifest& manifest = dataset.manifest();
  ARROW_ASSIGN_OR_RAISE(const auto versions, dataset.Versions());
  ARROW_ASSIGN_OR_RAISE(const uint64_t rows, dataset.CountRows());
  ARROW_ASSIGN_OR_RAISE(const auto details, table::ReadMemWalDetails(manifest));
  ARROW_ASSIGN_OR_RAISE(const auto states, ReadShardStates(dataset));
  Json document = {{"uri", dataset.uri()},
                   {"version", dataset.version().value()},
                   {"rows", rows},
                   {"data_storage_version", manifest.data_format_version},
                   {"schema", SchemaJson(manifest.schema)},
                   {"versions", Json::array()},
                   {"fragments", FragmentsJson(manifest)},
                   {"indexes", IndexesJson(manifest)},
                   {"mem_wal", details.has_value() ? MemWalJson(*details) : Json(nullptr)},
                   {"shards", Json::array()},
                   {"warnings", details.has_value() ? WarningsJson(*details, states) : Json::array()}};
  for (const auto& version : versions) {
    document["versions"].push_back(
        {{"version", version.version.value()}, {"timestamp", TimeText(version.timestamp_ns)}});
  }
  for (const ShardState& state : states) document["shards"].push_back(ShardJson(state));
  return document;
}

// ---- text ----

std::string Text(const Json& value) { return value.is_string() ? value.get<std::string>() : Dump(value); }

void PrintSection(const char* title, const Json& items, const std::function<std::string(const Json&)>& line) {
  std::cout << fmt::format("{} ({})\n", title, items.size());
  for (const Json& item : items) std::cout << "  " << line(item) << '\n';
}

void PrintMemWal(const Json& details) {
  if (details.is_null()) {
    std::cout << "MemWAL: not initialised\n";
    return;
  }
  std::cout << "MemWAL\n";
  for (const auto& [name, value] : details.items()) std::cout << fmt::format("  {}: {}\n", name, Text(value));
}

// Folders that lie on storage although the shard does not list them.
std::string RetiredText(const Json& folders) {
  if (folders.empty()) return "";
  uint64_t bytes = 0;
  for (const Json& folder : folders) bytes += folder["bytes"].get<uint64_t>();
  return fmt::format("\n    SSTable folders not listed any more: {}, {} bytes; `javelin compact` deletes them in time",
                     folders.size(), bytes);
}

void PrintText(const Json& document) {
  for (const Json& warning : document["warnings"]) std::cout << fmt::format("WARNING: {}\n", Text(warning));
  for (const char* name : {"uri", "version", "rows", "data_storage_version"}) {
    std::cout << fmt::format("{}: {}\n", name, Text(document[name]));
  }
  PrintSection("schema", document["schema"], [](const Json& field) {
    return fmt::format("{}: {}{}{}", Text(field["name"]), Text(field["type"]), field["nullable"] ? "" : " not null",
                       field["primary_key"] ? ", primary key" : "");
  });
  PrintSection("versions", document["versions"], [](const Json& version) {
    return fmt::format("{}: {}", Text(version["version"]), Text(version["timestamp"]));
  });
  PrintSection("fragments", document["fragments"], [](const Json& fragment) {
    std::string line = fmt::format("{}: {} rows, {} deleted", Text(fragment["id"]), Text(fragment["physical_rows"]),
                                   Text(fragment["deleted_rows"]));
    for (const Json& file : fragment["files"]) {
      line += fmt::format("; {} ({} bytes)", Text(file["path"]), Text(file["size_bytes"]));
    }
    return line;
  });
  PrintSection("indexes", document["indexes"], [](const Json& index) {
    return fmt::format("{}: {} on {}", Text(index["name"]), Text(index["type"]), Dump(index["columns"]));
  });
  PrintMemWal(document["mem_wal"]);
  PrintSection("shards", document["shards"], [](const Json& shard) {
    std::string text = fmt::format(
        "{}: {}, epoch {}, generation {}, replay after {}, log tip {}, backlog {} entries with rows, {} SSTables",
        Text(shard["shard_id"]), Text(shard["status"]), Text(shard["writer_epoch"]), Text(shard["current_generation"]),
        Text(shard["replay_after"]), Text(shard["wal_tip"]), Text(shard["wal_backlog_entries"]),
        shard["sstables"].size());
    for (const Json& sstable : shard["sstables"]) {
      text += fmt::format("\n    generation {}: {} rows, {} bytes in memory, {}", Text(sstable["generation"]),
                          Text(sstable["physical_rows"]), Text(sstable["in_memory_bytes"]), Text(sstable["path"]));
    }
    return text + RetiredText(shard["retired_folders"]);
  });
}

}  // namespace

arrow::Status Inspect(const std::shared_ptr<Session>& session, const InspectOptions& options) {
  ARROW_ASSIGN_OR_RAISE(const auto dataset, Dataset::Open(session, options.uri));
  ARROW_ASSIGN_OR_RAISE(const Json document, Describe(*dataset));
  if (options.json) {
    std::cout << document.dump(2, ' ', false, Json::error_handler_t::replace) << '\n';
  } else {
    PrintText(document);
  }
  return arrow::Status::OK();
}

}  // namespace javelin::cli
