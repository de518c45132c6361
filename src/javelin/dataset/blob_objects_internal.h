// Where blobs lie, as their descriptions say, and the bytes that lie there.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <arrow/result.h>
#include <arrow/type_fwd.h>

#include "javelin/base/ids.h"
#include "javelin/base/resources.h"
#include "javelin/dataset/dataset_state_internal.h"
#include "javelin/file/blob_field.h"

namespace javelin::internal {

// One column of descriptions (file::BlobDescriptionType).
class BlobDescriptions {
 public:
  // `rows` must outlive it, `field` too.
  BlobDescriptions(const file::Field& field, const arrow::StructArray& rows);

  const file::Field& field() const { return field_; }
  int64_t length() const;
  // In files of 2.0 a null of v1 is no null, but lies where nothing can.
  bool IsNull(int64_t row) const;
  uint8_t kind(int64_t row) const;
  ByteRange range(int64_t row) const;
  uint32_t blob_id(int64_t row) const;
  std::string uri(int64_t row) const;
  // The bytes that it says the value has; none: the whole of an object outside the table.
  std::optional<uint64_t> size(int64_t row) const;

 private:
  const file::Field& field_;
  const arrow::StructArray& rows_;
  bool is_v2_;
  std::shared_ptr<arrow::Array> kinds_;
  std::shared_ptr<arrow::UInt64Array> positions_;
  std::shared_ptr<arrow::UInt64Array> sizes_;
  std::shared_ptr<arrow::Array> ids_;
  std::shared_ptr<arrow::Array> uris_;
};

// Bytes of one of the objects of a BlobObjects; of no object if there are none.
struct BlobPlace {
  size_t object = 0;
  ByteRange range;
  bool is_whole = false;  // the range counts from MeasureWhole on
};

// What of a place is wanted, and for whom.
struct BlobPiece {
  size_t object = 0;
  ByteRange range;
  size_t slot = 0;
  friend bool operator<(const BlobPiece& a, const BlobPiece& b) {
    return std::tie(a.object, a.range.offset, a.range.length) < std::tie(b.object, b.range.offset, b.range.length);
  }
};

// The objects that hold the blobs of some rows: first Place each blob, then MeasureWhole, then Read, which is
// thread-safe.
class BlobObjects {
 public:
  explicit BlobObjects(std::shared_ptr<const DatasetState> table) : table_(std::move(table)) {}

  // Where the value lies that `descriptions` has at `index`, in row `row` of the table; none: it is null. No request.
  // Corruption: outside of its data file; NotSupported: in an object that nobody may read through this table.
  arrow::Result<std::optional<BlobPlace>> Place(const BlobDescriptions& descriptions, int64_t index, RowAddress row);
  // Gives the places that are all of their objects the sizes of these: one request each.
  arrow::Status MeasureWhole(std::span<BlobPlace* const> places);
  // The bytes of each, none of which is empty, sorted: one GetRanges for each object, side by side. What it takes is
  // the caller's to reserve. Corruption: they lie outside of their object.
  arrow::Result<std::vector<BufferPtr>> Read(std::span<const BlobPiece> pieces) const;
  // What such a Read takes, and `more` bytes. OutOfMemory; Corruption as Read.
  arrow::Result<MemoryReservation> Reserve(std::span<const BlobPiece> pieces, uint64_t more = 0) const;
  // The bytes that Read takes at most for it, behind `before` (null: it is the first).
  static uint64_t BytesToRead(const BlobPiece* before, const BlobPiece& piece);

  const DatasetState& table() const { return *table_; }

 private:
  struct Object {
    std::shared_ptr<ObjectStore> store;
    std::string key;
    std::optional<uint64_t> size;  // as far as known
    std::string column;            // of a blob in it, for messages
  };
  // A data file (blob_id 0) or sidecar.
  struct InTable {
    FragmentId fragment;
    FieldId field;
    bool is_sidecar = false;
    uint32_t blob_id = 0;
    friend auto operator<=>(const InTable&, const InTable&) = default;
  };

  arrow::Result<size_t> ObjectInTable(const BlobDescriptions& descriptions, int64_t index, FragmentId fragment);
  arrow::Result<size_t> ObjectOutside(const BlobDescriptions& descriptions, int64_t index, RowAddress row);
  size_t Add(ObjectLocation location, std::optional<uint64_t> size, const std::string& column);
  // Corruption if one of them lies outside of its object, else `otherwise`: for failures that this explains.
  arrow::Status Explain(std::span<const BlobPiece> pieces, const arrow::Status& otherwise) const;
  arrow::Status CheckInside(const Object& object, const ByteRange& range) const;

  std::shared_ptr<const DatasetState> table_;
  std::deque<Object> objects_;
  std::map<InTable, size_t> in_table_;
  std::map<std::pair<uint32_t, std::string>, size_t> outside_;  // by base path and URI
  std::map<std::pair<size_t, std::string>, size_t> by_key_;     // by store and key
  std::vector<std::shared_ptr<ObjectStore>> stores_;
};

}  // namespace javelin::internal
