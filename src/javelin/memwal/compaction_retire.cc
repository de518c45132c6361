#include "javelin/memwal/compaction_retire_internal.h"

#include <charconv>

#include "javelin/base/error.h"
#include "javelin/table/index_entry.h"
#include "javelin/table/mem_wal_details.h"

namespace javelin::memwal {

namespace {

constexpr int kUnlistTries = 10;
// Of a folder that never was listed, before it is collected.
constexpr Duration kOrphanAge = std::chrono::hours(24);

Generation CaughtUp(const table::MemWalDetails& details, const std::string& index, const Uuid& shard) {
  for (const table::IndexCatchup& catch_up : details.index_catchup) {
    if (catch_up.index_name != index) continue;
    for (const table::CompactedSsTable& position : catch_up.caught_up) {
      if (position.shard_id == shard) return position.generation;
    }
  }
  return Generation(0);
}

// The generation in the name of an SSTable's folder, `{8 hex}_gen_{generation}`; nullopt: it is no such name.
std::optional<Generation> GenerationOfFolder(std::string_view name) {
  constexpr std::string_view kMiddle = "_gen_";
  if (name.size() <= 8 + kMiddle.size() || name.substr(8, kMiddle.size()) != kMiddle) return std::nullopt;
  const auto is_hex = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); };
  if (!std::all_of(name.begin(), name.begin() + 8, is_hex)) return std::nullopt;
  const std::string_view digits = name.substr(8 + kMiddle.size());
  uint64_t number = 0;
  const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (parsed.ec != std::errc() || parsed.ptr != digits.data() + digits.size()) return std::nullopt;
  return Generation(number);
}

void AddListed(const ShardManifest& manifest, std::set<std::string>* listed) {
  for (const SsTableEntry& entry : manifest.sstables) listed->insert(entry.path);
}

// What a view that is not older than `cutoff` may have: folders listed by the version that was the newest then, or by
// one since.
arrow::Result<std::set<std::string>> ListedSince(ObjectStore& store, const ShardPaths& paths, int64_t cutoff_ns) {
  const std::string folder = paths.ManifestFolder();
  ARROW_ASSIGN_OR_RAISE(const ListPage page, ListAll(store, {.prefix = folder, .recursive = false}));
  std::map<uint64_t, const ObjectInfo*> versions;
  for (const ObjectInfo& object : page.objects) {
    const auto version = ParseReversedBits(std::string_view(object.key).substr(folder.size()), kManifestSuffix);
    if (version.has_value()) versions.emplace(*version, &object);
  }
  std::vector<std::string> keys;
  for (auto version = versions.rbegin(); version != versions.rend(); ++version) {
    keys.push_back(version->second->key);
    if (version->second->modified_ns <= cutoff_ns) break;
  }
  std::set<std::string> listed;
  for (const auto& bytes : store.GetMany(keys)) {
    ARROW_RETURN_NOT_OK(bytes.status());
    ARROW_ASSIGN_OR_RAISE(const ShardManifest manifest, DecodeShardManifest(**bytes));
    AddListed(manifest, &listed);
  }
  return listed;
}

// A position may have been withdrawn since this version.
arrow::Result<Generation> StillDroppable(const Dataset& base, const Uuid& shard) {
  ARROW_ASSIGN_OR_RAISE(const auto newest, base.CheckoutLatest());
  return DroppableThrough(*newest, shard);
}

}  // namespace

arrow::Result<Generation> DroppableThrough(const Dataset& base, const Uuid& shard) {
  ARROW_ASSIGN_OR_RAISE(const auto details, table::ReadMemWalDetails(base.manifest()));
  if (!details.has_value()) return Generation(0);
  Generation droppable = details->CompactedThrough(shard);
  for (const table::IndexEntry& index : base.manifest().indices) {
    if (!table::IsSystemIndex(index)) droppable = std::min(droppable, CaughtUp(*details, index.name, shard));
  }
  return droppable;
}

arrow::Result<Unlisted> Unlist(const Dataset& base, const std::shared_ptr<ShardManifestStore>& manifests,
                               Generation droppable) {
  // By name: a shard that was made anew meanwhile has generations of these numbers as well, which `base` does not hold.
  const auto names = std::make_shared<std::map<std::string, Generation>>();
  const auto goes = [names](const SsTableEntry& entry) { return names->contains(entry.path); };
  arrow::Status lost;
  for (int attempt = 0; attempt < kUnlistTries; ++attempt) {
    // What was seen last will do at first: a commit that builds on something old meets what came since.
    ARROW_ASSIGN_OR_RAISE(const auto tip, attempt == 0 ? manifests->Latest() : manifests->RefreshLatest());
    if (!tip.has_value()) return Unlisted{{}, droppable};
    for (const SsTableEntry& entry : tip->sstables) {
      if (attempt == 0 && entry.generation <= droppable) names->emplace(entry.path, entry.generation);
    }
    if (attempt > 0) {
      ARROW_ASSIGN_OR_RAISE(const Generation still, StillDroppable(base, manifests->shard()));
      droppable = std::min(droppable, still);
      std::erase_if(*names, [&](const auto& name) { return name.second > droppable; });
    }
    if (std::none_of(tip->sstables.begin(), tip->sstables.end(), goes)) return Unlisted{{}, droppable};
    if (attempt == 0) ARROW_RETURN_NOT_OK(base.MakeRowsDurable());
    auto taken = std::make_shared<std::vector<Generation>>();
    const auto change = [taken, goes](const ShardManifest& base) -> arrow::Result<ShardManifest> {
      taken->clear();
      ShardManifest next = base.NextVersion();
      for (const SsTableEntry& entry : base.sstables) {
        if (goes(entry)) taken->push_back(entry.generation);
      }
      if (taken->empty()) return AlreadyExists("somebody else has retired these SSTables");
      std::erase_if(next.sstables, goes);
      return next;
    };
    const auto committed = manifests->CommitUpdate(tip->writer_epoch, change).Get();
    if (committed.ok()) {
      ARROW_RETURN_NOT_OK(base.session()->runtime().SyncPoint("compact.retired"));
      return Unlisted{*taken, droppable};
    }
    lost = committed.status();
    if (HasKind(lost, ErrorKind::kAlreadyExists)) return Unlisted{{}, droppable};
    // A writer claimed the shard, or committed again and again.
    const bool again = HasKind(lost, ErrorKind::kFencedPeerClaimedEpoch) || HasKind(lost, ErrorKind::kVersionConflict);
    if (!again) return lost;
  }
  return AsKind(lost, ErrorKind::kVersionConflict, fmt::format("{} tries to retire SSTables failed", kUnlistTries));
}

namespace {

std::vector<std::string> InFolder(const std::string& prefix, const std::vector<std::string>& names) {
  std::vector<std::string> folders;
  for (const std::string& name : names) folders.push_back(prefix + name);
  return folders;
}

arrow::Result<int64_t> NewestObject(ObjectStore& store, const std::string& folder) {
  ARROW_ASSIGN_OR_RAISE(const ListPage page, ListAll(store, {.prefix = folder}));
  int64_t newest = INT64_MIN;
  for (const ObjectInfo& object : page.objects) newest = std::max(newest, object.modified_ns);
  return newest;
}

// Takes out the folders that were written since `cutoff` and that no version of the manifest has ever listed: what a
// flush gave up, or is still writing for nothing.
arrow::Status EraseYoungOrphans(ObjectStore& store, const ShardPaths& paths, int64_t cutoff_ns,
                                std::vector<std::string>* names) {
  std::set<std::string> young;
  for (const std::string& name : *names) {
    ARROW_ASSIGN_OR_RAISE(const int64_t newest, NewestObject(store, fmt::format("{}/{}/", paths.shard_folder, name)));
    if (newest > cutoff_ns) young.insert(name);
  }
  if (young.empty()) return arrow::Status::OK();
  // A version that listed one of them is younger than the folder.
  ARROW_ASSIGN_OR_RAISE(const auto were_listed, ListedSince(store, paths, cutoff_ns));
  std::erase_if(*names, [&](const std::string& name) { return young.contains(name) && !were_listed.contains(name); });
  return arrow::Status::OK();
}

}  // namespace

// Folders first, then the manifest: a flush that is under way has the number of the next generation or is listed, and
// what neither is nor is listed can never be published any more.
arrow::Result<std::vector<std::string>> FindRetiredFolders(const Dataset& dataset, ShardManifestStore& manifests,
                                                           Duration grace) {
  const ShardPaths paths(dataset.location().root, manifests.shard());
  ObjectStore& store = *dataset.location().store;
  const std::string prefix = paths.shard_folder + "/";
  ARROW_ASSIGN_OR_RAISE(const ListPage page, ListAll(store, {.prefix = prefix, .recursive = false}));
  ARROW_ASSIGN_OR_RAISE(const auto tip, manifests.RefreshLatest());
  if (!tip.has_value()) return std::vector<std::string>();
  const bool too_far = dataset.session()->runtime().PlantedBug("compaction.collects_flush_under_way");
  const Generation end = too_far ? tip->current_generation.Next() : tip->current_generation;
  std::set<std::string> listed;
  AddListed(*tip, &listed);
  std::vector<std::string> names;
  for (const std::string& folder : page.folders) {
    std::string name = folder.substr(prefix.size(), folder.size() - prefix.size() - 1);
    const auto generation = GenerationOfFolder(name);
    if (!generation.has_value() || *generation >= end || listed.contains(name)) continue;
    names.push_back(std::move(name));
  }
  if (names.empty() || grace == Duration::zero()) return InFolder(prefix, names);
  const Duration now = dataset.session()->runtime().WallTime();
  ARROW_ASSIGN_OR_RAISE(const auto still_listed, ListedSince(store, paths, (now - grace).count()));
  std::erase_if(names, [&](const std::string& name) { return still_listed.contains(name); });
  ARROW_RETURN_NOT_OK(EraseYoungOrphans(store, paths, (now - std::max(grace, kOrphanAge)).count(), &names));
  return InFolder(prefix, names);
}

arrow::Status DeleteSsTableFolder(ObjectStore& store, const std::string& folder) {
  ARROW_ASSIGN_OR_RAISE(const ListPage page, ListAll(store, {.prefix = folder + "/"}));
  const std::string versions = folder + "/_versions/";
  for (const bool manifest : {true, false}) {
    for (const ObjectInfo& object : page.objects) {
      if (object.key.starts_with(versions) == manifest) ARROW_RETURN_NOT_OK(store.Delete(object.key));
    }
  }
  return arrow::Status::OK();
}

}  // namespace javelin::memwal
