// What a view is made of: memory, shard manifests and base, read in the order in which rows move.
#include "javelin/base/error.h"
#include "javelin/memwal/compaction_mark.h"
#include "javelin/memwal/fresh_view_internal.h"
#include "javelin/memwal/parallel_internal.h"
#include "javelin/memwal/seen_tables_internal.h"
#include "javelin/memwal/shard_listing.h"
#include "javelin/memwal/writer_registry.h"

namespace javelin::memwal {

namespace {

using Memory = std::vector<ShardMemory>;
using Manifests = std::vector<ShardManifest>;

constexpr int kTries = 3;

// What the writers of this session hold. A writer that ends meanwhile has left its rows in the log or in an SSTable,
// like one of another process.
arrow::Result<Memory> ReadMemory(const std::vector<std::shared_ptr<WriterState>>& writers) {
  Memory shards;
  for (const auto& writer : writers) {
    auto tables = writer->Snapshot();
    if (!tables.ok() && writer->poison().ok() && writer->ended()) continue;
    ARROW_RETURN_NOT_OK(tables);
    shards.push_back({writer->manifests()->shard(), writer, std::move(*tables)});
  }
  return shards;
}

// The manifests of all shards of the table. That of a shard in memory comes from its writer's store, which knows the
// writer's own commits without a request. The others are looked up in storage from where the last view of the session
// found them; that version is read again, because the shard may not be the same one any more.
arrow::Result<Manifests> ReadManifests(const Dataset& dataset, WriterRegistry& registry, const SeenTable* seen,
                                       const ViewParts& parts) {
  ARROW_ASSIGN_OR_RAISE(const auto shards, ListShards(dataset));
  std::vector<std::shared_ptr<ShardManifestStore>> stores;  // made and destroyed on this task
  for (const Uuid& shard : shards) {
    stores.push_back(parts.FindMemory(shard) != nullptr ? registry.ManifestStore(dataset.location(), shard)
                                                        : registry.ReaderManifestStore(dataset.location(), shard));
  }
  std::vector<std::optional<ShardManifest>> found(shards.size());
  ARROW_RETURN_NOT_OK(InParallel(dataset.session()->runtime(), shards.size(), [&](size_t i) -> arrow::Status {
    const ShardManifest* known = seen == nullptr ? nullptr : seen->FindShard(shards[i]);
    ARROW_ASSIGN_OR_RAISE(found[i], parts.FindMemory(shards[i]) != nullptr ? stores[i]->Latest()
                                    : known == nullptr                     ? stores[i]->RefreshLatest()
                                                                           : stores[i]->LatestFrom(known->version));
    return arrow::Status::OK();
  }));
  Manifests manifests;
  for (auto& manifest : found) {
    if (manifest.has_value()) manifests.push_back(*std::move(manifest));
  }
  return manifests;
}

// A writer that was overtaken holds rows and generations that mean nothing any more. It learns of it here.
arrow::Status CheckNotOvertaken(const ViewParts& parts) {
  for (const ShardManifest& manifest : parts.manifests) {
    const ShardMemory* memory = parts.FindMemory(manifest.shard_id);
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

// OK if the writer still holds its shard as it is in storage now.
arrow::Status CheckHolds(WriterState& writer) {
  const arrow::Status claim = writer.manifests()->CheckFenced(writer.epoch());
  if (!HasKind(claim, ErrorKind::kFencedPeerClaimedEpoch)) return claim;
  writer.Poison(claim);
  return writer.poison();
}

// The base, read last, may hold generations that were not flushed when the manifest was seen, and only then is the
// shard asked again. A flush of the writer came in between, or one of another writer: what that put does not go with
// what this one has in memory. Or the mark was set wrong, and what it covers would be left out although nobody moved
// it. Nothing is left out of a shard that has no manifest, whatever the mark.
arrow::Status CheckMarks(const ViewParts& parts, const WriterRegistry& registry) {
  for (const ShardManifest& manifest : parts.manifests) {
    const Generation mark = parts.CompactedThrough(manifest.shard_id);
    if (mark < manifest.current_generation) continue;
    std::optional<ShardManifest> newest;
    if (const ShardMemory* memory = parts.FindMemory(manifest.shard_id)) {
      ARROW_RETURN_NOT_OK(CheckHolds(*memory->writer));
      ARROW_ASSIGN_OR_RAISE(newest, memory->writer->manifests()->Latest());
    } else {
      const auto reader = registry.ReaderManifestStore(parts.base->location(), manifest.shard_id);
      ARROW_ASSIGN_OR_RAISE(newest, reader->LatestFrom(manifest.version));
    }
    if (newest.has_value()) ARROW_RETURN_NOT_OK(CheckMark(manifest.shard_id, mark, newest->current_generation));
  }
  return arrow::Status::OK();
}

bool ListsMoreThanTheBase(const ShardManifest& manifest, Generation mark) {
  return std::any_of(manifest.sstables.begin(), manifest.sstables.end(),
                     [&](const SsTableEntry& entry) { return entry.generation > mark; });
}

// A writer knows its own commits only. What others have retired since is covered by the base, as long as nobody has
// taken that back (restored the table, or taken MemWAL off it): where the base is another version than when the shard
// was asked last, and a listed SSTable still counts, only the manifest in storage tells whether it is one. Returns
// whether a manifest was another: the base is older than it then.
arrow::Result<bool> AskAgainWhereTheBaseMoved(ViewParts* parts) {
  bool changed = false;
  for (ShardManifest& manifest : parts->manifests) {
    const ShardMemory* memory = parts->FindMemory(manifest.shard_id);
    if (memory == nullptr || !ListsMoreThanTheBase(manifest, parts->CompactedThrough(manifest.shard_id))) continue;
    if (memory->writer->asked_at() == parts->base->version()) continue;
    ARROW_ASSIGN_OR_RAISE(auto newest, memory->writer->manifests()->RefreshLatest());
    memory->writer->NoteAsked(parts->base->version());
    if (!newest.has_value() || *newest == manifest) continue;
    manifest = *std::move(newest);
    changed = true;
  }
  ARROW_RETURN_NOT_OK(CheckNotOvertaken(*parts));
  return changed;
}

// Nothing that was flushed may be missing from what the view reads.
arrow::Status CheckNoGaps(const ViewParts& parts) {
  if (!parts.details.has_value()) return arrow::Status::OK();
  for (const ShardManifest& manifest : parts.manifests)
    ARROW_RETURN_NOT_OK(CheckNoGap(manifest, parts.CompactedThrough(manifest.shard_id)));
  return arrow::Status::OK();
}

bool HoldsMoreThanTheBase(const ViewParts& parts) {
  return !parts.memory.empty() || !CheckNoGaps(parts).ok() ||
         std::any_of(parts.manifests.begin(), parts.manifests.end(), [&](const ShardManifest& manifest) {
           return ListsMoreThanTheBase(manifest, parts.CompactedThrough(manifest.shard_id));
         });
}

// True if the version that was known before the shards were asked is there still: then nobody has removed the table
// meanwhile and made it anew. One request where the base is another version, else none.
bool IsStillThere(const Dataset& before, const Dataset& base) {
  const table::LoadedManifest& known = before.loaded();
  if (base.loaded().manifest == known.manifest) return true;
  const auto is_known = [&](const table::Manifest& other) {
    return other.timestamp_ns == known.manifest->timestamp_ns &&
           other.transaction_file == known.manifest->transaction_file;
  };
  if (base.version() == before.version()) return is_known(base.manifest());
  if (base.version() < before.version()) return false;
  const auto again = table::LoadVersion(base.location(), table::ManifestName{before.version(), known.scheme});
  return again.ok() && is_known(*again->manifest);
}

class Taking {
 public:
  explicit Taking(const Dataset& dataset)
      : dataset_(dataset),
        registry_(WriterRegistry::Of(*dataset.session())),
        seen_tables_(SeenTables::Of(*dataset.session())),
        seen_(seen_tables_->Find(dataset.location())),
        now_(runtime().Now()) {}

  Runtime& runtime() const { return dataset_.session()->runtime(); }
  WriterRegistry& registry() const { return *registry_; }
  const SeenTable* seen() const { return seen_.get(); }

  // The last view over all shards, if it is young enough.
  arrow::Result<std::optional<ViewParts>> Reuse(Duration max_staleness) const {
    if (seen_ == nullptr || !seen_->taken_at.has_value() || now_ - *seen_->taken_at > max_staleness)
      return std::nullopt;
    ViewParts parts{{}, seen_->manifests, dataset_.At(seen_->base), {}};
    if (dataset_.is_pinned() && dataset_.version() != parts.base->version()) return std::nullopt;
    ARROW_ASSIGN_OR_RAISE(parts.details, table::ReadMemWalDetails(parts.base->manifest()));
    return parts;
  }

  using ReadMemoryOf = std::function<arrow::Result<Memory>()>;
  using ReadManifestsFor = std::function<arrow::Result<Manifests>(const ViewParts& with_memory)>;
  // Begins anew if what it read may be of two tables, one made in the place of the other.
  arrow::Result<ViewParts> Take(const ReadMemoryOf& memory, const ReadManifestsFor& manifests) const {
    auto before = dataset_.At(seen_ == nullptr ? dataset_.loaded() : seen_->base);
    for (int attempt = 0; attempt < kTries; ++attempt) {
      ARROW_ASSIGN_OR_RAISE(ViewParts parts, Read(*before, memory, manifests));
      if (!HoldsMoreThanTheBase(parts) || IsStillThere(*before, *parts.base)) {
        ARROW_RETURN_NOT_OK(CheckMarks(parts, *registry_));
        ARROW_RETURN_NOT_OK(CheckNoGaps(parts));
        return parts;
      }
      for (const ShardMemory& shard : parts.memory) ARROW_RETURN_NOT_OK(CheckHolds(*shard.writer));
      before = parts.base;
    }
    return RetryableConflict("{} was removed and made anew while it was read; try again", dataset_.uri());
  }

  void KeepAsWholeView(const ViewParts& parts) const {
    Keep({parts.base->loaded(), parts.manifests, parts.memory.empty() ? std::optional(now_) : std::nullopt});
  }
  void KeepBase(const ViewParts& parts) const {
    if (seen_ != nullptr && seen_->base.manifest == parts.base->loaded().manifest) return;
    Keep({parts.base->loaded(), seen_ == nullptr ? Manifests() : seen_->manifests, std::nullopt});
  }

 private:
  arrow::Result<ViewParts> Read(const Dataset& before, const ReadMemoryOf& memory,
                                const ReadManifestsFor& manifests) const {
    ViewParts parts;
    ARROW_ASSIGN_OR_RAISE(parts.memory, memory());
    const bool too_early = runtime().PlantedBug("view.base_before_manifests");
    if (too_early) ARROW_RETURN_NOT_OK(ReadBase(before, &parts));
    ARROW_ASSIGN_OR_RAISE(parts.manifests, manifests(parts));
    ARROW_RETURN_NOT_OK(CheckNotOvertaken(parts));
    if (!too_early) ARROW_RETURN_NOT_OK(ReadBase(before, &parts));
    ARROW_ASSIGN_OR_RAISE(const bool manifest_is_newer, AskAgainWhereTheBaseMoved(&parts));
    if (manifest_is_newer) ARROW_RETURN_NOT_OK(ReadBase(*parts.base, &parts));
    return parts;
  }

  static arrow::Status ReadBase(const Dataset& before, ViewParts* parts) {
    ARROW_ASSIGN_OR_RAISE(parts->base, before.CheckoutLatest());
    ARROW_ASSIGN_OR_RAISE(parts->details, table::ReadMemWalDetails(parts->base->manifest()));
    return arrow::Status::OK();
  }

  void Keep(SeenTable seen) const {
    seen_tables_->Keep(dataset_.location(), std::make_shared<const SeenTable>(std::move(seen)));
  }

  const Dataset& dataset_;
  const std::shared_ptr<WriterRegistry> registry_;
  const std::shared_ptr<SeenTables> seen_tables_;
  const std::shared_ptr<const SeenTable> seen_;
  const TimePoint now_;
};

// The shards have no history: what they hold goes with the newest version only.
arrow::Status CheckVersion(const Dataset& asked, const Dataset& base) {
  if (!asked.is_pinned() || asked.version() == base.version()) return arrow::Status::OK();
  return NotSupported(
      "a fresh view is one of the newest version of {}, which is {}, and this dataset was opened at version {}; move "
      "it "
      "with checkout_latest(), or open the table without a version",
      base.uri(), base.version(), asked.version());
}

}  // namespace

arrow::Result<ViewParts> ReadAllShards(const Dataset& dataset, const FreshOptions& options) {
  const Taking taking(dataset);
  const auto writers = taking.registry().Writers(dataset.location());
  if (options.max_staleness.has_value() && writers.empty()) {
    ARROW_ASSIGN_OR_RAISE(auto parts, taking.Reuse(*options.max_staleness));
    if (parts.has_value()) return *std::move(parts);
  }
  ARROW_ASSIGN_OR_RAISE(ViewParts parts, taking.Take([&] { return ReadMemory(writers); },
                                                     [&](const ViewParts& with_memory) {
                                                       return ReadManifests(dataset, taking.registry(), taking.seen(),
                                                                            with_memory);
                                                     }));
  ARROW_RETURN_NOT_OK(CheckVersion(dataset, *parts.base));
  taking.KeepAsWholeView(parts);
  return parts;
}

arrow::Result<ViewParts> ReadShardOf(const Dataset& dataset, const std::shared_ptr<WriterState>& writer) {
  const Taking taking(dataset);
  const auto memory = [&]() -> arrow::Result<Memory> {
    ARROW_ASSIGN_OR_RAISE(auto tables, writer->Snapshot());
    return Memory{{writer->manifests()->shard(), writer, std::move(tables)}};
  };
  const auto manifests = [&](const ViewParts&) -> arrow::Result<Manifests> {
    ARROW_ASSIGN_OR_RAISE(auto manifest, writer->manifests()->Latest());
    if (!manifest.has_value())
      return NotFound("shard {} has no manifest any more", writer->manifests()->shard().ToString());
    return Manifests{*std::move(manifest)};
  };
  ARROW_ASSIGN_OR_RAISE(ViewParts parts, taking.Take(memory, manifests));
  taking.KeepBase(parts);
  return parts;
}

}  // namespace javelin::memwal
