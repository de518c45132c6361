#include <algorithm>

#include "javelin/base/error.h"
#include "javelin/store/forwarding_store.h"
#include "javelin/store/stores.h"

namespace javelin {
namespace {

const arrow::Status& StatusOf(const arrow::Status& status) { return status; }
template <typename T>
const arrow::Status& StatusOf(const arrow::Result<T>& result) {
  return result.status();
}

template <typename Answer>
bool IsTransient(const Answer& answer) {
  return HasKind(StatusOf(answer), ErrorKind::kTransient);
}

// True if a conditional put that failed so may have been done, or may still be.
bool OutcomeIsOpen(const arrow::Status& status) {
  if (status.ok()) return false;
  switch (KindOf(status)) {
    case ErrorKind::kAlreadyExists:
    case ErrorKind::kPrecondition:
    case ErrorKind::kInvalidInput:
    case ErrorKind::kNotSupported:
    case ErrorKind::kDenied:
    case ErrorKind::kCancelled:
    case ErrorKind::kClosed: return false;
    default: return true;
  }
}

class RetryStore final : public ForwardingStore {
 public:
  RetryStore(std::shared_ptr<Runtime> runtime, std::shared_ptr<ObjectStore> inner, const RetryOptions& options)
      : ForwardingStore(std::move(inner)), runtime_(std::move(runtime)), options_(options) {}

  arrow::Result<BufferPtr> Get(const std::string& key) override {
    return Retry([&] { return inner_->Get(key); });
  }
  arrow::Result<std::vector<BufferPtr>> GetRanges(const std::string& key, std::span<const ByteRange> ranges) override {
    return Retry([&] { return inner_->GetRanges(key, ranges); });
  }
  arrow::Result<ObjectTail> GetTail(const std::string& key, uint64_t max_bytes) override {
    return Retry([&] { return inner_->GetTail(key, max_bytes); });
  }
  arrow::Result<ObjectInfo> Head(const std::string& key) override {
    return Retry([&] { return inner_->Head(key); });
  }
  arrow::Result<ListPage> List(const ListRequest& request) override {
    return Retry([&] { return inner_->List(request); });
  }
  arrow::Status Put(const std::string& key, const BufferPtr& bytes) override {
    return Retry([&] { return inner_->Put(key, bytes); });
  }
  arrow::Status Delete(const std::string& key) override {
    return Retry([&] { return inner_->Delete(key); });
  }
  arrow::Status Copy(const std::string& from, const std::string& to) override {
    return Retry([&] { return inner_->Copy(from, to); });
  }

  std::vector<arrow::Result<BufferPtr>> GetMany(std::span<const std::string> keys) override {
    return RetryMany(keys, [&](std::span<const std::string> some) { return inner_->GetMany(some); });
  }
  std::vector<arrow::Result<ObjectInfo>> HeadMany(std::span<const std::string> keys) override {
    return RetryMany(keys, [&](std::span<const std::string> some) { return inner_->HeadMany(some); });
  }
  std::vector<arrow::Status> PutMany(std::span<const PutRequest> requests) override {
    return RetryMany(requests, [&](std::span<const PutRequest> some) { return inner_->PutMany(some); });
  }

  arrow::Status PutIfAbsent(const std::string& key, const BufferPtr& bytes) override {
    for (int attempt = 1;; ++attempt) {
      const arrow::Status status = inner_->PutIfAbsent(key, bytes);
      // Met by a second try, the object may be the work of the first one.
      const bool may_be_ours = attempt > 1 && HasKind(status, ErrorKind::kAlreadyExists);
      if (!OutcomeIsOpen(status) && !may_be_ours) return attempt == 1 || status.ok() ? status : Unknown(key, status);
      const arrow::Result<BufferPtr> found = Get(key);
      if (found.ok()) {
        // Equal bytes are no proof: two that claim the same shard write the very same manifest, and both would have
        // won.
        if ((*found)->Equals(*bytes)) return Unknown(key, status);
        return AlreadyExists("object '{}' exists with other bytes", Describe(key));
      }
      if (!HasKind(found.status(), ErrorKind::kNotFound) || attempt >= options_.max_attempts)
        return Unknown(key, status);
      BackOff(attempt);
    }
  }

  arrow::Result<std::string> PutIfMatch(const std::string& key, const BufferPtr& bytes,
                                        const std::string& etag) override {
    for (int attempt = 1;; ++attempt) {
      arrow::Result<std::string> answer = inner_->PutIfMatch(key, bytes, etag);
      const bool may_be_ours = attempt > 1 && HasKind(answer.status(), ErrorKind::kPrecondition);
      if (!OutcomeIsOpen(answer.status()) && !may_be_ours) {
        if (attempt == 1 || answer.ok()) return answer;
        return Unknown(key, answer.status());
      }
      const arrow::Result<ObjectInfo> before = Head(key);
      if (before.ok() && before->etag == etag) {  // not done so far
        if (attempt >= options_.max_attempts) return Unknown(key, answer.status());
        BackOff(attempt);
        continue;
      }
      return CompareReplaced(key, bytes, before, answer.status());
    }
  }

 private:
  template <typename Call>
  auto Retry(Call call) -> decltype(call()) {
    for (int attempt = 1;; ++attempt) {
      auto answer = call();
      if (!IsTransient(answer) || attempt >= options_.max_attempts) return answer;
      BackOff(attempt);
    }
  }

  // Repeats the part of a batch that failed.
  template <typename Request, typename Call>
  auto RetryMany(std::span<const Request> requests, Call call) -> decltype(call(requests)) {
    auto answers = call(requests);
    for (int attempt = 1; attempt < options_.max_attempts; ++attempt) {
      std::vector<size_t> failed;
      std::vector<Request> again;
      for (size_t i = 0; i < requests.size(); ++i) {
        if (!IsTransient(answers[i])) continue;
        failed.push_back(i);
        again.push_back(requests[i]);
      }
      if (failed.empty()) break;
      BackOff(attempt);
      auto later = call(std::span<const Request>(again));
      for (size_t i = 0; i < failed.size(); ++i) answers[failed[i]] = std::move(later[i]);
    }
    return answers;
  }

  // The object changed around an open PutIfMatch: with other bytes than ours, or none, the replacement is lost. Our
  // bytes are no proof that it was done by us.
  arrow::Result<std::string> CompareReplaced(const std::string& key, const BufferPtr& bytes,
                                             const arrow::Result<ObjectInfo>& now, const arrow::Status& status) {
    if (!now.ok() && !HasKind(now.status(), ErrorKind::kNotFound)) return Unknown(key, status);
    if (now.ok()) {
      const arrow::Result<BufferPtr> found = Get(key);
      if (!found.ok() || (*found)->Equals(*bytes)) return Unknown(key, status);
    }
    return MakeError(ErrorKind::kPrecondition,
                     fmt::format("object '{}' was changed or removed meanwhile", Describe(key)));
  }

  arrow::Status Unknown(const std::string& key, const arrow::Status& status) const {
    return OutcomeUnknown("whether '{}' was written cannot be told: {}", Describe(key), status.message());
  }

  // Half of the delay is chance, so that those who failed together do not come again together.
  void BackOff(int attempt) {
    const Duration delay =
        std::min(options_.max_delay, options_.base_delay * (int64_t{1} << std::min(attempt - 1, 20)));
    const double chance = static_cast<double>(runtime_->Random() >> 11) / static_cast<double>(uint64_t{1} << 53);
    runtime_->Sleep(std::chrono::duration_cast<Duration>(delay * (0.5 + chance / 2)));
  }

  const std::shared_ptr<Runtime> runtime_;
  const RetryOptions options_;
};

}  // namespace

std::shared_ptr<ObjectStore> MakeRetryStore(const Resources& resources, std::shared_ptr<ObjectStore> inner,
                                            RetryOptions options) {
  return std::make_shared<RetryStore>(resources.runtime, std::move(inner), options);
}

}  // namespace javelin
