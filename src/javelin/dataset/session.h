// What one process shares between its datasets: resources, stores, caches.
#pragma once

#include <cstdint>
#include <memory>

#include "javelin/base/resources.h"
#include "javelin/store/stores.h"

namespace javelin {

class Session {
 public:
  // A session on threads with default limits.
  static std::shared_ptr<Session> Make();
  // Tests and the simulation bring their own resources.
  explicit Session(Resources resources) : resources_(std::move(resources)), stores_(resources_) {}

  const Resources& resources() const { return resources_; }
  Runtime& runtime() const { return *resources_.runtime; }
  StoreRegistry& stores() { return stores_; }

 private:
  Resources resources_;
  StoreRegistry stores_;
};

}  // namespace javelin
