// What one process shares between its datasets: resources, stores, caches.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "javelin/base/resources.h"
#include "javelin/store/stores.h"

namespace javelin {

// Something a module above keeps once per session (memwal: shard manifest stores and live writers).
class SessionPart {
 public:
  virtual ~SessionPart() = default;
};

class Session {
 public:
  // A session on threads with default limits.
  static std::shared_ptr<Session> Make();
  // Tests and the simulation bring their own resources.
  explicit Session(Resources resources)
      : resources_(std::move(resources)), stores_(resources_), parts_mutex_(*resources_.runtime) {}

  const Resources& resources() const { return resources_; }
  Runtime& runtime() const { return *resources_.runtime; }
  StoreRegistry& stores() { return stores_; }

  // The part of that name, made by `make` on first use; lives as long as the session.
  std::shared_ptr<SessionPart> Part(const std::string& name,
                                    const std::function<std::shared_ptr<SessionPart>()>& make) {
    std::lock_guard lock(parts_mutex_);
    auto& part = parts_[name];
    if (part == nullptr) part = make();
    return part;
  }

 private:
  Resources resources_;
  StoreRegistry stores_;
  Mutex parts_mutex_;
  std::map<std::string, std::shared_ptr<SessionPart>> parts_;
};

}  // namespace javelin
