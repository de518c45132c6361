// The bytes of blob columns: of single rows, whole or in parts, and of what a scan says of where they lie
// (docs/format.md, "Blobs"). A request for an object that holds blobs is one GetRanges of all that is wanted of it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <arrow/result.h>
#include <arrow/type_fwd.h>

#include "javelin/base/ids.h"
#include "javelin/base/resources.h"
#include "javelin/dataset/dataset.h"
#include "javelin/store/object_store.h"

namespace javelin {

namespace internal {
class BlobObjects;
struct BlobPiece;
struct BlobPlace;
}  // namespace internal

// ---- single rows ----
//
// A blob column is named by its path, "c.b" for field `b` of struct `c`; one inside a list has no row of its own and is
// InvalidInput, as what is no blob column. Of rows, InvalidInput: no such row, or deleted. Of blobs, NotSupported: one
// outside of the table and of its base paths, one that has no store, or is managed; Corruption: one that lies outside
// of its object; NotFound: its object is gone.

// What a row is called by: its row id, its address, or its position in a full scan.
enum class RowSelector { kRowIds, kAddresses, kIndices };

// A blob that is not null, of which nothing is read before it is asked for. Thread-safe; keeps its session alive.
class Blob {
 public:
  uint64_t size() const;
  // The bytes at [offset, offset + length), in one request. InvalidInput: past its end, or past 64 bits.
  arrow::Result<BufferPtr> Read(uint64_t offset, uint64_t length) const;
  // The same of several, in their order, near ones in one request.
  arrow::Result<std::vector<BufferPtr>> Read(std::span<const ByteRange> ranges) const;

 private:
  friend class BlobColumn;
  Blob(std::shared_ptr<const internal::BlobObjects> objects, const internal::BlobPlace& place);
  std::shared_ptr<const internal::BlobObjects> objects_;
  size_t object_;
  ByteRange place_;
};

// One for each row, in their order; null where the blob is. Reads where they lie, not the blobs: a request more for
// each object outside of the table that is a blob as a whole, whose size nobody wrote down.
arrow::Result<std::vector<std::shared_ptr<const Blob>>> TakeBlobs(const Dataset& dataset, const std::string& column,
                                                                  RowSelector selector, std::span<const uint64_t> rows);

// Bytes of the blob of a row, counted from its start.
struct BlobRequest {
  uint64_t row = 0;
  ByteRange range;
};

struct BlobAnswer {
  size_t request = 0;  // which of those asked it answers
  RowAddress row;
  BufferPtr bytes;  // null: the blob is null, whatever is asked of it
};

struct BlobReadOptions {
  // Requests are sent for so many bytes at once, at least for one; 0 = what the memory budget suggests.
  uint64_t io_buffer_bytes = 0;
};

// Reads many blobs, some at a time: nothing is read ahead of who takes the answers, and what is under way is within
// `io_buffer_bytes`, reserved in the memory budget. Requests are sorted by where their bytes lie; what is asked twice
// is read once. Not thread-safe.
class BlobReader {
 public:
  // Whole blobs.
  static arrow::Result<std::unique_ptr<BlobReader>> OpenWhole(const Dataset& dataset, const std::string& column,
                                                              RowSelector selector, std::span<const uint64_t> rows,
                                                              const BlobReadOptions& options = {});
  // Any number of ranges of a row, in any order. InvalidInput, naming the request: a range past the end of its blob, or
  // past 64 bits. Nothing is read of an empty range.
  static arrow::Result<std::unique_ptr<BlobReader>> OpenRanges(const Dataset& dataset, const std::string& column,
                                                               RowSelector selector,
                                                               std::span<const BlobRequest> requests,
                                                               const BlobReadOptions& options = {});
  ~BlobReader();

  // The next answers, in no order, one for each request in all; none: that was all. Blocks. The memory of their bytes
  // is reserved until the next call. A failure stays.
  arrow::Result<std::vector<BlobAnswer>> Next();

 private:
  friend class BlobColumn;
  BlobReader(std::shared_ptr<const internal::BlobObjects> objects, const BlobReadOptions& options);

  std::shared_ptr<const internal::BlobObjects> objects_;
  uint64_t io_buffer_bytes_;
  std::vector<RowAddress> rows_;             // of each request
  std::vector<BlobAnswer> known_;            // answers without a request
  std::vector<internal::BlobPiece> pieces_;  // sorted
  size_t next_ = 0;                          // of them
  MemoryReservation memory_;
  arrow::Status failed_;
};

// ---- batches ----

// `rows` as Scan or Take of this version return them, with the column `_rowaddr`: descriptions of blobs, at any depth,
// become the bytes (large_binary; null where the blob is null), all else stays as it is. All bytes of `rows` are in
// memory at once, within the memory budget. InvalidInput: there is a blob column, but no `_rowaddr`, or it names rows
// that do not exist. Blocks; thread-safe.
arrow::Result<std::shared_ptr<arrow::RecordBatch>> ReadBlobs(const Dataset& dataset,
                                                             const std::shared_ptr<arrow::RecordBatch>& rows);

// How many of such rows, from the first on, are at most `bytes` bytes with the bytes of their blobs; at least 1. For
// who reads the blobs of a batch in several steps. A blob that is an object outside of the table as a whole, of a size
// that nobody wrote down, counts as one that fills a batch.
arrow::Result<int64_t> RowsThatFitWithBlobs(const Dataset& dataset, const arrow::RecordBatch& rows, uint64_t bytes);

}  // namespace javelin
