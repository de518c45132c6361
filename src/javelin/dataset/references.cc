#include "javelin/dataset/references.h"

#include "javelin/base/error.h"
#include "javelin/dataset/dataset_state_internal.h"
#include "javelin/table/branches.h"
#include "javelin/table/commit.h"
#include "javelin/table/version_lookup.h"
#include "javelin/table/versions.h"

namespace javelin {

using internal::DatasetState;

namespace {

constexpr std::string_view kMain = "main";

// "a/tree/b" without "tree/b"; nullopt if it does not end so.
std::optional<std::string> Without(std::string_view path, std::string_view end) {
  while (path.ends_with('/')) path.remove_suffix(1);
  if (!path.ends_with(end)) return std::nullopt;
  path.remove_suffix(end.size());
  if (!path.empty() && !path.ends_with('/')) return std::nullopt;
  while (path.ends_with('/')) path.remove_suffix(1);
  return std::string(path);
}

StoreLocation RootOfState(const DatasetState& state) {
  const std::optional<std::string>& branch = state.manifest().branch;
  if (!branch) return state.location;
  const std::string end = fmt::format("tree/{}", *branch);
  const auto root = Without(state.location.root, end);
  if (!root) return state.location;  // it was copied to somewhere else, and is a root there
  StoreLocation location = state.location;
  location.root = *root;
  location.uri = Without(location.uri, end).value_or(location.uri);
  return location;
}

// A branch, or the root, and what is wanted there.
struct Target {
  std::optional<std::string> branch;
  StoreLocation location;
  std::optional<TableVersion> version;
};

// Finds references from one dataset.
class Resolver {
 public:
  explicit Resolver(const DatasetState& state) : state_(state), root_(RootOfState(state)) {}

  const StoreLocation& root() const { return root_; }

  arrow::Result<Target> Find(const std::optional<VersionReference>& reference) const {
    if (!reference) return Own(state_.manifest().version);
    if (const auto* version = std::get_if<TableVersion>(&*reference)) return Own(*version);
    if (const auto* place = std::get_if<OnBranch>(&*reference)) return At(place->branch, place->version);
    ARROW_ASSIGN_OR_RAISE(const table::Tag tag, table::LoadTag(root_, std::get<std::string>(*reference)));
    return At(tag.branch, tag.version);
  }

  arrow::Result<table::LoadedManifest> Load(const Target& target) const {
    const bool is_own = target.location.root == state_.location.root;
    if (is_own && target.version == state_.manifest().version) return state_.loaded;
    auto loaded = target.version ? table::LoadVersion(target.location, *target.version)
                                 : table::LoadLatestVersion(target.location, is_own ? &state_.loaded : nullptr);
    if (!loaded.ok()) return WhatIsMissing(target, loaded.status());
    return loaded;
  }

  // The same failure, unless it is the whole branch that is not there.
  arrow::Status WhatIsMissing(const Target& target, const arrow::Status& status) const {
    if (target.branch && HasKind(status, ErrorKind::kNotFound))
      ARROW_RETURN_NOT_OK(table::LoadBranch(root_, *target.branch).status());
    return status;
  }

  // The number of what a tag is to name, which need not be read for that.
  arrow::Result<TableVersion> Number(const Target& target) const {
    if (target.version) return *target.version;
    ARROW_ASSIGN_OR_RAISE(const table::LoadedManifest newest, Load(target));
    return newest.manifest->version;
  }

 private:
  Target Own(TableVersion version) const {
    const bool is_root = root_.root == state_.location.root;
    return {is_root ? std::nullopt : state_.manifest().branch, state_.location, version};
  }
  arrow::Result<Target> At(const std::optional<std::string>& branch, std::optional<TableVersion> version) const {
    if (!branch || *branch == kMain) return Target{std::nullopt, root_, version};
    ARROW_RETURN_NOT_OK(table::CheckBranchName(*branch));
    return Target{branch, table::BranchLocation(root_, *branch), version};
  }

  const DatasetState& state_;
  const StoreLocation root_;
};

std::shared_ptr<Dataset> AtPlace(const DatasetState& state, const StoreLocation& place, table::LoadedManifest loaded,
                                 bool pinned) {
  DatasetState there = state;
  there.location = place;
  return there.At(std::move(loaded), pinned);
}

arrow::Result<DatasetState> Unopened(std::shared_ptr<Session> session, const std::string& uri,
                                     const std::map<std::string, std::string>& storage_options) {
  ARROW_RETURN_NOT_OK(session->runtime().CheckProcess());
  DatasetState state;
  ARROW_ASSIGN_OR_RAISE(state.location, session->stores().Resolve(uri, storage_options));
  state.session = std::move(session);
  state.storage_options = storage_options;
  return state;
}

// A tag of the root table is found without opening the newest version first.
arrow::Result<std::shared_ptr<Dataset>> OpenTag(const DatasetState& state, const table::Tag& tag) {
  if (tag.branch) ARROW_RETURN_NOT_OK(table::CheckBranchName(*tag.branch));
  const StoreLocation place = tag.branch ? table::BranchLocation(state.location, *tag.branch) : state.location;
  ARROW_ASSIGN_OR_RAISE(auto loaded, table::LoadVersion(place, tag.version));
  return AtPlace(state, place, std::move(loaded), /*pinned=*/true);
}

}  // namespace

StoreLocation RootOf(const Dataset& dataset) { return RootOfState(*DatasetState::Of(dataset)); }

const std::optional<std::string>& BranchOf(const Dataset& dataset) { return dataset.manifest().branch; }

arrow::Result<std::shared_ptr<Dataset>> Checkout(const Dataset& dataset, const VersionReference& reference) {
  const DatasetState& state = *DatasetState::Of(dataset);
  const Resolver resolver(state);
  ARROW_ASSIGN_OR_RAISE(const Target target, resolver.Find(reference));
  ARROW_ASSIGN_OR_RAISE(auto loaded, resolver.Load(target));
  return AtPlace(state, target.location, std::move(loaded), target.version.has_value());
}

arrow::Result<std::shared_ptr<Dataset>> OpenReference(std::shared_ptr<Session> session, const std::string& uri,
                                                      const VersionReference& reference,
                                                      const std::map<std::string, std::string>& storage_options) {
  OpenOptions options;
  options.storage_options = storage_options;
  if (const auto* version = std::get_if<TableVersion>(&reference)) {
    options.version = *version;
    return Dataset::Open(std::move(session), uri, options);
  }
  if (const auto* name = std::get_if<std::string>(&reference)) {
    ARROW_ASSIGN_OR_RAISE(const DatasetState state, Unopened(session, uri, storage_options));
    const auto tag = table::LoadTag(state.location, *name);
    if (tag.ok()) return OpenTag(state, *tag);
    if (!HasKind(tag.status(), ErrorKind::kNotFound)) return tag.status();
  }
  ARROW_ASSIGN_OR_RAISE(const auto newest, Dataset::Open(std::move(session), uri, options));
  return Checkout(*newest, reference);
}

arrow::Result<std::shared_ptr<Dataset>> OpenAsOf(std::shared_ptr<Session> session, const std::string& uri,
                                                 int64_t time_ns,
                                                 const std::map<std::string, std::string>& storage_options) {
  ARROW_ASSIGN_OR_RAISE(const DatasetState state, Unopened(std::move(session), uri, storage_options));
  ARROW_ASSIGN_OR_RAISE(auto loaded, table::LoadVersionAt(state.location, time_ns));
  return state.At(std::move(loaded), /*pinned=*/true);
}

namespace {

using PointTag = arrow::Result<table::Tag> (*)(Runtime&, const StoreLocation& root, std::string_view name, TableVersion,
                                               const std::optional<std::string>& branch);

arrow::Result<table::Tag> Point(PointTag point, const Dataset& dataset, const std::string& name,
                                const std::optional<VersionReference>& reference) {
  Runtime& runtime = dataset.session()->runtime();
  ARROW_RETURN_NOT_OK(runtime.CheckProcess());
  ARROW_RETURN_NOT_OK(table::CheckTagName(name));
  const Resolver resolver(*DatasetState::Of(dataset));
  ARROW_ASSIGN_OR_RAISE(const Target target, resolver.Find(reference));
  ARROW_ASSIGN_OR_RAISE(const TableVersion version, resolver.Number(target));
  auto tag = point(runtime, resolver.root(), name, version, target.branch);
  if (!tag.ok()) return resolver.WhatIsMissing(target, tag.status());
  return tag;
}

}  // namespace

arrow::Result<table::Tag> CreateTag(const Dataset& dataset, const std::string& name,
                                    const std::optional<VersionReference>& reference) {
  return Point(&table::CreateTag, dataset, name, reference);
}

arrow::Result<table::Tag> UpdateTag(const Dataset& dataset, const std::string& name,
                                    const std::optional<VersionReference>& reference) {
  return Point(&table::UpdateTag, dataset, name, reference);
}

arrow::Result<std::shared_ptr<Dataset>> CreateBranch(const Dataset& dataset, const std::string& name,
                                                     const std::optional<VersionReference>& reference) {
  ARROW_RETURN_NOT_OK(table::CheckBranchName(name));
  const DatasetState& state = *DatasetState::Of(dataset);
  ARROW_RETURN_NOT_OK(state.session->runtime().CheckProcess());
  const Resolver resolver(state);
  ARROW_ASSIGN_OR_RAISE(const Target target, resolver.Find(reference));
  ARROW_ASSIGN_OR_RAISE(const auto source, resolver.Load(target));
  ARROW_ASSIGN_OR_RAISE(auto created, table::CreateBranch(state.session->resources(), resolver.root(), name, source,
                                                          target.branch, target.location.uri));
  return AtPlace(state, table::BranchLocation(resolver.root(), name), std::move(created), /*pinned=*/false);
}

arrow::Result<std::shared_ptr<Dataset>> ShallowClone(
    const Dataset& dataset, const std::string& target_uri, const std::optional<VersionReference>& reference,
    const std::optional<std::map<std::string, std::string>>& storage_options) {
  const DatasetState& state = *DatasetState::Of(dataset);
  ARROW_ASSIGN_OR_RAISE(DatasetState clone,
                        Unopened(state.session, target_uri, storage_options.value_or(state.storage_options)));
  const Resolver resolver(state);
  ARROW_ASSIGN_OR_RAISE(const Target target, resolver.Find(reference));
  ARROW_ASSIGN_OR_RAISE(const auto source, resolver.Load(target));
  table::Clone operation;
  operation.ref_name = target.branch;
  operation.ref_path = target.location.uri;
  ARROW_ASSIGN_OR_RAISE(auto created,
                        table::CommitClone(state.session->resources(), clone.location, source, std::move(operation)));
  return clone.At(std::move(created));
}

}  // namespace javelin
