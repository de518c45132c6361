// Strings one by one: to the bytes that are stored of each.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "lanceproto/encodings_v2_1.pb.h"

#include "javelin/file/compression_internal.h"
#include "javelin/file/encoding_wishes_internal.h"
#include "javelin/file/string_form_internal.h"

namespace javelin::file {

class StringValueEncoder {
 public:
  // Chooses the form for all values of the page: the wished one, or by string_form_internal.h.
  static arrow::Result<StringValueEncoder> Make(const LeafView& view, const EncodingWishes& wishes);

  // What all values will take with their lengths; an estimate.
  uint64_t total_bytes() const { return total_bytes_; }
  // Appends what is stored of one.
  arrow::Status Append(Bytes value, std::vector<uint8_t>& out);
  void Describe(lance::encodings21::CompressiveEncoding& encoding) const;

 private:
  arrow::Status Choose(const LeafView& view, const EncodingWishes& wishes);

  unsigned offset_bytes_ = 4;
  uint64_t total_bytes_ = 0;
  std::unique_ptr<const FsstEncoder> fsst_;
  std::optional<CompressionScheme> scheme_;  // of each value; not with fsst_
  std::optional<int> level_;
  std::vector<uint8_t> scratch_;
  Compressor compressor_;
};

}  // namespace javelin::file
