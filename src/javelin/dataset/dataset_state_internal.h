// What a Dataset is made of, for the files of this module.
#pragma once

#include <map>
#include <memory>
#include <string>

#include <arrow/result.h>

#include "javelin/dataset/dataset.h"
#include "javelin/table/manifest.h"
#include "javelin/table/versions.h"

namespace javelin::internal {

// A store and the key of one object in it.
struct ObjectLocation {
  std::shared_ptr<ObjectStore> store;
  std::string key;
};

class DatasetState {
 public:
  std::shared_ptr<Session> session;
  StoreLocation location;
  std::map<std::string, std::string> storage_options;
  table::LoadedManifest loaded;
  bool pinned = false;
  // Live rows of the fragments before each, and of all of them; null where the manifest does not say it.
  std::shared_ptr<const std::vector<uint64_t>> live_rows_before;

  static std::shared_ptr<Dataset> MakeDataset(std::shared_ptr<const DatasetState> state) {
    return std::shared_ptr<Dataset>(new Dataset(std::move(state)));
  }
  static const std::shared_ptr<const DatasetState>& Of(const Dataset& dataset) { return dataset.state_; }
  // Another version of the same table.
  std::shared_ptr<Dataset> At(table::LoadedManifest version, bool pinned = false) const;

  const table::Manifest& manifest() const { return *loaded.manifest; }
  bool has_stable_row_ids() const;
  // The fragment of that id; nullptr if there is none.
  const table::Fragment* FindFragment(FragmentId id) const;
  arrow::Result<const table::Fragment*> GetFragment(FragmentId id) const;  // InvalidInput if there is none

  // Files of shallow clones and of tables over several places lie below a base path. Corruption: unknown base id.
  arrow::Result<ObjectLocation> Locate(const table::DataFile& file) const;
  arrow::Result<ObjectLocation> Locate(FragmentId fragment, const table::DeletionFile& file) const;

 private:
  arrow::Result<ObjectLocation> Locate(const std::optional<uint32_t>& base_id, std::string_view folder,
                                       const std::string& name) const;
};

}  // namespace javelin::internal
