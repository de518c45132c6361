// Encoders of values in the chunks of a mini-block page.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include <arrow/status.h>

#include "lanceproto/encodings_v2_1.pb.h"

#include "javelin/file/compression_internal.h"
#include "javelin/file/decoder_internal.h"
#include "javelin/file/leaf_view_internal.h"
#include "javelin/file/page_options_internal.h"

namespace javelin::file {

namespace pb = lance::encodings21;

using ByteVector = std::vector<uint8_t>;

class ChunkEncoder {
 public:
  virtual ~ChunkEncoder() = default;
  // Every chunk but the last holds this many values: a power of two, at least 2.
  virtual uint64_t chunk_values() const = 0;
  // Appends one buffer per buffer of the encoding to `buffers`; at most chunk_values() values.
  virtual arrow::Status Encode(uint64_t first, uint64_t count, std::vector<ByteVector>& buffers) = 0;
  virtual void Describe(pb::CompressiveEncoding& encoding) const = 0;
  // What all chunks will take, without headers; an estimate where only encoding would tell.
  virtual uint64_t total_bytes() const = 0;
};
using ChunkEncoderPtr = std::unique_ptr<ChunkEncoder>;

// flat_chunk_encoder.cc: values of one width as they are; values of null rows become zero.
ChunkEncoderPtr MakeFlatChunks(const LeafView& view, uint64_t bits);
// fixed_size_list_chunk_encoder.cc
ChunkEncoderPtr MakeListChunks(const LeafView& view, const ValueShape& shape);
// bit_packing_chunk_encoder.cc: null if it does not make the page smaller; 8 to 64 bits only.
ChunkEncoderPtr MakeBitPackedChunks(const LeafView& view, uint64_t bits);
ChunkEncoderPtr MakeBitPackedIndices(const std::vector<uint32_t>& indices);
// byte_stream_split_chunk_encoder.cc: null if a sample does not come out at half of `alternative_bytes` or less; 32 and
// 64 bits only.
arrow::Result<ChunkEncoderPtr> MakeSplitChunks(const LeafView& view, uint64_t bits, uint64_t alternative_bytes);
arrow::Result<ChunkEncoderPtr> MakeSplitIndices(const std::vector<uint32_t>& indices, uint64_t alternative_bytes);
// variable_chunk_encoder.cc: strings, in the form that string_form_internal.h chooses.
arrow::Result<ChunkEncoderPtr> MakeVariableChunks(const LeafView& view, const PageOptions& options);

// The values of a page's dictionary, each once.
struct DictionaryBlock {
  uint64_t num_items = 0;
  ByteVector bytes;
  pb::CompressiveEncoding encoding;
};
// dictionary_block.cc: `shape` is that of strings or of values of whole bytes.
arrow::Result<DictionaryBlock> EncodeDictionaryBlock(std::span<const Bytes> items, const ValueShape& shape,
                                                     const PageOptions& options);

// The distinct values of a page, if storing each once makes it smaller than `alternative_bytes`.
struct DictionaryEncoding {
  std::vector<uint32_t> indices;  // one per row; 0 for null
  DictionaryBlock block;
};
// dictionary_encoder.cc: strings and values of 64 or 128 bits.
arrow::Result<std::optional<DictionaryEncoding>> EncodeDictionary(const LeafView& view, const ValueShape& shape,
                                                                  uint64_t alternative_bytes,
                                                                  const PageOptions& options);

// Levels of one chunk have a size of 16 bits, and so has their number.
inline constexpr uint64_t kMaxChunkLevelBytes = 65535;
inline constexpr uint64_t kMaxChunkLevels = 65535;

// level_encoder.cc: levels of one kind, one encoding for the whole page.
class LevelEncoder {
 public:
  // Chooses by size over all chunks. `levels` must outlive it and be at most `max_level`.
  LevelEncoder(std::span<const uint16_t> levels, std::span<const Slice> chunks, uint16_t max_level);
  // False: some chunk would take more than kMaxChunkLevelBytes.
  bool fits() const { return fits_; }
  // Appends to `out`, which is empty.
  void Encode(const Slice& chunk, ByteVector& out) const;
  void Describe(pb::CompressiveEncoding& encoding) const;

 private:
  std::span<const uint16_t> levels_;
  unsigned width_;
  bool runs_ = false;
  bool fits_ = true;
};

}  // namespace javelin::file
