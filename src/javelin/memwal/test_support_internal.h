// For the tests of this module: a store that writes down every request in short words and misbehaves on demand, and a
// world with virtual time.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "javelin/base/error.h"
#include "javelin/base/resources.h"
#include "javelin/base/simulation.h"
#include "javelin/memwal/shard_manifest.h"
#include "javelin/store/stores.h"

namespace javelin::memwal {

inline const char kTestShard[] = "00112233-4455-6677-8899-aabbccddeeff";
inline Uuid TestShard() { return Uuid::Parse(kTestShard).ValueOrDie(); }

// Requests read like "GET manifest/hint", "HEAD manifest/2", "CREATE wal/5" (put-if-absent), "PUT manifest/hint", "LIST
// wal", "DELETE manifest/1".
class ScriptedStore final : public ObjectStore {
 public:
  ScriptedStore(const Resources& resources, std::shared_ptr<ObjectStore> inner)
      : mutex_(*resources.runtime), inner_(std::move(inner)) {}
  explicit ScriptedStore(const Resources& resources) : ScriptedStore(resources, MakeMemoryStore(resources)) {}

  struct Script {
    ErrorKind answer = ErrorKind::kTransient;
    bool applied = false;          // the request has its effect all the same: a lost answer
    int times = 1;                 // how often; -1 = always
    std::function<void()> before;  // runs first; without an answer of its own if `silent`
    bool silent = false;
  };
  // What happens on requests that start with `request`.
  void On(std::string request, Script script) {
    std::lock_guard lock(mutex_);
    scripts_.emplace_back(std::move(request), std::move(script));
  }
  void Fail(std::string request, ErrorKind kind = ErrorKind::kTransient, int times = 1) {
    On(std::move(request), {.answer = kind, .times = times});
  }
  void LoseAnswer(std::string request) { On(std::move(request), {.applied = true}); }
  void Before(std::string request, std::function<void()> hook) {
    On(std::move(request), {.before = std::move(hook), .silent = true});
  }

  // Everything since the last call, in order.
  std::vector<std::string> TakeRequests() {
    std::lock_guard lock(mutex_);
    return std::exchange(requests_, {});
  }
  // The same, counted.
  std::map<std::string, int> TakeCounts() {
    std::map<std::string, int> counts;
    for (const std::string& request : TakeRequests()) ++counts[request];
    return counts;
  }
  ObjectStore& inner() { return *inner_; }

  arrow::Result<BufferPtr> Get(const std::string& key) override {
    return Run<arrow::Result<BufferPtr>>("GET " + Short(key), [&] { return inner_->Get(key); });
  }
  arrow::Result<std::vector<BufferPtr>> GetRanges(const std::string& key, std::span<const ByteRange> ranges) override {
    return Run<arrow::Result<std::vector<BufferPtr>>>("GET " + Short(key),
                                                      [&] { return inner_->GetRanges(key, ranges); });
  }
  arrow::Result<ObjectTail> GetTail(const std::string& key, uint64_t max_bytes) override {
    return Run<arrow::Result<ObjectTail>>("GET " + Short(key), [&] { return inner_->GetTail(key, max_bytes); });
  }
  arrow::Result<ObjectInfo> Head(const std::string& key) override {
    return Run<arrow::Result<ObjectInfo>>("HEAD " + Short(key), [&] { return inner_->Head(key); });
  }
  arrow::Status Put(const std::string& key, const BufferPtr& bytes) override {
    return Run<arrow::Status>("PUT " + Short(key), [&] { return inner_->Put(key, bytes); });
  }
  arrow::Status PutIfAbsent(const std::string& key, const BufferPtr& bytes) override {
    return Run<arrow::Status>("CREATE " + Short(key), [&] { return inner_->PutIfAbsent(key, bytes); });
  }
  arrow::Result<std::string> PutIfMatch(const std::string& key, const BufferPtr& bytes,
                                        const std::string& etag) override {
    return Run<arrow::Result<std::string>>("MATCH " + Short(key), [&] { return inner_->PutIfMatch(key, bytes, etag); });
  }
  arrow::Result<ListPage> List(const ListRequest& request) override {
    return Run<arrow::Result<ListPage>>("LIST " + Short(request.prefix), [&] { return inner_->List(request); });
  }
  arrow::Status Delete(const std::string& key) override {
    return Run<arrow::Status>("DELETE " + Short(key), [&] { return inner_->Delete(key); });
  }
  arrow::Status Copy(const std::string& from, const std::string& to) override {
    return Run<arrow::Status>("COPY " + Short(to), [&] { return inner_->Copy(from, to); });
  }
  arrow::Result<std::unique_ptr<ObjectWriter>> OpenWriter(const std::string& key) override {
    return Run<arrow::Result<std::unique_ptr<ObjectWriter>>>("WRITE " + Short(key),
                                                             [&] { return inner_->OpenWriter(key); });
  }
  bool lists_in_order() const override { return inner_->lists_in_order(); }
  std::string Describe(const std::string& key) const override { return inner_->Describe(key); }

 private:
  static std::string Short(const std::string& key) {
    std::string name = key;
    size_t shard = name.find(std::string(kTestShard) + "/");
    if (shard != std::string::npos) name = name.substr(shard + sizeof(kTestShard));
    size_t slash = name.rfind('/');
    if (slash == std::string::npos) return name;
    if (slash + 1 == name.size()) return name.substr(0, slash);
    std::string folder = name.substr(0, slash + 1);
    std::string file = name.substr(slash + 1);
    if (file == "version_hint.json") return folder + "hint";
    for (std::string_view suffix : {kManifestSuffix, kWalEntrySuffix}) {
      if (auto number = ParseReversedBits(file, suffix)) return folder + std::to_string(*number);
    }
    return name;
  }

  std::optional<Script> Next(const std::string& request) {
    std::lock_guard lock(mutex_);
    requests_.push_back(request);
    for (auto found = scripts_.begin(); found != scripts_.end(); ++found) {
      auto& [start, script] = *found;
      if (!request.starts_with(start)) continue;
      Script now = script;
      if (script.times > 0 && --script.times == 0) scripts_.erase(found);
      return now;
    }
    return std::nullopt;
  }

  template <typename Answer, typename Call>
  Answer Run(const std::string& request, const Call& call) {
    std::optional<Script> script = Next(request);
    if (!script.has_value()) return call();
    if (script->before) script->before();
    if (script->silent) return call();
    if (script->applied) (void)call();
    return MakeError(script->answer, "scripted answer to " + request);
  }

  Mutex mutex_;
  std::shared_ptr<ObjectStore> inner_;
  std::deque<std::pair<std::string, Script>> scripts_;
  std::vector<std::string> requests_;
};

// Runs a test body in a world with virtual time and no disturbance of its own.
inline void InVirtualTime(const std::function<void(Simulation&, const Resources&)>& body) {
  Simulation simulation(1, {.stalls = false, .wait_limit = std::chrono::hours(1'000)});
  simulation.StartActor("test", Duration::zero(),
                        [&] { body(simulation, MakeResources(simulation.runtime(), 1 << 30)); });
  arrow::Status ended = simulation.RunAll();
  EXPECT_TRUE(ended.ok()) << ended.ToString();
}

#define EXPECT_KIND(kind, word, expression)                                                   \
  do {                                                                                        \
    arrow::Status seen_status = (expression);                                                 \
    EXPECT_TRUE(HasKind(seen_status, ErrorKind::kind)) << seen_status.ToString();             \
    EXPECT_NE(seen_status.message().find(word), std::string::npos) << seen_status.ToString(); \
  } while (false)

}  // namespace javelin::memwal
