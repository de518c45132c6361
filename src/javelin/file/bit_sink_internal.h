// Bits as they grow: booleans, and which values are valid.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include <arrow/buffer.h>
#include <arrow/status.h>

#include "javelin/file/sink_memory_internal.h"
#include "javelin/store/object_store.h"

namespace javelin::file {

// Bits appended one run after the other; used for booleans and validity.
class BitSink {
 public:
  explicit BitSink(SinkMemory& memory, uint64_t expected = 0) : bits_(memory), expected_(expected) {}
  // How many there will be in all.
  void Expect(uint64_t bits) { expected_ = bits; }
  arrow::Status AppendRun(bool value, uint64_t count);
  arrow::Status AppendBits(const uint8_t* bits, uint64_t first, uint64_t count);
  // One bit per level: set where the level is at most `most`.
  arrow::Status AppendLevels(std::span<const uint16_t> levels, uint16_t most);
  uint64_t length() const { return length_; }
  uint64_t num_unset() const { return num_unset_; }
  BufferPtr Finish() const;

 private:
  arrow::Status Reserve(uint64_t bits);
  SinkBuffer bits_;
  uint64_t expected_;
  uint64_t length_ = 0;
  uint64_t num_unset_ = 0;
};

// Validity of values; costs nothing until the first null.
class ValiditySink {
 public:
  explicit ValiditySink(SinkMemory& memory, uint64_t expected = 0) : bits_(memory, expected) {}
  void Expect(uint64_t values) { bits_.Expect(values); }
  arrow::Status AppendValid(uint64_t count);
  arrow::Status AppendNull(uint64_t count);
  arrow::Status AppendBits(const uint8_t* bits, uint64_t first, uint64_t count);
  arrow::Status AppendLevels(std::span<const uint16_t> levels, uint16_t most);
  uint64_t length() const { return num_valid_before_ + bits_.length(); }
  uint64_t null_count() const { return bits_.num_unset(); }
  // Null if all values are valid.
  BufferPtr Finish() const { return null_count() == 0 ? nullptr : bits_.Finish(); }

 private:
  arrow::Status Begin();
  uint64_t num_valid_before_ = 0;  // values not yet in `bits_`
  BitSink bits_;
};

}  // namespace javelin::file
