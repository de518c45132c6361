// `javelin wal`: what lies in the folder of one shard, object by object. Reads only, claims nothing.
#include <iostream>

#include "cli/commands.h"
#include "cli/json_values.h"
#include "cli/shard_states.h"
#include "javelin/base/error.h"
#include "javelin/dataset/dataset.h"
#include "javelin/memwal/wal_tailer.h"
#include "javelin/memwal/writer_registry.h"

namespace javelin::cli {

namespace {

// The objects of a folder that are named by a number, in its order: number and size.
arrow::Result<std::map<uint64_t, uint64_t>> Numbered(ObjectStore& store, const std::string& folder,
                                                     std::string_view suffix) {
  ARROW_ASSIGN_OR_RAISE(const ListPage page, ListAll(store, {.prefix = folder}));
  std::map<uint64_t, uint64_t> found;
  for (const ObjectInfo& object : page.objects) {
    const auto number = memwal::ParseReversedBits(std::string_view(object.key).substr(folder.size()), suffix);
    if (number.has_value()) found.emplace(*number, object.size);
  }
  return found;
}

// Everything can be seen before the first fault ends the command.
class WalListing {
 public:
  WalListing(const Dataset& dataset, const memwal::Uuid& shard)
      : location_(dataset.location()),
        paths_(location_.root, shard),
        tailer_(dataset.session()->resources(), location_.store,
                memwal::WriterRegistry::Of(*dataset.session())->ManifestStore(location_, shard), location_.root) {}

  arrow::Result<Json> Describe(const memwal::Uuid& shard) {
    ARROW_ASSIGN_OR_RAISE(Json versions, Versions());
    if (versions.empty())
      return NotFound("there is no shard {} in this table; `javelin inspect` lists its shards", shard.ToString());
    ARROW_ASSIGN_OR_RAISE(Json entries, Entries());
    return Json{{"shard_id", shard.ToString()}, {"manifests", std::move(versions)}, {"entries", std::move(entries)}};
  }
  const arrow::Status& first_fault() const { return first_fault_; }

 private:
  arrow::Result<Json> Versions() {
    ARROW_ASSIGN_OR_RAISE(const auto found,
                          Numbered(*location_.store, paths_.ManifestFolder(), memwal::kManifestSuffix));
    Json versions = Json::array();
    for (const auto& [version, bytes] : found) {
      const auto manifest = ReadManifest(ManifestVersion(version));
      versions.push_back(manifest.ok() ? ManifestJson(*manifest)
                                       : Faulty("manifest_version", version, manifest.status()));
    }
    return versions;
  }

  arrow::Result<memwal::ShardManifest> ReadManifest(ManifestVersion version) {
    const std::string key = paths_.Manifest(version);
    ARROW_ASSIGN_OR_RAISE(const auto bytes, location_.store->Get(key));
    auto manifest = memwal::DecodeShardManifest(*bytes);
    return manifest.ok() ? manifest : WithContext(manifest.status(), location_.store->Describe(key));
  }

  // Positions between the first and the last entry that have none are listed too: a log has no holes.
  arrow::Result<Json> Entries() {
    ARROW_ASSIGN_OR_RAISE(const auto found, Numbered(*location_.store, paths_.WalFolder(), memwal::kWalEntrySuffix));
    Json entries = Json::array();
    uint64_t next = found.empty() ? 0 : found.begin()->first;
    for (const auto& [position, bytes] : found) {
      if (next < position) {
        entries.push_back(
            Faulty("position", next,
                   WalGap("positions {} to {} of the log are missing although later ones exist", next, position - 1)));
      }
      next = position + 1;
      entries.push_back(EntryJson(WalPosition(position), bytes));
    }
    return entries;
  }

  Json EntryJson(WalPosition position, uint64_t bytes) {
    const auto read = tailer_.ReadEntry(position);
    if (!read.ok()) return Faulty("position", position.value(), read.status());
    if (!read->has_value()) return Faulty("position", position.value(), NotFound("it was deleted meanwhile"));
    const memwal::WalEntry& entry = **read;
    return {{"position", position.value()},
            {"writer_epoch", entry.writer_epoch.value()},
            {"generation", entry.generation ? Json(entry.generation->value()) : Json(nullptr)},
            {"rows", entry.num_rows()},
            {"batches", entry.batches.size()},
            {"bytes", bytes},
            {"sentinel", entry.fence_sentinel}};
  }

  Json Faulty(const char* what, uint64_t number, const arrow::Status& fault) {
    if (first_fault_.ok()) first_fault_ = fault;
    return {{what, number}, {"error", fmt::format("{}: {}", ToString(KindOf(fault)), fault.message())}};
  }

  const StoreLocation& location_;
  const memwal::ShardPaths paths_;
  memwal::WalTailer tailer_;
  arrow::Status first_fault_;
};

void PrintText(const Json& document) {
  std::cout << fmt::format("manifest versions ({})\n", document["manifests"].size());
  for (const Json& version : document["manifests"]) {
    std::cout << fmt::format("  {}: ", Dump(version["manifest_version"]));
    if (version.contains("error")) {
      std::cout << version["error"].get<std::string>() << '\n';
      continue;
    }
    std::cout << fmt::format("{}, epoch {}, generation {}, replay after {}, {} SSTables\n",
                             version["status"].get<std::string>(), Dump(version["writer_epoch"]),
                             Dump(version["current_generation"]), Dump(version["replay_after"]),
                             version["sstables"].size());
  }
  std::cout << fmt::format("log entries ({})\n", document["entries"].size());
  for (const Json& entry : document["entries"]) {
    std::cout << fmt::format("  {}: ", Dump(entry["position"]));
    if (entry.contains("error")) {
      std::cout << entry["error"].get<std::string>() << '\n';
    } else if (entry["sentinel"].get<bool>()) {
      std::cout << fmt::format("epoch {}, fence sentinel, {} bytes\n", Dump(entry["writer_epoch"]),
                               Dump(entry["bytes"]));
    } else {
      std::cout << fmt::format("epoch {}, generation {}, {} rows, {} bytes\n", Dump(entry["writer_epoch"]),
                               Dump(entry["generation"]), Dump(entry["rows"]), Dump(entry["bytes"]));
    }
  }
}

}  // namespace

arrow::Status Wal(const std::shared_ptr<Session>& session, const WalOptions& options) {
  const auto shard = memwal::Uuid::Parse(options.shard);
  if (!shard.ok()) return WithContext(shard.status(), "SHARD");
  ARROW_ASSIGN_OR_RAISE(const auto dataset, Dataset::Open(session, options.uri));
  WalListing listing(*dataset, *shard);
  ARROW_ASSIGN_OR_RAISE(const Json document, listing.Describe(*shard));
  if (options.json) {
    std::cout << document.dump(2, ' ', false, Json::error_handler_t::replace) << '\n';
  } else {
    PrintText(document);
  }
  return listing.first_fault();
}

}  // namespace javelin::cli
