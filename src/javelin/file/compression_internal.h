// General compression of buffers and values: a size prefix and an LZ4 block or a Zstandard frame.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include <arrow/status.h>

#include "javelin/file/byte_span_internal.h"

namespace javelin::file {

enum class CompressionScheme { kLz4, kZstd };

// Memory that grows without being cleared and is used again and again.
class ScratchBuffer {
 public:
  // Returns room for `size` bytes; earlier content is lost. Null if there is no memory.
  uint8_t* Room(uint64_t size);
  uint8_t* data() { return bytes_.get(); }

 private:
  std::unique_ptr<uint8_t[]> bytes_;
  uint64_t capacity_ = 0;
};

// Holds a codec's context between calls. One per thread of work.
class Decompressor {
 public:
  Decompressor();
  ~Decompressor();
  // Decompresses into `scratch` and returns a view of it. Corruption for anything that does not decode to exactly the
  // stated size; memory is only taken as far as the input can justify it.
  arrow::Result<Bytes> Decompress(CompressionScheme scheme, Bytes input, ScratchBuffer& scratch);

 private:
  struct Contexts;
  std::unique_ptr<Contexts> contexts_;
};

class Compressor {
 public:
  Compressor();
  ~Compressor();
  // Appends the size prefix and the compressed bytes.
  arrow::Status Compress(CompressionScheme scheme, int level, Bytes input, std::vector<uint8_t>& out);

 private:
  struct Contexts;
  std::unique_ptr<Contexts> contexts_;
};

}  // namespace javelin::file
