// General: another encoding behind a general-purpose compressor.
#include "javelin/base/error.h"
#include "javelin/file/encodings_internal.h"

namespace javelin::file {

namespace {

arrow::Result<CompressionScheme> SchemeOf(const pb::General& encoding) {
  switch (encoding.compression().scheme()) {
    case pb::LZ4: return CompressionScheme::kLz4;
    case pb::ZSTD: return CompressionScheme::kZstd;
    default:
      return NotSupported("compression scheme {} is not known", static_cast<int>(encoding.compression().scheme()));
  }
}

// What a compressor makes of values that it cannot compress, its size in front included.
uint64_t MostCompressed(uint64_t most) { return SaturatedSum(most, most / 128 + 256); }

class GeneralDecoder final : public MiniBlockDecoder {
 public:
  GeneralDecoder(CompressionScheme scheme, MiniBlockDecoderPtr inner) : scheme_(scheme), inner_(std::move(inner)) {}
  size_t num_buffers() const override { return inner_->num_buffers(); }
  uint64_t MostBytes(uint64_t num_values) const override { return MostCompressed(inner_->MostBytes(num_values)); }

  // Only the first buffer of a chunk is compressed.
  arrow::Status Decode(std::span<const Bytes> buffers, uint64_t num_values, std::span<const Slice> slices,
                       DecodeContext& context, ValueSink& out) const override {
    ScratchLease scratch(context);
    std::vector<Bytes> plain(buffers.begin(), buffers.end());
    ARROW_ASSIGN_OR_RAISE(
        plain[0], context.decompressor.Decompress(scheme_, buffers[0], *scratch, inner_->MostBytes(num_values)));
    return inner_->Decode(plain, num_values, slices, context, out);
  }

 private:
  CompressionScheme scheme_;
  MiniBlockDecoderPtr inner_;
};

class GeneralBlockDecoder final : public BlockDecoder {
 public:
  GeneralBlockDecoder(CompressionScheme scheme, BlockDecoderPtr inner) : scheme_(scheme), inner_(std::move(inner)) {}
  uint64_t MostBytes(uint64_t num_values) const override { return MostCompressed(inner_->MostBytes(num_values)); }

  arrow::Status Decode(Bytes block, uint64_t num_values, DecodeContext& context, ValueSink& out) const override {
    ScratchLease scratch(context);
    ARROW_ASSIGN_OR_RAISE(Bytes plain,
                          context.decompressor.Decompress(scheme_, block, *scratch, inner_->MostBytes(num_values)));
    return inner_->Decode(plain, num_values, context, out);
  }

 private:
  CompressionScheme scheme_;
  BlockDecoderPtr inner_;
};

class GeneralValue final : public VariableValueDecoder {
 public:
  GeneralValue(CompressionScheme scheme, VariableValueDecoderPtr inner) : scheme_(scheme), inner_(std::move(inner)) {}

  arrow::Status Decode(Bytes value, DecodeContext& context, ValueSink& out) const override {
    ScratchLease scratch(context);
    ARROW_ASSIGN_OR_RAISE(Bytes plain, context.decompressor.Decompress(scheme_, value, *scratch));
    return inner_->Decode(plain, context, out);
  }

 private:
  CompressionScheme scheme_;
  VariableValueDecoderPtr inner_;
};

}  // namespace

arrow::Result<MiniBlockDecoderPtr> MakeGeneralMiniBlock(const pb::General& encoding, const ValueShape& shape) {
  ARROW_ASSIGN_OR_RAISE(CompressionScheme scheme, SchemeOf(encoding));
  ARROW_ASSIGN_OR_RAISE(MiniBlockDecoderPtr inner, MakeMiniBlockDecoder(encoding.values(), shape));
  if (inner->num_buffers() == 0) return Corruption("encoding General holds values without any buffer");
  return std::make_unique<GeneralDecoder>(scheme, std::move(inner));
}

arrow::Result<BlockDecoderPtr> MakeGeneralBlock(const pb::General& encoding, const ValueShape& shape) {
  ARROW_ASSIGN_OR_RAISE(CompressionScheme scheme, SchemeOf(encoding));
  ARROW_ASSIGN_OR_RAISE(BlockDecoderPtr inner, MakeBlockDecoder(encoding.values(), shape));
  return std::make_unique<GeneralBlockDecoder>(scheme, std::move(inner));
}

arrow::Result<VariableValueDecoderPtr> MakeGeneralValue(const pb::General& encoding, const ValueShape& shape) {
  ARROW_ASSIGN_OR_RAISE(CompressionScheme scheme, SchemeOf(encoding));
  ARROW_ASSIGN_OR_RAISE(VariableValueDecoderPtr inner, MakeVariableValueDecoder(encoding.values(), shape));
  return std::make_unique<GeneralValue>(scheme, std::move(inner));
}

}  // namespace javelin::file
