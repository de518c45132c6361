#include "javelin/store/fault_store.h"

#include <mutex>

namespace javelin {

namespace {

// '*' stands for any text, all else for itself.
bool Matches(std::string_view pattern, std::string_view text) {
  const size_t star = pattern.find('*');
  if (star == std::string_view::npos) return pattern == text;
  if (!text.starts_with(pattern.substr(0, star))) return false;
  for (size_t skip = star; skip <= text.size(); ++skip) {
    if (Matches(pattern.substr(star + 1), text.substr(skip))) return true;
  }
  return false;
}

arrow::Status ErrorOf(const FaultRule& rule, std::string_view method, const std::string& key) {
  return MakeError(rule.kind, fmt::format("planned fault of {} '{}'", method, key));
}

BufferPtr Cut(const BufferPtr& bytes, uint64_t keep_bytes) {
  return arrow::SliceBuffer(bytes, 0, std::min<int64_t>(bytes->size(), keep_bytes));
}

// What a read answers with when its body is cut.
arrow::Result<BufferPtr> CutAnswer(arrow::Result<BufferPtr> answer, uint64_t keep_bytes) {
  if (!answer.ok()) return answer;
  return Cut(*answer, keep_bytes);
}
arrow::Result<ObjectTail> CutAnswer(arrow::Result<ObjectTail> answer, uint64_t keep_bytes) {
  if (answer.ok()) answer->bytes = Cut(answer->bytes, keep_bytes);
  return answer;
}
// Exact ranges are part of the contract, so a store that misses bytes must notice.
template <typename T>
T CutAnswer(T answer, uint64_t) {
  return MakeError(ErrorKind::kIO, "planned fault: the body was cut");
}

}  // namespace

// A streamed object: its pieces are put_part, its end is a put.
class FaultyWriter final : public ObjectWriter {
 public:
  FaultyWriter(FaultStore& store, std::string key, std::unique_ptr<ObjectWriter> inner)
      : store_(store), key_(std::move(key)), inner_(std::move(inner)) {}
  arrow::Status Write(BufferPtr bytes) override {
    ARROW_RETURN_NOT_OK(failure_);
    failure_ = store_.Around("put_part", key_, [&] { return inner_->Write(bytes); });
    bytes_written_ = inner_->bytes_written();
    return failure_;
  }
  arrow::Status Finish() override {
    ARROW_RETURN_NOT_OK(failure_);
    return store_.Around("put", key_, [&] { return inner_->Finish(); });
  }

 private:
  FaultStore& store_;
  const std::string key_;
  const std::unique_ptr<ObjectWriter> inner_;
  arrow::Status failure_;
};

void FaultStore::AddRule(FaultRule rule) {
  std::lock_guard lock(mutex_);
  rules_.push_back({std::move(rule)});
}

void FaultStore::ClearRules() {
  std::lock_guard lock(mutex_);
  rules_.clear();
}

uint64_t FaultStore::requests() const {
  std::lock_guard lock(mutex_);
  return requests_;
}

uint64_t FaultStore::faults() const {
  std::lock_guard lock(mutex_);
  return faults_;
}

std::optional<FaultRule> FaultStore::NextFault(std::string_view method, const std::string& key) {
  std::lock_guard lock(mutex_);
  ++requests_;
  std::optional<FaultRule> acts;
  for (Counted& counted : rules_) {
    const FaultRule& rule = counted.rule;
    if ((!rule.method.empty() && rule.method != method) || !Matches(rule.key, key)) continue;
    ++counted.matches;
    if (!acts && counted.matches >= rule.first && counted.matches - rule.first < rule.times) acts = rule;
  }
  if (acts) ++faults_;
  return acts;
}

template <typename Call>
auto FaultStore::Around(std::string_view method, const std::string& key, Call call) -> decltype(call()) {
  const std::optional<FaultRule> fault = NextFault(method, key);
  if (!fault) return call();
  switch (fault->action) {
    case FaultRule::Action::kFail: return ErrorOf(*fault, method, key);
    case FaultRule::Action::kLoseAnswer: (void)call(); return ErrorOf(*fault, method, key);
    case FaultRule::Action::kDelay: runtime_.Sleep(fault->delay); return call();
    case FaultRule::Action::kCutBody: return CutAnswer(call(), fault->keep_bytes);
  }
  return call();
}

template <typename Call>
auto FaultStore::AroundWrite(std::string_view method, const std::string& key, const BufferPtr& bytes, Call call)
    -> decltype(call(bytes)) {
  const std::optional<FaultRule> fault = NextFault(method, key);
  if (!fault) return call(bytes);
  switch (fault->action) {
    case FaultRule::Action::kFail: return ErrorOf(*fault, method, key);
    case FaultRule::Action::kLoseAnswer: (void)call(bytes); return ErrorOf(*fault, method, key);
    case FaultRule::Action::kDelay: runtime_.Sleep(fault->delay); return call(bytes);
    case FaultRule::Action::kCutBody: (void)call(Cut(bytes, fault->keep_bytes)); return ErrorOf(*fault, method, key);
  }
  return call(bytes);
}

arrow::Result<BufferPtr> FaultStore::Get(const std::string& key) {
  return Around("get", key, [&] { return inner_->Get(key); });
}
std::vector<arrow::Result<BufferPtr>> FaultStore::GetMany(std::span<const std::string> keys) {
  return ObjectStore::GetMany(keys);
}
arrow::Result<std::vector<BufferPtr>> FaultStore::GetRanges(const std::string& key, std::span<const ByteRange> ranges) {
  return Around("get", key, [&] { return inner_->GetRanges(key, ranges); });
}
arrow::Result<ObjectTail> FaultStore::GetTail(const std::string& key, uint64_t max_bytes) {
  return Around("get", key, [&] { return inner_->GetTail(key, max_bytes); });
}
arrow::Result<ObjectInfo> FaultStore::Head(const std::string& key) {
  return Around("head", key, [&] { return inner_->Head(key); });
}
std::vector<arrow::Result<ObjectInfo>> FaultStore::HeadMany(std::span<const std::string> keys) {
  return ObjectStore::HeadMany(keys);
}
arrow::Status FaultStore::Put(const std::string& key, const BufferPtr& bytes) {
  return AroundWrite("put", key, bytes, [&](const BufferPtr& kept) { return inner_->Put(key, kept); });
}
std::vector<arrow::Status> FaultStore::PutMany(std::span<const PutRequest> requests) {
  return ObjectStore::PutMany(requests);
}
arrow::Status FaultStore::PutIfAbsent(const std::string& key, const BufferPtr& bytes) {
  return AroundWrite("put_if_absent", key, bytes,
                     [&](const BufferPtr& kept) { return inner_->PutIfAbsent(key, kept); });
}
arrow::Result<std::string> FaultStore::PutIfMatch(const std::string& key, const BufferPtr& bytes,
                                                  const std::string& etag) {
  return AroundWrite("put_if_match", key, bytes,
                     [&](const BufferPtr& kept) { return inner_->PutIfMatch(key, kept, etag); });
}
arrow::Result<ListPage> FaultStore::List(const ListRequest& request) {
  return Around("list", request.prefix, [&] { return inner_->List(request); });
}
arrow::Status FaultStore::Delete(const std::string& key) {
  return Around("delete", key, [&] { return inner_->Delete(key); });
}
arrow::Status FaultStore::Copy(const std::string& from, const std::string& to) {
  return Around("copy", to, [&] { return inner_->Copy(from, to); });
}
arrow::Result<std::unique_ptr<ObjectWriter>> FaultStore::OpenWriter(const std::string& key) {
  ARROW_ASSIGN_OR_RAISE(std::unique_ptr<ObjectWriter> writer, inner_->OpenWriter(key));
  return std::make_unique<FaultyWriter>(*this, key, std::move(writer));
}

}  // namespace javelin
