#include "javelin/memwal/compactor.h"

#include "javelin/base/error.h"
#include "javelin/dataset/row_change.h"
#include "javelin/index/key_encoding.h"
#include "javelin/memwal/compaction_mark.h"
#include "javelin/memwal/compaction_retire_internal.h"
#include "javelin/memwal/compaction_rows_internal.h"
#include "javelin/memwal/initialize.h"
#include "javelin/memwal/shard_listing.h"
#include "javelin/memwal/sstable_cache.h"
#include "javelin/memwal/writer_registry.h"
#include "javelin/table/mem_wal_details.h"

namespace javelin::memwal {

namespace {

constexpr int kTries = 10;
constexpr Duration kFirstPause = std::chrono::milliseconds(20);

// The base or the shard moved on since they were read: what is to be done must be found out again.
bool MovedOn(const arrow::Status& failure) {
  switch (KindOf(failure)) {
    case ErrorKind::kRetryableConflict:
    case ErrorKind::kIncompatibleConflict:
    case ErrorKind::kOutcomeUnknown: return true;
    case ErrorKind::kNotFound: return FieldsOf(failure).contains("path");  // an SSTable: moved, retired and collected
    case ErrorKind::kInvalidInput: return FieldsOf(failure).contains("recorded_generation");
    default: return false;
  }
}

arrow::Result<std::vector<file::Field>> KeyOf(const Dataset& base) {
  std::vector<file::Field> key;
  for (const file::Field* field : base.schema().PrimaryKey()) {
    if (!index::IsKeyType(*field->type))
      return NotSupported("key column '{}' of {} has the type {}, which rows cannot be found by", field->name,
                          base.uri(), field->type->ToString());
    key.push_back(*field);
  }
  return key;
}

class ShardCompactor {
 public:
  ShardCompactor(std::shared_ptr<Dataset> base, const Uuid& shard, const CompactOptions& options)
      : base_(std::move(base)),
        session_(base_->session()),
        registry_(WriterRegistry::Of(*session_)),
        manifests_(registry_->ManifestStore(base_->location(), shard)),
        shard_(shard),
        options_(options) {
    report_.shard = shard;
  }

  arrow::Status Run() {
    ARROW_ASSIGN_OR_RAISE(bool more, Pass());
    while (more) {
      ARROW_ASSIGN_OR_RAISE(more, Pass());
    }
    return Retire();
  }

  const ShardCompaction& report() const { return report_; }
  const std::shared_ptr<Dataset>& base() const { return base_; }

 private:
  // SSTables of one commit, oldest first.
  struct Plan {
    std::vector<SsTableEntry> entries;
    std::vector<std::shared_ptr<const SsTable>> tables;
    Generation through() const { return entries.back().generation; }
  };

  Runtime& runtime() const { return session_->runtime(); }

  // One pass; false if there is nothing (more) to move.
  arrow::Result<bool> Pass() {
    arrow::Status lost;
    for (int attempt = 0; attempt < kTries; ++attempt) {
      if (attempt > 0) BackOff(attempt);
      auto moved = TryPass();
      if (moved.ok() || !MovedOn(moved.status())) return moved;
      lost = moved.status();
    }
    return WithContext(lost, fmt::format("{} tries to compact the shard failed", kTries));
  }

  void BackOff(int attempt) {
    const uint64_t slots = uint64_t{1} << std::min(attempt, 6);
    runtime().Sleep(kFirstPause * static_cast<int64_t>(1 + runtime().Random() % slots));
  }

  arrow::Result<bool> TryPass() {
    ARROW_RETURN_NOT_OK(runtime().SyncPoint("compact.begin"));
    ARROW_ASSIGN_OR_RAISE(const auto pending, Pending());
    if (pending.empty()) return false;
    if (options_.dry_run) {
      for (const SsTableEntry& entry : pending) {
        report_.generations.push_back(entry.generation);
        report_.rows_read += entry.physical_rows.value_or(0);
      }
      return false;
    }
    ARROW_ASSIGN_OR_RAISE(const Plan plan, OpenOldest(pending));
    ARROW_RETURN_NOT_OK(Move(plan));
    return true;
  }

  // The SSTables that the base does not hold yet, oldest first. The shard is asked before the base: what the base takes
  // over in between is seen there.
  arrow::Result<std::vector<SsTableEntry>> Pending() {
    ARROW_ASSIGN_OR_RAISE(auto manifest, manifests_->RefreshLatest());
    if (!manifest.has_value()) {
      if (options_.shard.has_value()) return NoSuchShard();
      report_.skipped = "the shard has no manifest";
      return std::vector<SsTableEntry>();
    }
    ARROW_ASSIGN_OR_RAISE(base_, base_->CheckoutLatest());
    ARROW_ASSIGN_OR_RAISE(const table::MemWalDetails details, DetailsOf(*base_));
    const Generation recorded = details.CompactedThrough(shard_);
    report_.compacted_through = recorded;
    if (recorded >= manifest->current_generation) return CheckFlushed(recorded);
    ARROW_RETURN_NOT_OK(CheckNoGap(*manifest, recorded));
    std::vector<SsTableEntry> pending;
    for (SsTableEntry& entry : manifest->sstables) {
      if (entry.generation > recorded) pending.push_back(std::move(entry));
    }
    std::sort(pending.begin(), pending.end(),
              [](const SsTableEntry& a, const SsTableEntry& b) { return a.generation < b.generation; });
    if (!goal_.has_value()) goal_ = pending.empty() ? recorded : pending.back().generation;
    std::erase_if(pending, [&](const SsTableEntry& entry) { return entry.generation > *goal_; });
    // Else the table could hold, after a loss of power, a generation that its shard has not flushed, and that the next
    // writer fills with other rows.
    if (!pending.empty() && !options_.dry_run) ARROW_RETURN_NOT_OK(MakeDurable(*manifest));
    if (pending.empty() && report_.passes == 0) report_.skipped = "the base holds every flushed SSTable";
    return pending;
  }

  arrow::Status MakeDurable(const ShardManifest& manifest) const {
    const ShardPaths paths(base_->location().root, shard_);
    return base_->location().store->MakeDurable(paths.Manifest(manifest.version));
  }

  arrow::Status NoSuchShard() const {
    return WithField(NotFound("{} has no shard {}", base_->uri(), shard_.ToString()), "shard", shard_.ToString());
  }

  // A flush and another compactor may have been quick; but what was never flushed cannot have been compacted.
  arrow::Status CheckFlushed(Generation recorded) {
    ARROW_ASSIGN_OR_RAISE(const auto manifest, manifests_->RefreshLatest());
    if (manifest.has_value() && recorded < manifest->current_generation)
      return RetryableConflict("a flush and another compaction came in between");
    return CheckMark(shard_, recorded, manifest.has_value() ? manifest->current_generation : Generation(1));
  }

  // The oldest ones that fit the budget, at least one.
  arrow::Result<Plan> OpenOldest(const std::vector<SsTableEntry>& pending) const {
    const auto cache = SsTableCache::Of(*session_);
    const ShardPaths paths(base_->location().root, shard_);
    Plan plan;
    uint64_t bytes = 0;
    for (const SsTableEntry& entry : pending) {
      if (!plan.entries.empty() && bytes + entry.in_memory_bytes.value_or(0) > options_.max_bytes_per_pass) break;
      ARROW_ASSIGN_OR_RAISE(auto table, cache->Get(base_->location().store, JoinKey(paths.shard_folder, entry.path)));
      ARROW_RETURN_NOT_OK(table->CheckColumns(*base_));
      // Where nobody measured it, what is stored stands in for it.
      bytes += entry.in_memory_bytes.value_or(table->num_rows() * table->bytes_per_row());
      if (!plan.entries.empty() && bytes > options_.max_bytes_per_pass) break;
      plan.entries.push_back(entry);
      plan.tables.push_back(std::move(table));
    }
    return plan;
  }

  arrow::Status Move(const Plan& plan) {
    ARROW_ASSIGN_OR_RAISE(auto key, KeyOf(*base_));
    auto tables = plan.tables;
    if (runtime().PlantedBug("compaction.oldest_row_wins")) std::reverse(tables.begin(), tables.end());
    ARROW_ASSIGN_OR_RAISE(CompactionRows rows, CompactionRows::Collect(std::move(tables), std::move(key)));
    if (!runtime().PlantedBug("compaction.appends_only")) ARROW_RETURN_NOT_OK(rows.FindInBase(*base_));
    ARROW_RETURN_NOT_OK(runtime().SyncPoint("compact.rows_found"));
    if (runtime().PlantedBug("compaction.retires_before_commit"))
      ARROW_RETURN_NOT_OK(Unlist(*base_, manifests_, plan.through()).status());
    const auto new_rows = rows.Read(base_->schema());
    const RowChange change{.new_rows = rows.num_upserts() > 0 ? new_rows.get() : nullptr,
                           .masked = rows.masked(),
                           .compacted = {{shard_, plan.through()}},
                           .replaced = rows.Replaced()};
    ARROW_ASSIGN_OR_RAISE(base_, CommitRowChange(*base_, change));
    ARROW_RETURN_NOT_OK(runtime().SyncPoint("compact.committed"));
    ++report_.passes;
    for (const SsTableEntry& entry : plan.entries) report_.generations.push_back(entry.generation);
    report_.rows_read += rows.num_read();
    report_.rows_upserted += rows.num_upserts();
    report_.rows_deleted += rows.num_deletions();
    report_.compacted_through = plan.through();
    return arrow::Status::OK();
  }

  // Of what the base holds by now, as the last look for work has seen it: less than was committed, if a position was
  // withdrawn since.
  arrow::Status Retire() {
    ARROW_ASSIGN_OR_RAISE(Generation droppable, DroppableThrough(*base_, shard_));
    if (!options_.dry_run && droppable > Generation(0)) {
      ARROW_RETURN_NOT_OK(runtime().SyncPoint("compact.before_retiring"));
      ARROW_ASSIGN_OR_RAISE(const Unlisted unlisted, Unlist(*base_, manifests_, droppable));
      report_.retired = unlisted.generations;
      droppable = unlisted.droppable;
    }
    ARROW_ASSIGN_OR_RAISE(const auto manifest, manifests_->Latest());
    if (!manifest.has_value()) return arrow::Status::OK();
    for (const SsTableEntry& entry : manifest->sstables) {
      if (entry.generation > report_.compacted_through) continue;
      if (entry.generation > droppable) {
        ++report_.awaiting_indexes;
      } else if (options_.dry_run) {
        report_.retired.push_back(entry.generation);
      }
    }
    return arrow::Status::OK();
  }

  std::shared_ptr<Dataset> base_;
  const std::shared_ptr<Session> session_;
  const std::shared_ptr<WriterRegistry> registry_;
  const std::shared_ptr<ShardManifestStore> manifests_;
  const Uuid shard_;
  const CompactOptions& options_;
  std::optional<Generation> goal_;  // newest one at the first look: a writer that flushes on and on is not chased
  ShardCompaction report_;
};

arrow::Status CheckOptions(const Dataset& dataset, const CompactOptions& options) {
  ARROW_RETURN_NOT_OK(dataset.session()->runtime().CheckProcess());
  if (options.max_bytes_per_pass == 0) return InvalidInput("max_bytes_per_pass must be above 0");
  if (options.retired_grace < Duration::zero()) return InvalidInput("retired_grace must not be negative");
  return arrow::Status::OK();
}

arrow::Result<std::vector<Uuid>> ShardsOf(const Dataset& dataset, const CompactOptions& options) {
  if (options.shard.has_value()) return std::vector<Uuid>{*options.shard};
  return ListShards(dataset);
}

// Number of folders that were deleted, or would be.
arrow::Result<uint64_t> CollectShard(const Dataset& dataset, const Uuid& shard, const CompactOptions& options) {
  const auto manifests = WriterRegistry::Of(*dataset.session())->ManifestStore(dataset.location(), shard);
  ARROW_ASSIGN_OR_RAISE(const auto folders, FindRetiredFolders(dataset, *manifests, options.retired_grace));
  if (options.dry_run) return folders.size();
  for (const std::string& folder : folders) {
    ARROW_RETURN_NOT_OK(dataset.session()->runtime().SyncPoint("compact.collect"));
    ARROW_RETURN_NOT_OK(DeleteSsTableFolder(*dataset.location().store, folder));
  }
  return folders.size();
}

// Does it for every shard, whatever happens to the others; the first failure counts.
template <typename Work>
arrow::Status ForEachShard(const std::vector<Uuid>& shards, const Work& work) {
  arrow::Status failure;
  for (const Uuid& shard : shards) {
    const arrow::Status done = work(shard);
    if (!done.ok() && failure.ok()) {
      failure = WithField(WithContext(done, "shard " + shard.ToString()), "shard", shard.ToString());
    }
  }
  return failure;
}

}  // namespace

arrow::Result<CompactionReport> CompactShards(const Dataset& dataset, const CompactOptions& options) {
  ARROW_RETURN_NOT_OK(CheckOptions(dataset, options));
  CompactionReport report;
  ARROW_ASSIGN_OR_RAISE(report.dataset, dataset.CheckoutLatest());
  ARROW_RETURN_NOT_OK(DetailsOf(*report.dataset).status());
  ARROW_ASSIGN_OR_RAISE(const auto shards, ShardsOf(dataset, options));
  const auto work = [&](const Uuid& shard) -> arrow::Status {
    ShardCompactor compactor(report.dataset, shard, options);
    const arrow::Status done = compactor.Run();
    report.dataset = compactor.base();
    ARROW_RETURN_NOT_OK(done);
    report.shards.push_back(compactor.report());
    ARROW_ASSIGN_OR_RAISE(report.shards.back().folders_deleted, CollectShard(*report.dataset, shard, options));
    return arrow::Status::OK();
  };
  ARROW_RETURN_NOT_OK(ForEachShard(shards, work));
  return report;
}

arrow::Result<uint64_t> CollectRetired(const Dataset& dataset, const CompactOptions& options) {
  ARROW_RETURN_NOT_OK(CheckOptions(dataset, options));
  ARROW_ASSIGN_OR_RAISE(const auto shards, ShardsOf(dataset, options));
  uint64_t folders = 0;
  ARROW_RETURN_NOT_OK(ForEachShard(shards, [&](const Uuid& shard) -> arrow::Status {
    ARROW_ASSIGN_OR_RAISE(const uint64_t collected, CollectShard(dataset, shard, options));
    folders += collected;
    return arrow::Status::OK();
  }));
  return folders;
}

arrow::Result<std::vector<RetiredFolder>> ListRetired(const Dataset& dataset, const Uuid& shard) {
  const auto manifests = WriterRegistry::Of(*dataset.session())->ManifestStore(dataset.location(), shard);
  ARROW_ASSIGN_OR_RAISE(const auto folders, FindRetiredFolders(dataset, *manifests, Duration::zero()));
  std::vector<RetiredFolder> retired;
  for (const std::string& folder : folders) {
    ARROW_ASSIGN_OR_RAISE(const ListPage page, ListAll(*dataset.location().store, {.prefix = folder + "/"}));
    RetiredFolder& entry = retired.emplace_back();
    entry.name = folder.substr(folder.rfind('/') + 1);
    for (const ObjectInfo& object : page.objects) entry.bytes += object.size;
  }
  return retired;
}

}  // namespace javelin::memwal
