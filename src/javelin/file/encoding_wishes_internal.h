// What the metadata of a field asks of the encodings of its column (docs/format.md, "Data files: wishes").
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include <arrow/result.h>

#include "javelin/file/compression_internal.h"

namespace javelin::file {

// As it is: nothing is asked, every page chooses by what it holds.
struct EncodingWishes {
  enum class Codec { kNone, kFsst, kLz4, kZstd };
  enum class Structure { kChunks, kOneByOne };
  enum class Switch { kAuto, kOff, kOn };

  std::optional<Codec> codec;
  std::optional<int> level;             // of Zstandard
  std::optional<Structure> structure;   // of values that get no dictionary
  Switch split = Switch::kAuto;         // whether numbers are split into streams of bytes before they are compressed
  double max_run_share = 1;             // run lengths only where there are fewer runs than this part of the values
  std::optional<uint64_t> chunk_bytes;  // of strings

  // A dictionary only of so few values, of so few bytes, and if the page shrinks to this part of its plain values.
  uint64_t dictionary_divisor = 1;  // at most one per so many rows
  double dictionary_ratio = 0.8;
  uint64_t dictionary_bytes = 8u << 20;
  Codec dictionary_codec = Codec::kLz4;  // kNone, kLz4 or kZstd
  std::optional<int> dictionary_level;

  // Whether the values of chunks are to be compressed, and by what.
  std::optional<CompressionScheme> compression() const;
};

// The wishes of a leaf by its metadata; the structure is asked for by its top-level field. InvalidInput names the key
// of a value that the released writer refuses as well; others that make no sense are ignored, as it does.
using FieldMetadata = std::map<std::string, std::string>;
arrow::Result<EncodingWishes> WishesOf(const FieldMetadata& leaf, const FieldMetadata& top_level);
// In version 2.0 only strings have wishes: how their bytes are compressed. Values that make no sense are ignored.
EncodingWishes WishesOfV20(const FieldMetadata& leaf);

}  // namespace javelin::file
