#include "javelin/file/field_parts.h"

#include <algorithm>

#include "javelin/file/schema_internal.h"

namespace javelin::file {

namespace {

bool HasParts(const Field& field) {
  return field.logical_type == "struct" && !field.children.empty() && !AsksForPacking(field.metadata);
}

}  // namespace

Field PartsOf(const Field& field, const std::vector<std::span<const std::string>>& paths) {
  const bool whole = std::any_of(paths.begin(), paths.end(), [](const auto& path) { return path.empty(); });
  if (whole || !HasParts(field)) return field;
  Field parts = field;
  parts.children.clear();
  for (const Field& child : field.children) {
    std::vector<std::span<const std::string>> below;
    for (const auto& path : paths) {
      if (path[0] == child.name) below.push_back(path.subspan(1));
    }
    if (!below.empty()) parts.children.push_back(PartsOf(child, below));
  }
  const auto type = BuildType(parts.logical_type, parts.children);
  if (!type.ok() || parts.children.empty()) return field;
  parts.type = *type;
  return parts;
}

}  // namespace javelin::file
