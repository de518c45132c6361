// Mini-block pages: small values in chunks, found through a table of chunks, with the page's dictionary if it has one.
#include <mutex>

#include "javelin/file/chunk_table_internal.h"
#include "javelin/file/encodings_internal.h"
#include "javelin/file/page_dictionary_internal.h"
#include "javelin/file/page_layouts_internal.h"
#include "javelin/file/repetition_index_internal.h"
#include "javelin/file/row_picker_internal.h"
#include "javelin/store/block_cache.h"

namespace javelin::file {

namespace {

// A page with less data than this is read whole at once instead of table first, chunks next.
constexpr uint64_t kReadWholeBytes = 16u << 10;
// Picking a value out of a chunk costs so many times what it costs in a row.
constexpr double kPickedCost = 8;

// What a page keeps once it was read.
struct Tables {
  MemoryReservation memory;  // of chunks and rows; a dictionary has its own
  ChunkTable chunks;
  std::shared_ptr<const PageDictionary> dictionary;  // null if the page has none
  std::optional<RepetitionIndex> rows;               // of pages with lists
};
using TablesPtr = std::shared_ptr<const Tables>;

struct Form {
  unsigned word_bytes = 4;
  ChunkForm chunk;
  PageLayers layers;
  uint64_t num_items = 0;  // values, null ones included
  uint64_t num_rows = 0;
  ByteRange table;
  ByteRange data;
  std::optional<ByteRange> dictionary;
  std::optional<ByteRange> index;
  uint64_t num_dictionary_items = 0;
  ValueShape shape;         // of the column
  uint64_t index_bits = 0;  // of indices, where there is a dictionary
  bool compressed = false;  // chunks are decompressed whole

  // What has to be read before chunks are known.
  std::vector<ByteRange> TableRanges() const {
    std::vector<ByteRange> ranges = {table};
    if (dictionary) ranges.push_back(*dictionary);
    if (index) ranges.push_back(*index);
    return ranges;
  }
  // What the tables take once they are parsed.
  uint64_t TableMemory() const {
    const uint64_t chunks = table.length / word_bytes;
    return ChunkTable::MemoryOf(chunks) + (index ? RepetitionIndex::MemoryOf(chunks) : 0);
  }
};

struct Decoders {
  MiniBlockDecoderPtr values;
  BlockDecoderPtr rep;         // null: no lists
  BlockDecoderPtr def;         // null: all values are valid
  BlockDecoderPtr dictionary;  // null: no dictionary
};

class MiniBlockPage final : public PageReader {
 public:
  MiniBlockPage(Form form, Decoders decoders, std::shared_ptr<PageEnvironment> environment)
      : form_(std::move(form)), decoders_(std::move(decoders)), environment_(std::move(environment)) {}

  std::unique_ptr<PageScan> Scan(std::vector<Slice> rows) const override;

  const Form& form() const { return form_; }

  TablesPtr tables() const {
    std::lock_guard lock(environment_->mutex);
    return tables_;
  }

  // `bytes`: of Form::TableRanges().
  arrow::Result<TablesPtr> LoadTables(std::span<const BufferPtr> bytes) const {
    auto tables = std::make_shared<Tables>();
    ARROW_ASSIGN_OR_RAISE(tables->memory,
                          MemoryReservation::Make(*environment_->resources.memory,
                                                  static_cast<int64_t>(form_.TableMemory()), "tables of a page"));
    ARROW_ASSIGN_OR_RAISE(
        tables->chunks, ChunkTable::Parse(ViewOf(bytes.front()), form_.word_bytes, form_.data.length, form_.num_items));
    if (form_.dictionary) {
      ARROW_ASSIGN_OR_RAISE(tables->dictionary,
                            PageDictionary::Decode(*decoders_.dictionary, ViewOf(bytes[1]), form_.num_dictionary_items,
                                                   form_.shape, environment_->resources));
    }
    if (form_.index) {
      ARROW_ASSIGN_OR_RAISE(tables->rows,
                            RepetitionIndex::Parse(ViewOf(bytes.back()), tables->chunks.num_chunks(), form_.num_rows));
    }
    std::lock_guard lock(environment_->mutex);
    if (tables_ != nullptr) return tables_;
    environment_->kept_bytes += form_.TableMemory();
    if (tables->dictionary != nullptr) environment_->kept_bytes += tables->dictionary->memory_bytes();
    tables_ = std::move(tables);
    return tables_;
  }

  // With lists the slices of runs are rows of the page, otherwise values of the one chunk.
  ChunkRuns RunsOf(const Tables& tables, std::span<const Slice> rows) const {
    if (!tables.rows) return ChunkRuns::Split(tables.chunks, rows);
    ChunkRuns runs;
    for (const Slice& slice : rows) {
      const Slice chunks = tables.rows->ChunksOf(slice);
      runs.Add(chunks.first, chunks.end(), slice);
    }
    return runs;
  }

  // A chunk of a page without lists, whose rows are its values.
  arrow::Status DecodeChunk(const Tables& tables, size_t chunk, const ChunkBuffers& buffers,
                            std::span<const Slice> rows, DecodeContext& context, Levels& levels, LeafSink& out) const {
    const uint64_t num_values = tables.chunks.num_values(chunk);
    std::span<const uint16_t> wanted;
    if (decoders_.def != nullptr) {
      if (buffers.num_levels != num_values)
        return Corruption("a chunk has {} levels for {} values", buffers.num_levels, num_values);
      SinkMemory memory(context.memory.pool(), context.memory.budget());
      ValueSink all(FixedShape(16), memory, num_values);
      ARROW_RETURN_NOT_OK(decoders_.def->Decode(buffers.def, num_values, context, all));
      const uint64_t count = TotalCount(rows);
      ARROW_ASSIGN_OR_RAISE(uint16_t* target, levels.def.Append(count));
      wanted = {target, count};
      for (const Slice& slice : rows) {
        std::memcpy(target, all.fixed_values().data() + slice.first * 2, slice.count * 2);
        target += slice.count;
      }
    }
    return DecodeValues(tables, buffers, num_values, rows, wanted, context, out);
  }

  // A chunk of a page with lists.
  arrow::Status DecodeChunkOfLists(const Tables& tables, size_t chunk, const ChunkBuffers& buffers, RowPicker& picker,
                                   DecodeContext& context, Levels& levels, LeafSink& out) const {
    if (picker.begun() != tables.rows->rows_before(chunk))
      return Corruption("{} rows begin before chunk {}, its page says {}", picker.begun(), chunk,
                        tables.rows->rows_before(chunk));
    SinkMemory memory(context.memory.pool(), context.memory.budget());
    ValueSink rep(FixedShape(16), memory, buffers.num_levels);
    ARROW_RETURN_NOT_OK(decoders_.rep->Decode(buffers.rep, buffers.num_levels, context, rep));
    ValueSink def(FixedShape(16), memory, buffers.num_levels);
    if (decoders_.def != nullptr)
      ARROW_RETURN_NOT_OK(decoders_.def->Decode(buffers.def, buffers.num_levels, context, def));
    std::vector<Slice> wanted;
    LevelBuffer value_levels(memory);
    ARROW_ASSIGN_OR_RAISE(const RowPicker::Counts counts, picker.Pick(AsLevels(rep), AsLevels(def), levels, &wanted,
                                                                      form_.dictionary ? &value_levels : nullptr));
    if (counts.values != tables.chunks.num_values(chunk))
      return Corruption("chunk {} has {} values, its levels make {}", chunk, tables.chunks.num_values(chunk),
                        counts.values);
    if (wanted.empty()) return arrow::Status::OK();
    return DecodeValues(tables, buffers, counts.values, wanted, value_levels.levels(), context, out);
  }

 private:
  // `levels`: of the wanted values, or none if all are valid.
  arrow::Status DecodeValues(const Tables& tables, const ChunkBuffers& buffers, uint64_t num_values,
                             std::span<const Slice> wanted, std::span<const uint16_t> levels, DecodeContext& context,
                             LeafSink& out) const {
    if (tables.dictionary == nullptr)
      return decoders_.values->Decode(buffers.values, num_values, wanted, context, out.values());
    SinkMemory memory(context.memory.pool(), context.memory.budget());
    ValueSink indices(FixedShape(form_.index_bits), memory, TotalCount(wanted));
    ARROW_RETURN_NOT_OK(decoders_.values->Decode(buffers.values, num_values, wanted, context, indices));
    return tables.dictionary->Append(indices.fixed_values(), form_.index_bits / 8, levels, out);
  }

  Form form_;
  Decoders decoders_;
  std::shared_ptr<PageEnvironment> environment_;
  mutable TablesPtr tables_;  // guarded by the environment's mutex
};

class MiniBlockScan final : public PageScan {
 public:
  MiniBlockScan(const MiniBlockPage& page, std::vector<Slice> rows)
      : page_(page), rows_(std::move(rows)), tables_(page.tables()) {
    const Form& form = page_.form();
    const bool all = rows_.size() == 1 && rows_[0].count == form.num_rows;
    if (tables_ == nullptr && (all || form.data.length <= kReadWholeBytes)) pieces_ = {form.data};
  }

  void WithWholePage() override {
    if (tables_ == nullptr) pieces_ = {page_.form().data};
  }

  arrow::Result<std::vector<ByteRange>> Wanted() override {
    if (!pieces_bytes_.empty()) return std::vector<ByteRange>{};
    if (tables_ != nullptr) {
      FindPieces();
      return pieces_;
    }
    std::vector<ByteRange> ranges = page_.form().TableRanges();
    ranges.insert(ranges.end(), pieces_.begin(), pieces_.end());
    return ranges;
  }

  arrow::Status Supply(std::vector<BufferPtr> bytes) override {
    size_t taken = 0;
    if (tables_ == nullptr) {
      taken = page_.form().TableRanges().size();
      tables_ = page_.tables();  // a scan of other rows may have been first
      if (tables_ == nullptr) {
        ARROW_ASSIGN_OR_RAISE(tables_, page_.LoadTables(std::span(bytes).first(taken)));
      }
      runs_ = page_.RunsOf(*tables_, rows_);
    }
    pieces_bytes_.assign(bytes.begin() + static_cast<ptrdiff_t>(taken), bytes.end());
    return arrow::Status::OK();
  }

  uint64_t Work(uint64_t supplied) const override {
    if (page_.form().compressed || tables_ == nullptr || tables_->rows) return supplied;
    uint64_t there = 0;
    for (const ChunkRuns::Run& run : runs_.runs())
      there += tables_->chunks.first_value(run.end) - tables_->chunks.first_value(run.first);
    const double share = static_cast<double>(TotalCount(rows_)) / static_cast<double>(std::max<uint64_t>(there, 1));
    return static_cast<uint64_t>(static_cast<double>(supplied) * std::min(1.0, share * kPickedCost));
  }

  arrow::Status Decode(DecodeContext& context, LeafSink& out) override {
    Levels levels(context.memory);
    out.Expect(ExpectedValues(), NumBytes());
    ChunkBuffers buffers;
    size_t piece = 0;
    for (size_t i = 0; i < runs_.runs().size(); ++i) {
      const ChunkRuns::Run& run = runs_.runs()[i];
      const std::span<const Slice> rows = runs_.SlicesOf(i);
      std::optional<RowPicker> picker;
      if (tables_->rows) picker.emplace(page_.form().layers, rows, tables_->rows->rows_before(run.first));
      for (size_t chunk = run.first; chunk < run.end; ++chunk) {
        const ByteRange range = RangeOf(chunk, chunk + 1);
        while (range.end() > pieces_[piece].end()) ++piece;
        const Bytes bytes = ViewOf(pieces_bytes_[piece]).subspan(range.offset - pieces_[piece].offset, range.length);
        ARROW_RETURN_NOT_OK(ParseChunk(bytes, page_.form().chunk, &buffers));
        ARROW_RETURN_NOT_OK(picker ? page_.DecodeChunkOfLists(*tables_, chunk, buffers, *picker, context, levels, out)
                                   : page_.DecodeChunk(*tables_, chunk, buffers, rows, context, levels, out));
      }
    }
    return out.AppendRows(page_.form().layers, std::move(levels), TotalCount(rows_));
  }

 private:
  // About how many values the rows have: as many each as all rows in their chunks.
  uint64_t ExpectedValues() const {
    const uint64_t wanted = TotalCount(rows_);
    if (!tables_->rows) return wanted;
    uint64_t values = 0;
    uint64_t rows = 0;
    for (const ChunkRuns::Run& run : runs_.runs()) {
      values += tables_->chunks.first_value(run.end) - tables_->chunks.first_value(run.first);
      rows += tables_->rows->rows_before(run.end) - tables_->rows->rows_before(run.first);
    }
    return rows <= wanted ? values : std::min(values, SaturatedProduct(values / rows + 1, wanted));
  }
  uint64_t NumBytes() const {
    uint64_t count = 0;
    for (const BufferPtr& bytes : pieces_bytes_) count += static_cast<uint64_t>(bytes->size());
    return count;
  }

  ByteRange RangeOf(size_t first, size_t end) const {
    const uint64_t begin = tables_->chunks.begin(first);
    return {page_.form().data.offset + begin, tables_->chunks.end(end - 1) - begin};
  }

  // Neighbouring chunks are one piece. Those of single rows may come out of blocks that are kept: only within one, for
  // what lies in two is copied together.
  void FindPieces() {
    if (runs_.runs().empty()) runs_ = page_.RunsOf(*tables_, rows_);
    pieces_.clear();
    for (const ChunkRuns::Run& run : runs_.runs()) {
      const ByteRange range = RangeOf(run.first, run.end);
      const bool follows = !pieces_.empty() && pieces_.back().end() == range.offset;
      if (follows && (rows_.size() == 1 || InOneBlock(pieces_.back().offset, range.end()))) {
        pieces_.back().length += range.length;
      } else {
        pieces_.push_back(range);
      }
    }
  }

  static bool InOneBlock(uint64_t begin, uint64_t end) {
    return begin / BlockCache::kBlockBytes == (end - 1) / BlockCache::kBlockBytes;
  }

  const MiniBlockPage& page_;
  std::vector<Slice> rows_;
  TablesPtr tables_;
  ChunkRuns runs_;
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

// The levels of a page are there if and only if its layers have any.
arrow::Status CheckLevels(const pb::MiniBlockLayout& layout, const PageLayers& layers, const PageSpec& spec) {
  if (layout.has_def_compression() != (layers.max_def() > 0))
    return Corruption("the definition levels of a page do not match its layers");
  if (layout.has_rep_compression() != (layers.max_rep() > 0))
    return Corruption("the repetition levels of a page do not match its layers");
  if (layout.repetition_index_depth() != (layers.max_rep() > 0 ? 1u : 0u))
    return Corruption("the repetition index of a page has depth {}", layout.repetition_index_depth());
  if (layers.max_rep() == 0 && layout.num_items() != spec.page.num_rows)
    return Corruption("a page of {} rows has {} items", spec.page.num_rows, layout.num_items());
  return arrow::Status::OK();
}

arrow::Status MakeDictionary(const pb::MiniBlockLayout& layout, const PageSpec& spec, Form* form, Decoders* decoders) {
  const ValueShape::Kind kind = spec.shape.kind;
  if (kind == ValueShape::Kind::kList || kind == ValueShape::Kind::kStruct)
    return Corruption("a page of {} has a dictionary", ToString(spec.shape));
  form->dictionary = spec.page.buffers[2];
  form->num_dictionary_items = layout.num_dictionary_items();
  ARROW_ASSIGN_OR_RAISE(decoders->dictionary, MakeBlockDecoder(layout.dictionary(), spec.shape));
  ARROW_ASSIGN_OR_RAISE(form->index_bits, IndexBits(layout.value_compression()));
  return arrow::Status::OK();
}

}  // namespace

arrow::Result<PageReaderPtr> MakeMiniBlockPage(const pb::MiniBlockLayout& layout, const PageSpec& spec) {
  ARROW_RETURN_NOT_OK(CheckBuffers(spec, layout));
  ARROW_ASSIGN_OR_RAISE(PageLayers layers, LayersOf(layout, spec));
  ARROW_RETURN_NOT_OK(CheckLevels(layout, layers, spec));
  if (spec.shape.kind == ValueShape::Kind::kNull) return Corruption("a page of a column of nulls holds values");
  const bool has_rep = layers.max_rep() > 0;
  const bool has_def = layers.max_def() > 0;
  Form form{.word_bytes = layout.has_large_chunk() ? 4u : 2u,
            .chunk = {.has_rep = has_rep, .has_def = has_def, .large = layout.has_large_chunk()},
            .layers = std::move(layers),
            .num_items = layout.num_items(),
            .num_rows = spec.page.num_rows,
            .table = spec.page.buffers[0],
            .data = spec.page.buffers[1],
            .shape = spec.shape,
            .compressed = layout.value_compression().has_general()};
  if (has_rep) form.index = spec.page.buffers.back();
  Decoders decoders;
  if (layout.has_dictionary()) ARROW_RETURN_NOT_OK(MakeDictionary(layout, spec, &form, &decoders));
  ARROW_ASSIGN_OR_RAISE(
      decoders.values,
      MakeMiniBlockDecoder(layout.value_compression(), form.dictionary ? FixedShape(form.index_bits) : spec.shape));
  if (decoders.values->num_buffers() != layout.num_buffers()) {
    return Corruption("a mini-block page has {} buffers a chunk, its encoding needs {}", layout.num_buffers(),
                      decoders.values->num_buffers());
  }
  form.chunk.num_buffers = decoders.values->num_buffers();
  if (has_rep) {
    ARROW_ASSIGN_OR_RAISE(decoders.rep, MakeBlockDecoder(layout.rep_compression(), FixedShape(16)));
  }
  if (has_def) {
    ARROW_ASSIGN_OR_RAISE(decoders.def, MakeBlockDecoder(layout.def_compression(), FixedShape(16)));
  }
  return std::make_shared<MiniBlockPage>(std::move(form), std::move(decoders), spec.environment);
}

}  // namespace javelin::file
