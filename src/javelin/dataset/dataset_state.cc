#include "javelin/dataset/dataset_state_internal.h"

#include "javelin/base/error.h"
#include "javelin/dataset/fragment_rows_internal.h"
#include "javelin/table/deletion_vector.h"
#include "javelin/table/feature_flags.h"

namespace javelin::internal {

namespace {
std::shared_ptr<const std::vector<uint64_t>> KnownLiveRowsBefore(const table::Manifest& manifest) {
  auto before = std::make_shared<std::vector<uint64_t>>(1, 0);
  before->reserve(manifest.fragments.size() + 1);
  for (const table::Fragment& fragment : manifest.fragments) {
    const std::optional<uint64_t> live = KnownLiveRows(fragment);
    if (!live) return nullptr;
    before->push_back(before->back() + *live);
  }
  return before;
}
}  // namespace

std::shared_ptr<Dataset> DatasetState::At(table::LoadedManifest version, bool pinned) const {
  auto state = std::make_shared<DatasetState>(*this);
  state->pinned = pinned;
  state->loaded = std::move(version);
  state->live_rows_before = KnownLiveRowsBefore(state->manifest());
  state->loaded.transaction.reset();  // only a commit that steps over a version reads it
  return MakeDataset(std::move(state));
}

bool DatasetState::has_stable_row_ids() const {
  return (manifest().reader_feature_flags & table::flag::kStableRowIds) != 0;
}

const table::Fragment* DatasetState::FindFragment(FragmentId id) const {
  const auto& fragments = manifest().fragments;
  auto found = std::lower_bound(fragments.begin(), fragments.end(), id,
                                [](const table::Fragment& f, FragmentId wanted) { return f.id < wanted; });
  return found != fragments.end() && found->id == id ? &*found : nullptr;
}

arrow::Result<const table::Fragment*> DatasetState::GetFragment(FragmentId id) const {
  const table::Fragment* fragment = FindFragment(id);
  if (fragment == nullptr)
    return InvalidInput("'{}' has no fragment {} at version {}", location.uri, id, manifest().version);
  return fragment;
}

arrow::Result<ObjectLocation> DatasetState::Locate(const table::DataFile& file) const {
  return Locate(file.base_id, "data", file.path);
}

arrow::Result<ObjectLocation> DatasetState::Locate(FragmentId fragment, const table::DeletionFile& file) const {
  return Locate(file.base_id, "_deletions", table::DeletionFileName(fragment, file));
}

arrow::Result<ObjectLocation> DatasetState::Locate(const std::optional<uint32_t>& base_id, std::string_view folder,
                                                   const std::string& name) const {
  const std::string in_folder = JoinKey(folder, name);
  if (!base_id) return ObjectLocation{location.store, table::TableKey(location, in_folder)};
  for (const table::BasePath& base : manifest().base_paths) {
    if (base.id != *base_id) continue;
    ARROW_ASSIGN_OR_RAISE(const StoreLocation place, session->stores().Resolve(base.path, storage_options));
    return ObjectLocation{place.store, JoinKey(place.root, base.is_dataset_root ? in_folder : name)};
  }
  return Corruption("'{}' of table '{}' lies in base path {}, which the manifest does not list", name, location.uri,
                    *base_id);
}

}  // namespace javelin::internal
