// Pages of packed structs, whose rows come as one value each.
#include "javelin/base/error.h"
#include "javelin/file/page_encoder_internal.h"
#include "javelin/file/struct_packer_internal.h"

namespace javelin::file {

namespace {

// Rows as they are, under the name of what they hold.
class PackedChunks final : public ChunkEncoder {
 public:
  PackedChunks(const LeafView& rows, const StructPacker& packer)
      : rows_(MakeFlatChunks(rows, packer.shape().bits)), packer_(packer) {}
  uint64_t chunk_values() const override { return rows_->chunk_values(); }
  uint64_t total_bytes() const override { return rows_->total_bytes(); }
  arrow::Status Encode(uint64_t first, uint64_t count, std::vector<ByteVector>& buffers) override {
    return rows_->Encode(first, count, buffers);
  }
  void Describe(pb::CompressiveEncoding& encoding) const override { packer_.Describe(encoding); }

 private:
  const ChunkEncoderPtr rows_;
  const StructPacker& packer_;
};

}  // namespace

arrow::Result<bool> EncodePackedStructPage(const StructPacker& packer, const LeafPage& leaf, const PageOptions& options,
                                           EncodedPage& page) {
  const LeafView rows = leaf.View(packer.shape());
  if (rows.null_count == rows.length) {
    EncodeNoValues(leaf.levels, options, page);
    return true;
  }
  if (packer.is_fixed()) {
    PackedChunks chunks(rows, packer);
    return EncodeMiniBlock(leaf.levels, chunks, options, page);
  }
  ARROW_ASSIGN_OR_RAISE(auto values, StringValueEncoder::Make(rows, {.codec = EncodingWishes::Codec::kNone}));
  ARROW_RETURN_NOT_OK(EncodeFullZipVariable(rows, leaf.levels, values, page));
  pb::CompressiveEncoding& encoding = *page.layout.mutable_full_zip_layout()->mutable_value_compression();
  encoding.Clear();
  packer.Describe(encoding);
  return true;
}

}  // namespace javelin::file
