#include "base_versions.h"

#include <map>

#include "javelin/table/mem_wal_details.h"
#include "javelin/table/versions.h"
#include "table_reading.h"

namespace javelin::simulation {

namespace {

arrow::Result<std::map<TableVersion, int64_t>> TimesOfVersions(const Dataset& dataset) {
  const std::string folder = dataset.Key("_versions/");
  ARROW_ASSIGN_OR_RAISE(const ListPage page, ListAll(*dataset.location().store, {.prefix = folder}));
  std::map<TableVersion, int64_t> times;
  for (const ObjectInfo& object : page.objects) {
    const auto name = table::ParseManifestName(std::string_view(object.key).substr(folder.size()));
    if (name.has_value()) times.emplace(name->version, object.modified_ns);
  }
  return times;
}

}  // namespace

arrow::Result<std::vector<BaseVersion>> LoadBaseVersions(const Dataset& dataset, const table::Uuid& shard) {
  ARROW_ASSIGN_OR_RAISE(const auto times, TimesOfVersions(dataset));
  std::vector<BaseVersion> versions;
  for (const auto& [version, written_ns] : times) {
    ARROW_ASSIGN_OR_RAISE(const auto at, dataset.Checkout(version));
    ARROW_ASSIGN_OR_RAISE(const auto details, table::ReadMemWalDetails(at->manifest()));
    ARROW_ASSIGN_OR_RAISE(const auto reader, at->Scan());
    BaseVersion base{version, written_ns, {}, {}};
    if (details.has_value()) base.compacted_through = details->CompactedThrough(shard);
    auto rows = ReadAll(*reader);
    if (!rows.ok())
      return rows.status().WithMessage(fmt::format("version {} of the base: {}", version, rows.status().message()));
    base.rows = *std::move(rows);
    versions.push_back(std::move(base));
  }
  return versions;
}

}  // namespace javelin::simulation
