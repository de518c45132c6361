// The stores and decorators that exist, and how a URI finds its store.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "javelin/base/resources.h"
#include "javelin/store/object_store.h"

namespace javelin {

struct LocalStoreOptions {
  // fsync file, link / rename, fsync directory before a write returns. Off = what survives a process crash but not a
  // power loss (the released peer never syncs).
  bool sync = true;
};
// A local file system below `root` (an absolute folder; created on first write). Put-if-absent is link() from a staging
// file named `.{32 hex}.tmp` in the same folder, which no Lance reader or writer takes for a table object.
std::shared_ptr<ObjectStore> MakeLocalStore(const Resources& resources, std::string root,
                                            LocalStoreOptions options = {});

// Objects in memory; lists in order; for tests and `memory://name/...` tables.
std::shared_ptr<ObjectStore> MakeMemoryStore(const Resources& resources, const std::string& name = "");

// Where a table lives: a store and the key prefix of the table inside it.
struct StoreLocation {
  std::shared_ptr<ObjectStore> store;
  std::string root;
  std::string uri;  // as the user would name it
};

// Resolves URIs to stores and keeps one store per (scheme, authority, options): a plain or relative path, `file://`,
// `memory://name/...`. Unknown schemes are NotSupported.
class StoreRegistry {
 public:
  explicit StoreRegistry(Resources resources);
  // Options: "sync" = "true" | "false" (local). Unknown keys are InvalidInput naming the key.
  arrow::Result<StoreLocation> Resolve(const std::string& uri, const std::map<std::string, std::string>& options = {});
  // From now on URIs that start with `uri_prefix` (e.g. "test://bucket/") live in this store; the rest of the URI is
  // the root. How tests and the simulation bring decorated or simulated stores.
  void Register(const std::string& uri_prefix, std::shared_ptr<ObjectStore> store);

 private:
  std::optional<StoreLocation> ResolveRegistered(const std::string& uri);
  arrow::Result<StoreLocation> ResolveLocal(const std::string& path, const std::map<std::string, std::string>& options);
  arrow::Result<StoreLocation> ResolveMemory(const std::string& uri, const std::string& rest,
                                             const std::map<std::string, std::string>& options);
  std::shared_ptr<ObjectStore> FindOrMake(const std::string& name,
                                          const std::function<std::shared_ptr<ObjectStore>()>& make);

  Resources resources_;
  Mutex mutex_;
  std::map<std::string, std::shared_ptr<ObjectStore>> stores_;      // guarded by mutex_
  std::map<std::string, std::shared_ptr<ObjectStore>> registered_;  // by URI prefix; guarded by mutex_
};

// ---- decorators: each wraps a store and forwards what it does not change ----

// Counts requests and bytes per method; exact, for tests and metrics.
struct RequestCounts {
  uint64_t get = 0, head = 0, put = 0, put_if_absent = 0, put_if_match = 0, list = 0, remove = 0, copy = 0;
  uint64_t bytes_read = 0, bytes_written = 0;
  uint64_t total() const { return get + head + put + put_if_absent + put_if_match + list + remove + copy; }
};
class CountingStore;  // store/counting_store.h
class FaultStore;     // store/fault_store.h

// Repeats reads and idempotent writes that fail as Transient, with jittered back-off through the runtime. A conditional
// put is never repeated blindly: after an unknown outcome it reads back. Other bytes: the put lost; none: it is tried
// again; the same bytes: OutcomeUnknown, since another may have written them.
struct RetryOptions {
  int max_attempts = 4;
  Duration base_delay = std::chrono::milliseconds(50);
  Duration max_delay = std::chrono::seconds(5);
};
std::shared_ptr<ObjectStore> MakeRetryStore(const Resources& resources, std::shared_ptr<ObjectStore> inner,
                                            RetryOptions options = {});

}  // namespace javelin
