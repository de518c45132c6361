// Reading rows of one page, whatever its layout.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <arrow/result.h>
#include <arrow/type_fwd.h>

#include "javelin/base/resources.h"
#include "javelin/file/container_internal.h"
#include "javelin/file/decoder_internal.h"
#include "javelin/file/leaf_sink_internal.h"
#include "javelin/store/object_store.h"

namespace javelin::file {

// What the pages of a file share. The mutex guards tables that pages keep once they have been read.
struct PageEnvironment {
  explicit PageEnvironment(Resources r) : resources(std::move(r)), mutex(*resources.runtime) {}
  Resources resources;
  Mutex mutex;
  uint64_t kept_bytes = 0;                          // of those tables; guarded by mutex
  std::unique_ptr<Decompressor> idle_decompressor;  // guarded by mutex; making one costs more than decoding one row
};

// A decompressor for one thread of work; goes back to the file at the end of the scope.
class DecompressorLease {
 public:
  explicit DecompressorLease(PageEnvironment& environment) : environment_(environment) {
    {
      std::lock_guard lock(environment_.mutex);
      decompressor_ = std::move(environment_.idle_decompressor);
    }
    if (decompressor_ == nullptr) decompressor_ = std::make_unique<Decompressor>();
  }
  ~DecompressorLease() {
    std::lock_guard lock(environment_.mutex);
    std::swap(environment_.idle_decompressor, decompressor_);  // the one in excess is freed behind the lock
  }
  DecompressorLease(const DecompressorLease&) = delete;
  Decompressor& operator*() { return *decompressor_; }

 private:
  PageEnvironment& environment_;
  std::unique_ptr<Decompressor> decompressor_;
};

// One read of some rows of a page: asks for bytes in rounds until it has what it needs, then decodes.
//
//   while (!(ranges = scan.Wanted()).empty()) scan.Supply(bytes of ranges);   at most kMaxRounds times
//   scan.Decode(...)
//
// One thread at a time.
class PageScan {
 public:
  static constexpr int kMaxLists = 32;
  // Those of a page, and in 2.0 one for each list around its column.
  static constexpr int kMaxRounds = 3 + kMaxLists;
  virtual ~PageScan() = default;
  // Before anything is wanted: other scans, whose bytes are asked for in the same rounds, read the rest of the page.
  virtual void WithWholePage() {}
  // Absolute ranges of the file, none of them empty.
  virtual arrow::Result<std::vector<ByteRange>> Wanted() = 0;
  // The bytes of the ranges last wanted, in order.
  virtual arrow::Status Supply(std::vector<BufferPtr> bytes) = 0;
  // About how many bytes Decode goes through, once it has all: those it was given, or fewer where it picks values.
  virtual uint64_t Work(uint64_t supplied) const { return supplied; }
  // Appends the rows: their values and all layers around them.
  virtual arrow::Status Decode(DecodeContext& context, LeafSink& out) = 0;
};

// A page that is understood. Thread-safe.
class PageReader {
 public:
  virtual ~PageReader() = default;
  // The bytes of consecutive rows become the values of the column as they are.
  virtual bool hands_on_bytes() const { return false; }
  // `rows`: ascending, disjoint, not empty, inside the page. The reader must outlive the scan.
  virtual std::unique_ptr<PageScan> Scan(std::vector<Slice> rows) const = 0;
};

struct PageSpec {
  const PageMetadata& page;
  FileVersion version;
  const ValueShape& shape;
  const ColumnLayers& layers;  // of the column
  std::shared_ptr<PageEnvironment> environment;
};

// Corruption: the encoding contradicts itself, the version or the column's type; NotSupported: not read yet (named).
arrow::Result<std::shared_ptr<const PageReader>> MakePageReader(const PageSpec& spec);

}  // namespace javelin::file
