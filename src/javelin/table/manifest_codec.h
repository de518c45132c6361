// The bytes of a manifest file (docs/format.md, "Tables: manifest file").
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <arrow/result.h>

#include "javelin/store/object_store.h"
#include "javelin/table/manifest.h"

namespace javelin::table {

struct DecodedManifest {
  Manifest manifest;
  std::optional<std::string> transaction;  // encoded, where the file carries it
};

// Of a whole file. Corruption: it does not decode or contradicts itself; NotSupported: feature flags or types that we
// do not handle (table/feature_flags.h).
arrow::Result<DecodedManifest> DecodeManifestFile(std::string_view file);

// Index section, transaction, manifest, footer, in the one order that every reader accepts. NotSupported beyond 2 GiB.
arrow::Result<BufferPtr> EncodeManifestFile(const Manifest& manifest, std::string_view transaction);

}  // namespace javelin::table
