// Base of the decorators: forwards every call to the store it wraps.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "javelin/store/object_store.h"

namespace javelin {

class ForwardingStore : public ObjectStore {
 public:
  explicit ForwardingStore(std::shared_ptr<ObjectStore> inner) : inner_(std::move(inner)) {}

  arrow::Result<BufferPtr> Get(const std::string& key) override { return inner_->Get(key); }
  std::vector<arrow::Result<BufferPtr>> GetMany(std::span<const std::string> keys) override {
    return inner_->GetMany(keys);
  }
  arrow::Result<std::vector<BufferPtr>> GetRanges(const std::string& key, std::span<const ByteRange> ranges) override {
    return inner_->GetRanges(key, ranges);
  }
  arrow::Result<ObjectTail> GetTail(const std::string& key, uint64_t max_bytes) override {
    return inner_->GetTail(key, max_bytes);
  }
  arrow::Result<ObjectInfo> Head(const std::string& key) override { return inner_->Head(key); }
  std::vector<arrow::Result<ObjectInfo>> HeadMany(std::span<const std::string> keys) override {
    return inner_->HeadMany(keys);
  }
  arrow::Status Put(const std::string& key, const BufferPtr& bytes) override { return inner_->Put(key, bytes); }
  std::vector<arrow::Status> PutMany(std::span<const PutRequest> requests) override {
    return inner_->PutMany(requests);
  }
  arrow::Status PutIfAbsent(const std::string& key, const BufferPtr& bytes) override {
    return inner_->PutIfAbsent(key, bytes);
  }
  arrow::Result<std::string> PutIfMatch(const std::string& key, const BufferPtr& bytes,
                                        const std::string& etag) override {
    return inner_->PutIfMatch(key, bytes, etag);
  }
  arrow::Result<ListPage> List(const ListRequest& request) override { return inner_->List(request); }
  arrow::Status Delete(const std::string& key) override { return inner_->Delete(key); }
  arrow::Status Copy(const std::string& from, const std::string& to) override { return inner_->Copy(from, to); }
  arrow::Result<std::unique_ptr<ObjectWriter>> OpenWriter(const std::string& key) override {
    return inner_->OpenWriter(key);
  }
  arrow::Status MakeDurable(const std::string& key) override { return inner_->MakeDurable(key); }
  bool lists_in_order() const override { return inner_->lists_in_order(); }
  std::string Describe(const std::string& key) const override { return inner_->Describe(key); }

 protected:
  const std::shared_ptr<ObjectStore> inner_;
};

}  // namespace javelin
