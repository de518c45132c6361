// Mini-block pages: chunks of small values behind a table, with the page's dictionary where that makes it smaller.
#include <bit>
#include <optional>

#include "javelin/base/error.h"
#include "javelin/file/chunk_encoder_internal.h"
#include "javelin/file/page_encoder_internal.h"

namespace javelin::file {

namespace {

constexpr uint64_t kChunkAlignment = 8;

// How a version writes the table of chunks and the sizes in front of a chunk.
struct ChunkForm {
  bool is_large = false;   // words of 32 bits in the table, else of 16
  uint64_t max_words = 0;  // of 8 bytes, in one chunk
};
ChunkForm FormOf(FileVersion version) {
  if (version < FileVersion{2, 2}) return {.is_large = false, .max_words = uint64_t{1} << 12};
  return {.is_large = true, .max_words = uint64_t{1} << 28};
}

// Levels of one kind of a page; without any nothing is written.
class LevelStream {
 public:
  LevelStream(const std::vector<uint16_t>& levels, std::span<const Slice> chunks, uint16_t max_level) {
    if (!levels.empty()) encoder_.emplace(levels, chunks, max_level);
  }
  bool present() const { return encoder_.has_value(); }
  bool fits() const { return !present() || encoder_->fits(); }
  ByteVector Encode(const Slice& chunk) const {
    ByteVector bytes;
    if (present()) encoder_->Encode(chunk, bytes);
    return bytes;
  }
  const LevelEncoder& encoder() const { return *encoder_; }

 private:
  std::optional<LevelEncoder> encoder_;
};

class ChunkWriter {
 public:
  ChunkWriter(const ChunkForm& form, const LevelStream& rep, const LevelStream& def)
      : form_(form), rep_(rep), def_(def) {}

  // `entries`: whose levels belong to the chunk. False if it is larger than a chunk may be.
  bool Add(uint64_t count, bool last, const Slice& entries, const std::vector<ByteVector>& buffers) {
    const size_t start = data_.size();
    const ByteVector rep = rep_.Encode(entries);
    const ByteVector def = def_.Encode(entries);
    AppendNumber<uint16_t>(data_, rep_.present() || def_.present() ? entries.count : 0);
    if (rep_.present()) AppendNumber<uint16_t>(data_, rep.size());
    if (def_.present()) AppendNumber<uint16_t>(data_, def.size());
    for (const ByteVector& buffer : buffers) AppendTableNumber(data_, buffer.size());
    Align();
    if (rep_.present()) AppendBuffer(rep);
    if (def_.present()) AppendBuffer(def);
    for (const ByteVector& buffer : buffers) AppendBuffer(buffer);
    const uint64_t words = (data_.size() - start) / kChunkAlignment;
    if (words > form_.max_words) return false;
    const unsigned log = last ? 0 : static_cast<unsigned>(std::countr_zero(count));
    AppendTableNumber(table_, (words - 1) << 4 | log);
    return true;
  }

  EncodedBuffer Table() { return OneBuffer(std::move(table_)); }
  EncodedBuffer Data() { return OneBuffer(std::move(data_)); }

 private:
  template <typename T>
  static void AppendNumber(ByteVector& out, uint64_t number) {
    const T narrow = static_cast<T>(number);
    const size_t at = out.size();
    out.resize(at + sizeof(T));
    StoreAt<T>(out.data() + at, narrow);
  }
  void AppendTableNumber(ByteVector& out, uint64_t number) const {
    form_.is_large ? AppendNumber<uint32_t>(out, number) : AppendNumber<uint16_t>(out, number);
  }
  void AppendBuffer(const ByteVector& buffer) {
    data_.insert(data_.end(), buffer.begin(), buffer.end());
    Align();
  }
  void Align() { data_.resize(RoundUp(data_.size(), kChunkAlignment)); }

  const ChunkForm form_;
  const LevelStream& rep_;
  const LevelStream& def_;
  ByteVector data_;
  ByteVector table_;
};

EncodedBuffer IndexBuffer(const std::vector<uint64_t>& index) {
  ByteVector bytes(index.size() * sizeof(uint64_t));
  std::memcpy(bytes.data(), index.data(), bytes.size());
  return OneBuffer(std::move(bytes));
}

}  // namespace

arrow::Result<bool> EncodeMiniBlock(const PageLevels& levels, ChunkEncoder& values, const PageOptions& options,
                                    EncodedPage& page) {
  const uint64_t step = values.chunk_values();
  const std::vector<Slice> chunks = ChunkEntries(levels, step);
  const LevelStream rep(levels.rep, chunks, levels.max_rep);
  const LevelStream def(levels.def, chunks, levels.max_def);
  for (const Slice& chunk : chunks) {
    if ((rep.present() || def.present()) && chunk.count > kMaxChunkLevels) return false;
  }
  if (!rep.fits() || !def.fits()) return false;
  const ChunkForm form = FormOf(options.version);
  ChunkWriter writer(form, rep, def);
  uint64_t num_buffers = 0;
  for (size_t k = 0; k < chunks.size(); ++k) {
    const uint64_t first = k * step;
    const uint64_t count = std::min(step, levels.num_values - first);
    std::vector<ByteVector> buffers;
    ARROW_RETURN_NOT_OK(values.Encode(first, count, buffers));
    num_buffers = buffers.size();
    if (!writer.Add(count, k + 1 == chunks.size(), chunks[k], buffers)) return false;
  }
  pb::MiniBlockLayout& layout = *page.layout.mutable_mini_block_layout();
  if (rep.present()) rep.encoder().Describe(*layout.mutable_rep_compression());
  if (def.present()) def.encoder().Describe(*layout.mutable_def_compression());
  values.Describe(*layout.mutable_value_compression());
  for (pb::RepDefLayer layer : levels.layers) layout.add_layers(layer);
  layout.set_num_buffers(num_buffers);
  layout.set_repetition_index_depth(rep.present() ? 1 : 0);
  layout.set_num_items(levels.num_values);
  layout.set_has_large_chunk(form.is_large);
  page.buffers.push_back(writer.Table());
  page.buffers.push_back(writer.Data());
  if (rep.present()) page.buffers.push_back(IndexBuffer(RepetitionIndexOf(levels, chunks)));
  return true;
}

arrow::Result<bool> EncodeMiniBlock(const PageLevels& levels, ChunkEncoder& indices, DictionaryBlock dictionary,
                                    const PageOptions& options, EncodedPage& page) {
  ARROW_ASSIGN_OR_RAISE(const bool fits, EncodeMiniBlock(levels, indices, options, page));
  if (!fits) return false;
  pb::MiniBlockLayout* layout = page.layout.mutable_mini_block_layout();
  layout->mutable_dictionary()->Swap(&dictionary.encoding);
  layout->set_num_dictionary_items(dictionary.num_items);
  page.buffers.insert(page.buffers.begin() + 2, OneBuffer(std::move(dictionary.bytes)));
  return true;
}

}  // namespace javelin::file
