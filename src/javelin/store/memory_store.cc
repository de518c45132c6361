#include <mutex>

#include "javelin/base/error.h"
#include "javelin/store/memory_store_internal.h"
#include "javelin/store/stores.h"

namespace javelin {
namespace internal {
namespace {

constexpr uint32_t kPageSize = 1000;  // as in the large object stores

class BufferedWriter final : public ObjectWriter {
 public:
  BufferedWriter(BytesCallback part, BytesCallback put) : part_(std::move(part)), put_(std::move(put)) {}

  arrow::Status Write(BufferPtr bytes) override {
    ARROW_RETURN_NOT_OK(state_);
    if (part_) state_ = part_(bytes);
    ARROW_RETURN_NOT_OK(state_);
    bytes_written_ += bytes->size();
    pieces_.push_back(std::move(bytes));
    return arrow::Status::OK();
  }

  arrow::Status Finish() override {
    ARROW_RETURN_NOT_OK(state_);
    state_ = Closed("this object is finished already");
    ARROW_ASSIGN_OR_RAISE(const BufferPtr whole, arrow::ConcatenateBuffers(pieces_));
    return put_(whole);
  }

 private:
  const BytesCallback part_;
  const BytesCallback put_;
  arrow::BufferVector pieces_;
  arrow::Status state_;  // what every further call answers
};

class MapStore final : public ObjectStore {
 public:
  MapStore(std::string uri, std::shared_ptr<ObjectMap> map, std::unique_ptr<Mutex> lock,
           std::function<Duration()> wall_time)
      : uri_(std::move(uri)), map_(std::move(map)), mutex_(std::move(lock)), wall_time_(std::move(wall_time)) {}

  arrow::Result<BufferPtr> Get(const std::string& key) override {
    const auto lock = Lock();
    return map_->Get(key);
  }
  arrow::Result<std::vector<BufferPtr>> GetRanges(const std::string& key, std::span<const ByteRange> ranges) override {
    const auto lock = Lock();
    return map_->GetRanges(key, ranges);
  }
  arrow::Result<ObjectTail> GetTail(const std::string& key, uint64_t max_bytes) override {
    const auto lock = Lock();
    return map_->GetTail(key, max_bytes);
  }
  arrow::Result<ObjectInfo> Head(const std::string& key) override {
    const auto lock = Lock();
    return map_->Head(key);
  }
  arrow::Status Put(const std::string& key, const BufferPtr& bytes) override {
    const auto lock = Lock();
    return map_->Put(key, bytes, Now());
  }
  arrow::Status PutIfAbsent(const std::string& key, const BufferPtr& bytes) override {
    const auto lock = Lock();
    return map_->PutIfAbsent(key, bytes, Now());
  }
  arrow::Result<std::string> PutIfMatch(const std::string& key, const BufferPtr& bytes,
                                        const std::string& etag) override {
    const auto lock = Lock();
    return map_->PutIfMatch(key, bytes, etag, Now());
  }
  arrow::Result<ListPage> List(const ListRequest& request) override {
    const auto lock = Lock();
    return map_->List(request, kPageSize);
  }
  arrow::Status Delete(const std::string& key) override {
    const auto lock = Lock();
    return map_->Delete(key);
  }
  arrow::Status Copy(const std::string& from, const std::string& to) override {
    const auto lock = Lock();
    return map_->Copy(from, to, Now());
  }
  arrow::Result<std::unique_ptr<ObjectWriter>> OpenWriter(const std::string& key) override {
    ARROW_RETURN_NOT_OK(CheckKey(key));
    return MakeBufferedWriter(nullptr, [this, key](const BufferPtr& bytes) { return Put(key, bytes); });
  }
  bool lists_in_order() const override { return true; }
  std::string Describe(const std::string& key) const override { return uri_ + key; }

 private:
  std::unique_lock<Mutex> Lock() { return mutex_ == nullptr ? std::unique_lock<Mutex>() : std::unique_lock(*mutex_); }
  int64_t Now() const { return wall_time_().count(); }

  const std::string uri_;
  const std::shared_ptr<ObjectMap> map_;
  const std::unique_ptr<Mutex> mutex_;
  const std::function<Duration()> wall_time_;
};

}  // namespace

std::shared_ptr<ObjectStore> MakeMapStore(std::string uri, std::shared_ptr<ObjectMap> map, std::unique_ptr<Mutex> lock,
                                          std::function<Duration()> wall_time) {
  return std::make_shared<MapStore>(std::move(uri), std::move(map), std::move(lock), std::move(wall_time));
}

std::unique_ptr<ObjectWriter> MakeBufferedWriter(BytesCallback part, BytesCallback put) {
  return std::make_unique<BufferedWriter>(std::move(part), std::move(put));
}

}  // namespace internal

std::shared_ptr<ObjectStore> MakeMemoryStore(const Resources& resources, const std::string& name) {
  return internal::MakeMapStore("memory://" + (name.empty() ? name : name + "/"),
                                std::make_shared<internal::ObjectMap>(), std::make_unique<Mutex>(*resources.runtime),
                                [runtime = resources.runtime] { return runtime->WallTime(); });
}

}  // namespace javelin
