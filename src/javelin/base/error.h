// Typed errors: every failure is an arrow::Status whose detail carries an ErrorKind and named fields.
//
// Callers decide by kind (`KindOf(status)`), never by message text. The names are those of the MemWAL error table
// (docs/format.md, "Errors"); a message says what went wrong, where, and what to do about it.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include <arrow/result.h>
#include <arrow/status.h>
#include <fmt/format.h>

namespace javelin {

enum class ErrorKind {
  kInvalidInput,              // bad data, schema, option or argument: fix the caller; nothing was changed
  kNotSupported,              // legal, but not (yet) handled: refused rather than answered in part
  kNotFound,                  // object, version, shard or table does not exist
  kAlreadyExists,             // a create met an existing object
  kPrecondition,              // a conditional write lost: the object changed meanwhile
  kFencedPeerClaimedEpoch,    // another writer claimed the shard: drop this writer
  kFencedPersistenceFailure,  // this writer cannot vouch for its log any more: reopen it (replays)
  kBackpressure,              // data was not accepted: retry later
  kVersionConflict,           // shard manifest race, after retries
  kSealed,                    // the shard is sealed: no claim until it is unsealed or dropped
  kClaimLost,                 // another claimer won the epoch
  kWalGap,                    // a WAL position is missing below the tip: operator
  kWalCorrupt,                // a WAL object does not decode: operator
  kIncompatibleConflict,      // a concurrent commit makes this one meaningless
  kRetryableConflict,         // a concurrent commit touched the same rows: run the operation again
  kOutcomeUnknown,            // a conditional write whose answer was lost and that reading could not resolve
  kCorruption,                // manifest, data, deletion or index file does not decode
  kTransient,                 // the store failed in a way that may pass
  kDenied,                    // the store refused the credentials
  kIO,                        // any other failure of the store
  kOutOfMemory,               // the memory budget does not allow it
  kCancelled,                 // the work was dropped before it ran
  kClosed,                    // the handle was closed, aborted, or crossed a fork
  kInternal,                  // a broken invariant: a bug of ours
};

// "InvalidInput", "Fenced(PeerClaimedEpoch)", ...: the same word on every surface.
std::string_view ToString(ErrorKind kind);

// True for kinds after which repeating the same call can succeed without any other change.
bool IsRetryable(ErrorKind kind);

using ErrorFields = std::map<std::string, std::string>;

class ErrorDetail final : public arrow::StatusDetail {
 public:
  ErrorDetail(ErrorKind kind, ErrorFields fields) : kind_(kind), fields_(std::move(fields)) {}
  const char* type_id() const override;
  std::string ToString() const override;
  ErrorKind kind() const { return kind_; }
  const ErrorFields& fields() const { return fields_; }

 private:
  ErrorKind kind_;
  ErrorFields fields_;
};

arrow::Status MakeError(ErrorKind kind, std::string message, ErrorFields fields = {});

// The kind of a failed status. A status without our detail comes from Arrow itself: out of memory, IO and
// cancellation map to their kinds, everything else is kInternal. Must not be called with an OK status.
ErrorKind KindOf(const arrow::Status& status);
inline bool HasKind(const arrow::Status& status, ErrorKind kind) { return !status.ok() && KindOf(status) == kind; }
ErrorFields FieldsOf(const arrow::Status& status);

// The same error with more context in front of its message / one more field. OK stays OK.
arrow::Status WithContext(const arrow::Status& status, std::string_view context);
arrow::Status WithField(const arrow::Status& status, std::string name, std::string value);
// The same message under another kind, e.g. an Arrow decode failure inside a WAL entry.
arrow::Status AsKind(const arrow::Status& status, ErrorKind kind, std::string_view context);

// One short constructor per kind, so that call sites read as one line: InvalidInput("column '{}' is missing", name).
#define JAVELIN_DEFINE_ERROR(Name)                                                          \
  template <typename... Args>                                                               \
  arrow::Status Name(fmt::format_string<Args...> format, Args&&... args) {                  \
    return MakeError(ErrorKind::k##Name, fmt::format(format, std::forward<Args>(args)...)); \
  }
JAVELIN_DEFINE_ERROR(InvalidInput)
JAVELIN_DEFINE_ERROR(NotSupported)
JAVELIN_DEFINE_ERROR(NotFound)
JAVELIN_DEFINE_ERROR(AlreadyExists)
JAVELIN_DEFINE_ERROR(Backpressure)
JAVELIN_DEFINE_ERROR(VersionConflict)
JAVELIN_DEFINE_ERROR(Sealed)
JAVELIN_DEFINE_ERROR(ClaimLost)
JAVELIN_DEFINE_ERROR(WalGap)
JAVELIN_DEFINE_ERROR(WalCorrupt)
JAVELIN_DEFINE_ERROR(IncompatibleConflict)
JAVELIN_DEFINE_ERROR(RetryableConflict)
JAVELIN_DEFINE_ERROR(OutcomeUnknown)
JAVELIN_DEFINE_ERROR(Corruption)
JAVELIN_DEFINE_ERROR(Transient)
JAVELIN_DEFINE_ERROR(OutOfMemory)
JAVELIN_DEFINE_ERROR(Cancelled)
JAVELIN_DEFINE_ERROR(Closed)
JAVELIN_DEFINE_ERROR(Internal)
#undef JAVELIN_DEFINE_ERROR

}  // namespace javelin
