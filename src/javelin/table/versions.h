// The versions of a table: names of manifest files, which one is newest, and loading one (docs/format.md, "Tables:
// versions").
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <arrow/result.h>

#include "javelin/base/ids.h"
#include "javelin/store/stores.h"
#include "javelin/table/manifest.h"
#include "javelin/table/transaction.h"

namespace javelin::table {

// V1 "{version}.manifest"; V2 "{2^64 - 1 - version, 20 digits}.manifest", which sorts newest first. A table never mixes
// them.
enum class NamingScheme { kV1, kV2 };

struct ManifestName {
  TableVersion version;
  NamingScheme scheme = NamingScheme::kV2;
  friend bool operator==(const ManifestName&, const ManifestName&) = default;
};

std::string ToFileName(const ManifestName& name);
// nullopt for every name that is not a version of the table: staging files, hints, detached versions.
std::optional<ManifestName> ParseManifestName(std::string_view file_name);

struct LoadedManifest {
  std::shared_ptr<const Manifest> manifest;
  NamingScheme scheme = NamingScheme::kV2;
  std::optional<std::string> transaction;  // encoded, where the manifest file carries it
  // Of the object as it was listed, the same for as long as nobody puts another in its place; empty: it was not listed.
  std::string identity;
};

// Not part of the table's history: never the latest, and nothing can follow it.
bool IsDetached(TableVersion version);

// One LIST request (a store that lists in order, V2 names), else a listing of the folder. NotFound: there is no
// version.
arrow::Result<ManifestName> FindLatestVersion(const StoreLocation& table);
// All of them, oldest first; empty if there is no table.
arrow::Result<std::vector<ManifestName>> ListVersions(const StoreLocation& table);

// One GET for a manifest of up to 64 KiB, else two. NotFound: no such version; Corruption and NotSupported name the
// object.
arrow::Result<LoadedManifest> LoadVersion(const StoreLocation& table, const ManifestName& name);
// By number alone: looks under the V2 name, then the V1 name (a detached version under its own).
arrow::Result<LoadedManifest> LoadVersion(const StoreLocation& table, TableVersion version);
// If the newest manifest does not decode: Corruption that also names the last version that does. `known`, a version
// that was listed before, is answered without reading it again if the listing shows the same object as the newest.
arrow::Result<LoadedManifest> LoadLatestVersion(const StoreLocation& table, const LoadedManifest* known = nullptr);

// What the commit of this version did; from the manifest file or the transaction's own. NotFound: there is no record.
arrow::Result<Transaction> LoadTransaction(const StoreLocation& table, const LoadedManifest& loaded);

// The key of a manifest / of a file in another folder of the table.
std::string ManifestKey(const StoreLocation& table, const ManifestName& name);
std::string TableKey(const StoreLocation& table, std::string_view name);

// Tells readers of stores that do not list in order where to start looking. Best effort: failures are ignored.
void WriteVersionHint(const StoreLocation& table, TableVersion version);

}  // namespace javelin::table
