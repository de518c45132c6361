#include <nlohmann/json.hpp>

#include "javelin/base/error.h"
#include "javelin/memwal/manifest_tip_internal.h"

namespace javelin::memwal {

namespace {

constexpr int64_t kMaxHintBytes = 1024;

// 0 for anything that is not {"version": n}; a hint is never worth an error.
ManifestVersion ParseHint(const arrow::Buffer& bytes) {
  if (bytes.size() > kMaxHintBytes) return ManifestVersion(0);
  auto json = nlohmann::json::parse(bytes.data(), bytes.data() + bytes.size(), nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) return ManifestVersion(0);
  auto version = json.find("version");
  if (version == json.end() || !version->is_number_unsigned()) return ManifestVersion(0);
  return ManifestVersion(version->get<uint64_t>());
}

}  // namespace

arrow::Result<std::optional<ShardManifest>> ManifestTipFinder::Find() const { return FindFrom(ReadHint()); }

arrow::Result<std::optional<ShardManifest>> ManifestTipFinder::FindFrom(ManifestVersion start) const {
  if (start > ManifestVersion(0)) {
    arrow::Result<ShardManifest> found = Read(start);
    if (found.ok()) {
      ARROW_ASSIGN_OR_RAISE(std::optional<ShardManifest> newer, FindAbove(start));
      return newer.has_value() ? std::move(newer) : std::optional(std::move(*found));
    }
    if (!HasKind(found.status(), ErrorKind::kNotFound)) return found.status();
  }
  // A listing is complete, so nothing is probed behind it.
  ARROW_ASSIGN_OR_RAISE(ManifestVersion tip, LargestListed());
  if (tip == ManifestVersion(0)) return std::nullopt;
  ARROW_ASSIGN_OR_RAISE(ShardManifest manifest, Read(tip));
  return manifest;
}

arrow::Result<std::optional<ShardManifest>> ManifestTipFinder::FindAbove(ManifestVersion held) const {
  ARROW_ASSIGN_OR_RAISE(ManifestVersion tip, ProbeForward(held, 1));
  if (tip == held) return std::nullopt;
  ARROW_ASSIGN_OR_RAISE(ShardManifest manifest, Read(tip));
  return manifest;
}

bool ManifestTipFinder::WriteHint(ManifestVersion version) const {
  BufferPtr bytes = arrow::Buffer::FromString(fmt::format(R"({{"version":{}}})", version));
  if (store_->Put(paths_.ManifestHint(), bytes).ok()) return true;
  resources_.metrics->Add("memwal.manifest_hint_write_failures");
  return false;
}

ManifestVersion ManifestTipFinder::ReadHint() const {
  arrow::Result<BufferPtr> bytes = store_->Get(paths_.ManifestHint());
  if (bytes.ok()) return ParseHint(**bytes);
  if (!HasKind(bytes.status(), ErrorKind::kNotFound)) resources_.metrics->Add("memwal.manifest_hint_read_failures");
  return ManifestVersion(0);
}

arrow::Result<ManifestVersion> ManifestTipFinder::LargestListed() const {
  const std::string folder = paths_.ManifestFolder();
  ARROW_ASSIGN_OR_RAISE(ListPage page, ListAll(*store_, {.prefix = folder, .recursive = false}));
  ManifestVersion largest(0);
  for (const ObjectInfo& object : page.objects) {
    auto version = ParseReversedBits(std::string_view(object.key).substr(folder.size()), kManifestSuffix);
    if (version) largest = std::max(largest, ManifestVersion(*version));
  }
  return largest;
}

// The last existing version before the first absent one. Widens to the batch size behind the first step.
arrow::Result<ManifestVersion> ManifestTipFinder::ProbeForward(ManifestVersion start, uint32_t width) const {
  ManifestVersion tip = start;
  while (true) {
    std::vector<std::string> keys;
    for (uint64_t i = 1; i <= width && tip.value() <= UINT64_MAX - i; ++i)
      keys.push_back(paths_.Manifest(ManifestVersion(tip.value() + i)));
    std::vector<arrow::Result<ObjectInfo>> answers = store_->HeadMany(keys);
    ManifestVersion largest = tip;
    for (size_t i = 0; i < answers.size(); ++i) {
      if (answers[i].ok()) {
        largest = ManifestVersion(tip.value() + i + 1);
      } else if (!HasKind(answers[i].status(), ErrorKind::kNotFound)) {
        return WithContext(answers[i].status(),
                           fmt::format("finding the newest manifest of shard {}", shard_.ToString()));
      }
    }
    if (largest == tip) return tip;
    tip = largest;
    width = batch_size_.load();
  }
}

arrow::Result<ShardManifest> ManifestTipFinder::Read(ManifestVersion version) const {
  const std::string context = fmt::format("manifest version {} of shard {}", version, shard_.ToString());
  arrow::Result<BufferPtr> bytes = store_->Get(paths_.Manifest(version));
  if (!bytes.ok()) return WithContext(bytes.status(), context);
  arrow::Result<ShardManifest> manifest = DecodeShardManifest(**bytes);
  if (!manifest.ok()) return WithContext(manifest.status(), context);
  if (manifest->version != version) return Corruption("{} says it is version {}", context, manifest->version);
  if (manifest->shard_id != shard_)
    return Corruption("{} says it belongs to shard {}", context, manifest->shard_id.ToString());
  return manifest;
}

}  // namespace javelin::memwal
