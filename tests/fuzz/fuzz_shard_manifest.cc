// Any bytes either decode to a manifest that survives a round trip and whose names stay below the shard, or are
// Corruption.
#include "javelin/base/error.h"
#include "javelin/memwal/shard_manifest.h"

namespace javelin::memwal {
namespace {

void Require(bool holds) {
  if (!holds) __builtin_trap();
}

void Check(const std::string& bytes) {
  auto manifest = DecodeShardManifest(*arrow::Buffer::FromString(bytes));
  if (!manifest.ok()) {
    Require(KindOf(manifest.status()) == ErrorKind::kCorruption);
    return;
  }
  for (const SsTableEntry& table : manifest->sstables)
    Require(table.path.find('/') == std::string::npos && table.path != "..");
  Require(manifest->NextVersion().version > manifest->version);
  auto back = DecodeShardManifest(*EncodeShardManifest(*manifest));
  Require(back.ok() && *back == *manifest);
}

}  // namespace
}  // namespace javelin::memwal

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  javelin::memwal::Check(bytes);
  for (std::string_view suffix : {javelin::memwal::kManifestSuffix, javelin::memwal::kWalEntrySuffix}) {
    if (auto number = javelin::memwal::ParseReversedBits(bytes, suffix)) {
      if (javelin::memwal::ReversedBits(*number) + std::string(suffix) != bytes) __builtin_trap();
    }
  }
  return 0;
}
