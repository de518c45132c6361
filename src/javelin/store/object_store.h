// Object storage: the only shared state of Javelin.
//
// All calls block and are crash points in simulation; contexts T and S(io) of base/runtime.h. A key is a relative path
// with '/' between parts, without leading or trailing '/' (CheckKey). Objects are immutable byte strings that appear
// whole or not at all. A folder exists exactly as long as an object lies below it.
//
// Error kinds: NotFound, AlreadyExists (PutIfAbsent), Precondition (PutIfMatch), Transient, Denied, IO.
// After a conditional put every kind but the first three of these means *unknown*: the object may exist or may still
// appear. Nothing but NotFound ever means "absent".
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <arrow/buffer.h>
#include <arrow/result.h>
#include <arrow/status.h>

namespace javelin {

using BufferPtr = std::shared_ptr<arrow::Buffer>;

struct ByteRange {
  uint64_t offset = 0;
  uint64_t length = 0;
  uint64_t end() const { return offset + length; }
  friend bool operator==(const ByteRange&, const ByteRange&) = default;
};

struct ObjectInfo {
  std::string key;
  uint64_t size = 0;
  int64_t modified_ns = 0;  // last modification, nanoseconds since the Unix epoch
  std::string etag;         // opaque; equal etags = equal bytes; may be empty where the store has none
};

struct ObjectTail {
  BufferPtr bytes;  // the last min(object_size, asked) bytes
  uint64_t object_size = 0;
};

struct ListRequest {
  std::string prefix;       // a folder with trailing '/', or "" for everything; compared as text
  bool recursive = true;    // false: objects directly below the prefix, deeper ones folded into `folders`
  std::string start_after;  // only keys strictly greater; a folder counts as long as one of its keys does
  uint32_t max_keys = 0;    // per page, 0 = the store's own page size
  std::string page_token;   // of the previous page
};

struct ListPage {
  std::vector<ObjectInfo> objects;   // ascending by key
  std::vector<std::string> folders;  // with trailing '/', ascending
  std::string next_page_token;       // empty = last page
};

struct PutRequest {
  std::string key;
  BufferPtr bytes;
};

// A large object written in pieces. Nothing is visible before Finish; a writer destroyed before Finish leaves nothing
// under the key.
class ObjectWriter {
 public:
  virtual ~ObjectWriter() = default;
  virtual arrow::Status Write(BufferPtr bytes) = 0;
  virtual arrow::Status Finish() = 0;
  uint64_t bytes_written() const { return bytes_written_; }

 protected:
  uint64_t bytes_written_ = 0;
};

class ObjectStore {
 public:
  virtual ~ObjectStore() = default;

  virtual arrow::Result<BufferPtr> Get(const std::string& key) = 0;
  // One answer per key, in order; requests run in parallel where the store can. Each key counts as one request.
  virtual std::vector<arrow::Result<BufferPtr>> GetMany(std::span<const std::string> keys);
  // Exact ranges, in order, coalesced into fewer requests where that pays. A range past the end is IO.
  virtual arrow::Result<std::vector<BufferPtr>> GetRanges(const std::string& key,
                                                          std::span<const ByteRange> ranges) = 0;
  // The last `max_bytes` (or the whole object, if shorter) and the object's size, in one request.
  virtual arrow::Result<ObjectTail> GetTail(const std::string& key, uint64_t max_bytes) = 0;
  virtual arrow::Result<ObjectInfo> Head(const std::string& key) = 0;
  // One answer per key, in order; present or NotFound or a failure.
  virtual std::vector<arrow::Result<ObjectInfo>> HeadMany(std::span<const std::string> keys);
  virtual arrow::Status Put(const std::string& key, const BufferPtr& bytes) = 0;
  virtual std::vector<arrow::Status> PutMany(std::span<const PutRequest> requests);
  // Creates the object only if none exists; AlreadyExists otherwise. Never emulated by check-then-put.
  virtual arrow::Status PutIfAbsent(const std::string& key, const BufferPtr& bytes) = 0;
  // Replaces the object only if its etag still is `etag`; Precondition otherwise. Returns the new etag.
  virtual arrow::Result<std::string> PutIfMatch(const std::string& key, const BufferPtr& bytes,
                                                const std::string& etag) = 0;
  virtual arrow::Result<ListPage> List(const ListRequest& request) = 0;
  // OK also if there was no such object.
  virtual arrow::Status Delete(const std::string& key) = 0;
  virtual arrow::Status Copy(const std::string& from, const std::string& to) = 0;
  virtual arrow::Result<std::unique_ptr<ObjectWriter>> OpenWriter(const std::string& key) = 0;

  // Returns when the object, as it is now, survives a loss of power. What was written through this store does once the
  // write has returned; what another process is still writing, or wrote without waiting for it, can be seen earlier.
  // For whoever takes something away because this object is there. No request; NotFound. Nothing to do for a store
  // whose objects are durable once they are visible.
  virtual arrow::Status MakeDurable(const std::string& key);

  // True if listings come in key order from an index, so that "first name of a folder" is one cheap request and no
  // version hint is needed (S3 and the like; not a local file system).
  virtual bool lists_in_order() const = 0;
  // How a user would name the object: a path or a URI; for messages.
  virtual std::string Describe(const std::string& key) const = 0;
};

// All pages of a listing. Use only where the folder is known to be small.
arrow::Result<ListPage> ListAll(ObjectStore& store, ListRequest request);

// InvalidInput unless `key` may name an object: parts are not empty, "." or ".." and hold no control characters; the
// last one does not start with '.', because local stores stage writes under such names and never list them.
arrow::Status CheckKey(std::string_view key);
// As CheckKey, and a put without bytes is Internal.
arrow::Status CheckPut(std::string_view key, const BufferPtr& bytes);
// InvalidInput unless the prefix is empty or a folder with trailing '/'.
arrow::Status CheckListRequest(const ListRequest& request);
// IO unless the range lies inside an object of that size.
arrow::Status CheckRange(std::string_view key, const ByteRange& range, uint64_t object_size);

// "a" + "b/c" = "a/b/c"; an empty folder gives the name itself.
std::string JoinKey(std::string_view folder, std::string_view name);

}  // namespace javelin
