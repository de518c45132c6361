// A store that fails as a script says: the n-th request of a kind, exactly.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "javelin/base/error.h"
#include "javelin/base/runtime.h"
#include "javelin/store/forwarding_store.h"

namespace javelin {

struct FaultRule {
  enum class Action {
    kFail,        // without effect
    kLoseAnswer,  // done, but the answer is the error
    kDelay,       // done after `delay`
    kCutBody,     // a read returns only the first `keep_bytes`; a write leaves only these and answers with the error
  };
  std::string method;     // as in CountingStore, and put_part of a streamed object; "" = any
  std::string key = "*";  // '*' stands for any text
  uint64_t first = 1;     // acts from the n-th matching request on ...
  uint64_t times = 1;     // ... for so many
  Action action = Action::kFail;
  ErrorKind kind = ErrorKind::kTransient;
  Duration delay{};
  uint64_t keep_bytes = 0;
};

// Rules count their matches on their own; where several would act, the one added first does. The requests of a batch
// are made one by one, in order. Thread-safe.
class FaultStore final : public ForwardingStore {
 public:
  FaultStore(Runtime& runtime, std::shared_ptr<ObjectStore> inner)
      : ForwardingStore(std::move(inner)), runtime_(runtime), mutex_(runtime) {}

  void AddRule(FaultRule rule);
  void ClearRules();
  // Requests so far, faulty ones included: bounds the n of "fail the n-th".
  uint64_t requests() const;
  // How often a rule acted.
  uint64_t faults() const;

  arrow::Result<BufferPtr> Get(const std::string& key) override;
  std::vector<arrow::Result<BufferPtr>> GetMany(std::span<const std::string> keys) override;
  arrow::Result<std::vector<BufferPtr>> GetRanges(const std::string& key, std::span<const ByteRange> ranges) override;
  arrow::Result<ObjectTail> GetTail(const std::string& key, uint64_t max_bytes) override;
  arrow::Result<ObjectInfo> Head(const std::string& key) override;
  std::vector<arrow::Result<ObjectInfo>> HeadMany(std::span<const std::string> keys) override;
  arrow::Status Put(const std::string& key, const BufferPtr& bytes) override;
  std::vector<arrow::Status> PutMany(std::span<const PutRequest> requests) override;
  arrow::Status PutIfAbsent(const std::string& key, const BufferPtr& bytes) override;
  arrow::Result<std::string> PutIfMatch(const std::string& key, const BufferPtr& bytes,
                                        const std::string& etag) override;
  arrow::Result<ListPage> List(const ListRequest& request) override;
  arrow::Status Delete(const std::string& key) override;
  arrow::Status Copy(const std::string& from, const std::string& to) override;
  arrow::Result<std::unique_ptr<ObjectWriter>> OpenWriter(const std::string& key) override;

 private:
  friend class FaultyWriter;
  struct Counted {
    FaultRule rule;
    uint64_t matches = 0;
  };

  // Counts the request; the rule that acts on it, if any.
  std::optional<FaultRule> NextFault(std::string_view method, const std::string& key);
  template <typename Call>
  auto Around(std::string_view method, const std::string& key, Call call) -> decltype(call());
  template <typename Call>
  auto AroundWrite(std::string_view method, const std::string& key, const BufferPtr& bytes, Call call)
      -> decltype(call(bytes));

  Runtime& runtime_;
  mutable Mutex mutex_;
  std::vector<Counted> rules_;  // all below guarded by mutex_
  uint64_t requests_ = 0;
  uint64_t faults_ = 0;
};

}  // namespace javelin
