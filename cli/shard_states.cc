#include "cli/shard_states.h"

#include "javelin/memwal/shard_listing.h"
#include "javelin/memwal/shard_manifest_store.h"
#include "javelin/memwal/writer_registry.h"

namespace javelin::cli {

namespace {

Json OrNull(const std::optional<uint64_t>& number) { return number.has_value() ? Json(*number) : Json(nullptr); }

}  // namespace

arrow::Result<std::vector<ShardState>> ReadShardStates(const Dataset& dataset) {
  const auto registry = memwal::WriterRegistry::Of(*dataset.session());
  ARROW_ASSIGN_OR_RAISE(const auto shards, memwal::ListShards(dataset));
  std::vector<ShardState> states;
  for (const memwal::Uuid& shard : shards) {
    const auto manifests = registry->ManifestStore(dataset.location(), shard);
    ARROW_ASSIGN_OR_RAISE(auto manifest, manifests->Latest());
    if (!manifest.has_value()) continue;  // a folder that never got a manifest
    memwal::WalTailer tailer(dataset.session()->resources(), dataset.location().store, manifests,
                             dataset.location().root);
    ARROW_ASSIGN_OR_RAISE(const auto backlog, tailer.BacklogAfter(manifest->replay_after));
    ARROW_ASSIGN_OR_RAISE(auto retired, memwal::ListRetired(dataset, shard));
    states.push_back({*std::move(manifest), backlog, std::move(retired)});
  }
  return states;
}

Json ManifestJson(const memwal::ShardManifest& manifest) {
  Json sstables = Json::array();
  for (const memwal::SsTableEntry& entry : manifest.sstables) {
    sstables.push_back({{"generation", entry.generation.value()},
                        {"path", entry.path},
                        {"physical_rows", OrNull(entry.physical_rows)},
                        {"in_memory_bytes", OrNull(entry.in_memory_bytes)}});
  }
  return {{"manifest_version", manifest.version.value()},
          {"status", manifest.status == memwal::ShardStatus::kSealed ? "sealed" : "active"},
          {"writer_epoch", manifest.writer_epoch.value()},
          {"current_generation", manifest.current_generation.value()},
          {"replay_after", manifest.replay_after.value()},
          {"sstables", std::move(sstables)}};
}

}  // namespace javelin::cli
