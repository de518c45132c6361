// Decoders of the compressive encodings of 2.1 and 2.2, in the three positions an encoding can have. One file each.
//
// Decoders are made once per page from its encoding, checked against the shape of the column, constant afterwards and
// shared between threads; what a run of them needs besides is in a DecodeContext. All bytes come from a file and are
// not trusted: every decoder checks what it reads and answers Corruption.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include <arrow/result.h>

#include "javelin/file/byte_span_internal.h"
#include "javelin/file/compression_internal.h"
#include "javelin/file/fsst.h"
#include "javelin/file/value_shape_internal.h"
#include "javelin/file/value_sink_internal.h"

namespace lance::encodings21 {
class CompressiveEncoding;
}

namespace javelin::file {

// Values [first, first + count) of a chunk, or rows of a page.
struct Slice {
  uint64_t first = 0;
  uint64_t count = 0;
  uint64_t end() const { return first + count; }
  friend bool operator==(const Slice&, const Slice&) = default;
};

inline uint64_t TotalCount(std::span<const Slice> slices) {
  uint64_t total = 0;
  for (const Slice& slice : slices) total += slice.count;
  return total;
}

// What decoding needs besides bytes; one per thread of work.
struct DecodeContext {
  DecodeContext(SinkMemory& sink_memory, Decompressor& codec) : memory(sink_memory), decompressor(codec) {}
  SinkMemory& memory;
  Decompressor& decompressor;
  std::vector<std::unique_ptr<ScratchBuffer>> idle_scratch;
};

// Scratch memory for one step; goes back to the context at the end of the scope.
class ScratchLease {
 public:
  explicit ScratchLease(DecodeContext& context) : context_(context) {
    if (context_.idle_scratch.empty()) {
      buffer_ = std::make_unique<ScratchBuffer>(context_.memory.budget());
    } else {
      buffer_ = std::move(context_.idle_scratch.back());
      context_.idle_scratch.pop_back();
    }
  }
  ~ScratchLease() { context_.idle_scratch.push_back(std::move(buffer_)); }
  ScratchLease(const ScratchLease&) = delete;
  ScratchBuffer& operator*() { return *buffer_; }
  ScratchBuffer* operator->() { return buffer_.get(); }

 private:
  DecodeContext& context_;
  std::unique_ptr<ScratchBuffer> buffer_;
};

// ---- values in the chunks of a mini-block page ----

class MiniBlockDecoder {
 public:
  virtual ~MiniBlockDecoder() = default;
  // Buffers that each chunk holds for the values.
  virtual size_t num_buffers() const { return 1; }
  // The most bytes that the first buffer of a chunk of so many values has; kAnySize: their number does not say.
  virtual uint64_t MostBytes(uint64_t num_values) const = 0;
  // Appends the slices (ascending, disjoint, within `num_values`) of a chunk to `out`.
  virtual arrow::Status Decode(std::span<const Bytes> buffers, uint64_t num_values, std::span<const Slice> slices,
                               DecodeContext& context, ValueSink& out) const = 0;
};
using MiniBlockDecoderPtr = std::unique_ptr<const MiniBlockDecoder>;

// Corruption: an encoding that contradicts the shape or itself; NotSupported: one that is not decoded yet (named).
arrow::Result<MiniBlockDecoderPtr> MakeMiniBlockDecoder(const lance::encodings21::CompressiveEncoding& encoding,
                                                        const ValueShape& shape);

// ---- one buffer of a known number of values: levels and dictionaries ----

class BlockDecoder {
 public:
  virtual ~BlockDecoder() = default;
  // The most bytes that a block of so many values has; kAnySize: their number does not say.
  virtual uint64_t MostBytes(uint64_t num_values) const = 0;
  virtual arrow::Status Decode(Bytes block, uint64_t num_values, DecodeContext& context, ValueSink& out) const = 0;
};
using BlockDecoderPtr = std::unique_ptr<const BlockDecoder>;

arrow::Result<BlockDecoderPtr> MakeBlockDecoder(const lance::encodings21::CompressiveEncoding& encoding,
                                                const ValueShape& shape);

// ---- single values of a full-zip page ----

// Fixed width: bits_per_value of the layout must be bytes() * 8.
class FixedValueDecoder {
 public:
  virtual ~FixedValueDecoder() = default;
  virtual uint64_t bytes() const = 0;
  // True if the bytes of consecutive values are Arrow's buffer of values as it stands.
  virtual bool is_plain() const { return false; }
  // Appends `count` values, the next one `stride` bytes after the one before; the caller has checked the bounds.
  virtual arrow::Status Decode(const uint8_t* values, uint64_t stride, uint64_t count, ValueSink& out) const = 0;
};
using FixedValueDecoderPtr = std::unique_ptr<const FixedValueDecoder>;

arrow::Result<FixedValueDecoderPtr> MakeFixedValueDecoder(const lance::encodings21::CompressiveEncoding& encoding,
                                                          const ValueShape& shape);

class VariableValueDecoder {
 public:
  virtual ~VariableValueDecoder() = default;
  // Appends one value.
  virtual arrow::Status Decode(Bytes value, DecodeContext& context, ValueSink& out) const = 0;
};
using VariableValueDecoderPtr = std::unique_ptr<const VariableValueDecoder>;

arrow::Result<VariableValueDecoderPtr> MakeVariableValueDecoder(const lance::encodings21::CompressiveEncoding& encoding,
                                                                const ValueShape& shape);

}  // namespace javelin::file
