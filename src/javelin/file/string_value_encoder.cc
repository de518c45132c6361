#include "javelin/file/string_value_encoder_internal.h"

#include "javelin/file/chunk_encoder_internal.h"

namespace javelin::file {

arrow::Result<StringValueEncoder> StringValueEncoder::Make(const LeafView& view, const EncodingWishes& wishes) {
  StringValueEncoder encoder;
  ARROW_RETURN_NOT_OK(encoder.Choose(view, wishes));
  return encoder;
}

arrow::Status StringValueEncoder::Choose(const LeafView& view, const EncodingWishes& wishes) {
  offset_bytes_ = view.offset_bytes;
  level_ = wishes.level;
  const uint64_t string_bytes = StringBytes(view);
  const uint64_t length_bytes = view.length * view.offset_bytes;
  total_bytes_ = string_bytes + length_bytes;
  if (wishes.codec == EncodingWishes::Codec::kNone || string_bytes == 0) return arrow::Status::OK();
  if (wishes.compression()) {
    // The released writer does not use LZ4 here, and its reader fails at a null among such values.
    scheme_ = CompressionScheme::kZstd;
    return arrow::Status::OK();
  }
  if (wishes.codec == EncodingWishes::Codec::kFsst) {
    fsst_ = LearnFsst(view);
    return arrow::Status::OK();
  }
  StringSizes sizes{.plain = total_bytes_};
  FsstTrial trial = TryFsst(view, string_bytes);
  if (trial.encoder != nullptr) sizes.fsst = trial.bytes + length_bytes + kFsstTableBytes;
  ARROW_ASSIGN_OR_RAISE(const uint64_t zstd_bytes, TryZstdValues(view, string_bytes));
  if (zstd_bytes > 0) sizes.zstd = zstd_bytes + length_bytes;
  switch (ChooseStringForm(sizes, ZstdUnit::kSingleValue)) {
    case StringForm::kPlain: break;
    case StringForm::kFsst:
      fsst_ = std::move(trial.encoder);
      total_bytes_ = sizes.fsst;
      break;
    case StringForm::kZstd:
      scheme_ = CompressionScheme::kZstd;
      total_bytes_ = sizes.zstd;
      break;
  }
  return arrow::Status::OK();
}

arrow::Status StringValueEncoder::Append(Bytes value, std::vector<uint8_t>& out) {
  if (scheme_) return compressor_.Compress(*scheme_, level_.value_or(kDefaultZstdLevel), value, out);
  if (fsst_ == nullptr) {
    out.insert(out.end(), value.begin(), value.end());
    return arrow::Status::OK();
  }
  scratch_.resize(std::max(scratch_.size(), FsstEncoder::Capacity(value.size())));
  const size_t size = fsst_->Encode(value, scratch_.data());
  out.insert(out.end(), scratch_.begin(), scratch_.begin() + static_cast<std::ptrdiff_t>(size));
  return arrow::Status::OK();
}

void StringValueEncoder::Describe(pb::CompressiveEncoding& encoding) const {
  if (!scheme_) return DescribeStrings(fsst_.get(), offset_bytes_, encoding);
  DescribeCompression(*scheme_, level_, *encoding.mutable_general()->mutable_compression());
  DescribeStrings(nullptr, offset_bytes_, *encoding.mutable_general()->mutable_values());
}

}  // namespace javelin::file
