#include "javelin/base/error.h"

namespace javelin {

namespace {
constexpr char kTypeId[] = "javelin::ErrorDetail";

// Arrow's own code only matters to code that knows nothing of us; ours is the detail.
arrow::StatusCode ArrowCode(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::kInvalidInput: return arrow::StatusCode::Invalid;
    case ErrorKind::kNotSupported: return arrow::StatusCode::NotImplemented;
    case ErrorKind::kNotFound: return arrow::StatusCode::KeyError;
    case ErrorKind::kAlreadyExists: return arrow::StatusCode::AlreadyExists;
    case ErrorKind::kOutOfMemory: return arrow::StatusCode::OutOfMemory;
    case ErrorKind::kCancelled: return arrow::StatusCode::Cancelled;
    case ErrorKind::kInternal: return arrow::StatusCode::UnknownError;
    default: return arrow::StatusCode::IOError;
  }
}

const ErrorDetail* DetailOf(const arrow::Status& status) {
  const auto& detail = status.detail();
  if (detail == nullptr || std::string_view(detail->type_id()) != kTypeId) return nullptr;
  return static_cast<const ErrorDetail*>(detail.get());
}
}  // namespace

std::string_view ToString(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::kInvalidInput: return "InvalidInput";
    case ErrorKind::kNotSupported: return "NotSupported";
    case ErrorKind::kNotFound: return "NotFound";
    case ErrorKind::kAlreadyExists: return "AlreadyExists";
    case ErrorKind::kPrecondition: return "Precondition";
    case ErrorKind::kFencedPeerClaimedEpoch: return "Fenced(PeerClaimedEpoch)";
    case ErrorKind::kFencedPersistenceFailure: return "Fenced(PersistenceFailure)";
    case ErrorKind::kBackpressure: return "Backpressure";
    case ErrorKind::kVersionConflict: return "VersionConflict";
    case ErrorKind::kSealed: return "Sealed";
    case ErrorKind::kClaimLost: return "ClaimLost";
    case ErrorKind::kWalGap: return "WalGap";
    case ErrorKind::kWalCorrupt: return "WalCorrupt";
    case ErrorKind::kIncompatibleConflict: return "IncompatibleConflict";
    case ErrorKind::kRetryableConflict: return "RetryableConflict";
    case ErrorKind::kOutcomeUnknown: return "OutcomeUnknown";
    case ErrorKind::kCorruption: return "Corruption";
    case ErrorKind::kTransient: return "Transient";
    case ErrorKind::kDenied: return "Denied";
    case ErrorKind::kIO: return "IO";
    case ErrorKind::kOutOfMemory: return "OutOfMemory";
    case ErrorKind::kCancelled: return "Cancelled";
    case ErrorKind::kClosed: return "Closed";
    case ErrorKind::kInternal: return "Internal";
  }
  return "Internal";
}

bool IsRetryable(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::kBackpressure:
    case ErrorKind::kVersionConflict:
    case ErrorKind::kRetryableConflict:
    case ErrorKind::kTransient: return true;
    default: return false;
  }
}

const char* ErrorDetail::type_id() const { return kTypeId; }

std::string ErrorDetail::ToString() const {
  std::string text(javelin::ToString(kind_));
  for (const auto& [name, value] : fields_) text += fmt::format(" {}={}", name, value);
  return text;
}

arrow::Status MakeError(ErrorKind kind, std::string message, ErrorFields fields) {
  return arrow::Status(ArrowCode(kind), std::move(message), std::make_shared<ErrorDetail>(kind, std::move(fields)));
}

ErrorKind KindOf(const arrow::Status& status) {
  if (const ErrorDetail* detail = DetailOf(status)) return detail->kind();
  if (status.IsOutOfMemory()) return ErrorKind::kOutOfMemory;
  if (status.IsIOError()) return ErrorKind::kIO;
  if (status.IsCancelled()) return ErrorKind::kCancelled;
  return ErrorKind::kInternal;
}

ErrorFields FieldsOf(const arrow::Status& status) {
  const ErrorDetail* detail = DetailOf(status);
  return detail == nullptr ? ErrorFields{} : detail->fields();
}

arrow::Status WithContext(const arrow::Status& status, std::string_view context) {
  if (status.ok()) return status;
  return AsKind(status, KindOf(status), context);
}

arrow::Status WithField(const arrow::Status& status, std::string name, std::string value) {
  if (status.ok()) return status;
  ErrorFields fields = FieldsOf(status);
  fields.insert_or_assign(std::move(name), std::move(value));
  return MakeError(KindOf(status), status.message(), std::move(fields));
}

arrow::Status AsKind(const arrow::Status& status, ErrorKind kind, std::string_view context) {
  if (status.ok()) return status;
  return MakeError(kind, fmt::format("{}: {}", context, status.message()), FieldsOf(status));
}

}  // namespace javelin
