// Counts requests and bytes, and remembers each request.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "javelin/base/runtime.h"
#include "javelin/store/forwarding_store.h"
#include "javelin/store/stores.h"

namespace javelin {

struct RequestRecord {
  std::string_view method;  // get, head, put, put_if_absent, put_if_match, list, delete, copy
  std::string key;          // of a listing: the prefix
  uint64_t bytes = 0;       // read or written
  friend bool operator==(const RequestRecord&, const RequestRecord&) = default;
};

// Counts what a remote store would be asked for: each key of a batch, each page of a listing, each run of ranges that
// CoalesceRanges makes one. A streamed object counts as one put, when it is finished. Failed requests count too.
class CountingStore final : public ForwardingStore {
 public:
  CountingStore(Runtime& runtime, std::shared_ptr<ObjectStore> inner)
      : ForwardingStore(std::move(inner)), mutex_(runtime) {}

  RequestCounts counts() const;
  std::vector<RequestRecord> log() const;
  // "get a/b", "put c", ...: the log without bytes, for comparing.
  std::vector<std::string> LogText() const;
  void Reset();

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
  void Count(std::string_view method, const std::string& key, uint64_t bytes = 0);

  mutable Mutex mutex_;
  RequestCounts counts_;            // guarded by mutex_
  std::vector<RequestRecord> log_;  // guarded by mutex_
};

}  // namespace javelin
