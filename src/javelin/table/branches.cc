#include "javelin/table/branches.h"

#include "javelin/base/error.h"
#include "javelin/table/commit.h"
#include "javelin/table/references_internal.h"
#include "javelin/table/tags.h"
#include "javelin/table/version_lookup.h"

namespace javelin::table {

namespace {

constexpr std::string_view kFolder = "branches";
constexpr std::string_view kEncodedSlash = "%2F";
constexpr int64_t kNanosPerSecond = 1'000'000'000;

std::string ToFileName(std::string_view name) {
  std::string out;
  for (char c : name) c == '/' ? out += kEncodedSlash : out += c;
  return out;
}

std::string FromFileName(std::string name) {
  for (size_t at = 0; (at = name.find(kEncodedSlash, at)) != name.npos; ++at)
    name.replace(at, kEncodedSlash.size(), "/");
  return name;
}

arrow::Result<Branch> Decode(const std::string& text, std::string_view name) {
  ARROW_ASSIGN_OR_RAISE(const nlohmann::json value, ParseReference(text, fmt::format("branch '{}'", name)));
  Branch branch;
  if (const std::string parent = TextOf(value, "parentBranch"); !parent.empty()) branch.parent_branch = parent;
  branch.parent_version = TableVersion(NumberOf(value, "parentVersion"));
  branch.created_at_s = static_cast<int64_t>(NumberOf(value, "createAt"));
  branch.manifest_size = NumberOf(value, "manifestSize");
  branch.metadata = MetadataOf(value);
  const auto identifier = value.find("identifier");
  if (identifier == value.end() || !identifier->is_object()) return branch;
  const auto mapping = identifier->find("version_mapping");
  if (mapping == identifier->end() || !mapping->is_array()) return branch;
  for (const nlohmann::json& entry : *mapping) {
    if (!entry.is_array() || entry.size() != 2 || !entry[0].is_number_unsigned() || !entry[1].is_string())
      return Corruption("the identifier of branch '{}' does not decode", name);
    branch.version_mapping.emplace_back(TableVersion(entry[0].get<uint64_t>()), entry[1].get<std::string>());
  }
  return branch;
}

BufferPtr Encode(const Branch& branch) {
  nlohmann::ordered_json value;
  value["parentBranch"] =
      branch.parent_branch ? nlohmann::ordered_json(*branch.parent_branch) : nlohmann::ordered_json(nullptr);
  auto mapping = nlohmann::ordered_json::array();
  for (const auto& [version, id] : branch.version_mapping)
    mapping.push_back(nlohmann::ordered_json::array({version.value(), id}));
  value["identifier"]["version_mapping"] = std::move(mapping);
  value["parentVersion"] = branch.parent_version.value();
  value["createAt"] = branch.created_at_s;
  value["manifestSize"] = branch.manifest_size;
  value["metadata"] = ToJson(branch.metadata);
  return PrintReference(value);
}

arrow::Status NoSuchBranch(const StoreLocation& root, std::string_view name) {
  ARROW_ASSIGN_OR_RAISE(std::vector<std::string> names, ListReferenceNames(root, kFolder));
  for (std::string& other : names) other = FromFileName(std::move(other));
  return MakeError(ErrorKind::kNotFound,
                   fmt::format("table '{}' has no branch '{}'{}", root.uri, name, DidYouMean(name, names)),
                   {{"branch", std::string(name)}});
}

std::string RandomHex(Runtime& runtime) {
  const uint64_t high = runtime.Random();
  std::string text = Uuid::Random(high, runtime.Random()).ToString();
  std::erase(text, '-');
  return text;
}

arrow::Status Exists(const StoreLocation& root, std::string_view name) {
  return AlreadyExists("table '{}' has a branch '{}', or files of one; delete it first", root.uri, name);
}

}  // namespace

arrow::Status CheckBranchName(std::string_view name) {
  bool is_valid = name != "main" && name.find("..") == name.npos;
  for (size_t start = 0; is_valid;) {
    const size_t end = std::min(name.find('/', start), name.size());
    is_valid = IsReferenceWord(name.substr(start, end - start));
    if (end == name.size()) break;
    start = end + 1;
  }
  if (is_valid) return arrow::Status::OK();
  return InvalidInput(
      "'{}' is no name for a branch: words of letters, digits, '.', '_' and '-' with '/' between them, not \"main\", "
      "without \"..\" or a final \".lock\"",
      name);
}

StoreLocation BranchLocation(const StoreLocation& root, std::string_view name) {
  StoreLocation location = root;
  location.root = TableKey(root, fmt::format("tree/{}", name));
  location.uri = fmt::format("{}/tree/{}", root.uri, name);
  return location;
}

arrow::Result<std::map<std::string, Branch>> ListBranches(const StoreLocation& root) {
  ARROW_ASSIGN_OR_RAISE(const References references, LoadReferences(root, kFolder));
  std::map<std::string, Branch> branches;
  for (const auto& [file, text] : references) {
    const std::string name = FromFileName(file);
    ARROW_ASSIGN_OR_RAISE(branches[name], Decode(text, name));
  }
  return branches;
}

arrow::Result<Branch> LoadBranch(const StoreLocation& root, std::string_view name) {
  ARROW_RETURN_NOT_OK(CheckBranchName(name));
  auto text = LoadReference(root, kFolder, ToFileName(name));
  if (HasKind(text.status(), ErrorKind::kNotFound)) return NoSuchBranch(root, name);
  ARROW_RETURN_NOT_OK(text.status());
  return Decode(*text, name);
}

arrow::Result<LoadedManifest> CreateBranch(const Resources& resources, const StoreLocation& root, std::string_view name,
                                           const LoadedManifest& source,
                                           const std::optional<std::string>& source_branch,
                                           const std::string& source_path) {
  ARROW_RETURN_NOT_OK(CheckBranchName(name));
  Branch branch;
  if (source_branch) {
    ARROW_ASSIGN_OR_RAISE(const Branch parent, LoadBranch(root, *source_branch));
    branch.version_mapping = parent.version_mapping;
  }
  const auto existing = LoadBranch(root, name);
  if (existing.ok()) return Exists(root, name);
  if (!HasKind(existing.status(), ErrorKind::kNotFound)) return existing.status();
  Clone clone;
  clone.ref_path = source_path;
  clone.branch_name = std::string(name);
  const StoreLocation location = BranchLocation(root, name);
  auto created = CommitClone(resources, location, source, std::move(clone));
  if (HasKind(created.status(), ErrorKind::kAlreadyExists)) return Exists(root, name);
  ARROW_RETURN_NOT_OK(created.status());
  branch.parent_branch = source_branch;
  branch.parent_version = source.manifest->version;
  branch.version_mapping.emplace_back(source.manifest->version, RandomHex(*resources.runtime));
  branch.created_at_s = resources.runtime->WallTime().count() / kNanosPerSecond;
  ARROW_ASSIGN_OR_RAISE(branch.manifest_size, ManifestSize(location, source.manifest->version));
  const arrow::Status named = root.store->PutIfAbsent(ReferenceKey(root, kFolder, ToFileName(name)), Encode(branch));
  if (HasKind(named, ErrorKind::kAlreadyExists) || HasKind(named, ErrorKind::kPrecondition)) return Exists(root, name);
  ARROW_RETURN_NOT_OK(named);
  return created;
}

arrow::Result<Branch> ReplaceBranchMetadata(const StoreLocation& root, std::string_view name,
                                            std::map<std::string, std::string> metadata) {
  ARROW_ASSIGN_OR_RAISE(Branch branch, LoadBranch(root, name));
  branch.metadata = std::move(metadata);
  ARROW_RETURN_NOT_OK(root.store->Put(ReferenceKey(root, kFolder, ToFileName(name)), Encode(branch)));
  return branch;
}

arrow::Status DeleteBranch(const StoreLocation& root, std::string_view name) {
  ARROW_RETURN_NOT_OK(CheckBranchName(name));
  ARROW_ASSIGN_OR_RAISE(const auto branches, ListBranches(root));
  for (const auto& [other, branch] : branches) {
    if (branch.parent_branch == name)
      return InvalidInput("branch '{}' started from '{}' and needs its files; delete it first", other, name);
    if (other.starts_with(fmt::format("{}/", name)))
      return InvalidInput("branch '{}' lies below '{}'; delete it first", other, name);
  }
  ARROW_ASSIGN_OR_RAISE(const auto tags, ListTags(root));
  for (const auto& [tag, named] : tags) {
    if (named.branch == name)
      return InvalidInput("tag '{}' names version {} of branch '{}'; delete or move it first", tag, named.version,
                          name);
  }
  const std::string folder = fmt::format("{}/", BranchLocation(root, name).root);
  ARROW_ASSIGN_OR_RAISE(const ListPage files, ListAll(*root.store, {.prefix = folder}));
  if (!branches.contains(std::string(name)) && files.objects.empty()) return NoSuchBranch(root, name);
  if (branches.contains(std::string(name)))
    ARROW_RETURN_NOT_OK(root.store->Delete(ReferenceKey(root, kFolder, ToFileName(name))));
  for (const ObjectInfo& file : files.objects) ARROW_RETURN_NOT_OK(root.store->Delete(file.key));
  return arrow::Status::OK();
}

}  // namespace javelin::table
