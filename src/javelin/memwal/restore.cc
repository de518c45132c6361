#include "javelin/memwal/restore.h"

#include "javelin/base/error.h"
#include "javelin/dataset/restore.h"
#include "javelin/memwal/compaction_mark.h"
#include "javelin/memwal/shard_listing.h"
#include "javelin/memwal/writer_registry.h"
#include "javelin/table/mem_wal_details.h"

namespace javelin::memwal {

namespace {

// The first SSTable that neither the restored version holds nor its shard lists.
arrow::Status CheckShard(const Dataset& restored, const ShardManifest& manifest, Generation mark) {
  const arrow::Status gap = CheckNoGap(manifest, mark);
  if (!HasKind(gap, ErrorKind::kCorruption)) return gap;
  const auto fields = FieldsOf(gap);
  return MakeError(
      ErrorKind::kInvalidInput,
      fmt::format("version {} of '{}' holds shard {} up to generation {}, but generation {} was retired since, so its "
                  "rows would be nowhere; restore a version that holds them, or force it to lose them",
                  restored.version(), restored.uri(), manifest.shard_id.ToString(), mark, fields.at("generation")),
      fields);
}

// Whether the table may hold of its shards what this version does.
arrow::Status CheckShards(const Dataset& restored) {
  ARROW_ASSIGN_OR_RAISE(const auto details, table::ReadMemWalDetails(restored.manifest()));
  if (!details.has_value()) return arrow::Status::OK();  // refused where the table has shards
  const auto registry = WriterRegistry::Of(*restored.session());
  ARROW_ASSIGN_OR_RAISE(const std::vector<Uuid> shards, ListShards(restored));
  for (const Uuid& shard : shards) {
    const auto manifests = registry->ReaderManifestStore(restored.location(), shard);
    ARROW_ASSIGN_OR_RAISE(const auto tip, manifests->RefreshLatest());
    if (tip.has_value()) ARROW_RETURN_NOT_OK(CheckShard(restored, *tip, details->CompactedThrough(shard)));
  }
  return arrow::Status::OK();
}

}  // namespace

arrow::Result<std::shared_ptr<Dataset>> Restore(const Dataset& dataset, bool force) {
  const auto may_follow = [&](const table::Manifest&) { return force ? arrow::Status::OK() : CheckShards(dataset); };
  return RestoreVersion(dataset, may_follow);
}

}  // namespace javelin::memwal
