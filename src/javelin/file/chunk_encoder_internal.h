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

// ---- one form each; views must outlive them ----

// flat_chunk_encoder.cc: values of one width as they are; values of null rows become zero.
ChunkEncoderPtr MakeFlatChunks(const LeafView& view, uint64_t bits);
// fixed_size_list_chunk_encoder.cc
ChunkEncoderPtr MakeListChunks(const LeafView& view, const ValueShape& shape);
// bit_packing_chunk_encoder.cc: null if values are not of 8 to 64 bits.
ChunkEncoderPtr MakeBitPackedChunks(const LeafView& view, uint64_t bits);
// run_length_chunk_encoder.cc: null if values are not of 8 to 64 bits, or not fewer runs than `max_share` of them.
ChunkEncoderPtr MakeRunChunks(const LeafView& view, uint64_t bits, double max_share);
// byte_stream_split_chunk_encoder.cc, to be compressed: null if values are not of 32 or 64 bits.
ChunkEncoderPtr MakeSplitChunks(const LeafView& view, uint64_t bits);
// general_chunk_encoder.cc: `level` is of Zstandard.
arrow::Result<ChunkEncoderPtr> MakeGeneralChunks(ChunkEncoderPtr inner, uint64_t num_values, CompressionScheme scheme,
                                                 std::optional<int> level);
void DescribeCompression(CompressionScheme scheme, std::optional<int> level, pb::BufferCompression& compression);

// ---- the choice among them ----

// number_form.cc: values of one width, also indices of a dictionary.
arrow::Result<ChunkEncoderPtr> MakeNumberChunks(const LeafView& view, uint64_t bits, const EncodingWishes& wishes);
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

// A page's values as numbers of distinct ones.
struct DictionaryEncoding {
  std::vector<uint32_t> indices;  // one per row; a null one has that of the row before it
  LeafView view;                  // of the indices
  ChunkEncoderPtr chunks;         // of the view
  DictionaryBlock block;
};
// dictionary_encoder.cc: strings and values of 64 or 128 bits. Null if that does not make the page so much smaller than
// `alternative_bytes` that it is worth it.
arrow::Result<std::unique_ptr<DictionaryEncoding>> EncodeDictionary(const LeafView& view, const ValueShape& shape,
                                                                    uint64_t alternative_bytes,
                                                                    const PageOptions& options);
// Must not outlive the numbers.
LeafView ViewNumbers(const std::vector<uint32_t>& numbers);

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
