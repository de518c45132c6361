// Flat buffers of 2.0 pages, and the pages made of them.
#pragma once

#include <optional>
#include <vector>

#include "javelin/file/page_layouts_internal.h"

namespace javelin::file {

namespace pb20 = lance::encodings;

// Values of one width back to back. The whole buffer may be compressed, or the values packed in fewer bits.
class FlatBuffer {
 public:
  // Flat, Bitpacked or BitpackedForNonNeg. NotSupported: another encoding (named).
  static arrow::Result<FlatBuffer> Parse(const pb20::ArrayEncoding& encoding, const PageMetadata& page);
  // A buffer that is named without an encoding.
  static arrow::Result<FlatBuffer> Of(const pb20::Buffer& buffer, uint64_t bits, const PageMetadata& page);
  // The same bytes as values of another width. NotSupported: packed values.
  arrow::Result<FlatBuffer> AsValuesOf(uint64_t bits) const;

  uint64_t bits() const { return bits_; }  // of a value as it is read
  bool compressed() const { return scheme_.has_value(); }
  bool plain() const { return !scheme_ && !packing_; }
  ByteRange range() const { return range_; }
  // Corruption: fewer than `count` values are there. Of a compressed buffer decompressing tells, which may then take as
  // much memory as they need.
  arrow::Status MustHold(uint64_t count);

  // The ranges to read for slices of the values: one per slice, or the whole buffer where it is compressed.
  std::vector<ByteRange> Wanted(std::span<const Slice> slices) const;
  // Where one slice begins in what was read for it.
  struct Piece {
    const uint8_t* bytes = nullptr;
    uint64_t first_bit = 0;
  };
  // One piece per slice, from the answers to Wanted. `scratch` holds what had to be decompressed or unpacked.
  arrow::Result<std::vector<Piece>> Pieces(std::span<const Slice> slices, std::span<const BufferPtr> answers,
                                           DecodeContext& context, ScratchBuffer& scratch) const;
  // The whole buffer, from its bytes in the file; not of packed values.
  arrow::Result<Bytes> All(const BufferPtr& read, DecodeContext& context, ScratchBuffer& scratch) const;

 private:
  struct Packing {
    bool units = false;      // of 1024 values in interleaved order; else one stream of bits, the lowest first
    bool is_signed = false;  // the highest bit is the sign
    unsigned width = 0;
  };
  arrow::Status SetBuffer(const pb20::Buffer& buffer, const PageMetadata& page);
  arrow::Status SetPacking(uint64_t width, uint64_t bits, bool units, bool is_signed);
  uint64_t Capacity() const;
  ByteRange RangeOf(const Slice& slice) const;
  void Unpack(const Slice& slice, const uint8_t* read, uint8_t* out) const;

  uint64_t bits_ = 0;
  ByteRange range_;
  std::optional<CompressionScheme> scheme_;
  std::optional<Packing> packing_;
  uint64_t most_ = kAnySize;  // bytes, decompressed
};

// Indices and offsets are never null: a flat buffer, or one inside Nullable{no_nulls}.
arrow::Result<FlatBuffer> ParseNoNullFlat(const pb20::ArrayEncoding& encoding, const PageMetadata& page);

std::string NameOf(const pb20::ArrayEncoding& encoding);

arrow::Result<PageReaderPtr> MakeFixedPage20(const pb20::ArrayEncoding& encoding,
                                             const PageSpec& spec);  // page_v2_0.cc
arrow::Result<PageReaderPtr> MakeBinaryPage20(const pb20::Binary& encoding,
                                              const PageSpec& spec);                            // string_page_v2_0.cc
arrow::Result<PageReaderPtr> MakeFsstPage20(const pb20::Fsst& encoding, const PageSpec& spec);  // string_page_v2_0.cc
arrow::Result<PageReaderPtr> MakeDictionaryPage20(const pb20::Dictionary& encoding,
                                                  const PageSpec& spec);  // dictionary_page_v2_0.cc

}  // namespace javelin::file
