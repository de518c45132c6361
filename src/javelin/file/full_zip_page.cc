// Full-zip pages: large values one behind the other, each with its definition level in front where the page has nulls.
#include <bit>
#include <mutex>

#include "javelin/file/encodings_internal.h"
#include "javelin/file/page_layouts_internal.h"

namespace javelin::file {

namespace {

// An index up to this size is read whole and kept; of a larger one only the entries that are needed.
constexpr uint64_t kKeepIndexBytes = 64u << 10;

struct Form {
  PageLayers layers;
  uint64_t control_bytes = 0;  // in front of each entry: (repetition << def_bits) | definition; 0: no levels
  unsigned def_bits = 0;
  uint64_t num_rows = 0;
  ByteRange data;
};

// The levels of the entries of a page, as they go by.
class ControlWords {
 public:
  ControlWords(const Form& form, Levels& levels) : form_(form), levels_(levels) {}
  // Room for that many entries at most.
  arrow::Status Begin(uint64_t count) {
    if (form_.layers.max_rep() > 0) {
      ARROW_ASSIGN_OR_RAISE(rep_, levels_.rep.Append(count));
    }
    if (form_.def_bits > 0) {
      ARROW_ASSIGN_OR_RAISE(def_, levels_.def.Append(count));
    }
    most_ = count;
    return arrow::Status::OK();
  }
  // Takes the word of the next entry.
  void Add(const uint8_t* control) {
    const uint64_t word = LoadUnsigned(control, static_cast<unsigned>(form_.control_bytes));
    def = static_cast<uint16_t>(word & ((uint64_t{1} << form_.def_bits) - 1));
    rep = static_cast<uint16_t>(word >> form_.def_bits);
    if (rep_ != nullptr) rep_[count_] = rep;
    if (def_ != nullptr) def_[count_] = def;
    ++count_;
  }
  void End() {
    if (rep_ != nullptr) levels_.rep.Truncate(levels_.rep.size() - (most_ - count_));
    if (def_ != nullptr) levels_.def.Truncate(levels_.def.size() - (most_ - count_));
  }
  uint64_t count() const { return count_; }

  uint16_t rep = 0;  // of the entry taken last
  uint16_t def = 0;

 private:
  const Form& form_;
  Levels& levels_;
  uint16_t* rep_ = nullptr;
  uint16_t* def_ = nullptr;
  uint64_t most_ = 0;
  uint64_t count_ = 0;
};

// ---- fixed width without lists: row i lies at i * stride ----

class FixedPage final : public PageReader {
 public:
  FixedPage(Form form, FixedValueDecoderPtr decoder) : form_(std::move(form)), decoder_(std::move(decoder)) {}
  std::unique_ptr<PageScan> Scan(std::vector<Slice> rows) const override;

  bool hands_on_bytes() const override { return form_.control_bytes == 0 && decoder_->is_plain(); }
  const Form& form() const { return form_; }
  uint64_t stride() const { return form_.control_bytes + decoder_->bytes(); }
  ByteRange RangeOf(const Slice& rows) const {
    return {form_.data.offset + rows.first * stride(), rows.count * stride()};
  }

  arrow::Status Decode(const BufferPtr& bytes, uint64_t count, Levels& levels, ValueSink& out) const {
    if (hands_on_bytes()) return AppendPlain(bytes, count, out);
    if (form_.control_bytes > 0) {
      ControlWords control(form_, levels);
      ARROW_RETURN_NOT_OK(control.Begin(count));
      for (uint64_t i = 0; i < count; ++i) control.Add(bytes->data() + i * stride());
    }
    return decoder_->Decode(bytes->data() + form_.control_bytes, stride(), count, out);
  }

 private:
  // The bytes of the page are the values themselves.
  static arrow::Status AppendPlain(const BufferPtr& bytes, uint64_t count, ValueSink& out) {
    if (out.shape().kind != ValueShape::Kind::kList) return out.AppendShared(bytes, count);
    const uint64_t items = count * out.shape().dimension;
    ARROW_RETURN_NOT_OK(out.items().validity().AppendValid(items));
    ARROW_RETURN_NOT_OK(AppendPlain(bytes, items, out.items()));
    out.CommitLists(count);
    return arrow::Status::OK();
  }

  Form form_;
  FixedValueDecoderPtr decoder_;
};

class FixedScan final : public PageScan {
 public:
  FixedScan(const FixedPage& page, std::vector<Slice> rows) : page_(page), rows_(std::move(rows)) {}

  arrow::Result<std::vector<ByteRange>> Wanted() override {
    std::vector<ByteRange> ranges;
    if (!bytes_.empty()) return ranges;
    for (const Slice& slice : rows_) ranges.push_back(page_.RangeOf(slice));
    return ranges;
  }

  arrow::Status Supply(std::vector<BufferPtr> bytes) override {
    bytes_ = std::move(bytes);
    return arrow::Status::OK();
  }

  arrow::Status Decode(DecodeContext& context, LeafSink& out) override {
    Levels levels(context.memory);
    for (size_t i = 0; i < rows_.size(); ++i)
      ARROW_RETURN_NOT_OK(page_.Decode(bytes_[i], rows_[i].count, levels, out.values()));
    return out.AppendRows(page_.form().layers, std::move(levels), TotalCount(rows_));
  }

 private:
  const FixedPage& page_;
  std::vector<Slice> rows_;
  std::vector<BufferPtr> bytes_;
};

std::unique_ptr<PageScan> FixedPage::Scan(std::vector<Slice> rows) const {
  return std::make_unique<FixedScan>(*this, std::move(rows));
}

// ---- variable width, or lists: rows found through an index of byte offsets ----

// Values of one of the two kinds.
struct EntryDecoder {
  FixedValueDecoderPtr fixed;        // there for null values too
  VariableValueDecoderPtr variable;  // with a length in front; null values have neither
  uint64_t length_bytes = 0;
};

class IndexedPage final : public PageReader {
 public:
  IndexedPage(Form form, ByteRange index, uint64_t index_width, EntryDecoder decoder,
              std::shared_ptr<PageEnvironment> environment)
      : form_(std::move(form)),
        index_(index),
        index_width_(index_width),
        decoder_(std::move(decoder)),
        environment_(std::move(environment)) {}
  std::unique_ptr<PageScan> Scan(std::vector<Slice> rows) const override;

  const Form& form() const { return form_; }
  bool keeps_index() const { return index_.length <= kKeepIndexBytes; }
  ByteRange index() const { return index_; }

  BufferPtr kept_index() const {
    std::lock_guard lock(environment_->mutex);
    return kept_index_;
  }
  // Without room for it in the budget it is read again the next time.
  void KeepIndex(BufferPtr index) const {
    auto memory = MemoryReservation::Make(*environment_->resources.memory, index->size(), "the index of a page");
    if (!memory.ok()) return;
    std::lock_guard lock(environment_->mutex);
    if (kept_index_ != nullptr) return;
    environment_->kept_bytes += static_cast<uint64_t>(index->size());
    kept_memory_ = std::move(*memory);
    kept_index_ = std::move(index);
  }

  // Where the index holds the start of the first and the end of the last row of a slice.
  ByteRange FirstEntry(const Slice& rows) const { return {index_.offset + rows.first * index_width_, index_width_}; }
  ByteRange LastEntry(const Slice& rows) const { return {index_.offset + rows.end() * index_width_, index_width_}; }
  // The bytes of a slice, from those two entries.
  arrow::Result<ByteRange> RangeOf(const uint8_t* first_entry, const uint8_t* last_entry) const {
    const uint64_t begin = LoadUnsigned(first_entry, static_cast<unsigned>(index_width_));
    const uint64_t end = LoadUnsigned(last_entry, static_cast<unsigned>(index_width_));
    if (begin > end || end > form_.data.length)
      return Corruption("rows lie at {} to {} of a page of {} bytes", begin, end, form_.data.length);
    return ByteRange{form_.data.offset + begin, end - begin};
  }

  // `bytes` hold exactly the slice's rows.
  arrow::Status Decode(Bytes bytes, uint64_t num_rows, DecodeContext& context, Levels& levels, ValueSink& out) const {
    // An entry takes a byte at least; without lists there is one per row.
    const bool lists = form_.layers.max_rep() > 0;
    ControlWords control(form_, levels);
    if (form_.control_bytes > 0)
      ARROW_RETURN_NOT_OK(control.Begin(lists ? bytes.size() / form_.control_bytes : num_rows));
    uint64_t at = 0;
    for (uint64_t entry = 0; lists ? at < bytes.size() : entry < num_rows; ++entry) {
      if (bytes.size() - at < form_.control_bytes) return PastTheEnd(entry);
      if (form_.control_bytes > 0) {
        control.Add(bytes.data() + at);
        at += form_.control_bytes;
      }
      ARROW_ASSIGN_OR_RAISE(const uint64_t used, DecodeValue(bytes.subspan(at), control.def, entry, context, out));
      at += used;
    }
    control.End();
    if (at != bytes.size()) return Corruption("{} rows end at {} of {} bytes", num_rows, at, bytes.size());
    return arrow::Status::OK();
  }

 private:
  static arrow::Status PastTheEnd(uint64_t entry) {
    return Corruption("entry {} begins behind the end of its bytes", entry);
  }

  // Returns how many bytes the value of an entry takes.
  arrow::Result<uint64_t> DecodeValue(Bytes bytes, uint16_t def, uint64_t entry, DecodeContext& context,
                                      ValueSink& out) const {
    if (def > form_.layers.max_visible()) return 0;
    if (decoder_.fixed != nullptr) {
      const uint64_t size = decoder_.fixed->bytes();
      if (bytes.size() < size) return PastTheEnd(entry);
      ARROW_RETURN_NOT_OK(decoder_.fixed->Decode(bytes.data(), size, 1, out));
      return size;
    }
    if (def > 0) {
      ARROW_RETURN_NOT_OK(out.AppendPlaceholders(1));
      return 0;
    }
    if (bytes.size() < decoder_.length_bytes) return PastTheEnd(entry);
    const uint64_t size = LoadUnsigned(bytes.data(), static_cast<unsigned>(decoder_.length_bytes));
    bytes = bytes.subspan(decoder_.length_bytes);
    if (size > bytes.size())
      return Corruption("a value of {} bytes does not fit the {} bytes that are left of its rows", size, bytes.size());
    ARROW_RETURN_NOT_OK(decoder_.variable->Decode(bytes.first(size), context, out));
    return decoder_.length_bytes + size;
  }

  Form form_;
  ByteRange index_;
  uint64_t index_width_;
  EntryDecoder decoder_;
  std::shared_ptr<PageEnvironment> environment_;
  mutable BufferPtr kept_index_;  // guarded by the environment's mutex
  mutable MemoryReservation kept_memory_;
};

class IndexedScan final : public PageScan {
 public:
  IndexedScan(const IndexedPage& page, std::vector<Slice> rows)
      : page_(page), rows_(std::move(rows)), index_(page.kept_index()) {
    // A whole page is read front to back; its index is not needed.
    if (rows_.size() == 1 && rows_[0].count == page_.form().num_rows) ranges_ = {page_.form().data};
  }

  void WithWholePage() override { whole_page_ = index_ == nullptr; }

  arrow::Result<std::vector<ByteRange>> Wanted() override {
    if (!bytes_.empty()) return std::vector<ByteRange>{};
    if (whole_page_ && ranges_.empty()) return std::vector<ByteRange>{page_.index(), page_.form().data};
    if (ranges_.empty() && index_ != nullptr) ARROW_RETURN_NOT_OK(FindRanges());
    if (!ranges_.empty()) return ranges_;
    if (page_.keeps_index()) return std::vector<ByteRange>{page_.index()};
    std::vector<ByteRange> entries;
    for (const Slice& slice : rows_) {
      entries.push_back(page_.FirstEntry(slice));
      entries.push_back(page_.LastEntry(slice));
    }
    return entries;
  }

  arrow::Status Supply(std::vector<BufferPtr> bytes) override {
    if (!ranges_.empty()) {
      bytes_ = std::move(bytes);
      return arrow::Status::OK();
    }
    if (whole_page_) return CutPage(bytes[0], bytes[1]);
    if (page_.keeps_index()) {
      index_ = bytes[0];
      page_.KeepIndex(index_);
      return arrow::Status::OK();
    }
    for (size_t i = 0; i < rows_.size(); ++i) {
      ARROW_ASSIGN_OR_RAISE(ByteRange range, page_.RangeOf(bytes[2 * i]->data(), bytes[2 * i + 1]->data()));
      ranges_.push_back(range);
    }
    return arrow::Status::OK();
  }

  arrow::Status Decode(DecodeContext& context, LeafSink& out) override {
    Levels levels(context.memory);
    for (size_t i = 0; i < rows_.size(); ++i)
      ARROW_RETURN_NOT_OK(page_.Decode(ViewOf(bytes_[i]), rows_[i].count, context, levels, out.values()));
    return out.AppendRows(page_.form().layers, std::move(levels), TotalCount(rows_));
  }

 private:
  // `data`: of the whole page.
  arrow::Status CutPage(const BufferPtr& index, const BufferPtr& data) {
    index_ = index;
    if (page_.keeps_index()) page_.KeepIndex(index_);
    ARROW_RETURN_NOT_OK(FindRanges());
    for (const ByteRange& range : ranges_) {
      bytes_.push_back(arrow::SliceBuffer(data, static_cast<int64_t>(range.offset - page_.form().data.offset),
                                          static_cast<int64_t>(range.length)));
    }
    return arrow::Status::OK();
  }

  arrow::Status FindRanges() {
    for (const Slice& slice : rows_) {
      const uint64_t origin = page_.index().offset;
      ARROW_ASSIGN_OR_RAISE(ByteRange range, page_.RangeOf(index_->data() + (page_.FirstEntry(slice).offset - origin),
                                                           index_->data() + (page_.LastEntry(slice).offset - origin)));
      ranges_.push_back(range);
    }
    return arrow::Status::OK();
  }

  const IndexedPage& page_;
  std::vector<Slice> rows_;
  BufferPtr index_;  // null: not kept
  bool whole_page_ = false;
  std::vector<ByteRange> ranges_;
  std::vector<BufferPtr> bytes_;
};

std::unique_ptr<PageScan> IndexedPage::Scan(std::vector<Slice> rows) const {
  return std::make_unique<IndexedScan>(*this, std::move(rows));
}

uint64_t ControlBytes(uint32_t bits) { return bits == 0 ? 0 : bits <= 8 ? 1 : bits <= 16 ? 2 : 4; }

arrow::Result<FixedValueDecoderPtr> MakeFixedDecoder(const pb::FullZipLayout& layout, const PageSpec& spec) {
  ARROW_ASSIGN_OR_RAISE(FixedValueDecoderPtr decoder, MakeFixedValueDecoder(layout.value_compression(), spec.shape));
  if (layout.bits_per_value() % 8 != 0 || layout.bits_per_value() / 8 != decoder->bytes()) {
    return Corruption("a full-zip page has values of {} bits, its encoding makes {} bytes", layout.bits_per_value(),
                      decoder->bytes());
  }
  return decoder;
}

arrow::Result<PageReaderPtr> MakeFixed(const pb::FullZipLayout& layout, const PageSpec& spec, Form form) {
  ARROW_ASSIGN_OR_RAISE(FixedValueDecoderPtr decoder, MakeFixedDecoder(layout, spec));
  const uint64_t stride = form.control_bytes + decoder->bytes();
  uint64_t size;
  if (__builtin_mul_overflow(stride, form.num_rows, &size) || size != form.data.length) {
    return Corruption("a full-zip page of {} rows of {} bytes has {} bytes", form.num_rows, stride, form.data.length);
  }
  return std::make_shared<FixedPage>(std::move(form), std::move(decoder));
}

arrow::Result<PageReaderPtr> MakeIndexed(const PageSpec& spec, Form form, EntryDecoder decoder) {
  if (spec.page.buffers.size() < 2) return Corruption("a full-zip page of variable width has no index");
  const ByteRange index = spec.page.buffers[1];
  const uint64_t entries = form.num_rows + 1;
  const uint64_t width = entries == 0 ? 0 : index.length / entries;
  if (width * entries != index.length || (width != 1 && width != 2 && width != 4 && width != 8)) {
    return Corruption("the index of a full-zip page of {} rows has {} bytes", form.num_rows, index.length);
  }
  return std::make_shared<IndexedPage>(std::move(form), index, width, std::move(decoder), spec.environment);
}

arrow::Result<PageReaderPtr> MakeVariable(const pb::FullZipLayout& layout, const PageSpec& spec, Form form) {
  if (spec.version < FileVersion{2, 2} && layout.value_compression().has_variable_packed_struct())
    return Corruption("a page of version {} holds packed structs with strings, which came with 2.2",
                      ToString(spec.version));
  EntryDecoder decoder;
  ARROW_ASSIGN_OR_RAISE(decoder.variable, MakeVariableValueDecoder(layout.value_compression(), spec.shape));
  if (layout.bits_per_offset() != 32 && layout.bits_per_offset() != 64) {
    return Corruption("a full-zip page has lengths of {} bits", layout.bits_per_offset());
  }
  decoder.length_bytes = layout.bits_per_offset() / 8;
  return MakeIndexed(spec, std::move(form), std::move(decoder));
}

arrow::Result<PageReaderPtr> MakeFixedInLists(const pb::FullZipLayout& layout, const PageSpec& spec, Form form) {
  EntryDecoder decoder;
  ARROW_ASSIGN_OR_RAISE(decoder.fixed, MakeFixedDecoder(layout, spec));
  return MakeIndexed(spec, std::move(form), std::move(decoder));
}

// The widths of levels are those of the largest that occurs in the page: definition levels may be absent although
// layers could have nulls; repetition levels tell the rows of lists apart and are always there.
arrow::Status CheckLevels(const pb::FullZipLayout& layout, const PageLayers& layers, const PageSpec& spec) {
  const auto fits = [](uint32_t bits, uint16_t most) { return bits <= static_cast<uint32_t>(std::bit_width(most)); };
  if (!fits(layout.bits_rep(), layers.max_rep()) || !fits(layout.bits_def(), layers.max_def()) ||
      (layout.bits_rep() > 0) != (layers.max_rep() > 0))
    return Corruption("the levels of a page do not match its layers");
  const uint64_t rows = spec.page.num_rows;
  const bool lists = layers.max_rep() > 0;
  if (lists ? layout.num_items() < rows || layout.num_visible_items() > layout.num_items()
            : layout.num_items() != rows || layout.num_visible_items() != rows) {
    return Corruption("a page of {} rows has {} items, {} of them visible", rows, layout.num_items(),
                      layout.num_visible_items());
  }
  return arrow::Status::OK();
}

}  // namespace

arrow::Result<PageReaderPtr> MakeFullZipPage(const pb::FullZipLayout& layout, const PageSpec& spec) {
  ARROW_ASSIGN_OR_RAISE(PageLayers layers, LayersOf(layout, spec));
  ARROW_RETURN_NOT_OK(CheckLevels(layout, layers, spec));
  if (spec.page.buffers.empty()) return Corruption("a full-zip page has no buffer");
  const bool lists = layers.max_rep() > 0;
  Form form{.layers = std::move(layers),
            .control_bytes = ControlBytes(layout.bits_rep() + layout.bits_def()),
            .def_bits = layout.bits_def(),
            .num_rows = spec.page.num_rows,
            .data = spec.page.buffers[0]};
  switch (layout.details_case()) {
    case pb::FullZipLayout::kBitsPerValue:
      return lists ? MakeFixedInLists(layout, spec, std::move(form)) : MakeFixed(layout, spec, std::move(form));
    case pb::FullZipLayout::kBitsPerOffset: return MakeVariable(layout, spec, std::move(form));
    default: return Corruption("a full-zip page does not say how wide its values are");
  }
}

}  // namespace javelin::file
