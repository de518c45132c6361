// General compression of buffers and values: a size prefix and an LZ4 block or a Zstandard frame.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include <arrow/result.h>

#include "javelin/base/resources.h"
#include "javelin/file/byte_span_internal.h"

namespace javelin::file {

enum class CompressionScheme { kLz4, kZstd };
inline constexpr int kDefaultZstdLevel = 3;

// Memory that grows without being cleared and is used again and again; counted against a budget while it is held.
class ScratchBuffer {
 public:
  // `budget` may be null: nothing is counted.
  explicit ScratchBuffer(MemoryBudget* budget) : budget_(budget) {}
  // Returns room for `size` bytes; earlier content is lost. OutOfMemory: neither budget nor machine has it.
  arrow::Result<uint8_t*> Room(uint64_t size);

 private:
  MemoryBudget* budget_;
  MemoryReservation reservation_;
  std::unique_ptr<uint8_t[]> bytes_;
  uint64_t capacity_ = 0;
};

// Where nothing but the budget says how large something may become.
inline constexpr uint64_t kAnySize = ~uint64_t{0};

// Holds a codec's context between calls. One per thread of work.
class Decompressor {
 public:
  Decompressor();
  ~Decompressor();
  // Decompresses into `scratch` and returns a view of it. Corruption for anything that does not decode to exactly the
  // stated size, or states more than `most` bytes, which is what the values can take; no memory is taken before that is
  // known.
  arrow::Result<Bytes> Decompress(CompressionScheme scheme, Bytes input, ScratchBuffer& scratch,
                                  uint64_t most = kAnySize);

 private:
  struct Contexts;
  std::unique_ptr<Contexts> contexts_;
};

class Compressor {
 public:
  Compressor();
  Compressor(Compressor&&) noexcept;
  Compressor& operator=(Compressor&&) noexcept;
  ~Compressor();
  // Appends the size prefix and the compressed bytes.
  arrow::Status Compress(CompressionScheme scheme, int level, Bytes input, std::vector<uint8_t>& out);

 private:
  struct Contexts;
  std::unique_ptr<Contexts> contexts_;
};

}  // namespace javelin::file
