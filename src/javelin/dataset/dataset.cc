#include "javelin/dataset/dataset.h"

#include <arrow/record_batch.h>

#include "javelin/base/error.h"
#include "javelin/dataset/dataset_state_internal.h"
#include "javelin/dataset/fragment_rows_internal.h"
#include "javelin/dataset/scan_internal.h"
#include "javelin/dataset/take_internal.h"
#include "javelin/dataset/write_internal.h"
#include "javelin/table/commit.h"
#include "javelin/table/transaction.h"

namespace javelin {

using internal::DatasetState;

arrow::Result<std::shared_ptr<Dataset>> Dataset::Open(std::shared_ptr<Session> session, const std::string& uri,
                                                      const OpenOptions& options) {
  ARROW_ASSIGN_OR_RAISE(const StoreLocation location, session->stores().Resolve(uri, options.storage_options));
  return OpenAt(std::move(session), location, options);
}

arrow::Result<std::shared_ptr<Dataset>> Dataset::OpenAt(std::shared_ptr<Session> session, const StoreLocation& location,
                                                        const OpenOptions& options) {
  ARROW_RETURN_NOT_OK(session->runtime().CheckProcess());
  DatasetState state;
  state.session = std::move(session);
  state.location = location;
  state.storage_options = options.storage_options;
  ARROW_ASSIGN_OR_RAISE(auto loaded, options.version ? table::LoadVersion(location, *options.version)
                                                     : table::LoadLatestVersion(location));
  return state.At(std::move(loaded), options.version.has_value());
}

arrow::Result<std::shared_ptr<Dataset>> Dataset::Write(std::shared_ptr<Session> session, const std::string& uri,
                                                       arrow::RecordBatchReader& data, const WriteOptions& options) {
  ARROW_ASSIGN_OR_RAISE(const StoreLocation location, session->stores().Resolve(uri, options.storage_options));
  return WriteAt(std::move(session), location, data, options);
}

arrow::Result<std::shared_ptr<Dataset>> Dataset::WriteAt(std::shared_ptr<Session> session,
                                                         const StoreLocation& location, arrow::RecordBatchReader& data,
                                                         const WriteOptions& options) {
  ARROW_RETURN_NOT_OK(session->runtime().CheckProcess());
  DatasetState state;
  state.session = std::move(session);
  state.location = location;
  state.storage_options = options.storage_options;
  if (options.mode == WriteMode::kCreate) {
    const auto latest = table::FindLatestVersion(location);
    if (latest.ok()) {
      return AlreadyExists(
          "there is already a table at '{}' (version {}); add rows with mode \"append\" or replace them with "
          "\"overwrite\"",
          location.uri, latest->version);
    }
    if (!HasKind(latest.status(), ErrorKind::kNotFound)) return latest.status();
  } else {
    auto loaded = table::LoadLatestVersion(location);
    const bool creates = options.mode == WriteMode::kOverwrite && HasKind(loaded.status(), ErrorKind::kNotFound);
    if (!loaded.ok() && !creates) return loaded.status();
    if (loaded.ok()) state.loaded = *std::move(loaded);
  }
  ARROW_ASSIGN_OR_RAISE(auto written, internal::WriteRows(state, data, options));
  return state.At(std::move(written));
}

arrow::Result<std::shared_ptr<Dataset>> Dataset::Append(arrow::RecordBatchReader& data,
                                                        const WriteOptions& options) const {
  WriteOptions append = options;
  append.mode = WriteMode::kAppend;
  ARROW_ASSIGN_OR_RAISE(auto written, internal::WriteRows(*state_, data, append));
  return state_->At(std::move(written));
}

arrow::Result<std::shared_ptr<Dataset>> Dataset::Overwrite(arrow::RecordBatchReader& data,
                                                           const WriteOptions& options) const {
  WriteOptions overwrite = options;
  overwrite.mode = WriteMode::kOverwrite;
  ARROW_ASSIGN_OR_RAISE(auto written, internal::WriteRows(*state_, data, overwrite));
  return state_->At(std::move(written));
}

const std::string& Dataset::uri() const { return state_->location.uri; }
TableVersion Dataset::version() const { return state_->manifest().version; }
const file::Schema& Dataset::schema() const { return state_->manifest().schema; }
std::shared_ptr<arrow::Schema> Dataset::arrow_schema() const { return schema().ToArrow(); }
const table::Manifest& Dataset::manifest() const { return state_->manifest(); }
const std::shared_ptr<Session>& Dataset::session() const { return state_->session; }
const StoreLocation& Dataset::location() const { return state_->location; }
std::string Dataset::Key(std::string_view name) const { return table::TableKey(state_->location, name); }

arrow::Result<std::shared_ptr<arrow::RecordBatchReader>> Dataset::Scan(const ScanOptions& options) const {
  return internal::MakeScan(state_, options);
}

arrow::Result<uint64_t> Dataset::CountRows() const {
  uint64_t count = 0;
  for (const table::Fragment& fragment : manifest().fragments) {
    ARROW_ASSIGN_OR_RAISE(const uint64_t rows, internal::CountLiveRows(*state_, fragment));
    count += rows;
  }
  return count;
}

arrow::Result<std::shared_ptr<arrow::RecordBatch>> Dataset::Take(
    std::span<const uint64_t> rows, const std::optional<std::vector<std::string>>& columns) const {
  ARROW_ASSIGN_OR_RAISE(const std::vector<RowAddress> addresses, internal::AddressesOf(*state_, rows));
  return internal::TakeRows(state_, addresses, columns);
}

arrow::Result<std::shared_ptr<arrow::RecordBatch>> Dataset::TakeAddresses(
    std::span<const RowAddress> addresses, const std::optional<std::vector<std::string>>& columns) const {
  return internal::TakeRows(state_, addresses, columns);
}

arrow::Result<std::vector<Dataset::VersionInfo>> Dataset::Versions() const {
  ARROW_ASSIGN_OR_RAISE(const auto names, table::ListVersions(state_->location));
  std::vector<VersionInfo> versions;
  for (const table::ManifestName& name : names) {
    ARROW_ASSIGN_OR_RAISE(const table::LoadedManifest loaded, table::LoadVersion(state_->location, name));
    versions.push_back({name.version, loaded.manifest->timestamp_ns, table::Summarize(*loaded.manifest)});
  }
  return versions;
}

arrow::Result<std::shared_ptr<Dataset>> Dataset::Checkout(TableVersion version) const {
  ARROW_ASSIGN_OR_RAISE(auto loaded, table::LoadVersion(state_->location, version));
  return state_->At(std::move(loaded), /*pinned=*/true);
}

bool Dataset::is_pinned() const { return state_->pinned; }

const table::LoadedManifest& Dataset::loaded() const { return state_->loaded; }

std::shared_ptr<Dataset> Dataset::At(table::LoadedManifest version) const { return state_->At(std::move(version)); }

arrow::Result<std::shared_ptr<Dataset>> Dataset::CheckoutLatest() const {
  ARROW_ASSIGN_OR_RAISE(auto loaded, table::LoadLatestVersion(state_->location, &state_->loaded));
  return state_->At(std::move(loaded));
}

arrow::Status Dataset::MakeVersionDurable() const {
  return location().store->MakeDurable(table::ManifestKey(location(), {version(), state_->loaded.scheme}));
}

arrow::Status Dataset::MakeRowsDurable() const {
  for (const table::Fragment& fragment : manifest().fragments) {
    for (const table::DataFile& file : fragment.files) {
      ARROW_ASSIGN_OR_RAISE(const auto place, state_->Locate(file));
      ARROW_RETURN_NOT_OK(place.store->MakeDurable(place.key));
    }
    if (!fragment.deletion_file.has_value()) continue;
    ARROW_ASSIGN_OR_RAISE(const auto place, state_->Locate(fragment.id, *fragment.deletion_file));
    ARROW_RETURN_NOT_OK(place.store->MakeDurable(place.key));
  }
  return MakeVersionDurable();
}

arrow::Result<std::shared_ptr<Dataset>> Dataset::Commit(table::Transaction transaction, int max_retries) const {
  if (transaction.read_version != TableVersion() && transaction.read_version != version()) {
    return InvalidInput("the transaction was built against version {}, not against this version {}",
                        transaction.read_version, version());
  }
  ARROW_ASSIGN_OR_RAISE(auto committed,
                        table::CommitTransaction(state_->session->resources(), state_->location, &state_->loaded,
                                                 std::move(transaction), {.max_retries = max_retries}));
  return state_->At(std::move(committed));
}

}  // namespace javelin
