#include "javelin/memwal/sealing.h"

#include "javelin/base/error.h"
#include "javelin/memwal/wal_log.h"
#include "javelin/memwal/writer_registry.h"

namespace javelin::memwal {

namespace {

using ManifestStorePtr = std::shared_ptr<ShardManifestStore>;

arrow::Result<ManifestStorePtr> ManifestsOf(const Dataset& dataset, const std::string& shard_id) {
  ARROW_RETURN_NOT_OK(dataset.session()->runtime().CheckProcess());
  const auto shard = Uuid::Parse(shard_id);
  if (!shard.ok()) return WithContext(shard.status(), "shard_id");
  return WriterRegistry::Of(*dataset.session())->ManifestStoreOfNow(dataset.location(), *shard);
}

arrow::Result<ShardManifest> Tip(ShardManifestStore& manifests, const Dataset& dataset) {
  ARROW_ASSIGN_OR_RAISE(auto tip, manifests.RefreshLatest());
  if (!tip.has_value()) return NotFound("{} has no shard {}", dataset.uri(), manifests.shard().ToString());
  return *std::move(tip);
}

arrow::Result<ShardManifest> CommitStatus(ShardManifestStore& manifests, Epoch epoch, ShardStatus status) {
  const auto change = [status](const ShardManifest& base) -> arrow::Result<ShardManifest> {
    ShardManifest next = base.NextVersion();
    next.status = status;
    return next;
  };
  return manifests.CommitUpdate(epoch, change).Get();
}

}  // namespace

arrow::Result<ShardManifest> SealShard(const Dataset& dataset, const std::string& shard_id) {
  ARROW_ASSIGN_OR_RAISE(const ManifestStorePtr manifests, ManifestsOf(dataset, shard_id));
  ARROW_ASSIGN_OR_RAISE(const std::optional<ShardManifest> seen, Tip(*manifests, dataset));
  const auto claimed = manifests->ClaimEpoch(seen->shard_spec_id, &seen);
  // It was sealed before, or another sealer was faster: that is what was wanted.
  if (HasKind(claimed.status(), ErrorKind::kSealed)) return Tip(*manifests, dataset);
  ARROW_RETURN_NOT_OK(claimed);
  // A manifest alone does not stop the writer that was: it looks there only now and then. What it appends next must
  // meet the sentinel.
  const Resources resources = dataset.session()->resources();
  WalLog log(resources, dataset.location().store, manifests, dataset.location().root, claimed->writer_epoch);
  if (!resources.runtime->PlantedBug("seal.without_sentinel")) ARROW_RETURN_NOT_OK(log.WriteSentinel(*claimed));
  ARROW_RETURN_NOT_OK(resources.runtime->SyncPoint("seal.fenced"));
  ARROW_ASSIGN_OR_RAISE(auto sealed, CommitStatus(*manifests, claimed->writer_epoch, ShardStatus::kSealed));
  ARROW_RETURN_NOT_OK(resources.runtime->SyncPoint("seal.committed"));
  return sealed;
}

arrow::Result<ShardManifest> SealShard(ShardWriter& writer) {
  ARROW_RETURN_NOT_OK(writer.Close());
  return CommitStatus(*writer.manifest_store(), writer.epoch(), ShardStatus::kSealed);
}

arrow::Result<ShardManifest> UnsealShard(const Dataset& dataset, const std::string& shard_id) {
  ARROW_ASSIGN_OR_RAISE(const ManifestStorePtr manifests, ManifestsOf(dataset, shard_id));
  ARROW_ASSIGN_OR_RAISE(ShardManifest tip, Tip(*manifests, dataset));
  if (tip.status == ShardStatus::kActive) return tip;
  auto unsealed = CommitStatus(*manifests, tip.writer_epoch, ShardStatus::kActive);
  // No one can claim a sealed shard, so a higher epoch means that somebody else unsealed it.
  if (HasKind(unsealed.status(), ErrorKind::kFencedPeerClaimedEpoch)) return Tip(*manifests, dataset);
  ARROW_RETURN_NOT_OK(dataset.session()->runtime().SyncPoint("unseal.committed"));
  return unsealed;
}

}  // namespace javelin::memwal
