// What was made of objects that never change, kept while memory allows.
#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include <arrow/result.h>

#include "javelin/base/runtime.h"
#include "javelin/store/object_store.h"

namespace javelin {

// `Value` has `uint64_t memory_bytes() const`, which may grow with use. What was used longest ago goes first. Any
// number of threads.
template <typename Value>
class ObjectCache {
 public:
  ObjectCache(Runtime& runtime, uint64_t limit_bytes) : limit_(limit_bytes), mutex_(runtime) {}

  // What belongs to that object or folder of the store; made by `open()` if it is not here. Two callers at once may
  // both make it.
  template <typename Open>
  arrow::Result<std::shared_ptr<Value>> Get(const std::shared_ptr<ObjectStore>& store, const std::string& key,
                                            const Open& open) {
    if (auto known = Find(store, key)) return known;
    ARROW_ASSIGN_OR_RAISE(std::shared_ptr<Value> value, open());
    Keep(store, key, value);
    return value;
  }

  // Null if it is not here.
  std::shared_ptr<Value> Find(const std::shared_ptr<ObjectStore>& store, const std::string& key) {
    Entries dropped;  // freed without the lock
    std::lock_guard lock(mutex_);
    const auto found = by_name_.find(store->Describe(key));
    if (found == by_name_.end() || found->second->store.lock() != store) return nullptr;
    entries_.splice(entries_.begin(), entries_, found->second);
    MeasureNewest(&dropped);
    return entries_.front().value;
  }

  // In place of what was there.
  void Keep(const std::shared_ptr<ObjectStore>& store, const std::string& key, std::shared_ptr<Value> value) {
    Entry entry{store->Describe(key), store, std::move(value)};
    Entries dropped;  // freed without the lock
    std::lock_guard lock(mutex_);
    if (const auto known = by_name_.find(entry.name); known != by_name_.end()) Drop(known->second, &dropped);
    if (!entries_.empty()) MeasureNewest(&dropped);  // it has been read since
    entries_.push_front(std::move(entry));
    by_name_[entries_.front().name] = entries_.begin();
    MeasureNewest(&dropped);
  }

  // Of what is kept, as last measured.
  uint64_t memory_bytes() const {
    std::lock_guard lock(mutex_);
    return bytes_;
  }

 private:
  struct Entry {
    std::string name;
    std::weak_ptr<ObjectStore> store;  // another store may call another object by the same name
    std::shared_ptr<Value> value;
    uint64_t bytes = 0;
  };
  using Entries = std::list<Entry>;

  // The two below with the lock held. The newest one always stays: somebody is about to read it.
  void MeasureNewest(Entries* dropped) {
    Entry& newest = entries_.front();
    bytes_ -= newest.bytes;
    newest.bytes = newest.value->memory_bytes();
    bytes_ += newest.bytes;
    while (bytes_ > limit_ && entries_.size() > 1) Drop(std::prev(entries_.end()), dropped);
  }
  void Drop(typename Entries::iterator entry, Entries* dropped) {
    bytes_ -= entry->bytes;
    by_name_.erase(entry->name);
    dropped->splice(dropped->end(), entries_, entry);
  }

  const uint64_t limit_;
  mutable Mutex mutex_;
  Entries entries_;                                            // last used first; guarded by mutex_
  std::map<std::string, typename Entries::iterator> by_name_;  // guarded by mutex_
  uint64_t bytes_ = 0;                                         // guarded by mutex_
};

}  // namespace javelin
