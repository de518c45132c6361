// Versions by other things than their number.
#pragma once

#include <cstdint>

#include <arrow/result.h>

#include "javelin/store/stores.h"
#include "javelin/table/versions.h"

namespace javelin::table {

// The newest version committed at or before this time (nanoseconds since the Unix epoch). One listing and a manifest
// for each halving of the versions: clocks that ran backwards between commits may give a neighbour. NotFound: all are
// newer.
arrow::Result<LoadedManifest> LoadVersionAt(const StoreLocation& table, int64_t time_ns);

// Bytes of the manifest of a version. NotFound: no such version.
arrow::Result<uint64_t> ManifestSize(const StoreLocation& table, TableVersion version);

}  // namespace javelin::table
