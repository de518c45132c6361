// How the strings of a page are stored: the one place where that is decided.
//
// Every read of a few rows decodes what lies around them, and what it must decode should be cheap: plain bytes cost
// nothing, FSST decodes the wanted strings alone at some GB/s, Zstandard a whole chunk (or value) several times slower.
// So the slower form must buy bytes, by a sample of the page:
// - FSST, symbol table included, where it shrinks the page by a sixth;
// - Zstandard in chunks only where it takes a third of the best of the others (log lines that repeat each other), since
//   a row then costs the decompression of 32 KiB; a fifth less is enough for pages that are one small chunk anyway;
// - Zstandard of large values one by one where it saves a quarter: a value is decompressed only if it is wanted.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include <arrow/result.h>

#include "lanceproto/encodings_v2_1.pb.h"

#include "javelin/file/fsst_encoder.h"
#include "javelin/file/leaf_view_internal.h"

namespace javelin::file {

enum class StringForm { kPlain, kFsst, kZstd };

// Bytes of all values, nulls left out.
uint64_t StringBytes(const LeafView& view);

// An encoder that has learned from the strings of a page. They must not all be empty.
std::unique_ptr<const FsstEncoder> LearnFsst(const LeafView& view);

// An encoder for the strings of a page and what it is expected to make of them.
struct FsstTrial {
  std::unique_ptr<const FsstEncoder> encoder;  // null if the strings are too few for a symbol table
  uint64_t bytes = 0;                          // of all values encoded, without the table
};
FsstTrial TryFsst(const LeafView& view, uint64_t string_bytes);

// What Zstandard is expected to make of all values, each compressed by itself; 0 if there are no bytes.
arrow::Result<uint64_t> TryZstdValues(const LeafView& view, uint64_t string_bytes);

// Of offsets and bytes, which are codes of `fsst` if there is one.
void DescribeStrings(const FsstEncoder* fsst, unsigned offset_bytes, lance::encodings21::CompressiveEncoding& encoding);

// What a page takes in each form; 0 = the form was not tried.
struct StringSizes {
  uint64_t plain = 0;
  uint64_t fsst = 0;
  uint64_t zstd = 0;
};
// What else decides: whether the unit of compression is more than what a reader of one row decodes anyway.
enum class ZstdUnit { kLargeChunk, kWholeSmallPage, kSingleValue };
StringForm ChooseStringForm(const StringSizes& sizes, ZstdUnit unit);

}  // namespace javelin::file
