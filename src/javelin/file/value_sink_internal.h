// Where decoders put values: the buffers of one Arrow array as it grows.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include <arrow/array/data.h>
#include <arrow/buffer.h>
#include <arrow/result.h>

#include "javelin/file/bit_sink_internal.h"
#include "javelin/file/byte_span_internal.h"
#include "javelin/file/sink_memory_internal.h"
#include "javelin/file/value_shape_internal.h"
#include "javelin/store/object_store.h"

namespace javelin::file {

class ValueSink {
 public:
  // `expected`: how many values there will be, so that the first allocation is the last.
  ValueSink(ValueShape shape, SinkMemory& memory, uint64_t expected = 0);

  const ValueShape& shape() const { return shape_; }
  uint64_t length() const { return length_; }
  ValiditySink& validity() { return validity_; }

  // So many more values will come.
  void Expect(uint64_t count);
  // kVariable: room for that many more bytes.
  arrow::Status ReserveBytes(uint64_t bytes) {
    return SaturatedSum(values_.size(), bytes) <= values_.capacity() ? arrow::Status::OK() : GrowBytes(bytes);
  }

  // Any shape: values that nobody will look at (those of null rows): zeros, empty strings. Validity not included.
  arrow::Status AppendPlaceholders(uint64_t count);
  // kFixed of whole bytes: room for `count` values, to be filled by the caller at once.
  arrow::Result<uint8_t*> AppendFixed(uint64_t count);
  // kFixed of 1 bit.
  arrow::Status AppendBits(const uint8_t* bits, uint64_t first, uint64_t count);
  arrow::Status AppendBitRun(bool value, uint64_t count);
  // kFixed: takes `bytes` as the values if nothing is there yet and the address allows it, else copies them.
  arrow::Status AppendShared(const BufferPtr& bytes, uint64_t count);
  // kVariable: one value, or `count` values between `count + 1` ascending offsets into `bytes` (checked by the caller).
  arrow::Status AppendValue(Bytes value);
  // kVariable: `count` values of `bytes` bytes in all, of which the caller fills in the bytes, one after the other, and
  // the end of each, at once. Behind the bytes kOverrun more may be written.
  struct Strings {
    uint8_t* bytes = nullptr;
    uint8_t* ends = nullptr;  // of the width of the shape
    uint64_t begin = 0;       // where the first value begins, as ends count
  };
  static constexpr uint64_t kOverrun = 16;
  arrow::Result<Strings> AppendStrings(uint64_t count, uint64_t bytes);
  template <typename Offset>
  arrow::Status AppendValues(const uint8_t* offsets, uint64_t count, Bytes bytes);
  // kVariable: room for one value of at most `capacity` bytes; CommitValue tells how many were used.
  arrow::Result<uint8_t*> BeginValue(uint64_t capacity);
  arrow::Status CommitValue(uint64_t size);
  // kList: the items; `CommitLists` after their `count * dimension` values were appended.
  ValueSink& items() { return *items_; }
  void CommitLists(uint64_t count) { length_ += count; }
  // kStruct: the fields; `CommitStructs` after `count` values and their validity were appended to each.
  ValueSink& field(size_t index) { return *fields_[index]; }
  void CommitStructs(uint64_t count) { length_ += count; }
  // kStruct of fields of FixedBytes each: rows `stride` bytes apart that hold them one behind the other.
  arrow::Status AppendPackedRows(const uint8_t* rows, uint64_t stride, uint64_t count);

  // What a variable or fixed sink holds so far.
  Bytes fixed_values() const;
  const uint8_t* offsets() const { return offsets_.data(); }
  Bytes variable_bytes() const { return {values_.data(), values_.size()}; }

  // The array of everything appended. Corruption if validity and values differ in number. Call once.
  arrow::Result<std::shared_ptr<arrow::ArrayData>> Finish(const std::shared_ptr<arrow::DataType>& type);

 private:
  arrow::Status AppendStrided(const uint8_t* values, uint64_t stride, uint64_t count);
  arrow::Status AppendOffset();
  arrow::Status GrowBytes(uint64_t bytes);
  arrow::Result<uint8_t*> GrowOffsets(uint64_t count);
  arrow::Status Unshare();

  ValueShape shape_;
  uint64_t expected_;
  uint64_t length_ = 0;
  ValiditySink validity_;
  BitSink bits_;                                    // booleans
  SinkBuffer values_;                               // fixed values, or bytes of variable ones
  BufferPtr shared_values_;                         // instead of values_, see AppendShared
  SinkBuffer offsets_;                              // variable
  std::unique_ptr<ValueSink> items_;                // lists
  std::vector<std::unique_ptr<ValueSink>> fields_;  // structs
};

}  // namespace javelin::file
