// Flat buffers of 2.0 pages, and the pages made of them.
#pragma once

#include <optional>
#include <vector>

#include "javelin/file/page_layouts_internal.h"

namespace javelin::file {

namespace pb20 = lance::encodings;

// Values of one width, back to back, perhaps compressed as a whole.
class FlatBuffer {
 public:
  static arrow::Result<FlatBuffer> Parse(const pb20::Flat& encoding, const PageMetadata& page);

  uint64_t bits() const { return bits_; }
  bool compressed() const { return scheme_.has_value(); }
  ByteRange range() const { return range_; }
  // Values that an uncompressed buffer can hold.
  uint64_t capacity() const { return range_.length > ~uint64_t{0} / 8 ? ~uint64_t{0} : range_.length * 8 / bits_; }

  // The ranges to read for slices of the values: one per slice, or the whole buffer where it is compressed.
  std::vector<ByteRange> Wanted(std::span<const Slice> slices) const;
  // Where one slice begins in what was read for it.
  struct Piece {
    const uint8_t* bytes = nullptr;
    uint64_t first_bit = 0;
  };
  // One piece per slice, from the answers to Wanted. `scratch` holds decompressed bytes.
  arrow::Result<std::vector<Piece>> Pieces(std::span<const Slice> slices, std::span<const BufferPtr> answers,
                                           DecodeContext& context, ScratchBuffer& scratch) const;

 private:
  uint64_t bits_ = 0;
  ByteRange range_;
  std::optional<CompressionScheme> scheme_;
};

// Indices and offsets are never null: a Flat, or one inside Nullable{no_nulls}.
arrow::Result<FlatBuffer> ParseNoNullFlat(const pb20::ArrayEncoding& encoding, const PageMetadata& page);

std::string NameOf(const pb20::ArrayEncoding& encoding);

arrow::Result<PageReaderPtr> MakeFixedPage20(const pb20::ArrayEncoding& encoding,
                                             const PageSpec& spec);  // page_v2_0.cc
arrow::Result<PageReaderPtr> MakeBinaryPage20(const pb20::Binary& encoding,
                                              const PageSpec& spec);  // string_page_v2_0.cc
arrow::Result<PageReaderPtr> MakeDictionaryPage20(const pb20::Dictionary& encoding,
                                                  const PageSpec& spec);  // string_page_v2_0.cc

}  // namespace javelin::file
