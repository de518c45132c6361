#include "javelin/table/tags.h"

#include "javelin/base/error.h"
#include "javelin/table/branches.h"
#include "javelin/table/references_internal.h"
#include "javelin/table/version_lookup.h"
#include "javelin/table/versions.h"

namespace javelin::table {

namespace {

constexpr std::string_view kFolder = "tags";

arrow::Result<Tag> Decode(const std::string& text, std::string_view name) {
  ARROW_ASSIGN_OR_RAISE(const nlohmann::json value, ParseReference(text, fmt::format("tag '{}'", name)));
  Tag tag;
  if (const std::string branch = TextOf(value, "branch"); !branch.empty()) tag.branch = branch;
  tag.version = TableVersion(NumberOf(value, "version"));
  if (tag.version == TableVersion()) return Corruption("tag '{}' names no version", name);
  tag.created_at = TextOf(value, "createdAt");
  tag.updated_at = TextOf(value, "updatedAt");
  tag.manifest_size = NumberOf(value, "manifestSize");
  tag.metadata = MetadataOf(value);
  return tag;
}

BufferPtr Encode(const Tag& tag) {
  nlohmann::ordered_json value;
  value["branch"] = tag.branch ? nlohmann::ordered_json(*tag.branch) : nlohmann::ordered_json(nullptr);
  value["version"] = tag.version.value();
  value["createdAt"] =
      tag.created_at.empty() ? nlohmann::ordered_json(nullptr) : nlohmann::ordered_json(tag.created_at);
  value["updatedAt"] =
      tag.updated_at.empty() ? nlohmann::ordered_json(nullptr) : nlohmann::ordered_json(tag.updated_at);
  value["manifestSize"] = tag.manifest_size;
  value["metadata"] = ToJson(tag.metadata);
  return PrintReference(value);
}

arrow::Status NoSuchTag(const StoreLocation& root, std::string_view name) {
  ARROW_ASSIGN_OR_RAISE(const std::vector<std::string> names, ListReferenceNames(root, kFolder));
  return MakeError(ErrorKind::kNotFound,
                   fmt::format("table '{}' has no tag '{}'{}", root.uri, name, DidYouMean(name, names)),
                   {{"tag", std::string(name)}});
}

arrow::Status Write(const StoreLocation& root, std::string_view name, const Tag& tag) {
  return root.store->Put(ReferenceKey(root, kFolder, name), Encode(tag));
}

arrow::Status Point(const StoreLocation& root, TableVersion version, const std::optional<std::string>& branch,
                    Tag& tag) {
  const StoreLocation table = branch ? BranchLocation(root, *branch) : root;
  ARROW_ASSIGN_OR_RAISE(tag.manifest_size, ManifestSize(table, version));
  tag.version = version;
  tag.branch = branch;
  return arrow::Status::OK();
}

}  // namespace

arrow::Status CheckTagName(std::string_view name) {
  if (IsReferenceWord(name) && !name.starts_with('.') && !name.ends_with('.') && name.find("..") == name.npos)
    return arrow::Status::OK();
  return InvalidInput(
      "'{}' is no name for a tag: letters, digits, '.', '_' and '-', without '.' at either end, \"..\" or a final "
      "\".lock\"",
      name);
}

arrow::Result<std::map<std::string, Tag>> ListTags(const StoreLocation& root) {
  ARROW_ASSIGN_OR_RAISE(const References references, LoadReferences(root, kFolder));
  std::map<std::string, Tag> tags;
  for (const auto& [name, text] : references) {
    ARROW_ASSIGN_OR_RAISE(tags[name], Decode(text, name));
  }
  return tags;
}

arrow::Result<Tag> LoadTag(const StoreLocation& root, std::string_view name) {
  ARROW_RETURN_NOT_OK(CheckTagName(name));
  auto text = LoadReference(root, kFolder, name);
  if (HasKind(text.status(), ErrorKind::kNotFound)) return NoSuchTag(root, name);
  ARROW_RETURN_NOT_OK(text.status());
  return Decode(*text, name);
}

arrow::Result<Tag> CreateTag(Runtime& runtime, const StoreLocation& root, std::string_view name, TableVersion version,
                             const std::optional<std::string>& branch) {
  ARROW_RETURN_NOT_OK(CheckTagName(name));
  Tag tag;
  ARROW_RETURN_NOT_OK(Point(root, version, branch, tag));
  tag.created_at = tag.updated_at = ToRfc3339(runtime.WallTime().count());
  const arrow::Status created = root.store->PutIfAbsent(ReferenceKey(root, kFolder, name), Encode(tag));
  if (HasKind(created, ErrorKind::kAlreadyExists) || HasKind(created, ErrorKind::kPrecondition))
    return AlreadyExists("table '{}' has a tag '{}' already", root.uri, name);
  ARROW_RETURN_NOT_OK(created);
  return tag;
}

arrow::Result<Tag> UpdateTag(Runtime& runtime, const StoreLocation& root, std::string_view name, TableVersion version,
                             const std::optional<std::string>& branch) {
  ARROW_ASSIGN_OR_RAISE(Tag tag, LoadTag(root, name));
  ARROW_RETURN_NOT_OK(Point(root, version, branch, tag));
  tag.updated_at = ToRfc3339(runtime.WallTime().count());
  ARROW_RETURN_NOT_OK(Write(root, name, tag));
  return tag;
}

arrow::Result<Tag> ReplaceTagMetadata(const StoreLocation& root, std::string_view name,
                                      std::map<std::string, std::string> metadata) {
  ARROW_ASSIGN_OR_RAISE(Tag tag, LoadTag(root, name));
  tag.metadata = std::move(metadata);
  ARROW_RETURN_NOT_OK(Write(root, name, tag));
  return tag;
}

arrow::Status DeleteTag(const StoreLocation& root, std::string_view name) {
  ARROW_RETURN_NOT_OK(LoadTag(root, name).status());
  return root.store->Delete(ReferenceKey(root, kFolder, name));
}

}  // namespace javelin::table
