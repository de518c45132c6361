#include "javelin/store/sim_store.h"

#include "javelin/base/error.h"
#include "javelin/base/simulation_runtime_internal.h"
#include "javelin/store/coalesce.h"
#include "javelin/store/memory_store_internal.h"

namespace javelin {
namespace internal {

namespace {
constexpr Duration kSlowest = std::chrono::seconds(20);
constexpr Duration kLatest = std::chrono::seconds(30);
constexpr uint64_t kFaultOneIn[] = {0, 10, 50, 200};  // 0 = never
constexpr uint32_t kPageSizes[] = {2, 5, 100, 1000};

// One request under way: the answer, and the event that tells of it.
template <typename T>
struct Pending {
  std::shared_ptr<EventState> answered;
  std::optional<arrow::Result<T>> answer;
};

// What a request is, apart from what it does.
struct Sent {
  std::string_view method;
  std::string key;
  uint64_t length = 0;
  bool is_write = false;
};

arrow::Status FaultError(SeededRandom& random, RequestFault fault, const Sent& sent) {
  const std::string message = fmt::format("simulated fault: the answer to {} '{}' is an error", sent.method, sent.key);
  // A write may fail in ways that no retry rule knows.
  const bool odd = sent.is_write && fault != RequestFault::kRefused && random.OneIn(4);
  return MakeError(odd ? ErrorKind::kIO : ErrorKind::kTransient, message);
}

std::string TextOf(const arrow::Status& status) { return status.ok() ? "OK" : std::string(ToString(KindOf(status))); }
}  // namespace

class SimStoreState : public std::enable_shared_from_this<SimStoreState> {
 public:
  SimStoreState(std::shared_ptr<SimScheduler> s, SimStoreOptions o) : scheduler(std::move(s)), options(o) {
    SeededRandom& setup = scheduler->setup_random;
    const bool any = !setup.OneIn(4) && options.faults;
    for (uint64_t& one_in : fault_one_in_) {
      const uint64_t drawn = kFaultOneIn[setup.Below(4)];
      one_in = any ? drawn : 0;
    }
    fastest_exponent_ = setup.Between(10, 24);  // ns
    const uint32_t page_size = kPageSizes[setup.Below(4)];
    if (options.page_size == 0) options.page_size = page_size;
  }

  // Sends a request and waits for its answer. `apply` runs later, in the store, perhaps after the sender is gone: it
  // owns all it needs. Torn writes give it the part of the bytes that shall land.
  template <typename T>
  arrow::Result<T> Call(Sent sent, std::function<arrow::Result<T>(double part)> apply) {
    return Await(Send<T>(std::move(sent), std::move(apply)));
  }

  template <typename T>
  std::shared_ptr<Pending<T>> Send(Sent sent, std::function<arrow::Result<T>(double part)> apply) {
    RequireMayBlock("a store request");
    auto pending = std::make_shared<Pending<T>>();
    pending->answered = NewSimEvent(scheduler, "the store's answer");
    if (scheduler->CrashPoint()) {
      pending->answer = Cancelled("the process ended before {} '{}' was sent", sent.method, sent.key);
      return pending;
    }
    scheduler->SwitchPoint();
    if (scheduler->CrashPoint()) {
      pending->answer = Cancelled("the process ended before {} '{}' was sent", sent.method, sent.key);
      return pending;
    }
    const RequestFault fault = ChooseFault(sent);
    scheduler->Trace(sent.method, sent.key, sent.length, fault == RequestFault::kNone ? "sent" : "sent, with a fault");
    Schedule<T>(std::move(sent), fault, std::move(apply), pending);
    return pending;
  }

  template <typename T>
  arrow::Result<T> Await(const std::shared_ptr<Pending<T>>& pending) {
    if (pending->answer.has_value()) return *pending->answer;
    while (!pending->answered->Wait(kNoDeadline)) {
      if (scheduler->CrashPoint()) return Cancelled("the process ended before the store answered");
    }
    return *pending->answer;
  }

  int64_t Now() const { return scheduler->WorldTime().count(); }

  const std::shared_ptr<SimScheduler> scheduler;
  SimStoreOptions options;
  ObjectMap objects;
  RequestHook hook;
  uint64_t requests = 0;
  std::shared_ptr<ObjectStore> raw;

 private:
  RequestFault ChooseFault(const Sent& sent) {
    ++requests;
    if (hook) {
      SimScheduler::NoSwitchScope scope(*scheduler);
      if (const auto chosen = hook({sent.method, sent.key, requests, scheduler->CurrentActor().id})) return *chosen;
    }
    SeededRandom& random = scheduler->fault_random;
    using F = RequestFault;
    for (const F fault : {F::kRefused, F::kLostAnswer, F::kLandsLate, F::kSlow, F::kTorn}) {
      const bool drawn = random.OneIn(fault_one_in_[static_cast<int>(fault)]);
      const bool possible = fault == F::kTorn ? sent.is_write && options.torn_writes
                                              : sent.is_write || fault == F::kRefused || fault == F::kSlow;
      if (drawn && possible) return fault;
    }
    return F::kNone;
  }

  Duration Latency() { return Duration(scheduler->fault_random.Magnitude(fastest_exponent_, fastest_exponent_ + 2)); }
  Duration UpTo(Duration most) { return Duration(scheduler->fault_random.Between(0, most.count())); }

  template <typename T>
  void Schedule(Sent sent, RequestFault fault, std::function<arrow::Result<T>(double)> apply,
                std::shared_ptr<Pending<T>> pending) {
    SeededRandom& random = scheduler->fault_random;
    TimePoint applied_at = scheduler->now + Latency();
    TimePoint answered_at = applied_at + Latency();
    double part = 1;
    switch (fault) {
      case RequestFault::kNone:
      case RequestFault::kLostAnswer:
      case RequestFault::kRefused: break;
      case RequestFault::kSlow:
        (random.OneIn(2) ? applied_at : answered_at) += UpTo(kSlowest);
        answered_at = std::max(answered_at, applied_at);
        break;
      case RequestFault::kLandsLate: applied_at = answered_at + UpTo(kLatest); break;
      case RequestFault::kTorn: part = static_cast<double>(random.Below(1000)) / 1000; break;
    }
    const bool fails = fault != RequestFault::kNone && fault != RequestFault::kSlow;
    if (fails) pending->answer = FaultError(random, fault, sent);
    const auto result = std::make_shared<std::optional<arrow::Result<T>>>(std::exchange(pending->answer, std::nullopt));
    auto shared = std::make_shared<const Sent>(std::move(sent));
    if (fault != RequestFault::kRefused) {
      scheduler->AtStore(applied_at, [self = shared_from_this(), apply = std::move(apply), shared, result, part] {
        arrow::Result<T> applied = apply(part);
        self->scheduler->Trace("applied", shared->key, shared->length, TextOf(applied.status()));
        if (!result->has_value()) *result = std::move(applied);
      });
    }
    scheduler->AtStore(answered_at, [self = shared_from_this(), shared, result, pending = std::move(pending)] {
      self->scheduler->Trace("answered", shared->key, shared->length, TextOf((*result)->status()));
      pending->answer = std::move(*result);
      pending->answered->Set();
    });
  }

  uint64_t fault_one_in_[6] = {};  // by RequestFault
  int fastest_exponent_;
};

}  // namespace internal

namespace {
using internal::Sent;

// What an operation without a result answers.
arrow::Result<Unit> Done(const arrow::Status& status) {
  if (!status.ok()) return status;
  return Unit{};
}

// The bytes leave the process with the request.
BufferPtr CopyOf(const BufferPtr& bytes) {
  return bytes == nullptr ? nullptr : arrow::Buffer::FromString(bytes->ToString());
}
BufferPtr PartOf(const BufferPtr& bytes, double part) {
  if (bytes == nullptr || part == 1) return bytes;
  return arrow::SliceBuffer(bytes, 0, static_cast<int64_t>(static_cast<double>(bytes->size()) * part));
}
uint64_t LengthOf(const BufferPtr& bytes) { return bytes == nullptr ? 0 : bytes->size(); }
}  // namespace

SimStore::SimStore(const Simulation& simulation, SimStoreOptions options)
    : state_(std::make_shared<internal::SimStoreState>(simulation.scheduler(), options)) {
  // Not owning: the state owns the raw store.
  const std::shared_ptr<internal::ObjectMap> map(std::shared_ptr<void>(), &state_->objects);
  state_->raw =
      internal::MakeMapStore("sim://", map, nullptr, [state = state_.get()] { return Duration(state->Now()); });
}
SimStore::~SimStore() = default;

void SimStore::OnRequest(RequestHook hook) { state_->hook = std::move(hook); }
uint64_t SimStore::requests_sent() const { return state_->requests; }
ObjectStore& SimStore::raw() { return *state_->raw; }

arrow::Result<BufferPtr> SimStore::Get(const std::string& key) {
  return state_->Call<BufferPtr>({"get", key}, [s = state_, key](double) { return s->objects.Get(key); });
}

std::vector<arrow::Result<BufferPtr>> SimStore::GetMany(std::span<const std::string> keys) {
  std::vector<std::shared_ptr<internal::Pending<BufferPtr>>> sent;
  for (const std::string& key : keys) {
    sent.push_back(state_->Send<BufferPtr>({"get", key}, [s = state_, key](double) { return s->objects.Get(key); }));
  }
  std::vector<arrow::Result<BufferPtr>> answers;
  for (const auto& pending : sent) answers.push_back(state_->Await(pending));
  return answers;
}

// As a remote store is asked: one request for each run of ranges that lie close together, all of them at once.
arrow::Result<std::vector<BufferPtr>> SimStore::GetRanges(const std::string& key, std::span<const ByteRange> ranges) {
  const std::vector<ByteRange> runs = CoalesceRanges(ranges);
  const auto asked = std::make_shared<const std::vector<ByteRange>>(ranges.begin(), ranges.end());
  std::vector<std::shared_ptr<internal::Pending<BufferPtr>>> sent;
  for (const ByteRange& run : runs) {
    sent.push_back(state_->Send<BufferPtr>(
        {"get", key, run.length}, [s = state_, key, run, asked](double) -> arrow::Result<BufferPtr> {
          ARROW_RETURN_NOT_OK(s->objects.GetRanges(key, *asked));  // each has to lie inside the object
          ARROW_ASSIGN_OR_RAISE(const auto bytes, s->objects.GetRanges(key, std::span(&run, 1)));
          return bytes[0];
        }));
  }
  std::vector<arrow::Result<BufferPtr>> bodies;
  for (const auto& pending : sent) bodies.push_back(state_->Await(pending));
  for (const auto& body : bodies) ARROW_RETURN_NOT_OK(body);
  std::vector<BufferPtr> answers;
  for (const ByteRange& range : ranges) {
    if (range.length == 0) {
      answers.push_back(arrow::Buffer::FromString(""));
      continue;
    }
    const auto after = std::upper_bound(runs.begin(), runs.end(), range.offset,
                                        [](uint64_t offset, const ByteRange& run) { return offset < run.offset; });
    const size_t run = static_cast<size_t>(after - runs.begin()) - 1;
    answers.push_back(arrow::SliceBuffer(*bodies[run], range.offset - runs[run].offset, range.length));
  }
  return answers;
}

arrow::Result<ObjectTail> SimStore::GetTail(const std::string& key, uint64_t max_bytes) {
  return state_->Call<ObjectTail>({"get", key, max_bytes},
                                  [s = state_, key, max_bytes](double) { return s->objects.GetTail(key, max_bytes); });
}

arrow::Result<ObjectInfo> SimStore::Head(const std::string& key) {
  return state_->Call<ObjectInfo>({"head", key}, [s = state_, key](double) { return s->objects.Head(key); });
}

std::vector<arrow::Result<ObjectInfo>> SimStore::HeadMany(std::span<const std::string> keys) {
  std::vector<std::shared_ptr<internal::Pending<ObjectInfo>>> sent;
  for (const std::string& key : keys) {
    sent.push_back(state_->Send<ObjectInfo>({"head", key}, [s = state_, key](double) { return s->objects.Head(key); }));
  }
  std::vector<arrow::Result<ObjectInfo>> answers;
  for (const auto& pending : sent) answers.push_back(state_->Await(pending));
  return answers;
}

arrow::Status SimStore::Put(const std::string& key, const BufferPtr& bytes) {
  return PutMany(std::vector<PutRequest>{{key, bytes}})[0];
}

std::vector<arrow::Status> SimStore::PutMany(std::span<const PutRequest> requests) {
  std::vector<std::shared_ptr<internal::Pending<Unit>>> sent;
  for (const PutRequest& put : requests) {
    sent.push_back(state_->Send<Unit>({"put", put.key, LengthOf(put.bytes), true},
                                      [s = state_, key = put.key, bytes = CopyOf(put.bytes)](double part) {
                                        return Done(s->objects.Put(key, PartOf(bytes, part), s->Now()));
                                      }));
  }
  std::vector<arrow::Status> answers;
  for (const auto& pending : sent) answers.push_back(state_->Await(pending).status());
  return answers;
}

arrow::Status SimStore::PutIfAbsent(const std::string& key, const BufferPtr& bytes) {
  return state_
      ->Call<Unit>({"put_if_absent", key, LengthOf(bytes), true},
                   [s = state_, key, copy = CopyOf(bytes)](double part) {
                     return Done(s->objects.PutIfAbsent(key, PartOf(copy, part), s->Now()));
                   })
      .status();
}

arrow::Result<std::string> SimStore::PutIfMatch(const std::string& key, const BufferPtr& bytes,
                                                const std::string& etag) {
  return state_->Call<std::string>({"put_if_match", key, LengthOf(bytes), true},
                                   [s = state_, key, copy = CopyOf(bytes), etag](double part) {
                                     return s->objects.PutIfMatch(key, PartOf(copy, part), etag, s->Now());
                                   });
}

arrow::Result<ListPage> SimStore::List(const ListRequest& request) {
  return state_->Call<ListPage>({"list", request.prefix, request.max_keys}, [s = state_, request](double) {
    return s->objects.List(request, s->options.page_size);
  });
}

arrow::Status SimStore::Delete(const std::string& key) {
  return state_
      ->Call<Unit>({"delete", key, 0, true}, [s = state_, key](double) { return Done(s->objects.Delete(key)); })
      .status();
}

arrow::Status SimStore::Copy(const std::string& from, const std::string& to) {
  return state_
      ->Call<Unit>({"copy", to, 0, true},
                   [s = state_, from, to](double) { return Done(s->objects.Copy(from, to, s->Now())); })
      .status();
}

arrow::Result<std::unique_ptr<ObjectWriter>> SimStore::OpenWriter(const std::string& key) {
  ARROW_RETURN_NOT_OK(CheckKey(key));
  const auto part = [s = state_, key](const BufferPtr& bytes) {
    return s->Call<Unit>({"put_part", key, LengthOf(bytes)}, [](double) -> arrow::Result<Unit> { return Unit{}; })
        .status();
  };
  return internal::MakeBufferedWriter(part, [this, key](const BufferPtr& bytes) { return Put(key, bytes); });
}

bool SimStore::lists_in_order() const { return state_->options.lists_in_order; }
std::string SimStore::Describe(const std::string& key) const { return fmt::format("sim://{}", key); }

}  // namespace javelin
