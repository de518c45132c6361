// One version of a Lance table: what it holds, how to read it, how to commit the next one.
//
// A Dataset is immutable and safe to use from several threads; every change returns a new one. It knows nothing of
// shard writers. Semantics and file formats: docs/format.md, "Tables".
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <arrow/result.h>
#include <arrow/type_fwd.h>

#include "javelin/base/ids.h"
#include "javelin/dataset/session.h"
#include "javelin/file/data_file_reader.h"
#include "javelin/file/schema.h"
#include "javelin/table/manifest.h"

namespace javelin {

namespace table {
struct LoadedManifest;  // table/versions.h
struct Transaction;     // table/transaction.h
}  // namespace table

namespace internal {
class DatasetState;
}

struct OpenOptions {
  std::optional<TableVersion> version;  // none = latest
  std::map<std::string, std::string> storage_options;
};

enum class WriteMode { kCreate, kAppend, kOverwrite };

struct WriteOptions {
  WriteMode mode = WriteMode::kCreate;
  std::optional<file::FileVersion> data_storage_version;  // none = the table's own, or 2.2 for a new one
  uint64_t max_rows_per_file = 1'048'576;
  uint64_t max_bytes_per_file = 96'636'764'160;
  bool enable_v2_manifest_paths = true;  // create only
  int max_commit_retries = 20;
  std::map<std::string, std::string> storage_options;
};

struct ScanOptions {
  // Top-level names in result order; none = all. System columns may be among them, all uint64: `_rowid`, `_rowaddr`,
  // `_row_created_at_version`, `_row_last_updated_at_version` (1 where the table does not keep them).
  std::optional<std::vector<std::string>> columns;
  std::optional<uint64_t> limit;
  uint64_t offset = 0;
  bool with_row_id = false;          // appends `_rowid` uint64
  bool with_row_address = false;     // appends `_rowaddr` uint64
  uint64_t batch_rows = 8192;        // at most this many rows a batch
  uint64_t batch_bytes = 16u << 20;  // aim for at most this many bytes a batch
};

class Dataset {
 public:
  // Errors: NotFound ("dataset at ... was not found"), NotSupported (unknown feature flag, file version), Corruption.
  static arrow::Result<std::shared_ptr<Dataset>> Open(std::shared_ptr<Session> session, const std::string& uri,
                                                      const OpenOptions& options = {});
  // The same where the caller already has the store and the table's place in it.
  static arrow::Result<std::shared_ptr<Dataset>> OpenAt(std::shared_ptr<Session> session, const StoreLocation& location,
                                                        const OpenOptions& options = {});
  // Creates, appends to or overwrites the table at `uri` and returns its new version. Nothing is visible on failure.
  // Errors before any write: AlreadyExists (create), NotFound (append), InvalidInput (schema mismatch: extra column,
  // other type, missing non-nullable column), NotSupported (append to a 2.0 or 2.1 table). Commit:
  // IncompatibleConflict, RetryableConflict, OutcomeUnknown.
  static arrow::Result<std::shared_ptr<Dataset>> Write(std::shared_ptr<Session> session, const std::string& uri,
                                                       arrow::RecordBatchReader& data,
                                                       const WriteOptions& options = {});

  static arrow::Result<std::shared_ptr<Dataset>> WriteAt(std::shared_ptr<Session> session,
                                                         const StoreLocation& location, arrow::RecordBatchReader& data,
                                                         const WriteOptions& options = {});
  // Appends to, or overwrites, this table, built against this version: what was committed since is checked for
  // conflicts, and an open handle saves reading the newest manifest.
  arrow::Result<std::shared_ptr<Dataset>> Append(arrow::RecordBatchReader& data,
                                                 const WriteOptions& options = {}) const;
  arrow::Result<std::shared_ptr<Dataset>> Overwrite(arrow::RecordBatchReader& data,
                                                    const WriteOptions& options = {}) const;

  const std::string& uri() const;
  TableVersion version() const;
  const file::Schema& schema() const;
  std::shared_ptr<arrow::Schema> arrow_schema() const;
  const table::Manifest& manifest() const;
  const std::shared_ptr<Session>& session() const;
  const StoreLocation& location() const;
  std::string Key(std::string_view name) const;  // the store key of a path inside the table

  // Rows in order of fragment and offset, deleted ones left out.
  arrow::Result<std::shared_ptr<arrow::RecordBatchReader>> Scan(const ScanOptions& options = {}) const;
  // From metadata where it says, else from the deletion files.
  arrow::Result<uint64_t> CountRows() const;
  // The n-th rows of a full scan, in the order asked, repeats allowed. InvalidInput: past the end.
  arrow::Result<std::shared_ptr<arrow::RecordBatch>> Take(
      std::span<const uint64_t> rows, const std::optional<std::vector<std::string>>& columns = {}) const;
  // Rows by address, in the order asked. InvalidInput: no such fragment, past its end, or deleted.
  arrow::Result<std::shared_ptr<arrow::RecordBatch>> TakeAddresses(
      std::span<const RowAddress> addresses, const std::optional<std::vector<std::string>>& columns = {}) const;

  struct VersionInfo {
    TableVersion version;
    int64_t timestamp_ns = 0;  // since the Unix epoch
    table::ManifestSummary summary;
  };
  // All versions, oldest first; reads every manifest.
  arrow::Result<std::vector<VersionInfo>> Versions() const;
  arrow::Result<std::shared_ptr<Dataset>> Checkout(TableVersion version) const;
  // The caller asked for this version by its number (OpenOptions::version, Checkout) and not for the newest, so it
  // stands for that moment also once there are newer ones.
  bool is_pinned() const;
  // Reads the manifest only if this version is not the newest, or not known to be the same object still.
  arrow::Result<std::shared_ptr<Dataset>> CheckoutLatest() const;
  // This version as it was loaded, which keeps no session alive; and the table at a version that was loaded so, not
  // pinned. No request.
  const table::LoadedManifest& loaded() const;
  std::shared_ptr<Dataset> At(table::LoadedManifest version) const;

  // Returns when this version / this version with all files of its rows survives a loss of power. A version that
  // another process commits can be read a little before that, and the released peer never waits for it. For those who
  // acknowledge rows that are found through this version, or take away what it holds. NotFound: it was cleaned away.
  arrow::Status MakeVersionDurable() const;
  arrow::Status MakeRowsDurable() const;

  // Commits a transaction built against this version: conflict check against versions committed since, rebase, apply,
  // put-if-absent, retry. The door for layers above (MemWAL initialisation, compaction).
  arrow::Result<std::shared_ptr<Dataset>> Commit(table::Transaction transaction, int max_retries = 20) const;

 private:
  friend class internal::DatasetState;
  explicit Dataset(std::shared_ptr<const internal::DatasetState> state) : state_(std::move(state)) {}
  std::shared_ptr<const internal::DatasetState> state_;
};

}  // namespace javelin
