#include "shard_objects.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "rows.h"

namespace javelin::simulation {

namespace {

constexpr std::string_view kManifestSuffix = ".binpb";
constexpr std::string_view kEntrySuffix = ".arrow";

// A file name below `folder`, or empty if the key lies elsewhere.
std::string NameIn(const std::string& folder, const std::string& key) {
  if (!key.starts_with(folder)) return "";
  std::string name = key.substr(folder.size());
  return name.find('/') == std::string::npos ? name : "";
}

class Loader {
 public:
  Loader(ObjectStore& store, const memwal::ShardPaths& paths) : store_(store), paths_(paths) {}

  arrow::Result<ShardObjects> Load() {
    ARROW_ASSIGN_OR_RAISE(ListPage page, ListAll(store_, {.prefix = paths_.shard_folder + "/"}));
    for (const ObjectInfo& object : page.objects) ARROW_RETURN_NOT_OK(LoadObject(object));
    SortByName();
    return std::move(objects_);
  }

 private:
  arrow::Status LoadObject(const ObjectInfo& object) {
    const std::string& key = object.key;
    std::string manifest_name = NameIn(paths_.ManifestFolder(), key);
    std::string entry_name = NameIn(paths_.WalFolder(), key);
    if (auto version = memwal::ParseReversedBits(manifest_name, kManifestSuffix)) return LoadManifest(object, *version);
    if (auto position = memwal::ParseReversedBits(entry_name, kEntrySuffix)) return LoadEntry(object, *position);
    if (key == paths_.ManifestHint()) return arrow::Status::OK();
    const std::string below = key.substr(paths_.shard_folder.size() + 1);
    const std::string folder = below.substr(0, below.find('/'));
    if (folder.find("_gen_") != std::string::npos) {
      ++objects_.folders[folder];
    } else {
      objects_.foreign.push_back(key);
    }
    return arrow::Status::OK();
  }

  arrow::Status LoadManifest(const ObjectInfo& object, uint64_t version) {
    ARROW_ASSIGN_OR_RAISE(BufferPtr bytes, store_.Get(object.key));
    auto manifest = memwal::DecodeShardManifest(*bytes);
    if (manifest.ok()) {
      manifests_.emplace(version, std::make_pair(*manifest, object.modified_ns));
    } else {
      objects_.undecodable.push_back(object.key + ": " + manifest.status().ToString());
    }
    return arrow::Status::OK();
  }

  arrow::Status LoadEntry(const ObjectInfo& object, uint64_t position) {
    ARROW_ASSIGN_OR_RAISE(BufferPtr bytes, store_.Get(object.key));
    auto entry = memwal::DecodeWalEntry(bytes);
    if (entry.ok()) {
      entries_.emplace(position, LogEntry{WalPosition(position), *entry, Describe(*entry), object.modified_ns});
    } else {
      objects_.undecodable.push_back(object.key + ": " + entry.status().ToString());
    }
    return arrow::Status::OK();
  }

  void SortByName() {
    for (auto& [version, manifest] : manifests_) {
      objects_.manifest_names.push_back(ManifestVersion(version));
      objects_.manifests.push_back(std::move(manifest.first));
      objects_.manifest_written_ns.push_back(manifest.second);
    }
    for (auto& [position, entry] : entries_) objects_.log.push_back(std::move(entry));
  }

  ObjectStore& store_;
  const memwal::ShardPaths& paths_;
  std::map<uint64_t, std::pair<memwal::ShardManifest, int64_t>> manifests_;  // with the time of each
  std::map<uint64_t, LogEntry> entries_;
  ShardObjects objects_;
};

}  // namespace

Epoch ShardObjects::TipEpoch() const { return manifests.empty() ? Epoch() : manifests.back().writer_epoch; }

arrow::Result<ShardObjects> LoadShard(ObjectStore& store, const memwal::ShardPaths& paths) {
  return Loader(store, paths).Load();
}

std::string Describe(const memwal::WalEntry& entry) {
  std::string text = fmt::format("epoch {}", entry.writer_epoch);
  if (entry.generation) text += fmt::format(" generation {}", *entry.generation);
  if (entry.fence_sentinel) text += " sentinel";
  for (const auto& batch : entry.batches) {
    auto origin = TraceBatch(*batch);
    text += origin.ok() ? fmt::format(" [{}{} {}+ keys {}]", origin->is_delete ? "delete " : "", origin->operation,
                                      origin->is_delete ? origin->batch_number : origin->first_ordinal,
                                      fmt::join(origin->keys, ","))
                        : fmt::format(" [{}: {}]", origin.status().ToString(), batch->ToString());
  }
  return text;
}

std::string Describe(const ShardObjects& shard) {
  std::string text;
  for (size_t i = 0; i < shard.manifests.size(); ++i) {
    const memwal::ShardManifest& manifest = shard.manifests[i];
    text +=
        fmt::format("manifest {}: epoch {} generation {} replay after {} last seen {}{} SSTables",
                    shard.manifest_names[i], manifest.writer_epoch, manifest.current_generation, manifest.replay_after,
                    manifest.wal_position_last_seen, manifest.status == memwal::ShardStatus::kSealed ? " sealed" : "");
    for (const memwal::SsTableEntry& entry : manifest.sstables) text += " " + entry.path;
    text += "\n";
  }
  for (const LogEntry& entry : shard.log) text += fmt::format("entry {}: {}\n", entry.position, entry.digest);
  return text;
}

}  // namespace javelin::simulation
