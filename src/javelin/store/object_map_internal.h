// The contents of a store that lives in memory. No locks, no waiting: MemoryStore and SimStore add these.
#pragma once

#include <map>
#include <string>

#include "javelin/store/object_store.h"

namespace javelin::internal {

class ObjectMap {
 public:
  struct Object {
    BufferPtr bytes;
    int64_t modified_ns = 0;
    std::string etag;
  };

  // NotFound, or the object (valid until the next change).
  arrow::Result<const Object*> Find(const std::string& key) const;
  arrow::Result<BufferPtr> Get(const std::string& key) const;
  arrow::Result<std::vector<BufferPtr>> GetRanges(const std::string& key, std::span<const ByteRange> ranges) const;
  arrow::Result<ObjectTail> GetTail(const std::string& key, uint64_t max_bytes) const;
  arrow::Result<ObjectInfo> Head(const std::string& key) const;
  // Puts keep a copy of the bytes, as a real store would.
  arrow::Status Put(const std::string& key, const BufferPtr& bytes, int64_t now_ns);
  arrow::Status PutIfAbsent(const std::string& key, const BufferPtr& bytes, int64_t now_ns);
  arrow::Result<std::string> PutIfMatch(const std::string& key, const BufferPtr& bytes, const std::string& etag,
                                        int64_t now_ns);
  arrow::Result<ListPage> List(const ListRequest& request, uint32_t page_size) const;
  arrow::Status Delete(const std::string& key);
  arrow::Status Copy(const std::string& from, const std::string& to, int64_t now_ns);

  const std::map<std::string, Object>& objects() const { return objects_; }

 private:
  std::map<std::string, Object> objects_;
  uint64_t writes_ = 0;  // makes etags
};

// One entry of a listing: an object, or a folder where `info.key` ends with '/'.
struct ListEntry {
  ObjectInfo info;
  bool is_folder = false;
};
// Adds an entry to the page; false = the page is full, its token is set, and the entry belongs to the next one.
bool AddToPage(ListPage& page, ListEntry entry, uint32_t page_size);

}  // namespace javelin::internal
