// Names for versions (docs/format.md, "Tables: tags and branches"). Tags lie in the root table, also those of versions
// of its branches.
#pragma once

#include <map>
#include <optional>
#include <string>

#include <arrow/result.h>

#include "javelin/base/ids.h"
#include "javelin/base/runtime.h"
#include "javelin/store/stores.h"

namespace javelin::table {

struct Tag {
  std::optional<std::string> branch;  // of the version; nullopt = main
  TableVersion version;
  std::string created_at, updated_at;  // RFC 3339, UTC; empty where an older writer did not say
  uint64_t manifest_size = 0;
  std::map<std::string, std::string> metadata;
  friend bool operator==(const Tag&, const Tag&) = default;
};

// InvalidInput unless letters, digits, '.', '_' and '-', no '.' at either end, no "..", not ending in ".lock".
arrow::Status CheckTagName(std::string_view name);

// All functions block. Errors beside those named: of the store, and Corruption of a file.
arrow::Result<std::map<std::string, Tag>> ListTags(const StoreLocation& root);
// NotFound: no such tag (names the nearest).
arrow::Result<Tag> LoadTag(const StoreLocation& root, std::string_view name);
// Names a version that exists. InvalidInput: the name; NotFound: the version; AlreadyExists: the tag.
arrow::Result<Tag> CreateTag(Runtime& runtime, const StoreLocation& root, std::string_view name, TableVersion version,
                             const std::optional<std::string>& branch = std::nullopt);
// Moves a tag to another version; the last one to do so wins. NotFound: the tag or the version.
arrow::Result<Tag> UpdateTag(Runtime& runtime, const StoreLocation& root, std::string_view name, TableVersion version,
                             const std::optional<std::string>& branch = std::nullopt);
// All of its metadata anew; the version stays, and so does the time of its last move. NotFound: no such tag.
arrow::Result<Tag> ReplaceTagMetadata(const StoreLocation& root, std::string_view name,
                                      std::map<std::string, std::string> metadata);
// NotFound: no such tag.
arrow::Status DeleteTag(const StoreLocation& root, std::string_view name);

}  // namespace javelin::table
