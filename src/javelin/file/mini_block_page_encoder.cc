// Mini-block pages: chunks of small values behind a table, with the page's dictionary where that makes it smaller.
#include <bit>

#include "javelin/base/error.h"
#include "javelin/file/chunk_encoder_internal.h"
#include "javelin/file/page_encoder_internal.h"

namespace javelin::file {

namespace {

using Kind = ValueShape::Kind;

constexpr uint64_t kChunkAlignment = 8;
constexpr uint64_t kMaxChunkWords = uint64_t{1} << 28;  // of 8 bytes

class ChunkWriter {
 public:
  explicit ChunkWriter(bool has_levels) : has_levels_(has_levels) {}

  arrow::Status Add(uint64_t count, bool last, const ByteVector& levels, const std::vector<ByteVector>& buffers) {
    const size_t start = data_.size();
    AppendNumber<uint16_t>(has_levels_ ? count : 0);
    if (has_levels_) AppendNumber<uint16_t>(levels.size());
    for (const ByteVector& buffer : buffers) AppendNumber<uint32_t>(buffer.size());
    Align();
    if (has_levels_) AppendBuffer(levels);
    for (const ByteVector& buffer : buffers) AppendBuffer(buffer);
    const uint64_t words = (data_.size() - start) / kChunkAlignment;
    if (words > kMaxChunkWords) return InvalidInput("{} values are too large for one chunk of a page", count);
    const unsigned log = last ? 0 : static_cast<unsigned>(std::countr_zero(count));
    table_.push_back(static_cast<uint32_t>((words - 1) << 4 | log));
    return arrow::Status::OK();
  }

  EncodedBuffer Table() const {
    ByteVector bytes(table_.size() * sizeof(uint32_t));
    std::memcpy(bytes.data(), table_.data(), bytes.size());
    return OneBuffer(std::move(bytes));
  }
  EncodedBuffer Data() { return OneBuffer(std::move(data_)); }

 private:
  template <typename T>
  void AppendNumber(uint64_t number) {
    const T narrow = static_cast<T>(number);
    const size_t at = data_.size();
    data_.resize(at + sizeof(T));
    StoreAt<T>(data_.data() + at, narrow);
  }
  void AppendBuffer(const ByteVector& buffer) {
    data_.insert(data_.end(), buffer.begin(), buffer.end());
    Align();
  }
  void Align() { data_.resize(RoundUp(data_.size(), kChunkAlignment)); }

  bool has_levels_;
  ByteVector data_;
  std::vector<uint32_t> table_;
};

arrow::Status WriteChunks(const LeafView& view, ChunkEncoder& values, pb::MiniBlockLayout& layout, EncodedPage& page) {
  const uint64_t step = values.chunk_values();
  std::optional<LevelEncoder> levels;
  if (view.HasNulls()) levels.emplace(view, step);
  ChunkWriter writer(view.HasNulls());
  uint64_t num_buffers = 0;
  for (uint64_t first = 0; first < view.length; first += step) {
    const uint64_t count = std::min(step, view.length - first);
    ByteVector encoded_levels;
    if (levels) levels->Encode(first, count, encoded_levels);
    std::vector<ByteVector> buffers;
    ARROW_RETURN_NOT_OK(values.Encode(first, count, buffers));
    num_buffers = buffers.size();
    ARROW_RETURN_NOT_OK(writer.Add(count, first + count == view.length, encoded_levels, buffers));
  }
  if (levels) levels->Describe(*layout.mutable_def_compression());
  values.Describe(*layout.mutable_value_compression());
  layout.add_layers(view.HasNulls() ? pb::NULLABLE_ITEM : pb::ALL_VALID_ITEM);
  layout.set_num_buffers(num_buffers);
  layout.set_num_items(view.length);
  layout.set_has_large_chunk(true);
  page.buffers.push_back(writer.Table());
  page.buffers.push_back(writer.Data());
  return arrow::Status::OK();
}

arrow::Result<ChunkEncoderPtr> MakeValueChunks(const LeafView& view, const ValueShape& shape) {
  if (shape.kind == Kind::kVariable) return MakeVariableChunks(view);
  if (shape.kind == Kind::kList) return MakeListChunks(view, shape);
  ChunkEncoderPtr packed = MakeBitPackedChunks(view, shape.bits);
  return packed != nullptr ? std::move(packed) : MakeFlatChunks(view, shape.bits);
}

}  // namespace

arrow::Status EncodeMiniBlock(const LeafView& view, const ValueShape& shape, EncodedPage& page) {
  pb::MiniBlockLayout* layout = page.layout.mutable_mini_block_layout();
  ARROW_ASSIGN_OR_RAISE(ChunkEncoderPtr values, MakeValueChunks(view, shape));
  ARROW_ASSIGN_OR_RAISE(auto dictionary, EncodeDictionary(view, shape, values->total_bytes()));
  if (!dictionary) return WriteChunks(view, *values, *layout, page);
  const ChunkEncoderPtr indices = MakeBitPackedIndices(dictionary->indices);
  ARROW_RETURN_NOT_OK(WriteChunks(view, *indices, *layout, page));
  layout->mutable_dictionary()->Swap(&dictionary->block_encoding);
  layout->set_num_dictionary_items(dictionary->num_items);
  page.buffers.push_back(OneBuffer(std::move(dictionary->block)));
  return arrow::Status::OK();
}

}  // namespace javelin::file
