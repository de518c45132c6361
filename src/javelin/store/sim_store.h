// The object store of a Simulation: the one thing that actors share, and that outlives them.
//
// A request is an event of the store, not of the task that sent it: it is sent, applied and answered at times drawn
// from the seed. It may land after its sender is dead, after its error was reported, or after the next process has
// started.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "javelin/base/simulation.h"
#include "javelin/store/object_store.h"

namespace javelin {

namespace internal {
class SimStoreState;
}

// What befalls one request.
enum class RequestFault {
  kNone,
  kRefused,     // Transient ("503"), without effect; the only fault of reads besides kSlow
  kLostAnswer,  // applied, but the answer is an error
  kLandsLate,   // an error now, and the write is applied up to 30 s later
  kSlow,        // up to 20 s
  kTorn,        // leaves the first part of the object, and the answer is an error; only with `torn_writes`
};

struct SimStoreOptions {
  bool faults = true;        // drawn per seed: which ones, and how often; a quarter of the seeds has none
  bool torn_writes = false;  // as a file system without syncs may leave them after a power loss; object stores never do
  bool lists_in_order = true;
  uint32_t page_size = 0;  // of listings; 0 = drawn per seed, from 2 to 1000
};

struct RequestHit {
  std::string_view method;  // get, head, put, put_if_absent, put_if_match, put_part, list, delete, copy
  const std::string& key;
  uint64_t index;  // n-th request of this store, from 1
  ActorId actor;
};
// Decides instead of the seed; nullopt = the seed decides. May not block.
using RequestHook = std::function<std::optional<RequestFault>(const RequestHit&)>;

class SimStore final : public ObjectStore {
 public:
  explicit SimStore(const Simulation& simulation, SimStoreOptions options = {});
  ~SimStore() override;

  void OnRequest(RequestHook hook);
  uint64_t requests_sent() const;
  // The same objects without latency, faults, switches and crash points: for preparing, for hooks and for checking
  // invariants. Not for actors.
  ObjectStore& raw();

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
  bool lists_in_order() const override;
  std::string Describe(const std::string& key) const override;

 private:
  const std::shared_ptr<internal::SimStoreState> state_;
};

}  // namespace javelin
