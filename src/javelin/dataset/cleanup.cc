#include "javelin/dataset/cleanup.h"

#include <charconv>
#include <map>
#include <set>
#include <unordered_set>

#include "javelin/base/error.h"
#include "javelin/dataset/dataset_state_internal.h"
#include "javelin/dataset/write_internal.h"
#include "javelin/table/branches.h"
#include "javelin/table/deletion_vector.h"
#include "javelin/table/feature_flags.h"
#include "javelin/table/tags.h"
#include "javelin/table/uuid.h"
#include "javelin/table/versions.h"

namespace javelin {

namespace internal {

namespace {

constexpr std::string_view kDataFolder = "data/";
constexpr std::string_view kDeletionFolder = "_deletions/";
constexpr std::string_view kIndexFolder = "_indices/";
constexpr std::string_view kTransactionFolder = "_transactions/";
constexpr std::string_view kVersionFolder = "_versions/";

// ---- which versions go ----

// A manifest as a listing shows it.
struct ListedVersion {
  TableVersion version;
  std::string path;
  uint64_t bytes = 0;
  std::optional<table::ManifestName> name;  // none: a detached version
  friend bool operator<(const ListedVersion& a, const ListedVersion& b) { return a.version < b.version; }
};

std::optional<TableVersion> DetachedVersion(std::string_view file_name) {
  constexpr std::string_view kSuffix = ".manifest";
  if (!file_name.starts_with('d') || !file_name.ends_with(kSuffix)) return std::nullopt;
  uint64_t number = 0;
  const char* const end = file_name.data() + file_name.size() - kSuffix.size();
  const auto [stop, error] = std::from_chars(file_name.data() + 1, end, number);
  const bool is_number = error == std::errc() && stop == end;
  return is_number && table::IsDetached(TableVersion(number)) ? std::optional(TableVersion(number)) : std::nullopt;
}

// Calls `visit(path below the table, object)` for every object of a folder, a page at a time.
template <typename Visit>
arrow::Status ForEachObject(const StoreLocation& table, std::string_view folder, Visit visit) {
  ListRequest request{.prefix = table::TableKey(table, folder)};
  const size_t root = request.prefix.size() - folder.size();
  while (true) {
    ARROW_ASSIGN_OR_RAISE(const ListPage page, table.store->List(request));
    for (const ObjectInfo& object : page.objects) visit(std::string_view(object.key).substr(root), object);
    if (page.next_page_token.empty()) return arrow::Status::OK();
    request.page_token = page.next_page_token;
  }
}

// All versions, oldest first, detached ones behind.
arrow::Result<std::vector<ListedVersion>> ListAllVersions(const StoreLocation& table) {
  std::vector<ListedVersion> versions;
  ARROW_RETURN_NOT_OK(ForEachObject(table, kVersionFolder, [&](std::string_view path, const ObjectInfo& object) {
    const std::string_view file = path.substr(kVersionFolder.size());
    if (const auto name = table::ParseManifestName(file)) {
      versions.push_back({name->version, std::string(path), object.size, name});
    } else if (const auto detached = DetachedVersion(file)) {
      versions.push_back({*detached, std::string(path), object.size, std::nullopt});
    }
  }));
  std::sort(versions.begin(), versions.end());
  return versions;
}

// The table whose branch this is, or itself.
arrow::Result<StoreLocation> RootOf(const DatasetState& table) {
  StoreLocation root = table.location;
  const std::optional<std::string>& branch = table.manifest().branch;
  if (!branch) return root;
  const std::string folder = "tree/" + *branch;
  if (!root.root.ends_with(folder))
    return NotSupported("branch '{}' does not lie in 'tree/' below its table, so its tags are not found", *branch);
  root.root.resize(root.root.size() - folder.size());
  while (root.root.ends_with('/')) root.root.pop_back();
  return root;
}

// Tags and branches that refer to versions of this table.
struct ProtectedVersions {
  std::map<TableVersion, std::string> tags;
  std::multimap<TableVersion, std::string> branches;

  static arrow::Result<ProtectedVersions> Load(const DatasetState& table) {
    ARROW_ASSIGN_OR_RAISE(const StoreLocation root, RootOf(table));
    ProtectedVersions out;
    ARROW_ASSIGN_OR_RAISE(const auto tags, table::ListTags(root));
    for (const auto& [name, tag] : tags) {
      if (tag.branch == table.manifest().branch) out.tags.emplace(tag.version, name);
    }
    ARROW_ASSIGN_OR_RAISE(const auto branches, table::ListBranches(root));
    for (const auto& [name, branch] : branches) {
      if (branch.parent_branch == table.manifest().branch) {
        out.branches.emplace(branch.parent_version, name);
      } else if (!table.manifest().branch && !branch.version_mapping.empty()) {
        out.branches.emplace(branch.version_mapping.front().first, name);  // by way of another branch
      }
    }
    return out;
  }
};

// ---- which files go ----

// Names of files, below the table, that manifests refer to.
class NamedFiles {
 public:
  void Add(const table::Manifest& manifest) {
    for (const table::Fragment& fragment : manifest.fragments) {
      for (const table::DataFile& file : fragment.files) paths_.insert(fmt::format("{}{}", kDataFolder, file.path));
      if (fragment.deletion_file)
        paths_.insert(
            fmt::format("{}{}", kDeletionFolder, table::DeletionFileName(fragment.id, *fragment.deletion_file)));
    }
    for (const table::IndexEntry& index : manifest.indices) {
      const auto uuid = table::Uuid::FromBytes(index.uuid);
      if (uuid.ok()) paths_.insert(fmt::format("{}{}", kIndexFolder, uuid->ToString()));
    }
    if (!manifest.transaction_file.empty())
      paths_.insert(fmt::format("{}{}", kTransactionFolder, manifest.transaction_file));
  }
  // The name under which a manifest would refer to the file, also for sidecars and files of an index.
  bool Has(const std::string& name) const { return paths_.contains(name); }

 private:
  std::unordered_set<std::string> paths_;
};

struct Found {
  CleanupFileKind kind = CleanupFileKind::kData;
  std::string name;  // by which a manifest refers to it
};

// What a file of the table is by its path; nullopt: none of the format, nobody's business.
std::optional<Found> Classify(std::string_view path) {
  if (path.starts_with(kDataFolder)) {
    if (path.ends_with(".lance")) return Found{CleanupFileKind::kData, std::string(path)};
    const size_t folder = path.rfind('/');
    if (!path.ends_with(".blob") || folder < kDataFolder.size()) return std::nullopt;
    return Found{CleanupFileKind::kData, fmt::format("{}.lance", path.substr(0, folder))};
  }
  if (path.starts_with(kDeletionFolder) && (path.ends_with(".arrow") || path.ends_with(".bin")))
    return Found{CleanupFileKind::kDeletion, std::string(path)};
  if (path.starts_with(kTransactionFolder) && path.ends_with(".txn"))
    return Found{CleanupFileKind::kTransaction, std::string(path)};
  if (path.starts_with(kIndexFolder)) {
    const size_t end = path.find('/', kIndexFolder.size());
    if (end != path.npos) return Found{CleanupFileKind::kIndex, std::string(path.substr(0, end))};
  }
  return std::nullopt;
}

class Planner {
 public:
  Planner(const Dataset& dataset, const CleanupOptions& options)
      : table_(*DatasetState::Of(dataset)), options_(options), now_(table_.session->runtime().WallTime()) {
    plan_.read_version = dataset.version();
  }

  arrow::Result<CleanupPlan> Run() {
    ARROW_RETURN_NOT_OK(CheckOptions());
    ARROW_ASSIGN_OR_RAISE(versions_, ListAllVersions(table_.location));
    ARROW_ASSIGN_OR_RAISE(protected_, ProtectedVersions::Load(table_));
    ARROW_RETURN_NOT_OK(ChooseVersions());
    for (const std::string_view folder : {kDataFolder, kDeletionFolder, kIndexFolder, kTransactionFolder}) {
      ARROW_RETURN_NOT_OK(ForEachObject(table_.location, folder,
                                        [&](std::string_view path, const ObjectInfo& object) { Judge(path, object); }));
    }
    ARROW_RETURN_NOT_OK(SpareNewVersions());
    for (const ListedVersion& version : gone_)
      plan_.files.push_back({version.path, CleanupFileKind::kManifest, false, version.bytes});
    for (const CleanupFile& file : plan_.files) Count(file, plan_.stats);
    return std::move(plan_);
  }

  static void Count(const CleanupFile& file, CleanupStats& stats) {
    stats.bytes_removed += file.bytes;
    switch (file.kind) {
      case CleanupFileKind::kData: ++stats.data_files_removed; break;
      case CleanupFileKind::kDeletion: ++stats.deletion_files_removed; break;
      case CleanupFileKind::kIndex: ++stats.index_files_removed; break;
      case CleanupFileKind::kTransaction: ++stats.transaction_files_removed; break;
      case CleanupFileKind::kManifest: ++stats.old_versions; break;
    }
  }

 private:
  arrow::Status CheckOptions() const {
    ARROW_RETURN_NOT_OK(CheckCanFollow(table_));
    if (options_.retain_versions == 0u) return InvalidInput("retain_versions must be at least 1");
    if (options_.delete_rate_limit == 0u) return InvalidInput("delete_rate_limit must be at least 1");
    if (options_.versions && options_.versions->empty())
      return InvalidInput("versions must name a version, or not be given");
    return arrow::Status::OK();
  }

  arrow::Result<table::LoadedManifest> Load(const ListedVersion& version) const {
    return version.name ? table::LoadVersion(table_.location, *version.name)
                        : table::LoadVersion(table_.location, version.version);
  }

  // Reads every manifest, one at a time, for its age and its files.
  arrow::Status ChooseVersions() {
    std::set<std::string> tags;
    size_t newer = 0;  // versions of the table from here on
    for (const ListedVersion& version : versions_) newer += version.name.has_value();
    for (const ListedVersion& version : versions_) {
      const size_t rank = version.name ? newer-- : 0;  // 1 = the newest
      auto loaded = Load(version);
      if (HasKind(loaded.status(), ErrorKind::kNotFound)) continue;  // somebody else is cleaning up
      ARROW_RETURN_NOT_OK(loaded.status());
      ARROW_RETURN_NOT_OK(table::CheckWritable(*loaded->manifest));  // else nobody knows which files it needs
      const bool goes = Matches(version, rank, *loaded->manifest) && !IsProtected(version.version, tags);
      (goes ? of_gone_ : of_kept_).Add(*loaded->manifest);
      if (goes) gone_.push_back(version);
    }
    if (tags.empty() || !options_.error_if_tagged_old_versions) return arrow::Status::OK();
    return InvalidInput(
        "versions with tags are old enough to go: {}; delete the tags, or leave these versions there with "
        "error_if_tagged_old_versions = false",
        fmt::join(tags, ", "));
  }

  bool Matches(const ListedVersion& version, size_t rank, const table::Manifest& manifest) const {
    if (!version.name || version.version >= plan_.read_version) return false;
    if (options_.retain_versions && rank <= *options_.retain_versions) return false;
    if (options_.older_than && Duration(manifest.timestamp_ns) >= now_ - *options_.older_than) return false;
    return !options_.versions ||
           std::find(options_.versions->begin(), options_.versions->end(), version.version) != options_.versions->end();
  }

  bool IsProtected(TableVersion version, std::set<std::string>& tags) {
    const auto tag = protected_.tags.find(version);
    if (tag != protected_.tags.end()) tags.insert(fmt::format("'{}' (version {})", tag->second, version));
    const auto [first, end] = protected_.branches.equal_range(version);
    for (auto branch = first; branch != end; ++branch) plan_.branches.push_back({branch->second, version});
    return tag != protected_.tags.end() || first != end;
  }

  void Judge(std::string_view path, const ObjectInfo& object) {
    const std::optional<Found> found = Classify(path);
    if (!found || of_kept_.Has(found->name)) return;
    const bool unverified = !of_gone_.Has(found->name);
    const bool may_be_under_way = Duration(object.modified_ns) > now_ - kUnverifiedGrace;
    if (unverified && may_be_under_way && !options_.delete_unverified) return;
    plan_.files.push_back({std::string(path), found->kind, unverified, object.size});
  }

  // Versions that were committed meanwhile may have brought files back, or name those that seemed to be nobody's.
  arrow::Status SpareNewVersions() {
    ARROW_ASSIGN_OR_RAISE(const auto now, ListAllVersions(table_.location));
    NamedFiles of_new;
    bool any = false;
    for (const ListedVersion& version : now) {
      if (std::binary_search(versions_.begin(), versions_.end(), version)) continue;
      auto loaded = Load(version);
      if (HasKind(loaded.status(), ErrorKind::kNotFound)) continue;
      ARROW_RETURN_NOT_OK(loaded.status());
      of_new.Add(*loaded->manifest);
      any = true;
    }
    if (any) std::erase_if(plan_.files, [&](const CleanupFile& file) { return of_new.Has(Classify(file.path)->name); });
    return arrow::Status::OK();
  }

  const DatasetState& table_;
  const CleanupOptions& options_;
  const Duration now_;  // since the Unix epoch
  std::vector<ListedVersion> versions_;
  ProtectedVersions protected_;
  std::vector<ListedVersion> gone_;
  NamedFiles of_gone_, of_kept_;
  CleanupPlan plan_;
};

}  // namespace

}  // namespace internal

std::string_view ToString(CleanupFileKind kind) {
  switch (kind) {
    case CleanupFileKind::kData: return "data";
    case CleanupFileKind::kDeletion: return "deletion";
    case CleanupFileKind::kIndex: return "index";
    case CleanupFileKind::kTransaction: return "transaction";
    case CleanupFileKind::kManifest: return "manifest";
  }
  return {};
}

arrow::Result<CleanupPlan> PlanCleanup(const Dataset& dataset, const CleanupOptions& options) {
  ARROW_RETURN_NOT_OK(dataset.session()->runtime().CheckProcess());
  return internal::Planner(dataset, options).Run();
}

namespace {
constexpr Duration kSecond = std::chrono::seconds(1);
}

arrow::Result<CleanupStats> Cleanup(const Dataset& dataset, const CleanupOptions& options) {
  ARROW_ASSIGN_OR_RAISE(const CleanupPlan plan, PlanCleanup(dataset, options));
  if (plan.files.empty()) return plan.stats;
  ARROW_RETURN_NOT_OK(dataset.MakeRowsDurable());
  Runtime& runtime = dataset.session()->runtime();
  CleanupStats stats;
  for (const CleanupFile& file : plan.files) {
    const TimePoint started = runtime.Now();
    if (dataset.location().store->Delete(dataset.Key(file.path)).ok()) {
      internal::Planner::Count(file, stats);
    } else {
      ++stats.failed_deletes;
    }
    if (!options.delete_rate_limit) continue;
    const Duration share =
        kSecond / static_cast<int64_t>(std::min<uint64_t>(*options.delete_rate_limit, kSecond.count()));
    const Duration spent = runtime.Now() - started;
    if (spent < share) runtime.Sleep(share - spent);
  }
  return stats;
}

}  // namespace javelin
