#include "javelin/table/compaction_progress.h"

#include "javelin/base/error.h"
#include "javelin/table/index_entry.h"

namespace javelin::table {

namespace {

arrow::Status Stale(const CompactedSsTable& sstable, Generation recorded) {
  return MakeError(ErrorKind::kInvalidInput,
                   fmt::format("stale compaction of shard {}: generation {} is not above {}, which is recorded",
                               sstable.shard_id.ToString(), sstable.generation, recorded),
                   {{"shard", sstable.shard_id.ToString()},
                    {"generation", fmt::format("{}", sstable.generation)},
                    {"recorded_generation", fmt::format("{}", recorded)}});
}

// The details with the progress made.
arrow::Result<MemWalDetails> Advance(const std::vector<CompactedSsTable>& compacted, const Manifest& manifest) {
  ARROW_ASSIGN_OR_RAISE(std::optional<MemWalDetails> details, ReadMemWalDetails(manifest));
  if (!details) return InvalidInput("compacted SSTables were given, but MemWAL is not initialized on this table");
  std::set<Uuid> shards;
  for (const CompactedSsTable& sstable : compacted) {
    if (!shards.insert(sstable.shard_id).second)
      return InvalidInput("shard {} is named twice in one commit", sstable.shard_id.ToString());
    const Generation recorded = details->CompactedThrough(sstable.shard_id);
    if (sstable.generation <= recorded) return Stale(sstable, recorded);
    auto place = std::find_if(details->compacted_sstables.begin(), details->compacted_sstables.end(),
                              [&](const CompactedSsTable& old) { return old.shard_id == sstable.shard_id; });
    if (place == details->compacted_sstables.end()) {
      details->compacted_sstables.push_back(sstable);
    } else {
      place->generation = sstable.generation;
    }
  }
  return *std::move(details);
}

}  // namespace

arrow::Status CheckProgress(const std::vector<CompactedSsTable>& compacted, const Manifest& manifest) {
  return compacted.empty() ? arrow::Status::OK() : Advance(compacted, manifest).status();
}

arrow::Status RecordProgress(const std::vector<CompactedSsTable>& compacted, const Uuid& new_uuid, Manifest& next) {
  if (compacted.empty()) return arrow::Status::OK();
  ARROW_ASSIGN_OR_RAISE(const MemWalDetails details, Advance(compacted, next));
  for (IndexEntry& index : next.indices) {
    if (index.name != kMemWalIndexName) continue;
    index = Reissued(WithDetails(index, EncodeMemWalDetails(details)), new_uuid, next.version.value(),
                     next.timestamp_ns / 1'000'000);
    break;
  }
  return arrow::Status::OK();
}

}  // namespace javelin::table
