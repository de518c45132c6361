#include "javelin/store/counting_store.h"

#include <mutex>

#include "javelin/store/coalesce.h"

namespace javelin {

namespace {
uint64_t SizeOf(const arrow::Result<BufferPtr>& bytes) { return bytes.ok() ? (*bytes)->size() : 0; }

// Tells of the object once it is finished.
class CountedWriter final : public ObjectWriter {
 public:
  CountedWriter(std::unique_ptr<ObjectWriter> inner, std::function<void(uint64_t bytes)> finished)
      : inner_(std::move(inner)), finished_(std::move(finished)) {}
  arrow::Status Write(BufferPtr bytes) override {
    const arrow::Status status = inner_->Write(std::move(bytes));
    bytes_written_ = inner_->bytes_written();
    return status;
  }
  arrow::Status Finish() override {
    finished_(bytes_written_);
    return inner_->Finish();
  }

 private:
  const std::unique_ptr<ObjectWriter> inner_;
  const std::function<void(uint64_t)> finished_;
};
}  // namespace

RequestCounts CountingStore::counts() const {
  std::lock_guard lock(mutex_);
  return counts_;
}

std::vector<RequestRecord> CountingStore::log() const {
  std::lock_guard lock(mutex_);
  return log_;
}

std::vector<std::string> CountingStore::LogText() const {
  std::vector<std::string> lines;
  for (const RequestRecord& record : log()) lines.push_back(fmt::format("{} {}", record.method, record.key));
  return lines;
}

void CountingStore::Reset() {
  std::lock_guard lock(mutex_);
  counts_ = {};
  log_.clear();
}

void CountingStore::Count(std::string_view method, const std::string& key, uint64_t bytes) {
  using Counter = uint64_t RequestCounts::*;
  static constexpr std::pair<std::string_view, Counter> kCounters[] = {
      {"get", &RequestCounts::get},
      {"head", &RequestCounts::head},
      {"put", &RequestCounts::put},
      {"put_if_absent", &RequestCounts::put_if_absent},
      {"put_if_match", &RequestCounts::put_if_match},
      {"list", &RequestCounts::list},
      {"delete", &RequestCounts::remove},
      {"copy", &RequestCounts::copy},
  };
  std::lock_guard lock(mutex_);
  for (const auto& [name, counter] : kCounters) {
    if (name == method) ++(counts_.*counter);
  }
  (method == "get" ? counts_.bytes_read : counts_.bytes_written) += bytes;
  log_.push_back({method, key, bytes});
}

arrow::Result<BufferPtr> CountingStore::Get(const std::string& key) {
  auto bytes = inner_->Get(key);
  Count("get", key, SizeOf(bytes));
  return bytes;
}

std::vector<arrow::Result<BufferPtr>> CountingStore::GetMany(std::span<const std::string> keys) {
  auto answers = inner_->GetMany(keys);
  for (size_t i = 0; i < keys.size(); ++i) Count("get", keys[i], SizeOf(answers[i]));
  return answers;
}

arrow::Result<std::vector<BufferPtr>> CountingStore::GetRanges(const std::string& key,
                                                               std::span<const ByteRange> ranges) {
  auto answers = inner_->GetRanges(key, ranges);
  for (const ByteRange& request : CoalesceRanges(ranges)) {
    Count("get", key, answers.ok() ? request.length : 0);
  }
  return answers;
}

arrow::Result<ObjectTail> CountingStore::GetTail(const std::string& key, uint64_t max_bytes) {
  auto tail = inner_->GetTail(key, max_bytes);
  Count("get", key, tail.ok() ? tail->bytes->size() : 0);
  return tail;
}

arrow::Result<ObjectInfo> CountingStore::Head(const std::string& key) {
  Count("head", key);
  return inner_->Head(key);
}

std::vector<arrow::Result<ObjectInfo>> CountingStore::HeadMany(std::span<const std::string> keys) {
  for (const std::string& key : keys) Count("head", key);
  return inner_->HeadMany(keys);
}

arrow::Status CountingStore::Put(const std::string& key, const BufferPtr& bytes) {
  Count("put", key, bytes->size());
  return inner_->Put(key, bytes);
}

std::vector<arrow::Status> CountingStore::PutMany(std::span<const PutRequest> requests) {
  for (const PutRequest& request : requests) Count("put", request.key, request.bytes->size());
  return inner_->PutMany(requests);
}

arrow::Status CountingStore::PutIfAbsent(const std::string& key, const BufferPtr& bytes) {
  Count("put_if_absent", key, bytes->size());
  return inner_->PutIfAbsent(key, bytes);
}

arrow::Result<std::string> CountingStore::PutIfMatch(const std::string& key, const BufferPtr& bytes,
                                                     const std::string& etag) {
  Count("put_if_match", key, bytes->size());
  return inner_->PutIfMatch(key, bytes, etag);
}

arrow::Result<ListPage> CountingStore::List(const ListRequest& request) {
  Count("list", request.prefix);
  return inner_->List(request);
}

arrow::Status CountingStore::Delete(const std::string& key) {
  Count("delete", key);
  return inner_->Delete(key);
}

arrow::Status CountingStore::Copy(const std::string& from, const std::string& to) {
  Count("copy", to);
  return inner_->Copy(from, to);
}

arrow::Result<std::unique_ptr<ObjectWriter>> CountingStore::OpenWriter(const std::string& key) {
  ARROW_ASSIGN_OR_RAISE(std::unique_ptr<ObjectWriter> writer, inner_->OpenWriter(key));
  return std::make_unique<CountedWriter>(std::move(writer), [this, key](uint64_t bytes) { Count("put", key, bytes); });
}

}  // namespace javelin
