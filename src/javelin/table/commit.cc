#include "javelin/table/commit.h"

#include "javelin/base/error.h"
#include "javelin/table/apply.h"
#include "javelin/table/commit_files_internal.h"
#include "javelin/table/conflicts.h"
#include "javelin/table/feature_flags.h"
#include "javelin/table/manifest_codec.h"
#include "javelin/table/row_rebase.h"

namespace javelin::table {

namespace {

constexpr int kMaxLostAnswers = 5;  // attempts to find out what became of a manifest whose answer was lost
constexpr int kMaxBackoffDoublings = 5;
constexpr Duration kMinBackoffUnit = std::chrono::milliseconds(1);
constexpr Duration kMaxBackoff = std::chrono::seconds(10);

class Committer {
 public:
  Committer(const Resources& resources, const StoreLocation& table, const LoadedManifest* read, Transaction transaction,
            const CommitOptions& options)
      : runtime_(*resources.runtime),
        table_(table),
        read_(read),
        transaction_(std::move(transaction)),
        options_(options),
        masks_(runtime_, table_) {
    if (read_ != nullptr) head_ = *read_;
    transaction_.read_version = read_ == nullptr ? TableVersion() : read_->manifest->version;
    if (transaction_.uuid.empty()) transaction_.uuid = RandomUuid().ToString();
  }

  // Instead of an empty table, what is created takes over this version.
  void CloneFrom(const LoadedManifest& source) {
    source_ = source;
    transaction_.read_version = first_version_ = source.manifest->version;
  }

  arrow::Result<LoadedManifest> Run() {
    if (std::holds_alternative<Restore>(transaction_.operation)) {
      ARROW_ASSIGN_OR_RAISE(source_, LoadVersion(table_, std::get<Restore>(transaction_.operation).version));
    }
    auto committed = RunLoop();
    if (committed.ok()) {
      masks_.DiscardReplaced();
    } else if (!HasKind(committed.status(), ErrorKind::kOutcomeUnknown)) {
      masks_.DiscardWritten();
    }
    return committed;
  }

 private:
  arrow::Result<LoadedManifest> RunLoop() {
    int lost_races = 0, lost_answers = 0;
    const TimePoint started = runtime_.Now();
    Duration unit{};
    for (int attempt = 0;; ++attempt) {
      const arrow::Status status = Attempt();
      if (committed_) return *std::move(committed_);
      if (attempt == 0) unit = std::max(kMinBackoffUnit, (runtime_.Now() - started) * 11 / 10);
      if (maybe_published_) {
        if (++lost_answers > kMaxLostAnswers) return Unresolved(status);
      } else if (!status.ok()) {
        return status;
      } else if (++lost_races > options_.max_retries) {
        return RetryableConflict("too many concurrent writers of '{}': {} attempts lost the race; try again",
                                 table_.uri, lost_races);
      }
      BackOff(attempt, unit);
    }
  }

  // OK without `committed_`: somebody else took the version, go again. With `maybe_published_`, whatever it returns:
  // the manifest of that version may be ours, which the next attempt finds out by reading.
  arrow::Status Attempt() {
    ARROW_RETURN_NOT_OK(ReachHead());
    if (committed_) return arrow::Status::OK();
    ARROW_RETURN_NOT_OK(runtime_.SyncPoint("commit.at_head"));
    if (head_) ARROW_RETURN_NOT_OK(CheckWritable(*head_->manifest));
    if (head_ && options_.may_follow) ARROW_RETURN_NOT_OK(options_.may_follow(*head_->manifest));
    if (read_ != nullptr)
      ARROW_RETURN_NOT_OK(RebaseMasks(transaction_, *read_->manifest, *head_->manifest, masks_, merged_));
    const ApplyContext context{.head = head_ ? head_->manifest.get() : nullptr,
                               .read = read_ != nullptr ? read_->manifest.get() : nullptr,
                               .now_ns = runtime_.WallTime().count(),
                               .system_index_uuid = RandomUuid(),
                               .source = source_ ? source_->manifest.get() : nullptr,
                               .merged = &merged_,
                               .new_table_has_row_ids = options_.row_ids_of_new_table};
    ARROW_ASSIGN_OR_RAISE(Manifest next, ApplyTransaction(transaction_, context));
    ARROW_ASSIGN_OR_RAISE(std::string encoded, EncodeTransaction(transaction_));
    ARROW_ASSIGN_OR_RAISE(const BufferPtr file, EncodeManifestFile(next, encoded));
    ARROW_RETURN_NOT_OK(WriteTransactionFile(encoded));
    ARROW_RETURN_NOT_OK(runtime_.SyncPoint("commit.before_manifest"));
    return Publish(std::move(next), std::move(encoded), file);
  }

  arrow::Status Publish(Manifest next, std::string encoded, const BufferPtr& file) {
    const ManifestName name{next.version, head_ ? head_->scheme : options_.scheme_of_new_table};
    const arrow::Status status = table_.store->PutIfAbsent(ManifestKey(table_, name), file);
    taken_ = name.version;
    if (status.ok()) {
      committed_ = LoadedManifest{std::make_shared<const Manifest>(std::move(next)), name.scheme, std::move(encoded)};
      WriteVersionHint(table_, name.version);
      return status;
    }
    // Also after "exists": below us a decorator may have sent it twice and lost the first answer.
    if (HasKind(status, ErrorKind::kAlreadyExists) || HasKind(status, ErrorKind::kPrecondition))
      return arrow::Status::OK();
    maybe_published_ = true;
    return status;
  }

  // Moves `head_` to the newest version, checking what was committed in between; finds our own commit if it is there.
  arrow::Status ReachHead() {
    ARROW_ASSIGN_OR_RAISE(const std::optional<ManifestName> latest, FindHead());
    if (!latest) return head_ ? Vanished(head_->manifest->version) : arrow::Status::OK();
    if (!head_) return CheckCreated(*latest);
    if (latest->version < head_->manifest->version) return Vanished(head_->manifest->version);
    for (TableVersion version = head_->manifest->version.Next(); version <= latest->version && !committed_;
         version = version.Next()) {
      ARROW_RETURN_NOT_OK(StepTo({version, latest->scheme}));
    }
    return arrow::Status::OK();
  }

  arrow::Result<std::optional<ManifestName>> FindHead() {
    auto latest = FindLatestVersion(table_);
    std::optional<ManifestName> found;
    if (latest.ok()) {
      found = *latest;
    } else if (!HasKind(latest.status(), ErrorKind::kNotFound)) {
      return latest.status();
    }
    // A version that was in our way is there even if the listing does not show it yet.
    const bool known_taken = taken_ && !maybe_published_;
    if (known_taken && (!found || found->version < *taken_))
      found = ManifestName{*taken_, head_ ? head_->scheme : options_.scheme_of_new_table};
    return found;
  }

  arrow::Status StepTo(const ManifestName& name) {
    auto loaded = LoadVersion(table_, name);
    if (HasKind(loaded.status(), ErrorKind::kNotFound)) return Vanished(name.version);
    ARROW_RETURN_NOT_OK(loaded.status());
    auto other = LoadTransaction(table_, *loaded);
    if (taken_ && *taken_ <= name.version) maybe_published_ = false;  // whoever has it, our request can no longer land
    if (HasKind(other.status(), ErrorKind::kNotFound)) {
      return MakeError(
          ErrorKind::kRetryableConflict,
          fmt::format("version {} of '{}' has no transaction record, so nothing shows whether this change still fits; "
                      "run it again on the newest version",
                      name.version, table_.uri),
          {{"version", fmt::format("{}", name.version)}});
    }
    ARROW_RETURN_NOT_OK(other.status());
    if (other->uuid == transaction_.uuid) {
      committed_ = *std::move(loaded);
      WriteVersionHint(table_, name.version);
      return arrow::Status::OK();
    }
    if (options_.max_retries == 0 && std::holds_alternative<Overwrite>(transaction_.operation)) {
      return RetryableConflict("'{}' was changed by version {} since version {} was read", table_.uri, name.version,
                               transaction_.read_version);
    }
    ARROW_RETURN_NOT_OK(Rebase(transaction_, *other, name.version));
    head_ = *std::move(loaded);
    return arrow::Status::OK();
  }

  // The table exists although we are to create it; unless that was us.
  arrow::Status CheckCreated(const ManifestName& latest) {
    const arrow::Status exists =
        AlreadyExists("dataset at '{}' already exists (version {})", table_.uri, latest.version);
    if (!taken_) return exists;
    auto first = LoadVersion(table_, {first_version_, latest.scheme});
    if (HasKind(first.status(), ErrorKind::kNotFound)) return maybe_published_ ? first.status() : exists;
    ARROW_RETURN_NOT_OK(first.status());
    ARROW_ASSIGN_OR_RAISE(const Transaction other, LoadTransaction(table_, *first));
    maybe_published_ = false;
    if (other.uuid != transaction_.uuid) return exists;
    committed_ = *std::move(first);
    WriteVersionHint(table_, first_version_);
    return arrow::Status::OK();
  }

  arrow::Status WriteTransactionFile(const std::string& encoded) {
    if (encoded == written_transaction_) return arrow::Status::OK();
    const std::string key = TableKey(table_, fmt::format("_transactions/{}", TransactionFileName(transaction_)));
    ARROW_RETURN_NOT_OK(table_.store->Put(key, arrow::Buffer::FromString(encoded)));
    written_transaction_ = encoded;
    return arrow::Status::OK();
  }

  arrow::Status Vanished(TableVersion version) {
    return MakeError(
        ErrorKind::kRetryableConflict,
        fmt::format(
            "version {} of '{}' is gone (cleaned up), so nothing shows what was committed since this change was "
            "prepared; run it again on the newest version",
            version, table_.uri),
        {{"version", fmt::format("{}", version)}});
  }

  arrow::Status Unresolved(const arrow::Status& last) {
    return MakeError(
        ErrorKind::kOutcomeUnknown,
        fmt::format(
            "the answer to writing version {} of '{}' was lost and reading back did not settle it: {}; look for "
            "transaction {} before trying again",
            *taken_, table_.uri, last.ok() ? "still absent" : last.message(), transaction_.uuid),
        {{"version", fmt::format("{}", *taken_)}, {"transaction", transaction_.uuid}});
  }

  void BackOff(int attempt, Duration unit) {
    const uint64_t slots = uint64_t{4} << std::min(attempt, kMaxBackoffDoublings);
    runtime_.Sleep(std::min(kMaxBackoff, unit * static_cast<int64_t>(runtime_.Random() % slots)));
  }

  Uuid RandomUuid() {
    const uint64_t high = runtime_.Random();
    return Uuid::Random(high, runtime_.Random());
  }

  Runtime& runtime_;
  const StoreLocation& table_;
  const LoadedManifest* read_;
  Transaction transaction_;
  const CommitOptions options_;
  std::optional<LoadedManifest> source_;          // what a restore or clone brings
  TableVersion first_version_ = TableVersion(1);  // of a table that is created
  MergedMasks merged_;
  CommitDeletionFiles masks_;
  std::optional<LoadedManifest> head_;  // newest version that our transaction has been checked against
  std::optional<TableVersion> taken_;   // version that our last manifest was meant for
  bool maybe_published_ = false;        // its answer was lost
  std::string written_transaction_;
  std::optional<LoadedManifest> committed_;
};

}  // namespace

arrow::Result<LoadedManifest> CommitTransaction(const Resources& resources, const StoreLocation& table,
                                                const LoadedManifest* read, Transaction transaction,
                                                const CommitOptions& options) {
  if (read != nullptr) {
    ARROW_RETURN_NOT_OK(CheckWritable(*read->manifest));
    if (IsDetached(read->manifest->version))
      return NotSupported("a commit on the detached version {} of '{}'", read->manifest->version, table.uri);
  }
  return Committer(resources, table, read, std::move(transaction), options).Run();
}

arrow::Result<LoadedManifest> CommitClone(const Resources& resources, const StoreLocation& target,
                                          const LoadedManifest& source, Clone clone) {
  if (IsDetached(source.manifest->version))
    return NotSupported("a clone of the detached version {}", source.manifest->version);
  clone.ref_version = source.manifest->version;
  Transaction transaction;
  transaction.operation = std::move(clone);
  Committer committer(resources, target, nullptr, std::move(transaction), {});
  committer.CloneFrom(source);
  return committer.Run();
}

arrow::Result<LoadedManifest> CommitDetached(const Resources& resources, const StoreLocation& table,
                                             const LoadedManifest& read, Transaction transaction) {
  constexpr uint64_t kDetachedBit = uint64_t{1} << 63;
  ARROW_RETURN_NOT_OK(CheckWritable(*read.manifest));
  if (IsDetached(read.manifest->version))
    return NotSupported("a commit on the detached version {} of '{}'", read.manifest->version, table.uri);
  if (std::holds_alternative<Restore>(transaction.operation)) return NotSupported("a detached restore");
  Runtime& runtime = *resources.runtime;
  transaction.read_version = read.manifest->version;
  const uint64_t high = runtime.Random();
  if (transaction.uuid.empty()) transaction.uuid = Uuid::Random(high, runtime.Random()).ToString();
  const ApplyContext context{.head = read.manifest.get(),
                             .read = read.manifest.get(),
                             .now_ns = runtime.WallTime().count(),
                             .system_index_uuid = Uuid::Random(runtime.Random(), high)};
  ARROW_ASSIGN_OR_RAISE(Manifest next, ApplyTransaction(transaction, context));
  next.version = TableVersion(runtime.Random() | kDetachedBit);
  ARROW_ASSIGN_OR_RAISE(std::string encoded, EncodeTransaction(transaction));
  ARROW_ASSIGN_OR_RAISE(const BufferPtr file, EncodeManifestFile(next, encoded));
  ARROW_RETURN_NOT_OK(
      table.store->Put(TableKey(table, fmt::format("_transactions/{}", TransactionFileName(transaction))),
                       arrow::Buffer::FromString(encoded)));
  const std::string key = TableKey(table, fmt::format("_versions/d{}.manifest", next.version.value()));
  const arrow::Status written = table.store->PutIfAbsent(key, file);
  if (written.ok())
    return LoadedManifest{std::make_shared<const Manifest>(std::move(next)), NamingScheme::kV2, std::move(encoded), {}};
  // Nobody else takes a random number: what is there is ours.
  auto loaded = LoadVersion(table, next.version);
  if (loaded.ok() && loaded->transaction == encoded) return loaded;
  if (HasKind(loaded.status(), ErrorKind::kNotFound) && HasKind(written, ErrorKind::kInvalidInput)) return written;
  return MakeError(ErrorKind::kOutcomeUnknown,
                   fmt::format("the answer to writing the detached version {} of '{}' was lost: {}", next.version,
                               table.uri, written.message()),
                   {{"version", fmt::format("{}", next.version)}, {"transaction", transaction.uuid}});
}

}  // namespace javelin::table
