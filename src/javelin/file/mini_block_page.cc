// Mini-block pages: small values in chunks, found through a table of chunks, with the page's dictionary if it has one.
#include <mutex>

#include "javelin/file/chunk_table_internal.h"
#include "javelin/file/encodings_internal.h"
#include "javelin/file/page_dictionary_internal.h"
#include "javelin/file/page_layouts_internal.h"

namespace javelin::file {

namespace {

// A page with less data than this is read whole at once instead of table first, chunks next.
constexpr uint64_t kReadWholeBytes = 16u << 10;

// What a page keeps once it was read.
struct Tables {
  ChunkTable chunks;
  std::shared_ptr<const PageDictionary> dictionary;  // null if the page has none
};
using TablesPtr = std::shared_ptr<const Tables>;

struct Form {
  unsigned word_bytes = 4;
  ChunkForm chunk;
  uint64_t num_items = 0;
  ByteRange table;
  ByteRange data;
  std::optional<ByteRange> dictionary;
  uint64_t num_dictionary_items = 0;
  ValueShape shape;         // of the column
  uint64_t index_bits = 0;  // of indices, where there is a dictionary
};

class MiniBlockPage final : public PageReader {
 public:
  MiniBlockPage(Form form, MiniBlockDecoderPtr values, BlockDecoderPtr def, BlockDecoderPtr dictionary,
                std::shared_ptr<PageEnvironment> environment)
      : form_(std::move(form)),
        values_(std::move(values)),
        def_(std::move(def)),
        dictionary_(std::move(dictionary)),
        environment_(std::move(environment)) {}

  std::unique_ptr<PageScan> Scan(std::vector<Slice> rows) const override;

  const Form& form() const { return form_; }

  TablesPtr tables() const {
    std::lock_guard lock(environment_->mutex);
    return tables_;
  }

  arrow::Result<TablesPtr> LoadTables(Bytes words, Bytes dictionary) const {
    auto tables = std::make_shared<Tables>();
    ARROW_ASSIGN_OR_RAISE(tables->chunks,
                          ChunkTable::Parse(words, form_.word_bytes, form_.data.length, form_.num_items));
    if (dictionary_ != nullptr) {
      ARROW_ASSIGN_OR_RAISE(tables->dictionary,
                            PageDictionary::Decode(*dictionary_, dictionary, form_.num_dictionary_items, form_.shape,
                                                   environment_->resources));
    }
    std::lock_guard lock(environment_->mutex);
    if (tables_ != nullptr) return tables_;
    environment_->kept_bytes += tables->chunks.memory_bytes();
    if (tables->dictionary != nullptr) environment_->kept_bytes += tables->dictionary->memory_bytes();
    tables_ = std::move(tables);
    return tables_;
  }

  arrow::Status DecodeChunk(const Tables& tables, const ChunkPart& part, Bytes chunk, DecodeContext& context,
                            ValueSink& out) const {
    ARROW_ASSIGN_OR_RAISE(ChunkBuffers buffers, ParseChunk(chunk, form_.chunk));
    const uint64_t num_values = tables.chunks.num_values(part.chunk);
    std::vector<uint16_t> levels;
    if (def_ != nullptr) {
      ARROW_ASSIGN_OR_RAISE(levels, DecodeLevels(buffers, num_values, part.slices, context));
      ARROW_RETURN_NOT_OK(out.validity().AppendLevels(levels));
    } else {
      ARROW_RETURN_NOT_OK(out.validity().AppendValid(TotalCount(part.slices)));
    }
    if (tables.dictionary == nullptr) return values_->Decode(buffers.values, num_values, part.slices, context, out);
    ValueSink indices(FixedShape(form_.index_bits), context.memory);
    ARROW_RETURN_NOT_OK(values_->Decode(buffers.values, num_values, part.slices, context, indices));
    return tables.dictionary->Append(indices.fixed_values(), form_.index_bits / 8, levels, out);
  }

 private:
  // The definition levels of the wanted values.
  arrow::Result<std::vector<uint16_t>> DecodeLevels(const ChunkBuffers& buffers, uint64_t num_values,
                                                    std::span<const Slice> slices, DecodeContext& context) const {
    if (buffers.num_levels != num_values)
      return Corruption("a chunk has {} levels for {} values", buffers.num_levels, num_values);
    ValueSink all(FixedShape(16), context.memory);
    ARROW_RETURN_NOT_OK(def_->Decode(buffers.def, num_values, context, all));
    std::vector<uint16_t> levels(TotalCount(slices));
    size_t done = 0;
    for (const Slice& slice : slices) {
      std::memcpy(levels.data() + done, all.fixed_values().data() + slice.first * 2, slice.count * 2);
      done += slice.count;
    }
    for (uint16_t level : levels) {
      if (level > 1) return Corruption("a value has definition level {}, its column knows 0 and 1", level);
    }
    return levels;
  }

  Form form_;
  MiniBlockDecoderPtr values_;
  BlockDecoderPtr def_;         // null: all values are valid
  BlockDecoderPtr dictionary_;  // null: no dictionary
  std::shared_ptr<PageEnvironment> environment_;
  mutable TablesPtr tables_;  // guarded by the environment's mutex
};

class MiniBlockScan final : public PageScan {
 public:
  MiniBlockScan(const MiniBlockPage& page, std::vector<Slice> rows)
      : page_(page), rows_(std::move(rows)), tables_(page.tables()) {
    const Form& form = page_.form();
    const bool all = rows_.size() == 1 && rows_[0].count == form.num_items;
    if (tables_ == nullptr && (all || form.data.length <= kReadWholeBytes)) pieces_ = {form.data};
  }

  arrow::Result<std::vector<ByteRange>> Wanted() override {
    if (!pieces_bytes_.empty()) return std::vector<ByteRange>{};
    if (tables_ != nullptr) {
      FindPieces();
      return pieces_;
    }
    std::vector<ByteRange> ranges = {page_.form().table};
    if (page_.form().dictionary) ranges.push_back(*page_.form().dictionary);
    ranges.insert(ranges.end(), pieces_.begin(), pieces_.end());
    return ranges;
  }

  arrow::Status Supply(std::vector<BufferPtr> bytes) override {
    size_t taken = 0;
    if (tables_ == nullptr) {
      const Bytes words = ViewOf(bytes[taken++]);
      const Bytes dictionary = page_.form().dictionary ? ViewOf(bytes[taken++]) : Bytes();
      ARROW_ASSIGN_OR_RAISE(tables_, page_.LoadTables(words, dictionary));
      parts_ = SplitByChunk(tables_->chunks, rows_);
    }
    pieces_bytes_.assign(bytes.begin() + static_cast<ptrdiff_t>(taken), bytes.end());
    return arrow::Status::OK();
  }

  arrow::Status Decode(DecodeContext& context, ValueSink& out) override {
    size_t piece = 0;
    for (const ChunkPart& part : parts_) {
      const ByteRange range = RangeOf(part.chunk);
      while (range.end() > pieces_[piece].end()) ++piece;
      const Bytes chunk = ViewOf(pieces_bytes_[piece]).subspan(range.offset - pieces_[piece].offset, range.length);
      ARROW_RETURN_NOT_OK(page_.DecodeChunk(*tables_, part, chunk, context, out));
    }
    return arrow::Status::OK();
  }

 private:
  ByteRange RangeOf(size_t chunk) const {
    const uint64_t begin = tables_->chunks.begin(chunk);
    return {page_.form().data.offset + begin, tables_->chunks.end(chunk) - begin};
  }

  // Runs of neighbouring chunks.
  void FindPieces() {
    if (parts_.empty()) parts_ = SplitByChunk(tables_->chunks, rows_);
    pieces_.clear();
    for (const ChunkPart& part : parts_) {
      const ByteRange range = RangeOf(part.chunk);
      if (!pieces_.empty() && pieces_.back().end() == range.offset) {
        pieces_.back().length += range.length;
      } else {
        pieces_.push_back(range);
      }
    }
  }

  const MiniBlockPage& page_;
  std::vector<Slice> rows_;
  TablesPtr tables_;
  std::vector<ChunkPart> parts_;
  std::vector<ByteRange> pieces_;  // of the data
  std::vector<BufferPtr> pieces_bytes_;
};

std::unique_ptr<PageScan> MiniBlockPage::Scan(std::vector<Slice> rows) const {
  return std::make_unique<MiniBlockScan>(*this, std::move(rows));
}

// The width of indices follows from how they are encoded.
arrow::Result<uint64_t> IndexBits(const pb::CompressiveEncoding& encoding) {
  const pb::CompressiveEncoding* inner = &encoding;
  while (inner->has_general()) inner = &inner->general().values();
  uint64_t bits = 0;
  if (inner->has_flat()) bits = inner->flat().bits_per_value();
  if (inner->has_inline_bitpacking()) bits = inner->inline_bitpacking().uncompressed_bits_per_value();
  if (inner->has_rle()) bits = inner->rle().values().flat().bits_per_value();
  if (inner->has_byte_stream_split()) bits = inner->byte_stream_split().values().flat().bits_per_value();
  if (bits == 0) return NotSupported("dictionary indices in encoding {} are not readable", NameOf(*inner));
  if (bits != 8 && bits != 16 && bits != 32 && bits != 64) return Corruption("dictionary indices have {} bits", bits);
  return bits;
}

arrow::Status CheckBuffers(const PageSpec& spec, const pb::MiniBlockLayout& layout) {
  const size_t wanted = 2 + layout.has_dictionary() + (layout.repetition_index_depth() > 0);
  if (spec.page.buffers.size() != wanted) {
    return Corruption("a mini-block page has {} buffers instead of {}", spec.page.buffers.size(), wanted);
  }
  if (layout.has_large_chunk() != (spec.version >= FileVersion{2, 2})) {
    return Corruption("a mini-block page of version {} has the chunks of another", ToString(spec.version));
  }
  return arrow::Status::OK();
}

}  // namespace

arrow::Result<PageReaderPtr> MakeMiniBlockPage(const pb::MiniBlockLayout& layout, const PageSpec& spec) {
  ARROW_RETURN_NOT_OK(CheckBuffers(spec, layout));
  ARROW_ASSIGN_OR_RAISE(bool nullable, SingleItemLayerIsNullable(layout.layers()));
  if (layout.has_rep_compression() || layout.repetition_index_depth() > 0)
    return NotSupported("columns with lists are not readable");
  if (layout.has_def_compression() != nullable)
    return Corruption("the definition levels of a page do not match its layers");
  if (layout.num_items() != spec.page.num_rows) {
    return Corruption("a page of {} rows has {} items", spec.page.num_rows, layout.num_items());
  }
  if (spec.shape.kind == ValueShape::Kind::kNull) return Corruption("a page of a column of nulls holds values");
  Form form{.word_bytes = layout.has_large_chunk() ? 4u : 2u,
            .chunk = {.has_def = nullable, .large = layout.has_large_chunk()},
            .num_items = layout.num_items(),
            .table = spec.page.buffers[0],
            .data = spec.page.buffers[1],
            .shape = spec.shape};
  ValueShape stored = spec.shape;
  BlockDecoderPtr dictionary;
  if (layout.has_dictionary()) {
    if (spec.shape.kind == ValueShape::Kind::kList || spec.shape.is_fixed(1))
      return Corruption("a page of {} has a dictionary", ToString(spec.shape));
    form.dictionary = spec.page.buffers[2];
    form.num_dictionary_items = layout.num_dictionary_items();
    ARROW_ASSIGN_OR_RAISE(dictionary, MakeBlockDecoder(layout.dictionary(), spec.shape));
    ARROW_ASSIGN_OR_RAISE(form.index_bits, IndexBits(layout.value_compression()));
    stored = FixedShape(form.index_bits);
  }
  ARROW_ASSIGN_OR_RAISE(MiniBlockDecoderPtr values, MakeMiniBlockDecoder(layout.value_compression(), stored));
  if (values->num_buffers() != layout.num_buffers()) {
    return Corruption("a mini-block page has {} buffers a chunk, its encoding needs {}", layout.num_buffers(),
                      values->num_buffers());
  }
  form.chunk.num_buffers = values->num_buffers();
  BlockDecoderPtr def;
  if (nullable) {
    ARROW_ASSIGN_OR_RAISE(def, MakeBlockDecoder(layout.def_compression(), FixedShape(16)));
  }
  return std::make_shared<MiniBlockPage>(std::move(form), std::move(values), std::move(def), std::move(dictionary),
                                         spec.environment);
}

}  // namespace javelin::file
