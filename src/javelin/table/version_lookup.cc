#include "javelin/table/version_lookup.h"

#include "javelin/base/error.h"

namespace javelin::table {

arrow::Result<LoadedManifest> LoadVersionAt(const StoreLocation& table, int64_t time_ns) {
  ARROW_ASSIGN_OR_RAISE(const std::vector<ManifestName> versions, ListVersions(table));
  if (versions.empty()) return NotFound("there is no table at '{}': it has no version", table.uri);
  std::optional<LoadedManifest> found;
  for (size_t low = 0, high = versions.size(); low < high;) {
    const size_t middle = low + (high - low) / 2;
    ARROW_ASSIGN_OR_RAISE(LoadedManifest loaded, LoadVersion(table, versions[middle]));
    if (loaded.manifest->timestamp_ns <= time_ns) {
      found = std::move(loaded);
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  if (!found) return NotFound("every version of '{}' was committed after the given time", table.uri);
  return *std::move(found);
}

arrow::Result<uint64_t> ManifestSize(const StoreLocation& table, TableVersion version) {
  for (NamingScheme scheme : {NamingScheme::kV2, NamingScheme::kV1}) {
    auto info = table.store->Head(ManifestKey(table, {version, scheme}));
    if (info.ok()) return info->size;
    if (!HasKind(info.status(), ErrorKind::kNotFound)) return info.status();
  }
  return MakeError(ErrorKind::kNotFound, fmt::format("table '{}' has no version {}", table.uri, version),
                   {{"version", fmt::format("{}", version)}});
}

}  // namespace javelin::table
